"""The server under load."""

import argparse
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.server.front.serving import Server

from discreet.privacy.accounting import Spending
from discreet.server.accounts import Accounts
from discreet.vault import Vault
from discreet_lab.experiments.common import add_csv_option, write_table
from discreet_lab.experiments.serving_processes import (
    Client,
    middle_and_slow,
    question,
    resident_mib,
    started,
)

LARGE, SMALL = 1000.0, 0.05
"""The caps of keys. Every fourth one has the small one, which ends after a few questions."""
AFTER_FULL, AFTER_CAP = 1.0, 1.0
"""Seconds to wait after a full queue, and after a refusal at a cap."""


@dataclass
class KeyClient:
    """A client with a key of its own, and what it got.

    Attributes:
        key, secret, cap: its key's id and secret, and its cap.
        answers: the ids of the questions that were answered.
        seconds: how long each of them took.
        replies: how often it got each other status, or code of an error.
    """

    key: str
    secret: str
    cap: float
    answers: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    replies: Counter[str] = field(default_factory=Counter)

    def ask_until(self, server: Server, end: float) -> None:
        """Ask one question after the other until the time is up."""
        client, number = Client(server, self.secret), 0
        while time.monotonic() < end:
            begun = time.perf_counter()
            status, body = client.ask(question(self.key, number))
            if status == 200:
                self.seconds.append(time.perf_counter() - begun)
                self.answers.append(body["usage"]["discreet"]["question_id"])
                number += 1
                continue
            self.replies[f"{status} {body['error']['code']}"] += 1
            time.sleep(AFTER_CAP if status == 402 else AFTER_FULL)
        client.close()


@dataclass
class Checked:
    """Whether what clients, accounts and ledger know of questions is the same.

    Attributes:
        answers, receipts, begun: how many questions clients, accounts and ledger know.
        same: whether these are the same questions.
        meters: whether each key's meter is the ledger's sum of its questions.
        sums: whether all meters together are the ledger's sum of all questions.
        caps: whether no meter is above its cap.
    """

    answers: int
    receipts: int
    begun: int
    same: bool
    meters: bool
    sums: bool
    caps: bool

    @property
    def holds(self) -> bool:
        """Whether no charge is missing, and the caps held."""
        return self.same and self.meters and self.sums and self.caps


@dataclass
class Loaded:
    """What a server did under load.

    Attributes:
        askers: who asked.
        seconds: for how long.
        memory: of the front and of the keeper at the start, in the middle and at the end, in MiB.
        checked: what became of the charges.
    """

    askers: list[KeyClient]
    seconds: float
    memory: dict[str, list[float]]
    checked: Checked

    @property
    def holds(self) -> bool:
        """Whether no charge is missing, and the caps held."""
        return self.checked.holds

    def rows(self) -> list[list[str]]:
        """Return the rows of a table."""
        taken = [1000 * second for one in self.askers for second in one.seconds]
        replies: Counter[str] = sum((one.replies for one in self.askers), Counter())
        ended = sum(any(code.startswith("402") for code in one.replies) for one in self.askers)
        checked = self.checked
        median, slow = middle_and_slow(taken, 0)
        return [
            ["askers, each with a key", str(len(self.askers))],
            ["minutes", f"{self.seconds / 60:g}"],
            ["answers that clients got", f"{checked.answers:,}"],
            ["receipts in the accounts", f"{checked.receipts:,}"],
            ["questions in the ledger", f"{checked.begun:,}"],
            ["the same questions in all three", _yes(checked.same)],
            ["each meter is the ledger's sum of its key's questions", _yes(checked.meters)],
            ["all meters are the ledger's sum", _yes(checked.sums)],
            ["keys that reached their cap", str(ended)],
            ["no meter is above its cap", _yes(checked.caps)],
            ["answers a second", f"{len(taken) / self.seconds:.1f}"],
            ["median ms", median],
            ["p99 ms", slow],
            *([f"replies {code}", f"{count:,}"] for code, count in sorted(replies.items())),
            *(
                [f"{process}, MiB: start, middle, end", ", ".join(f"{mib:.1f}" for mib in memory)]
                for process, memory in self.memory.items()
            ),
        ]


def load(folder: Path, askers: int, seconds: float) -> Loaded:
    """Return what a server did with so many askers for so long."""
    with started(folder, quantum=0.0) as server:
        keys = list[KeyClient]()
        for number in range(askers):
            cap = LARGE if number % 4 else SMALL
            secret = server.key(f"asker-{number}", cap)
            key = server.accounts.find(secret)
            assert key is not None
            keys.append(KeyClient(key.id, secret, cap))
        memory = ask_all(server, keys, seconds)
        vault = Vault.open(folder / "v")
        checked = check(server.accounts, vault, keys)
        vault.store.close()
    return Loaded(keys, seconds, memory, checked)


def ask_all(server: Server, askers: list[KeyClient], seconds: float) -> dict[str, list[float]]:
    """Have all askers ask for so long. Return each process's memory at the start, in the middle and at the end."""
    processes = {"front": server.process.pid, "keeper": server.keeper.process.pid}
    found: dict[str, list[float]] = {name: [] for name in processes}

    def look() -> None:
        for name, process in processes.items():
            found[name].append(resident_mib(process))

    end = time.monotonic() + seconds
    look()
    threads = [threading.Thread(target=one.ask_until, args=(server, end)) for one in askers]
    for thread in threads:
        thread.start()
    time.sleep(seconds / 2)
    look()
    for thread in threads:
        thread.join()
    look()
    return found


def check(accounts: Accounts, vault: Vault, askers: Iterable[KeyClient]) -> Checked:
    """Return whether clients, accounts and ledger know the same questions and the same charges."""
    ledger, own, known = vault.ledger, True, list[KeyClient](askers)
    receipts = accounts.asked()
    total, within = Spending.nothing(), True
    for one in known:
        meter = accounts.odometer(one.key)
        ids = [receipt["question_id"] for receipt in receipts if receipt["key"] == one.key]
        own = own and meter.spending == ledger.spent_at_most(ids) and set(ids) == set(one.answers)
        within = within and meter.budget.admits(meter.spending) and meter.spent <= one.cap
        total = total + meter.spending
    begun = {record.id for record in ledger.questions() if record.stopped is not None}
    told = [answer for one in known for answer in one.answers]
    return Checked(
        answers=len(told),
        receipts=len(receipts),
        begun=len(begun),
        same=len(set(told)) == len(told) and set(told) == begun == {receipt["question_id"] for receipt in receipts},
        meters=own,
        sums=total == ledger.spent_at_most(),
        caps=within,
    )


def _yes(holds: bool) -> str:
    return "yes" if holds else "NO"


def measure_load(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> int:
    """Many askers at one server, and whether every charge is there afterwards.

    Front and keeper are processes of their own, over a new vault of 60 units and the toy model, with a quantum of 0. So
    many askers with a key each ask without a pause; after 503 they wait a moment. Every fourth key has a cap that ends
    early. Afterwards the answers that clients got, the receipts in the accounts and the questions in the ledger must be
    the same ones. Each meter must be the sum of what the ledger says of its questions. Ends with 1 if a charge is
    missing, or a cap did not hold.
    """
    parser.add_argument("--askers", type=int, default=64)
    parser.add_argument("--minutes", type=float, default=10.0)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="d-") as folder:
        found = load(Path(folder), given.askers, given.minutes * 60)
    write_table(["measured", "value"], found.rows(), given.csv)
    return int(not found.holds)

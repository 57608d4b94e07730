"""The server under load, and when each kind of its replies comes."""

import argparse
import http.client
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.server.front.serving import Server, free_port
from tests.server.keepers import wait_ready as wait_keeper

from discreet.demo.corpus import documents
from discreet.ledger.ledger import open_ledger
from discreet.privacy.accounting import Spending
from discreet.store.documents import Document
from discreet.vault import Vault
from discreet_lab.experiments.common import TableWriter, add_csv_option, write_table
from discreet_lab.experiments.serving_processes import (
    CHEAP,
    UNITS,
    Client,
    middle_and_slow,
    question,
    resident_mib,
    start_keeper,
    started,
)
from discreet_server.accounts import Accounts, Limits
from discreet_server.supervisor import READY

LARGE, SMALL = 1000.0, 0.05
"""The caps of keys. Every fourth one has the small one, which ends after a few questions."""
AFTER_FULL, AFTER_CAP, AFTER_BREAK = 1.0, 1.0, 0.5
"""Seconds to wait after a full queue, after a refusal at a cap, and after a connection that broke."""


ANSWERS, COUNTS, REPEATS = "answers", "counts", "repeats"
ASKED: dict[str, Callable[[str, int], dict[str, Any]]] = {
    ANSWERS: lambda key, number: {"text": question(key, number)},
    COUNTS: lambda key, number: {
        "text": f'count: "thumbs" and not "{key} {number}"',
        "model": "v",
        "discreet": {"epsilon": CHEAP.options["epsilon"]},
    },
    REPEATS: lambda key, number: {"text": question(key, 0)},
}
"""What clients ask: a choice among two answers, a count, or the same question again and again."""


@dataclass
class KeyClient:
    """A client with a key of its own, and what it got.

    Attributes:
        key, secret, cap: its key's id and secret, and its cap.
        asks: what it asks, of `ASKED`.
        answers: the ids of the questions that were answered.
        seconds: how long each of them took.
        replies: how often it got each other status, or code of an error.
    """

    key: str
    secret: str
    cap: float
    asks: str = ANSWERS
    answers: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    replies: Counter[str] = field(default_factory=Counter)

    def ask_until(self, server: Server, end: float) -> None:
        """Ask one question after the other until the time is up."""
        client, number = Client(server, self.secret), 0
        while time.monotonic() < end:
            begun = time.perf_counter()
            try:
                status, body = client.ask(**ASKED[self.asks](self.key, number))
            except (OSError, http.client.HTTPException):  # the front was killed
                client.close()
                client = Client(server, self.secret)
                self.replies["broken connections"] += 1
                time.sleep(AFTER_BREAK)
                continue
            if status == 200:
                self.seconds.append(time.perf_counter() - begun)
                if self.answers[-1:] != [found := body["usage"]["discreet"]["question_id"]]:
                    self.answers.append(found)
                number += 1
                continue
            self.replies[f"{status} {body['error']['code']}"] += 1
            number += status == 500  # it was broken off, and gets the same error for ten minutes
            time.sleep(AFTER_CAP if status == 402 else AFTER_FULL)
        client.close()


@dataclass
class Checked:
    """Whether what clients, accounts and ledger know of questions is the same.

    Attributes:
        answers, receipts, begun: how many questions clients, accounts and ledger know.
        lost: of the receipts, those that a killed process broke off: charged at their ceiling, and never less.
        same: whether these are the same questions, but for those that were lost.
        meters: whether each key's meter is the ledger's sum of its questions, and the ceilings of those that were lost.
        sums: whether all meters together are the ledger's sum of all questions, and those ceilings.
        caps: whether no meter is above its cap.
    """

    answers: int
    receipts: int
    begun: int
    lost: int
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
            ["receipts of questions that a kill broke off", f"{checked.lost:,}"],
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


def load(
    folder: Path, askers: int, seconds: float, *, kills: int = 0, asks: str = ANSWERS, units: int = UNITS
) -> Loaded:
    """Return what a server did with so many askers for so long, whose processes were killed so often, in turns."""
    with started(folder, units=units, quantum=0.0) as server:
        keys = list[KeyClient]()
        for number in range(askers):
            cap = LARGE if number % 4 else SMALL
            secret = server.key(f"asker-{number}", cap)
            key = server.accounts.find(secret)
            assert key is not None
            keys.append(KeyClient(key.id, secret, cap, asks))
        memory = ask_all(server, keys, seconds, kills)
        vault = Vault.open(folder / "v")
        checked = check(server.accounts, vault, keys)
        vault.store.close()
    return Loaded(keys, seconds, memory, checked)


def ask_all(server: Server, askers: list[KeyClient], seconds: float, kills: int = 0) -> dict[str, list[float]]:
    """Have all askers ask for so long. Return each process's memory at the start, in the middle and at the end."""
    times: dict[str, list[float]] = {"front": [], "keeper": []}

    def look() -> None:
        for name, process in (("front", server.process), ("keeper", server.keeper.process)):
            times[name].append(resident_mib(process.pid))

    begun = time.monotonic()
    look()
    threads = [threading.Thread(target=one.ask_until, args=(server, begun + seconds)) for one in askers]
    for thread in threads:
        thread.start()
    for number in range(kills + 1):
        time.sleep(max(0.0, begun + seconds * (number + 1) / (kills + 2) - time.monotonic()))
        if number == kills // 2:
            look()
        if number < kills:
            kill_one(server, front=bool(number % 2))
    for thread in threads:
        thread.join()
    look()
    return times


def kill_one(server: Server, *, front: bool) -> None:
    """Kill the front or the keeper by SIGKILL, and start it again."""
    if front:
        server.restart()
    else:
        server.keeper.kill()
        server.keeper = start_keeper(server.config)
        wait_keeper(server.keeper)


LOST = ("interrupted", "internal_error")
"""How questions ended that a kill broke off."""


def check(accounts: Accounts, vault: Vault, askers: Iterable[KeyClient]) -> Checked:
    """Return whether clients, accounts and ledger know the same questions and the same charges."""
    ledger, own, clients = vault.ledger, True, list[KeyClient](askers)
    receipts = accounts.asked()
    begun = {record.id for record in ledger.questions() if record.stopped is not None}
    lost = {one["question_id"] for one in receipts if one["stopped"] in LOST}
    total, within, at_ceiling = Spending.nothing(), True, Spending.nothing()
    for one in clients:
        meter = accounts.odometer(one.key)
        ids = [receipt["question_id"] for receipt in receipts if receipt["key"] == one.key]
        # All questions have one price, which is what those that were answered have paid.
        more = (ledger.spent_at_most(one.answers[:1]) if one.answers else Spending.nothing()).times(
            len(lost & set(ids) - begun)
        )
        own = own and meter.spending == ledger.spent_at_most(ids) + more and set(ids) - lost == set(one.answers) - lost
        at_ceiling = at_ceiling + more
        within = within and meter.budget.admits(meter.spending) and meter.spent <= one.cap
        total = total + meter.spending
    known_ids = {receipt["question_id"] for receipt in receipts}
    told = [answer for one in clients for answer in one.answers]
    return Checked(
        answers=len(told),
        receipts=len(receipts),
        begun=len(begun),
        lost=len(lost),
        same=len(set(told)) == len(told)
        and begun <= known_ids
        and set(told) - lost == begun - lost == known_ids - lost,
        meters=own,
        sums=total == ledger.spent_at_most() + at_ceiling,
        caps=within,
    )


def _yes(holds: bool) -> str:
    return "yes" if holds else "NO"


def measure_load(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> int:
    """Many askers at one server, and whether every charge is there afterwards.

    Front and keeper are processes of their own, over a new vault and the toy model, with a quantum of 0. So
    many askers with a key each ask without a pause; after 503 they wait a moment. Every fourth key has a cap that ends
    early. Afterwards the answers that clients got, the receipts in the accounts and the questions in the ledger must be
    the same ones. Each meter must be the sum of what the ledger says of its questions. With `--kills`, keeper and front
    are killed in turns by SIGKILL, and started again; what that broke off must be charged at its ceiling. Ends with 1
    if a charge is missing, or a cap did not hold.
    """
    parser.add_argument("--askers", type=int, default=64)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--ask", choices=ASKED, default=ANSWERS)
    parser.add_argument("--units", type=int, default=UNITS)
    parser.add_argument("--minutes", type=float, default=10.0)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="d-") as folder:
        how = {"kills": given.kills, "asks": given.ask, "units": given.units}
        figures = load(Path(folder), given.askers, given.minutes * 60, **how)
    write_table(["measured", "value"], figures.rows(), given.csv)
    return int(not figures.holds)


COLUMNS = ("reply", "times", "median, s", "longest, s", "quantum, s")
BOOK, CODE = "medical-visit", "complaint"
"""The packaged codebook under which the notes are coded, and one of its codes."""
WAIT = 1800.0
"""Seconds in which the server must be ready, and each reply must come."""
Send = Callable[..., float]


def make_hospital(path: Path, people: int) -> str:
    """Make a vault of notes of the demonstration, coded, with the packaged model. Return the secret of a key."""
    vault = Vault.create(path, epsilon=1e4, delta=1e-6, unit_field="patient", people=people)
    vault.use_book(BOOK)
    vault.add_documents(Document(one.id, one.unit, one.text) for one in documents(people))
    vault.code()
    vault.store.close()
    accounts = Accounts(Path(f"{path}.server") / "front" / "accounts.sqlite")
    accounts.grant("v", open_ledger(path, vault.settings).budget)
    secret = accounts.issue("ana", ["v"], Limits(epsilon=5000))[1]
    accounts.close()
    return secret


@contextmanager
def serving(vault: Path) -> Iterator[tuple[int, float, list[float]]]:
    """Give the port of a server that measures its quanta, the seconds of its start, and the quanta."""
    port = free_port()
    command = [sys.executable, "-m", "discreet", "serve", str(vault), "--port", str(port), "--no-desk", "--measure"]
    begun, said = time.monotonic(), list[str]()
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        guard = threading.Timer(WAIT, process.terminate)
        guard.start()
        try:
            assert process.stderr is not None
            for line in process.stderr:
                said.append(line)
                if f" {READY} " in line:
                    break
            else:
                raise RuntimeError(f"The server does not start. It said: {''.join(said)}")
            guard.cancel()
            seconds = time.monotonic() - begun
            told = " ".join("".join(said).split())  # lines are wrapped
            quanta = re.findall(r"(?:records|voters): ([\d.]+) s", told)
            yield port, seconds, [float(one) for one in quanta]
        finally:
            guard.cancel()
            process.terminate()


def time_replies(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """When each kind of reply comes: seconds on the wall, of a server with the packaged model and its own quanta.

    A vault of the demonstration's notes, one of each person, coded under a packaged codebook, is served by `discreet
    serve`, which measures how long the longest answers take. Each kind of reply is asked for so many times, one after
    the other, and questions of the model twice. The row of three counts has the seconds until the last one came. The
    row of the start has no quantum, and those of replies that read nothing private have none either.
    """
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--times", type=int, default=7)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="dr") as folder:
        secret = make_hospital(Path(folder) / "v", given.people)
        table = TableWriter(COLUMNS, given.csv)
        with serving(Path(folder) / "v") as (port, seconds, (records, voters)):
            table.write(["the start, with its measurement", "1", f"{seconds:.0f}", f"{seconds:.0f}", ""])
            quanta = {"records": f"{records:.2f}", "voters": f"{voters:.1f}", "": ""}
            for kind, lane, ask, times in kinds_of(sender(port, secret), given.times):
                taken = [ask(number) for number in range(times)]
                middle = statistics.median(taken)
                table.write([kind, str(times), f"{middle:.2f}", f"{max(taken):.2f}", quanta[lane]])


def sender(port: int, secret: str) -> Send:
    """Return a function that sends a question and returns the seconds until its reply, which must have a status."""
    headers = {"content-type": "application/json", "authorization": f"Bearer {secret}"}

    def send(question: str, status: int = 200, route: str = "chat/completions", model: str = "v") -> float:
        body = json.dumps({"model": model, "messages": [{"role": "user", "content": question}]})
        connection, begun = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT), time.perf_counter()
        try:
            connection.request("POST", f"/v1/{route}", body, headers)
            reply = connection.getresponse()
            told = reply.read().decode()
        finally:
            connection.close()
        if reply.status != status:
            raise RuntimeError(f"The server replied {reply.status} to {question!r}, and not {status}: {told}")
        return time.perf_counter() - begun

    return send


def kinds_of(send: Send, times: int) -> Iterator[tuple[str, str, Callable[[int], float], int]]:
    """Yield each kind of reply with its lane, how it is asked for, and how often. Questions of one kind differ."""

    def three(number: int) -> float:
        with ThreadPoolExecutor(3) as askers:
            begun = time.perf_counter()
            list(askers.map(send, [f'count: "Red Echo" and not "{number} {other}"' for other in ("x", "y", "z")]))
            return time.perf_counter() - begun

    yield "the first refusal", "", lambda _: send("What is the most common disease?", 400), 1
    yield "a refusal", "", lambda number: send(f"What is the main disease of ward {number}?", 400), times
    yield "an unknown model", "", lambda _: send("How many patients have Glass Knee?", 404, model="nothing"), times
    yield "an estimate", "", lambda number: send(f'count: "fever {number}"', route="estimate"), times
    yield "the first count", "records", lambda _: send('count: "Glass Knee"'), 1
    yield "the same count again", "", lambda _: send('count: "Glass Knee"'), times
    yield "a count", "records", lambda number: send(f'count: "Marsh Fever" and not "case {number}"'), times
    yield "three counts together: the last one", "records", three, times
    yield "an answer by codes", "records", lambda number: send(f'themes: {CODE}, among not "case {number}"'), times
    yield "an open question", "voters", lambda number: send(f"What is the treatment for {OPEN[number]}?"), len(OPEN)


OPEN = ("Glass Knee", "Winter Hand")
"""What the questions of the model are about."""

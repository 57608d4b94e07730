"""The server beside the library, under load, and beside the start of the command line."""

import argparse
import http.client
import json
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
from itertools import islice
from pathlib import Path

from tests.server.front.serving import Server, free_port

from discreet.demo.corpus import documents
from discreet.generation.toy import ToyModel
from discreet.privacy.accounting import Spending
from discreet.retrieval.documents import Document
from discreet.server.accounts import Accounts
from discreet.vault import Vault
from discreet_lab.experiments.common import TableWriter, add_csv_option, lines_of, write_table
from discreet_lab.experiments.serving_processes import (
    Client,
    consensus,
    make_vault,
    middle_and_slow,
    question,
    resident_mib,
    started,
    timed,
)

LARGE, SMALL = 1000.0, 0.05
"""The caps of keys. Every fourth one has the small one, which ends after a few questions."""
AFTER_FULL, AFTER_CAP = 1.0, 1.0
"""Seconds to wait after a full queue, and after a refusal at a cap."""


@dataclass
class Asker:
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

    askers: list[Asker]
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
    with started(folder, quantum=0.0) as found:
        server, keys = found.server, list[Asker]()
        for number in range(askers):
            cap = LARGE if number % 4 else SMALL
            secret = server.key(f"asker-{number}", cap)
            key = server.accounts.find(secret)
            assert key is not None
            keys.append(Asker(key.id, secret, cap))
        memory = ask_all(server, keys, seconds)
        vault = Vault.open(folder / "v")
        checked = check(server.accounts, vault, keys)
        vault.store.close()
    return Loaded(keys, seconds, memory, checked)


def ask_all(server: Server, askers: list[Asker], seconds: float) -> dict[str, list[float]]:
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


def check(accounts: Accounts, vault: Vault, askers: Iterable[Asker]) -> Checked:
    """Return whether clients, accounts and ledger know the same questions and the same charges."""
    ledger, own, known = vault.ledger, True, list[Asker](askers)
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


WARM_UP = 10
"""Questions that are asked before any is measured."""


def overhead(folder: Path, questions: int) -> list[list[str]]:
    """Return rows about the time of `Vault.ask`, of HTTP, and of the difference."""
    make_vault(folder / "alone").store.close()
    vault = Vault.open(folder / "alone", model=ToyModel(default="yes"))
    alone, served = list[float](), list[float]()
    with started(folder / "s", quantum=0.0) as found:
        client = Client(found.server, found.server.key("ana", 1000.0))
        for number in range(questions + WARM_UP):
            text = question("ana", number)
            took, _ = timed(lambda text=text: vault.ask(text, consensus()))  # type: ignore[misc]
            longer, (status, body) = timed(lambda text=text: client.ask(text))  # type: ignore[misc]
            if status != 200 or body["usage"]["discreet"]["replayed"]:
                raise RuntimeError(f"Question {number} got {status}, and is expected to be paid: {body}")
            alone.append(took)
            served.append(longer)
        client.close()
    alone, served = alone[WARM_UP:], served[WARM_UP:]
    more = [one - other for one, other in zip(served, alone, strict=True)]
    return [
        ["Vault.ask", *middle_and_slow(alone)],
        ["HTTP", *middle_and_slow(served)],
        ["difference", *middle_and_slow(more)],
    ]


def measure_overhead(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """The time of a question over HTTP beside that of `Vault.ask`.

    Front and keeper are processes of their own, over a new vault of 60 units and the toy model, with a quantum of 0.
    Questions are asked by consensus among two choices. They differ, so that each is charged once. Each is asked by
    `Vault.ask` in this process and by HTTP, in turns, in two vaults with the same documents. The difference is taken
    question by question.
    """
    parser.add_argument("--questions", type=int, default=200)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="d-") as folder:
        write_table(["asked by", "median ms", "p99 ms"], overhead(Path(folder), given.questions), given.csv)


def measure_load(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> int:
    """Many askers at one server, and whether every charge is there afterwards.

    The server is that of the part `overhead`. So many askers with a key each ask without a pause; after 503 they wait a
    moment. Every fourth key has a cap that ends early. Afterwards the answers that clients got, the receipts in the
    accounts and the questions in the ledger must be the same ones. Each meter must be the sum of what the ledger says
    of its questions. Ends with 1 if a charge is missing, or a cap did not hold.
    """
    parser.add_argument("--askers", type=int, default=64)
    parser.add_argument("--minutes", type=float, default=10.0)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="d-") as folder:
        found = load(Path(folder), given.askers, given.minutes * 60)
    write_table(["measured", "value"], found.rows(), given.csv)
    return int(not found.holds)


STARTS = ("question", "asked", "seconds", "cold / these")
START_QUESTIONS = {
    "a count": "How many patients have Schnitzelploxia?",
    "open": "What is the treatment for Schnitzelploxia?",
}
COLD, SERVED = "cold", "by a running server"
PRICE = 8.0
"""The most that a question may cost. A higher price takes fewer voters, so that the start is a larger part."""
WAIT = 1800.0
"""Seconds in which the server must be ready."""

Ask = Callable[[str], None]


def make_first_vault(path: Path, data: Path, count: int) -> None:
    """Make a vault of the first documents of a data set, with a grant for all rounds."""
    vault = Vault.create(path, epsilon=1000, delta=1e-6, people=count)
    vault.add_documents(
        Document(line["id"], line["unit"], line["text"]) for line in islice(lines_of(data, "documents"), count)
    )


def run_command(words: Sequence[str]) -> str:
    """Return what a command of discreet printed."""
    ran = subprocess.run([sys.executable, "-m", "discreet", *words], capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"discreet {' '.join(words)} ended with {ran.returncode}: {ran.stderr.strip()}")
    return ran.stdout


def by_command(vault: Path) -> Ask:
    """Return a way to ask by a new process."""
    options = ["--epsilon", str(PRICE), "--anew", "--json"]
    return lambda question: check_answer(run_command(["ask", str(vault), question, *options]))


def by_server(vault: Path, port: int, key: str) -> Ask:
    """Return a way to ask a server that runs."""
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}

    def ask(question: str) -> None:
        message, how = {"role": "user", "content": question}, {"epsilon": PRICE, "anew": True}
        body = {"model": vault.name, "messages": [message], "discreet": how}
        status, reply = exchange(port, "POST", "/v1/chat/completions", json.dumps(body), headers)
        if status != 200:
            sys.exit(f"The server replied {status}: {reply}")

    return ask


def check_answer(printed: str) -> None:
    """End the program if the command printed no answer."""
    if "stopped" not in json.loads(printed):
        sys.exit(f"There is no answer in what `discreet ask --json` printed: {printed}")


def exchange(
    port: int, method: str, path: str, body: str = "", headers: dict[str, str] | None = None
) -> tuple[int, str]:
    """Return status and body of a reply of the server."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT)
    try:
        connection.request(method, path, body or None, headers or {})
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


@contextmanager
def on_server(vault: Path, quantum: float | None = 0.0) -> Iterator[int]:
    """Give the port of a server that is ready; it ends with the block. It measures its quanta if none is given."""
    port = free_port()
    command = ["serve", str(vault), "--port", str(port), "--no-desk"]
    command += [] if quantum is None else ["--quantum", str(quantum)]
    process = subprocess.Popen(
        [sys.executable, "-m", "discreet", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_ready(port, process)
        yield port
    finally:
        process.terminate()
        process.wait()


def wait_ready(port: int, process: "subprocess.Popen[bytes]") -> None:
    """Wait until a server answers questions."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end and process.poll() is None:
        try:
            if exchange(port, "GET", "/health/ready")[0] == 200:
                return
        except OSError:
            pass
        time.sleep(0.2)
    sys.exit("The server does not start.")


def seconds_of(ask: Ask, question: str) -> float:
    """Return the seconds on the wall of one question."""
    begun = time.perf_counter()
    ask(question)
    return time.perf_counter() - begun


def measure_starts(ways: dict[str, Ask], kinds: Sequence[str], rounds: int, table: TableWriter) -> None:
    """Print the medians of each question and each way; the ways take turns."""
    for kind in kinds:
        question = START_QUESTIONS[kind]
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, ask in ways.items():
                taken[name].append(seconds_of(ask, question))
        middle = {name: statistics.median(values) for name, values in taken.items()}
        for name, value in middle.items():
            table.write([kind, name, f"{value:.2f}", f"{middle[COLD] / value:.1f}"])


def time_starts(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """What the start of the command line costs: one question cold, and by a running server.

    "cold" is `discreet ask` as a new process, which loads the embedder, and the language model if the question
    needs it. "by a running server" is a request to `discreet serve`, which holds both, without a latency step. An
    open question is answered by voters that read, and a count by rules. Each is paid anew each time, and the ways
    take turns. Seconds are those of a clock on the wall, medians of the rounds.
    """
    parser.add_argument("data", type=Path, help="the folder of a data set about Schnitzelploxia")
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", choices=list(START_QUESTIONS), default=list(START_QUESTIONS))
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="dc") as folder:
        vault = Path(folder) / "v"
        make_first_vault(vault, given.data, given.documents)
        key = json.loads(run_command(["key", "issue", str(vault), "ana", "--epsilon", "500", "--json"]))["key"]
        with on_server(vault) as port:
            ways = {COLD: by_command(vault), SERVED: by_server(vault, port, key)}
            ways[SERVED](START_QUESTIONS[given.kinds[-1]])  # warm up
            measure_starts(ways, given.kinds, given.rounds, TableWriter(STARTS, given.csv))


REPLIES = ("reply", "seconds")
FRESH = ("Glass Knee", "Marsh Fever", "Velvet Tongue", "Clock Sleep", "Paper Skin", "Red Echo")


def make_hospital(path: Path, people: int) -> None:
    """Make a vault of the demonstration's notes for so many people, with the packaged model."""
    vault, known = Vault.create(path, epsilon=1000, delta=1e-6, unit_field="patient", people=people), list(documents())
    vault.add_documents(
        Document(f"d{number}", f"p{number}", known[number % len(known)].text) for number in range(people)
    )
    vault.store.close()


def time_replies(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """When each kind of reply comes: seconds on the wall, of one server with the packaged model and its own quanta.

    A vault of the demonstration's notes, one for each of so many people, is served by `discreet serve`. The first rows
    are a start that measures nothing, and one that measures. Then come, one after the other: a refusal of the
    router, an unknown model, an estimate, a count, the same count again, three counts sent together, and an open
    question with a count behind it.
    """
    parser.add_argument("--people", type=int, default=1000)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="dr") as folder:
        vault = Path(folder) / "v"
        make_hospital(vault, given.people)
        key = json.loads(run_command(["key", "issue", str(vault), "ana", "--epsilon", "500", "--json"]))["key"]
        table = TableWriter(REPLIES, given.csv)
        for name, quantum in (("start, nothing measured", 0.0), ("start, with its measurement", None)):
            begun = time.perf_counter()
            with on_server(vault, quantum) as port:
                table.write([name, f"{time.perf_counter() - begun:.1f}"])
                for kind, seconds in replies_of(port, key) if quantum is None else ():
                    table.write([kind, f"{seconds:.2f}"])


def replies_of(port: int, key: str) -> Iterator[tuple[str, float]]:
    """Yield each kind of reply, and the seconds until it came."""
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}

    def ask(question: str, status: int = 200, route: str = "chat/completions", model: str = "v") -> float:
        body = {"model": model, "messages": [{"role": "user", "content": question}]}
        begun = time.perf_counter()
        found, reply = exchange(port, "POST", f"/v1/{route}", json.dumps(body), headers)
        if found != status:
            sys.exit(f"The server replied {found} to {question}: {reply}")
        return time.perf_counter() - begun

    count = "How many patients have {}?".format
    yield "the first refusal", ask("What is the most common disease?", 400)
    yield "another refusal", ask("What is the main disease?", 400)
    yield "an unknown model", ask(count(FRESH[0]), 404, model="nothing")
    yield "an estimate", ask(count(FRESH[0]), route="estimate")
    yield "a count", ask(count(FRESH[0]))
    yield "the same count again", ask(count(FRESH[0]))
    with ThreadPoolExecutor() as askers:
        begun = time.perf_counter()
        list(askers.map(lambda name: ask(count(name)), FRESH[1:4]))
        yield "three counts together: the last one", time.perf_counter() - begun
    yield "an open question", ask("What is the treatment for Glass Knee?")
    yield "a count after it", ask(count(FRESH[4]))

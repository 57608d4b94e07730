"""Several askers with one model: throughput, memory, and whether all answers and charges are there.

    .venv/bin/python -m benchmarks.model_worker [--askers 4] [--questions 6] [--voters 10] [--toy SECONDS]
        [--model NAME]

A worker on a socket holds the model (`discreet serve-model`), and then a Ray cluster of this machine with one
worker does. With --toy, a toy model sleeps for so long in each batch, on a socket alone. First one asker asks, then
several at once, each a process of its own on one vault with a hashing embedder. Each asker first answers a question in
a simulation. Once all have done so, they begin, and the time counts. Prints for one asker and for several: the
throughput as a multiple of that of one asker with a socket, the largest memory of an asker, and whether it loaded
torch; then whether the ledger is the sum of the receipts. Ends with 1 if it is not.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.models import add_model_option, model_name
from benchmarks.writing import TableWriter, add_csv_option
from tests.ray_cluster import cluster

from discreet.demo.corpus import documents
from discreet.generation.remote.endpoint import Endpoint, ServerGone
from discreet.generation.remote.worker_model import WORKER
from discreet.generation.toy import ToyModel
from discreet.registry import Consensus
from discreet.vault import Vault

COLUMNS = (
    *("the model is at", "askers", "throughput over that of one asker"),
    *("largest memory of an asker, MiB", "torch in an asker"),
)
CHOICES = ("yes", "no")
PRICE = 0.01
WAIT = 900.0
"""Seconds in which the worker must be ready."""


@dataclass(frozen=True)
class Asked:
    """What one asker did: its questions, the times of the first and the last, its receipts and its memory."""

    questions: int
    begun: float
    ended: float
    epsilon: float
    mebibytes: float
    torch: bool


def ask(path: Path, name: str, questions: int, voters: int) -> Asked:
    """Ask, as one process: an answer of voters that costs all units the same."""
    vault = Vault.open(path)
    algorithm = Consensus(voters=voters, epsilon=PRICE, choices=CHOICES, max_tokens=16)
    vault.simulate("Is the model there?", algorithm)
    print("ready", flush=True)
    sys.stdin.readline()
    epsilon, begun = 0.0, time.monotonic()
    for number in range(questions):
        receipt = vault.ask(f"Does patient {number} of {name} have numb thumbs?", algorithm).receipt
        epsilon += sum(float(each.cost.curve[-1]) for each in receipt.charges) if receipt else 0.0
    ended = time.monotonic()
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    peak = max(int(line.split()[1]) for line in status if line.startswith(("VmHWM", "VmRSS")))
    return Asked(questions, begun, ended, epsilon, peak / 1024, "torch" in sys.modules)


def ask_at_once(path: Path, askers: int, worker: str, given: argparse.Namespace) -> list[Asked]:
    """Return what several askers did, each a process of its own."""
    command = [sys.executable, "-m", "benchmarks.model_worker", "--vault", str(path)]
    command += ["--questions", str(given.questions), "--voters", str(given.voters)]
    environment = os.environ if given.toy is not None else {**os.environ, WORKER: worker}
    started = [
        subprocess.Popen(
            [*command, "--name", f"{askers}-{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        for number in range(askers)
    ]
    for one in started:  # the first questions of others would count as time of these
        assert one.stdout is not None
        one.stdout.readline()
    for one in started:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    return [Asked(**json.loads(one.communicate()[0])) for one in started]


def throughput(done: Sequence[Asked]) -> float:
    """Return the questions a minute, from the first question of any asker to the last answer of all."""
    begun, ended = min(one.begun for one in done), max(one.ended for one in done)
    return 60 * sum(one.questions for one in done) / (ended - begun)


@contextmanager
def on_socket(socket: Path, toy: float | None, model: str) -> Iterator[str]:
    """Give the address of a worker that is ready; it ends with the block."""
    command = ["-m", "discreet", "serve-model", model, "--socket", str(socket)]
    if toy is not None:
        command = ["-m", "tests.server.model_worker.worker", str(socket), str(toy)]
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)
    try:
        wait_for(socket, process)
        yield str(socket)
    finally:
        process.terminate()
        process.wait()


def wait_for(socket: Path, process: "subprocess.Popen[bytes]") -> None:
    """Wait until a worker is ready."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end and process.poll() is None:
        try:
            Endpoint("unix", str(socket)).request("GET", "/discreet/model")
        except ServerGone:
            time.sleep(0.2)
        else:
            return
    sys.exit("The worker does not start.")


@contextmanager
def on_ray() -> Iterator[str]:
    """Give the address of a cluster of this machine; the first asker starts its worker."""
    with cluster() as here:
        yield f"ray:{here.address}"


def measure(folder: Path, given: argparse.Namespace) -> bool:
    """Print the table; return whether the ledger is the sum of the receipts."""
    socket, path = folder / "model", folder / "vault"
    served = model_name(given.model)
    model = served if given.toy is None else f"worker:{socket}"
    vault = Vault.create(
        path, epsilon=1e6, delta=1e-6, embedder="hashing", payment="corpus", history=False, model=model
    )
    vault.add_documents(documents(200))
    ways: dict[str, Callable[[], AbstractContextManager[str]]] = {
        "a socket": lambda: on_socket(socket, given.toy, served)
    }
    if given.toy is None:
        ways["a Ray cluster"] = on_ray
    table, done, first = TableWriter(COLUMNS, given.csv), list[Asked](), 0.0
    for way, begun in ways.items():
        with begun() as worker:
            for askers in (1, given.askers):
                found = ask_at_once(path, askers, worker, given)
                first = first or throughput(found)
                peak = max(one.mebibytes for one in found)
                torch = "yes" if any(one.torch for one in found) else "no"
                table.write([way, str(askers), f"{throughput(found) / first:.2f}", f"{peak:.0f}", torch])
                done += found
    return is_sum(path, done)


def is_sum(path: Path, done: Sequence[Asked]) -> bool:
    """Print and return whether the ledger is the sum of the receipts."""
    paid = sum(one.epsilon for one in done)
    ledger = Vault.open(path, model=ToyModel()).ledger
    spent, asked = float(ledger.spent().curve[-1]), len(ledger.questions())
    equal = abs(spent - paid) <= 1e-6 * paid and asked == sum(one.questions for one in done)
    print(f"\nReceipts {paid:.4f}, ledger {spent:.4f}, {asked} questions: {'equal' if equal else 'DIFFERENT'}.")
    return equal


def parsed() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--askers", type=int, default=4)
    parser.add_argument("--questions", type=int, default=6)
    parser.add_argument("--voters", type=int, default=10)
    parser.add_argument("--toy", type=float, metavar="SECONDS")
    add_model_option(parser)
    parser.add_argument("--vault", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--name", default="", help=argparse.SUPPRESS)
    add_csv_option(parser)
    return parser.parse_args()


def main() -> None:
    """Measure, or be one of the askers."""
    given = parsed()
    if given.vault is not None:
        found: dict[str, Any] = vars(ask(given.vault, given.name, given.questions, given.voters))
        print(json.dumps(found))
        return
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="dw") as folder:
        sys.exit(not measure(Path(folder), given))


if __name__ == "__main__":
    main()

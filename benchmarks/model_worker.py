"""Several askers with one model worker: throughput, memory, and whether all answers and charges are there.

    .venv/bin/python -m benchmarks.model_worker [--askers 4] [--questions 6] [--voters 10] [--toy SECONDS]

A worker holds the packaged model (`discreet serve-model`), or with --toy a toy model that sleeps for so long in each
batch. First one asker asks, then several at once, each a process of its own on one vault with a hashing embedder. The
time of an asker counts from its first question on. Prints for one asker and for several: the
throughput as a multiple of one asker's, the largest memory of an asker, and whether it loaded torch; then whether the
ledger is the sum of the receipts. Ends with 1 if it is not.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.writing import TableWriter, add_csv_option

from discreet.demo.corpus import documents
from discreet.generation.remote.endpoint import Endpoint, ServerGone
from discreet.generation.toy import ToyModel
from discreet.registry import Consensus
from discreet.vault import Vault

COLUMNS = ("askers", "throughput over that of one asker", "largest memory of an asker, MiB", "torch in an asker")
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
    epsilon, begun = 0.0, time.monotonic()
    for number in range(questions):
        receipt = vault.ask(f"Does patient {number} of {name} have numb thumbs?", algorithm).receipt
        epsilon += sum(float(each.cost.curve[-1]) for each in receipt.charges) if receipt else 0.0
    ended = time.monotonic()
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    peak = max(int(line.split()[1]) for line in status if line.startswith(("VmHWM", "VmRSS")))
    return Asked(questions, begun, ended, epsilon, peak / 1024, "torch" in sys.modules)


def ask_at_once(path: Path, askers: int, given: argparse.Namespace) -> list[Asked]:
    """Return what several askers did, each a process of its own."""
    command = [sys.executable, "-m", "benchmarks.model_worker", "--vault", str(path)]
    command += ["--questions", str(given.questions), "--voters", str(given.voters)]
    started = [
        subprocess.Popen([*command, "--name", f"{askers}-{number}"], stdout=subprocess.PIPE) for number in range(askers)
    ]
    return [Asked(**json.loads(one.communicate()[0])) for one in started]


def throughput(done: Sequence[Asked]) -> float:
    """Return the questions a minute, from the first question of any asker to the last answer of all."""
    begun, ended = min(one.begun for one in done), max(one.ended for one in done)
    return 60 * sum(one.questions for one in done) / (ended - begun)


def start_worker(socket: Path, toy: float | None) -> "subprocess.Popen[bytes]":
    """Return a worker that is ready."""
    command = ["-m", "discreet", "serve-model", "--socket", str(socket)]
    if toy is not None:
        command = ["-m", "tests.server.model_worker.worker", str(socket), str(toy)]
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)
    end = time.monotonic() + WAIT
    while time.monotonic() < end and process.poll() is None:
        try:
            Endpoint("unix", str(socket)).request("GET", "/discreet/model")
        except ServerGone:
            time.sleep(0.2)
        else:
            return process
    process.kill()
    sys.exit("The worker does not start.")


def measure(folder: Path, given: argparse.Namespace) -> bool:
    """Print the table; return whether the ledger is the sum of the receipts."""
    socket, path = folder / "model", folder / "vault"
    vault = Vault.create(
        path, epsilon=1e6, delta=1e-6, embedder="hashing", payment="corpus", history=False, model=f"worker:{socket}"
    )
    vault.add_documents(documents(200))
    worker = start_worker(socket, given.toy)
    table = TableWriter(COLUMNS, given.csv)
    done, rates = list[Asked](), list[float]()
    try:
        for askers in (1, given.askers):
            found = ask_at_once(path, askers, given)
            rates.append(throughput(found))
            peak = max(one.mebibytes for one in found)
            torch = "yes" if any(one.torch for one in found) else "no"
            table.write([str(askers), f"{rates[-1] / rates[0]:.2f}", f"{peak:.0f}", torch])
            done += found
    finally:
        worker.terminate()
        worker.wait()
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

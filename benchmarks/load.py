"""A vault under load: several processes ask at once, and every charge must be there afterwards.

    .venv/bin/python benchmarks/load.py [--askers 8] [--seconds 600] [--payment corpus|unit] [--units 200] [--packaged]

Each asker is a process of its own on one vault, and asks one question after the other, each worded differently, by
consensus among choices, which everybody pays for. At the end the ledger must know every question, and its total must be
the sum of all receipts. Memory: what each asker holds, as a mean of the second and of the last quarter of the time. The
model is a toy that answers at once, so that the ledger has all the work, unless `--packaged` asks for the real one.
Prints Markdown; ends with 1 if a charge is missing, or an asker grew by more than 2 MiB.
"""

import argparse
import multiprocessing
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.algorithms import Consensus
from discreet.generation.toy import ToyModel
from discreet.retrieval.documents import Document
from discreet.vault import Vault

CHOICES = ("x", "y")
GRANT = 1e6
PRICE = 0.01
FLAT = 2.0
"""MiB: what an asker may grow by in half of the time, of which the list of times here is a part."""


@dataclass(frozen=True)
class Asked:
    """What one process did.

    Attributes:
        answers: how many answers it got.
        epsilon: what their receipts add up to, with certainty.
        seconds: how long each took.
        memory: what it held, in MiB, in the second and in the last quarter of the time.
    """

    answers: int
    epsilon: float
    seconds: list[float]
    memory: tuple[float, float]


def ask(path: Path, number: int, seconds: float, packaged: bool) -> Asked:
    """Ask until the time is up."""
    vault = Vault.open(path)
    if not packaged:
        vault.model = ToyModel(["x", "y"], default="who knows", size=8)
    algorithm = Consensus(voters=5, epsilon=PRICE, choices=CHOICES, max_tokens=2)
    begun, paid, taken, held = time.monotonic(), 0.0, list[float](), list[tuple[float, float]]()
    while (at := time.monotonic() - begun) < seconds:
        start = time.perf_counter()
        answer = vault.ask(f"fever {number} {len(taken)}", algorithm)
        taken.append(time.perf_counter() - start)
        assert answer.receipt is not None
        paid += sum(float(charge.cost.curve[-1]) for charge in answer.receipt.charges)
        held.append((at, _memory()))
    quarters = [[m for at, m in held if low <= 4 * at / seconds < low + 1] for low in (1, 3)]
    second, last = (statistics.mean(found) if found else float("nan") for found in quarters)
    return Asked(len(taken), paid, taken, (second, last))


def _memory() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def made(path: Path, units: int, payment: str) -> Vault:
    """A vault of so many units."""
    vault = Vault.create(path, epsilon=GRANT, delta=1e-6, embedder="hashing", payment=payment, history=False)
    vault.add_documents(Document(f"d{n}", f"u{n}", f"fever {n % 9} say: {CHOICES[n % 2]} .") for n in range(units))
    return vault


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--askers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--payment", choices=["corpus", "unit"], default="corpus")
    parser.add_argument("--units", type=int, default=200)
    parser.add_argument("--packaged", action="store_true")
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vault"
        made(path, given.units, given.payment).store.close()
        with multiprocessing.get_context("spawn").Pool(given.askers) as pool:
            work = [(path, number, given.seconds, given.packaged) for number in range(given.askers)]
            done: Sequence[Asked] = pool.starmap(ask, work)
        vault = Vault.open(path)
        report, spent = vault.budget(), float(vault.ledger.spent().curve[-1])
    answers, paid = sum(one.answers for one in done), sum(one.epsilon for one in done)
    known = [question for question in report.questions if question.stopped is not None]
    taken = sorted(second for one in done for second in one.seconds)
    print(f"{given.askers} askers, {given.seconds:g} seconds, {given.units} units, paid by {given.payment}\n")
    print("| answers | in the ledger | receipts, epsilon | ledger, epsilon | median ms | p99 ms |\n|" + " --- |" * 6)
    middle, slow = 1000 * taken[len(taken) // 2], 1000 * taken[int(len(taken) * 0.99)]
    print(f"| {answers:,} | {len(known):,} | {paid:.4f} | {spent:.4f} | {middle:.0f} | {slow:.0f} |")
    print("\n| asker | MiB, second quarter | MiB, last quarter |\n| --- | --- | --- |")
    for number, one in enumerate(done):
        print(f"| {number} | {one.memory[0]:.1f} | {one.memory[1]:.1f} |")
    lost = answers != len(known) or abs(spent - paid) > 1e-6 * paid
    grown = max(one.memory[1] - one.memory[0] for one in done)
    print(f"\n{'A CHARGE IS MISSING.' if lost else 'No charge is missing.'} Grown by at most {grown:.1f} MiB.")
    return int(lost or grown > FLAT)


if __name__ == "__main__":
    sys.exit(main())

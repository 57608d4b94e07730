"""A vault under load: several processes ask at once, and every charge must be there afterwards."""

import argparse
import multiprocessing
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from discreet.config import read_config
from discreet.generation.toy import ToyModel
from discreet.ledger.ledger import LogLedger, open_ledger
from discreet.privacy.accounting import FilterState, Spending
from discreet.privacy.filter import Charge
from discreet.registry import Consensus
from discreet.retrieval.documents import Document
from discreet.vault import Vault
from discreet.vault.components import VaultComponents
from discreet_lab.experiments.common import add_csv_option, name_part, write_table

CHOICES = ("x", "y")
GRANT = 1e6
PRICE = 0.01
FLAT = 2.0
"""MiB: what an asker may grow by in half of the time, of which the list of times here is a part."""


Paid = tuple[int, int]
"""A sum of meters: of divergences at the finite order, and of failures. That of order infinity stops at its cap."""


class CountingLedger:
    """The vault's ledger, with a note of what units paid through this process."""

    def __init__(self, ledger: LogLedger) -> None:
        self._ledger, self._took_part = ledger, dict[tuple[str, int], int]()
        self.paid: Paid = (0, 0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def reserve(self, question: str, part: int, most: Spending, units: Sequence[bytes]) -> frozenset[bytes]:
        """Noted: how many take part."""
        admitted = self._ledger.reserve(question, part, most, units)
        self._took_part[question, part] = len(admitted)
        return admitted

    def settle(
        self, question: str, part: int, spent: Spending, charges: Sequence[Charge] = (), payers: int | None = None
    ) -> None:
        """Noted: what they paid."""
        self._ledger.settle(question, part, spent, charges, payers)
        count = self._took_part.pop((question, part), 0)
        self.paid = added(self.paid, self._ledger.budget.filter_state(spent), count)


def added(paid: Paid, state: FilterState, count: int) -> Paid:
    """A sum, and so many more of a state."""
    return paid[0] + count * state.curve, paid[1] + count * state.failures


@dataclass(frozen=True)
class AskerReport:
    """What one process did.

    Attributes:
        answers: how many answers it got.
        epsilon: what their receipts add up to, with certainty.
        paid: by how many units took part, times what each of them paid; only with `--defaults`.
        seconds: how long each took.
        memory: what it held, in MiB, in the second and in the last quarter of the time.
    """

    answers: int
    epsilon: float
    paid: Paid
    seconds: list[float]
    memory: tuple[float, float]


def ask(path: Path, number: int, seconds: float, packaged: bool, defaults: bool) -> AskerReport:
    """Ask until the time is up."""
    settings = read_config(path)
    counted = CountingLedger(open_ledger(path, settings))
    model = None if packaged else ToyModel(["x", "y"], default="who knows", size=8)
    vault = Vault(VaultComponents(path, settings, cast("LogLedger", counted), model))
    algorithm = None if defaults else Consensus(voters=5, epsilon=PRICE, choices=CHOICES, max_tokens=2)
    begun, paid, taken, held = time.monotonic(), 0.0, list[float](), list[tuple[float, float]]()
    while (at := time.monotonic() - begun) < seconds:
        start = time.perf_counter()
        answer = vault.ask(f"What is the treatment for fever {number} {len(taken)}?", algorithm)
        taken.append(time.perf_counter() - start)
        paid += 0.0 if answer.receipt is None else sum(float(each.cost.curve[-1]) for each in answer.receipt.charges)
        held.append((at, _memory()))
    quarters = [[m for at, m in held if low <= 4 * at / seconds < low + 1] for low in (1, 3)]
    second, last = (statistics.mean(found) if found else float("nan") for found in quarters)
    return AskerReport(len(taken), paid, counted.paid, taken, (second, last))


def _memory() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def made(path: Path, given: argparse.Namespace) -> Vault:
    """A vault of so many units."""
    if given.defaults:
        vault = Vault.create(path, epsilon=given.epsilon, delta=1e-6, embedder="hashing")
    else:
        vault = Vault.create(path, epsilon=GRANT, delta=1e-6, embedder="hashing", payment=given.payment, history=False)
    vault.add_documents(
        Document(f"d{n}", f"u{n}", f"fever {n % 9} say: {CHOICES[n % 2]} .") for n in range(given.units)
    )
    return vault


def asked(path: Path, given: argparse.Namespace) -> Sequence[AskerReport]:
    """What all askers did, at once."""
    with multiprocessing.get_context("spawn").Pool(given.askers) as pool:
        work = [(path, number, given.seconds, given.packaged, given.defaults) for number in range(given.askers)]
        return pool.starmap(ask, work)


def check_all_charged(vault: Vault, done: Sequence[AskerReport]) -> tuple[bool, str]:
    """Whether the ledger's total is that of all receipts; and both."""
    paid, spent = sum(one.epsilon for one in done), float(vault.ledger.spent().curve[-1])
    return abs(spent - paid) <= 1e-6 * paid, f"receipts {paid:.4f}, ledger {spent:.4f}"


def check_units_charged(vault: Vault, done: Sequence[AskerReport]) -> tuple[bool, str]:
    """Whether what units paid is what askers saw them pay, and nobody more than was granted; and both in words."""
    seen, kept, within = (0, 0), (0, 0), True
    for one in done:
        seen = seen[0] + one.paid[0], seen[1] + one.paid[1]
    for state, count in vault.ledger.unit_balances():
        kept = added(kept, state, count)
        within = within and vault.ledger.budget.admits_state(state)
    above = "nobody" if within else "SOMEBODY"
    return seen == kept and within, f"askers {seen[0] / 1e9:.9f}, ledger {kept[0] / 1e9:.9f}, {above} above the grant"


def load_vault(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> int:
    """A vault under load: several processes ask at once, and every charge must be there afterwards.

    Each asker is a process of its own on one vault, and asks one question after the other, each worded differently,
    by consensus among choices, which all units pay for. At the end the ledger must know every question, and its
    total must be the sum of all receipts. With --defaults the vault is one as `discreet init` makes it, of this
    budget: units pay by themselves, until they are exhausted, to the default algorithm, and what was released is
    remembered. At the end the ledger must know every question, and what all units paid must be what the askers saw
    them pay, to the last billionth.

    Memory: what each asker holds, as a mean of the second and of the last quarter of the time. The model is a toy
    that answers at once, so that the ledger has all the work, unless `--packaged` asks for the real one. Prints
    Markdown; ends with 1 if a charge is missing, or an asker grew by more than 2 MiB.
    """
    parser.add_argument("--askers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--payment", choices=["corpus", "unit"])
    parser.add_argument("--units", type=int, default=200)
    parser.add_argument("--packaged", action="store_true")
    parser.add_argument("--defaults", action="store_true")
    parser.add_argument("--epsilon", type=float, default=200.0)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    if given.defaults and given.payment:
        parser.error("--defaults: units pay by themselves there; leave --payment out.")
    given.payment = given.payment or "corpus"
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vault"
        made(path, given).store.close()
        done = asked(path, given)
        vault = Vault.open(path)
        by_units = given.defaults
        right, sums = (check_units_charged if by_units else check_all_charged)(vault, done)
        known = [question for question in vault.budget().questions if question.stopped is not None]
        history = path / "history.jsonl"
        remembered = len(history.read_text().splitlines()) if history.exists() else 0
    answers = sum(one.answers for one in done)
    taken = sorted(second for one in done for second in one.seconds)
    how = "a vault by default" if by_units else f"paid by {given.payment}"
    print(f"{given.askers} askers, {given.seconds:g} seconds, {given.units} units, {how}\n")
    middle, slow = 1000 * taken[len(taken) // 2], 1000 * taken[int(len(taken) * 0.99)]
    paid = "divergence, of all units" if by_units else "epsilon"
    columns = ["answers", "in the ledger", "released and remembered", paid, "median ms", "p99 ms"]
    row = [f"{answers:,}", f"{len(known):,}", str(remembered), sums, f"{middle:.0f}", f"{slow:.0f}"]
    write_table(columns, [row], given.csv)
    print()
    rows = [[str(number), *(f"{mib:.1f}" for mib in one.memory)] for number, one in enumerate(done)]
    write_table(["asker", "MiB, second quarter", "MiB, last quarter"], rows, name_part(given.csv, "memory"))
    lost = answers != len(known) or not right
    grown = max(one.memory[1] - one.memory[0] for one in done)
    print(f"\n{'A CHARGE IS MISSING.' if lost else 'No charge is missing.'} Grown by at most {grown:.1f} MiB.")
    return int(lost or grown > FLAT)

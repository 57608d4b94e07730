"""Who has paid what: the seam between a filter and the place where charges are kept.

A charge must be durable before noise is drawn: a crash may lose an answer, never an entry.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from discreet.errors import BudgetExhausted, LedgerError
from discreet.privacy.accounting import Budget, FilterState, Spending
from discreet.privacy.change import Change
from discreet.privacy.costs import Cost


@dataclass(frozen=True)
class Charge:
    """One payment.

    Attributes:
        question: id of the question that pays.
        number: position among the question's charges, from 0. (question, number) is charged once, however often
            it is asked for.
        mechanism: what ran, with its public parameters.
        change: what a neighbouring vault could alter in its input.
        cost: what it costs.
    """

    question: str
    number: int
    mechanism: str
    change: Change
    cost: Cost

    def describe(self) -> dict[str, object]:
        """The charge as plain data, for a receipt."""
        return {"mechanism": self.mechanism, "change": str(self.change), "cost": self.cost.describe()}


class Ledger(Protocol):
    """A record of charges against one budget, which every unit shares (corpus-wide payment)."""

    @property
    def budget(self) -> Budget:
        """What was granted, once and for all."""

    @property
    def simulation(self) -> bool:
        """Whether this is a copy for experiments, in which insecure noise is allowed."""

    def spent(self) -> Spending:
        """Everything charged so far."""

    def affords(self, extra: Spending) -> bool:
        """Whether `extra` could be charged now."""

    def charge(self, charge: Charge) -> bool:
        """Record a charge durably, or refuse it; nothing in between. Idempotent under (question, number).

        Returns whether it is new: False means that it was paid, and drawn for, before.

        Raises:
            BudgetExhausted: the sum would exceed the budget. Nothing was recorded.
            LedgerError: units pay by themselves here, or the ledger cannot be written. Nothing was recorded.
        """


APART = 1_000_000
"""Parts of a question from this number on have no unit in common: they cost any unit what the dearest of them does."""


class UnitLedger(Ledger, Protocol):
    """A ledger that also knows what single units have paid (per-unit payment; Feldman and Zrnic 2021).

    A unit is named by a key that tells nothing about it (a keyed hash). It has spent what everybody has (`spent`)
    and what it has paid by itself. Who can pay is decided for each unit by itself; nothing here may make it depend
    on another unit. What one unit has paid, and who was admitted, is private.

    A question pays in parts, each reserved at its ceiling before noise is drawn, and settled when it is over.
    """

    def reserve(self, question: str, part: int, most: Spending, units: Sequence[bytes]) -> frozenset[bytes]:
        """Have those of `units` pay `most` that can, durably. Returns them; the others pay nothing.

        Raises:
            LedgerError: this part of the question was reserved before, or the ledger cannot be written.
        """

    def payers(self, question: str, part: int) -> frozenset[bytes] | None:
        """The units that pay for a part that was reserved before; None if it was not, or everybody pays."""

    def reserve_all(self, question: str, part: int, most: Spending) -> frozenset[bytes]:
        """Have everybody pay `most`, durably, those included who join later. Returns the units that cannot.

        Raises:
            BudgetExhausted: not even a unit that never paid by itself could pay (public). Nothing was recorded.
            LedgerError: this part of the question was reserved before, or the ledger cannot be written.
        """

    def settle(self, question: str, part: int, spent: Spending, charges: Sequence[Charge] = ()) -> None:
        """Return to all who paid for a part what was reserved beyond `spent`; keep what was charged.

        `spent` must follow from released values alone. Settling again with the same `spent` changes nothing. It
        need not be durable: if it is lost, more counts as spent than was.

        Raises:
            LedgerError: the part was never reserved, was settled with another sum, or spent more than reserved.
        """

    def merge(self, pairs: Sequence[tuple[bytes, bytes]]) -> int:
        """Have what the first of each pair of units paid count as paid by the second; durably, all or none.

        The first is a name that no unit has any more: its balance is moved, and what it paid for can still be
        settled. Merging again changes nothing. Returns how many balances were moved.
        """

    def unit_balances(self) -> Sequence[tuple[FilterState, int]]:
        """What units have paid by themselves: (reading, how many units have it), for those that paid anything.

        For the custodian alone.
        """


class MemoryLedger:
    """A ledger that forgets, for tests and simulations. Knows units, too."""

    def __init__(self, budget: Budget, *, simulation: bool = True) -> None:
        self.budget = budget
        self.simulation = simulation
        self.charges: dict[tuple[str, int], Charge] = {}
        self._spent = Spending.nothing()
        self._units: dict[bytes, FilterState] = {}
        self._parts: dict[tuple[str, int], _Part] = {}
        self._merged: dict[bytes, bytes] = {}

    def spent(self) -> Spending:
        """Everything charged so far."""
        return self._spent

    def affords(self, extra: Spending) -> bool:
        """Whether `extra` could be charged now."""
        return self.budget.admits(self._spent + extra)

    def charge(self, charge: Charge) -> bool:
        """Record a charge, or refuse it."""
        key = (charge.question, charge.number)
        if key in self.charges:
            if Spending.of(self.charges[key].cost) != Spending.of(charge.cost):
                raise LedgerError("This charge was recorded before with another cost. Nothing was released.")
            return False
        if any(part.paying is not None for part in self._parts.values()):
            raise units_pay()
        total = self._spent + Spending.of(charge.cost)
        if not self.budget.admits(total):
            raise exhausted(self.budget, self._spent, total)
        self.charges[key], self._spent = charge, total
        return True

    def reserve(self, question: str, part: int, most: Spending, units: Sequence[bytes]) -> frozenset[bytes]:
        """Have those of `units` pay that can."""
        self._new(question, part)
        cost = self.budget.filter_state(most)
        everybody = self.budget.filter_state(self._spent) + cost
        able = (u for u in units if self.budget.admits_state(everybody + self._units.get(u, FilterState())))
        paying = frozenset(unit for unit in able if unit not in self._merged)
        for unit in paying:
            self._units[unit] = self._units.get(unit, FilterState()) + cost
        self._parts[question, part] = _Part(most, paying)
        return paying

    def payers(self, question: str, part: int) -> frozenset[bytes] | None:
        """Who pays for a part that was reserved."""
        held = self._parts.get((question, part))
        return frozenset(map(self._current, held.paying)) if held and held.paying is not None else None

    def reserve_all(self, question: str, part: int, most: Spending) -> frozenset[bytes]:
        """Have everybody pay."""
        self._new(question, part)
        total = self._spent + most
        if not self.budget.admits(total):
            raise exhausted(self.budget, self._spent, total)
        self._spent = total
        self._parts[question, part] = _Part(most, None)
        everybody = self.budget.filter_state(total)
        return frozenset(u for u, own in self._units.items() if not self.budget.admits_state(everybody + own))

    def settle(self, question: str, part: int, spent: Spending, charges: Sequence[Charge] = ()) -> None:
        """Return what was reserved and not spent."""
        held = self._parts.get((question, part))
        if held is None:
            raise never_reserved(question, part)
        check_settlement(held.most, held.spent, spent)
        if held.spent is not None:
            return
        held.spent = spent
        if held.paying is None:
            self._spent = self._spent - held.most + spent
        else:
            back = self.budget.filter_state(held.most) - self.budget.filter_state(spent)
            for unit in map(self._current, held.paying):
                self._units[unit] = self._units[unit] - back

    def merge(self, pairs: Sequence[tuple[bytes, bytes]]) -> int:
        """Have what the first of each pair paid count as paid by the second."""
        moved = 0
        for old, new in pairs:
            if old != new and old in self._units:
                self._units[new] = self._units.get(new, FilterState()) + self._units.pop(old)
                self._merged = {one: new if now == old else now for one, now in self._merged.items()} | {old: new}
                moved += 1
        return moved

    def _current(self, unit: bytes) -> bytes:
        return self._merged.get(unit, unit)

    def unit_balances(self) -> list[tuple[FilterState, int]]:
        """What units have paid by themselves."""
        return list(Counter(self._units.values()).items())

    def _new(self, question: str, part: int) -> None:
        if (question, part) in self._parts:
            raise reserved_before(question, part)


@dataclass
class _Part:
    most: Spending
    paying: frozenset[bytes] | None  # None: everybody
    spent: Spending | None = None


def check_settlement(most: Spending, settled: Spending | None, spent: Spending) -> None:
    """Refuse to settle a part with more than was reserved, or with another sum than before."""
    if not spent.within(most):
        raise LedgerError("More was spent than reserved. Nothing was returned.")
    if settled is not None and settled != spent:
        raise LedgerError("This part was settled before with another sum. Nothing was changed.")


def units_pay() -> LedgerError:
    """The refusal to charge everybody without asking who can pay, once single units have been asked to (public)."""
    return LedgerError("Units pay by themselves in this vault. Nothing was charged or released; open it again.")


def reserved_before(question: str, part: int) -> LedgerError:
    """The refusal of a reservation that was made before: drawing again for it would average the noise away."""
    return LedgerError(f"Part {part} of the question {question} was reserved before. Ask a new question.")


def never_reserved(question: str, part: int) -> LedgerError:
    """The refusal to settle what was not reserved."""
    return LedgerError(f"Part {part} of the question {question} was never reserved, so it cannot be settled.")


def exhausted(budget: Budget, spent: Spending, total: Spending) -> BudgetExhausted:
    """The refusal of a charge that would bring `spent` to `total`."""
    left, asked = budget.left(spent), budget.spent(total) - budget.spent(spent)
    return BudgetExhausted(
        f"The budget cannot pay: epsilon {asked:.4g} was asked, {left:.4g} of {budget.epsilon:.4g} is left.",
        asked=asked,
        left=left,
    )

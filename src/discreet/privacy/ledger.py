"""The interface between a filter and the record of charges.

A charge must be durable before noise is drawn. A crash may lose an answer, but never an entry.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from discreet.errors import BudgetExhausted, LedgerError
from discreet.privacy.accounting import Budget, FilterState, Spending
from discreet.privacy.costs import Cost
from discreet.privacy.private import Change
from discreet.privacy.transcript import Transcript


@dataclass(frozen=True)
class Charge:
    """One payment.

    Attributes:
        question: the id of the question that pays.
        number: the rank among the question's charges, from 0. (question, number) is charged once, regardless of the
            number of requests.
        mechanism: the mechanism that ran, with its public parameters.
        change: the change that a neighbouring vault could make to its input.
        cost: the cost of the draw.
    """

    question: str
    number: int
    mechanism: str
    change: Change
    cost: Cost

    def describe(self) -> dict[str, object]:
        """Return the charge as plain data, for a receipt."""
        return {"mechanism": self.mechanism, "change": str(self.change), "cost": self.cost.describe()}


class Ledger(Protocol):
    """A record of charges against one budget that all units share (corpus-wide payment)."""

    @property
    def budget(self) -> Budget:
        """The grant; it never changes."""

    @property
    def simulation(self) -> bool:
        """Whether this is a copy for experiments, in which insecure noise is allowed."""

    def spent(self) -> Spending:
        """Return the sum of all charges so far."""

    def affords(self, extra: Spending) -> bool:
        """Return whether `extra` could be charged now."""

    def charge(self, charge: Charge) -> bool:
        """Record a charge durably, or refuse it, atomically. The call is idempotent under (question, number).

        Return whether the charge is new. False means that it was paid, and perhaps drawn, before.

        Raises:
            BudgetExhausted: if the sum would exceed the budget. Nothing was recorded.
            LedgerError: if units pay individually in this vault, or the ledger cannot be written. Nothing was recorded.
        """


APART = 1_000_000
"""Parts with this number or a larger one have no unit in common. They cost any unit as much as the dearest of them."""


class UnitLedger(Ledger, Protocol):
    """A ledger that also records the payments of single units (per-unit payment; Feldman and Zrnic 2021).

    A unit is named by a keyed hash, which reveals nothing about the unit. Its spending is the common spending of all
    units (`spent`) plus its own payments. Each unit's ability to pay is decided by its own balance alone. No operation
    may make it depend on another unit. The payments of one unit, and the set of admitted units, are private.

    A question pays in parts. Each part is reserved at its ceiling before noise is drawn, and settled when the question
    is over.
    """

    def reserve(self, question: str, part: int, most: Spending, units: Sequence[bytes]) -> frozenset[bytes]:
        """Charge `most` durably to those of `units` that can pay it. Return them; the others pay nothing.

        Raises:
            LedgerError: if this part of the question was reserved before, or the ledger cannot be written.
        """

    def unable(self, question: str, part: int) -> int | None:
        """Return how many units at most could not pay when this process reserved a part: public (`Transcript`).

        None: it may be any number, or is not known any more.
        """

    def payers(self, question: str, part: int) -> frozenset[bytes] | None:
        """Return the units that pay for a part that was reserved before; None if it was not, or every unit pays."""

    def reserve_all(self, question: str, part: int, most: Spending) -> frozenset[bytes]:
        """Charge `most` durably to all units, also to those added later. Return the units that cannot pay.

        Raises:
            BudgetExhausted: if even a unit without payments of its own could not pay (public). Nothing was recorded.
            LedgerError: if this part of the question was reserved before, or the ledger cannot be written.
        """

    def settle(
        self, question: str, part: int, spent: Spending, charges: Sequence[Charge] = (), payers: int | None = None
    ) -> None:
        """Return to all payers of a part the reserved amount beyond `spent`, and record the charges.

        `spent` and `payers`, the most units that paid, must follow from released values alone. A second call with the
        same `spent` changes nothing. The call need not be durable: if it is lost, the ledger counts too much as spent,
        never too little.

        Raises:
            LedgerError: if the part was never reserved, was settled with another sum, or spent more than reserved.
        """

    def merge(self, pairs: Sequence[tuple[bytes, bytes]]) -> int:
        """Move the payments of the first of each pair of units to the second, durably and atomically.

        The first is a name that no unit has any more. Its parts can still be settled. A second call with the same pairs
        changes nothing. Return the number of moved balances.
        """

    def unit_balances(self) -> Sequence[tuple[FilterState, int]]:
        """Return the filter states of units with payments of their own: (state, number of units with it).

        The result is for the custodian alone.
        """


class MemoryLedger:
    """A ledger in memory, for tests and simulations. It supports per-unit payment, too."""

    def __init__(self, budget: Budget, *, simulation: bool = True) -> None:
        self.budget = budget
        self.simulation = simulation
        self.charges: dict[tuple[str, int], Charge] = {}
        self._spent = Spending.nothing()
        self._units: dict[bytes, FilterState] = {}
        self._parts: dict[tuple[str, int], _Part] = {}
        self._merged: dict[bytes, bytes] = {}
        self._transcript, self._unable = Transcript(), dict[tuple[str, int], int | None]()

    def spent(self) -> Spending:
        """Return the sum of all charges so far."""
        return self._spent

    def affords(self, extra: Spending) -> bool:
        """Return whether `extra` could be charged now."""
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
        """Charge those of `units` that can pay; return them."""
        self._new(question, part)
        cost = self.budget.filter_state(most)
        common = self.budget.filter_state(self._spent) + cost
        able = (u for u in units if self.budget.admits_state(common + self._units.get(u, FilterState())))
        paying = frozenset(unit for unit in able if unit not in self._merged)
        for unit in paying:
            self._units[unit] = self._units.get(unit, FilterState()) + cost
        self._parts[question, part] = _Part(most, paying)
        self._unable[question, part] = self._transcript.unable(self.budget.limit, common)
        self._transcript.reserve(cost)
        return paying

    def unable(self, question: str, part: int) -> int | None:
        """Return how many units at most could not pay when a part was reserved."""
        return self._unable.pop((question, part), None)

    def payers(self, question: str, part: int) -> frozenset[bytes] | None:
        """Return the units that pay for a part that was reserved."""
        held = self._parts.get((question, part))
        return frozenset(map(self._current, held.paying)) if held and held.paying is not None else None

    def reserve_all(self, question: str, part: int, most: Spending) -> frozenset[bytes]:
        """Charge all units; return those that cannot pay."""
        self._new(question, part)
        total = self._spent + most
        if not self.budget.admits(total):
            raise exhausted(self.budget, self._spent, total)
        self._spent = total
        self._parts[question, part] = _Part(most, None)
        common = self.budget.filter_state(total)
        return frozenset(u for u, own in self._units.items() if not self.budget.admits_state(common + own))

    def settle(
        self, question: str, part: int, spent: Spending, charges: Sequence[Charge] = (), payers: int | None = None
    ) -> None:
        """Return the reserved amount that was not spent."""
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
            self._transcript.settle(self.budget.filter_state(held.most), self.budget.filter_state(spent), payers)
            back = self.budget.filter_state(held.most) - self.budget.filter_state(spent)
            for unit in map(self._current, held.paying):
                self._units[unit] = self._units[unit] - back

    def merge(self, pairs: Sequence[tuple[bytes, bytes]]) -> int:
        """Move the payments of the first of each pair to the second; return the number of moved balances."""
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
        """Return the filter states of units, with the number of units in each state."""
        return list(Counter(self._units.values()).items())

    def _new(self, question: str, part: int) -> None:
        if (question, part) in self._parts:
            raise reserved_before(question, part)


@dataclass
class _Part:
    most: Spending
    paying: frozenset[bytes] | None  # None: every unit pays
    spent: Spending | None = None


def check_settlement(most: Spending, settled: Spending | None, spent: Spending) -> None:
    """Refuse to settle a part with more than was reserved, or with another sum than before.

    Raises:
        LedgerError: if the settlement is refused.
    """
    if not spent.within(most):
        raise LedgerError("More was spent than reserved. Nothing was returned.")
    if settled is not None and settled != spent:
        raise LedgerError("This part was settled before with another sum. Nothing was changed.")


def units_pay() -> LedgerError:
    """Return the error for a charge to all units after single units were charged. The reason is public."""
    return LedgerError(
        "Units pay individually in this vault, so one charge cannot cover them all. Nothing was charged or released."
    )


def reserved_before(question: str, part: int) -> LedgerError:
    """Return the error for a second reservation of a part. A second draw for it would average the noise away."""
    return LedgerError(f"Part {part} of the question {question} was reserved before. Ask a new question.")


def never_reserved(question: str, part: int) -> LedgerError:
    """Return the error for settling a part that was not reserved."""
    return LedgerError(f"Part {part} of the question {question} was never reserved, so it cannot be settled.")


class CeilingReached(BudgetExhausted):
    """A release beyond what its question declared. It is a fault of the algorithm: the vault's budget may be ample.

    Attributes:
        drawn: the cost of the question's draws, with the refused one.
        declared: what the question reserved for them; None if its ceiling refused.
    """

    def __init__(self, budget: Budget, spent: Spending, drawn: Spending, declared: Spending | None = None) -> None:
        most = budget.epsilon if declared is None else budget.spent(declared)
        super().__init__(
            f"The question's own budget cannot pay: its draws cost epsilon {budget.spent(drawn):.4g}, and epsilon "
            f"{most:.4g} is declared for them. Declare in the plan what is drawn.",
            asked=budget.spent(drawn) - budget.spent(spent),
            left=max(0.0, most - budget.spent(spent)),
        )
        self.drawn, self.declared = drawn, declared


def exhausted(budget: Budget, spent: Spending, total: Spending) -> BudgetExhausted:
    """Return the error for a charge that would raise `spent` to `total`."""
    left, asked = budget.left(spent), budget.spent(total) - budget.spent(spent)
    return BudgetExhausted(
        f"The budget cannot pay: epsilon {asked:.4g} was asked, {left:.4g} of {budget.epsilon:.4g} is left.",
        asked=asked,
        left=left,
    )


class Reservation:
    """The amount reserved for a part of a question, as the ledger of the filter that spends it.

    Attributes:
        payers: the most units that paid it, if a release tells.
    """

    def __init__(self, most: Spending, budget: Budget, *, simulation: bool) -> None:
        self.most, self.budget, self.simulation = most, budget, simulation
        self.charges: list[Charge] = []
        self.payers: int | None = None
        self._spent = Spending.nothing()

    def spent(self) -> Spending:
        """Return the sum of all charges so far."""
        return self._spent

    def kept(self) -> Spending:
        """Return the amount that counts as spent after settlement.

        It is more than was charged if the reservation was capped.
        """
        return self.most - (self.most - self._spent)

    def affords(self, extra: Spending) -> bool:
        """Return whether `extra` is left of the reserved amount."""
        return (self._spent + extra).within(self.most)

    def charge(self, charge: Charge) -> bool:
        """Take a charge out of the reservation, which is durable already.

        Raises:
            LedgerError: if the charge is out of order.
            CeilingReached: if the reserved amount is too small.
        """
        if charge.number != len(self.charges):
            raise LedgerError(
                f"Charge {charge.number} is out of order; {len(self.charges)} was expected. Nothing was released."
            )
        total = self._spent + Spending.of(charge.cost)
        if not total.within(self.most):
            raise CeilingReached(self.budget, self._spent, total, self.most)
        self.charges.append(charge)
        self._spent = total
        return True

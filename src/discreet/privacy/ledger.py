"""Who has paid what: the seam between a filter and the place where charges are kept.

A charge must be durable before noise is drawn: a crash may lose an answer, never an entry.
"""

from dataclasses import dataclass
from typing import Protocol

from discreet.errors import BudgetExhausted, LedgerError
from discreet.privacy.accounting import Budget, Spending
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

    def charge(self, charge: Charge) -> bool:
        """Record a charge durably, or refuse it; nothing in between. Idempotent under (question, number).

        Returns whether it is new: False means that it was paid, and drawn for, before.

        Raises:
            BudgetExhausted: the sum would exceed the budget. Nothing was recorded.
            LedgerError: the ledger cannot be written. Nothing was recorded.
        """


class MemoryLedger:
    """A ledger that forgets, for tests and simulations."""

    def __init__(self, budget: Budget, *, simulation: bool = True) -> None:
        self.budget = budget
        self.simulation = simulation
        self.charges: dict[tuple[str, int], Charge] = {}
        self._spent = Spending.nothing()

    def spent(self) -> Spending:
        """Everything charged so far."""
        return self._spent

    def charge(self, charge: Charge) -> bool:
        """Record a charge, or refuse it."""
        key = (charge.question, charge.number)
        if key in self.charges:
            if Spending.of(self.charges[key].cost) != Spending.of(charge.cost):
                raise LedgerError("This charge was recorded before with another cost. Nothing was released.")
            return False
        total = self._spent + Spending.of(charge.cost)
        if not self.budget.admits(total):
            raise exhausted(self.budget, self._spent, total)
        self.charges[key], self._spent = charge, total
        return True


def exhausted(budget: Budget, spent: Spending, total: Spending) -> BudgetExhausted:
    """The refusal of a charge that would bring `spent` to `total`."""
    left, asked = budget.left(spent), budget.spent(total) - budget.spent(spent)
    return BudgetExhausted(
        f"The budget cannot pay: epsilon {asked:.4g} was asked, {left:.4g} of {budget.epsilon:.4g} is left.",
        asked=asked,
        left=left,
    )

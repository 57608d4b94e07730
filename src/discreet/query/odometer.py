"""What questions may have cost any one unit at most: from receipts and the grant alone, so that it is public.

What one unit has paid is private. What a question cost a unit that took part in it is on its receipt; a unit that took
part in all of them paid the sum, and no unit paid more.

A unit is what had one name when a question was asked. Two names that turn out later to be one unit (a vault of an older
version is opened, `ledger.merging`) have two balances, which are added up. The odometer does not follow: which names
fell together is private.
"""

from dataclasses import dataclass
from typing import Any

from discreet.algorithms.common.answer import UnitCost
from discreet.algorithms.common.plan import Plan
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.filter import Receipt

_MANY = 10_000


@dataclass(frozen=True)
class Odometer:
    """What some questions together may have cost any one unit, under a grant.

    Attributes:
        budget: what was granted.
        spending: the sum of what the questions cost a unit that took part in all of them.
        questions: how many they are.
    """

    budget: Budget
    spending: Spending
    questions: int

    @property
    def epsilon(self) -> float:
        """The epsilon that any one unit may have paid at most; no unit pays more than the grant."""
        return min(self.budget.epsilon, self.budget.spent(self.spending))

    def describe(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"epsilon": self.epsilon, "granted": self.budget.epsilon, "questions": self.questions}


def unit_cost(budget: Budget, receipt: Receipt | None, uses: int | None) -> UnitCost | None:
    """Return what one answer may have cost any one unit; None if it has no guarantee.

    Args:
        budget: the grant.
        receipt: of the answer.
        uses: in how many such questions one unit can take part at least.
    """
    if receipt is None or not receipt.private:
        return None
    spent = budget.spent(receipt.spending) if receipt.spending is not None else receipt.epsilon
    return UnitCost(min(budget.epsilon, spent), budget.epsilon, uses)


def times(budget: Budget, spent: Spending, plan: Plan | None) -> int | None:
    """Return in how many questions of this plan one unit can take part at least, from its first one on.

    Args:
        budget: the grant.
        spent: what every unit has paid, whatever it took part in.
        plan: what such a question may cost; some may cost less. None: it costs nothing, and there is no limit.
    """
    if plan is None:
        return None
    low, high = 0, _MANY
    while high > low:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if budget.admits(spent + plan.max_cost.times(middle)) else (low, middle - 1)
    return low

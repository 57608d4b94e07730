"""The odometer: the most that questions may have cost any one unit. It is public: it depends on receipts and the grant.

The payments of one unit are private. The receipt of a question has its cost to a unit that took part. A unit that took
part in all questions paid the sum, and no unit paid more.

A unit is defined by its name at the time of a question. If two names become one unit later (the custodian joins them,
`ledger.merging`), their balances are added. The odometer does not change then, since the merged names are private.
"""

from dataclasses import dataclass
from typing import Any

from discreet.algorithms.common.algorithm import Plan, UnitCost
from discreet.privacy.accounting import Budget, Spending, how_many
from discreet.privacy.filter import Receipt
from discreet.query.words import percent

_MANY = 10_000


@dataclass(frozen=True)
class Odometer:
    """The most that some questions together may have cost any one unit, under a grant.

    Attributes:
        budget: the grant.
        spending: the total cost of the questions to a unit that took part in all of them.
        questions: the number of questions.
    """

    budget: Budget
    spending: Spending
    questions: int

    @property
    def epsilon(self) -> float:
        """The most that any one unit may have paid, epsilon; it is never above the grant."""
        return min(self.budget.epsilon, self.budget.spent(self.spending))

    @property
    def part(self) -> float:
        """The part of the grant that any one unit has used up at most."""
        return min(1.0, self.budget.part(self.spending))

    def __str__(self) -> str:
        questions = f"{self.questions:,} question{'' if self.questions == 1 else 's'}"
        paid = f"each unit paid at most epsilon {self.epsilon:.4g} of {self.budget.epsilon:g}"
        return f"{questions} so far: {paid}, {percent(self.part)} of the grant"

    def describe(self) -> dict[str, Any]:
        """Return the odometer as plain data."""
        return {
            "epsilon": self.epsilon,
            "granted": self.budget.epsilon,
            "part": self.part,
            "questions": self.questions,
        }


def unit_cost(budget: Budget, receipt: Receipt | None, uses: int | None) -> UnitCost | None:
    """Return the most that one answer may have cost any one unit; None if it has no guarantee.

    Args:
        budget: the grant.
        receipt: the receipt of the answer.
        uses: the least number of such questions in which one unit can take part.
    """
    if receipt is None or not receipt.private:
        return None
    # At the order of the grant, and at that of the question's own ceiling: both are fixed before any draw.
    spent = budget.spent(receipt.spending) if receipt.spending is not None else receipt.epsilon
    own = receipt.epsilon if receipt.delta <= budget.delta else spent
    return UnitCost(min(budget.epsilon, spent, own), budget.epsilon, uses)


def times(budget: Budget, spent: Spending, plan: Plan | None) -> int | None:
    """Return the least number of questions of this plan in which one unit can take part, from its first one on.

    Args:
        budget: the grant.
        spent: the payments that all units share.
        plan: the highest cost of such a question. None: it costs nothing, and there is no limit.
    """
    if plan is None:
        return None
    return how_many(lambda count: budget.admits(spent + plan.max_cost.times(count)), _MANY)

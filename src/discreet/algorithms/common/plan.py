"""The most that a question may cost, known before it starts."""

import math
from dataclasses import dataclass
from functools import cached_property

from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Cost

ANY_VOCABULARY = 1000
"""A vocabulary size for plans without a model: no cost depends on it."""


@dataclass(frozen=True)
class Plan:
    """The most that a question may cost: public.

    Attributes:
        ceiling: the question's own budget.
        round: the cost of one private token, or of the whole answer.
        rounds: the number of rounds that the ceiling pays for.
        selection: the cost of the selection of units, before the first round; None if it costs nothing.
    """

    ceiling: Budget
    round: Cost
    rounds: int
    selection: Cost | None = None

    @cached_property
    def max_cost(self) -> Spending:
        """The most that the question can spend."""
        return self.generation_cost + self.selection_cost

    def price(self, grant: Budget) -> float:
        """Return the most that the question costs by itself, epsilon: at the order of the grant, or of its ceiling.

        Both are fixed before any draw.
        """
        alone = self.ceiling.spent(self.max_cost) if self.ceiling.delta <= grant.delta else math.inf
        return min(grant.spent(self.max_cost), alone)

    @cached_property
    def selection_cost(self) -> Spending:
        """The cost of the selection of units."""
        return Spending.of(self.selection) if self.selection else Spending.nothing()

    @cached_property
    def generation_cost(self) -> Spending:
        """The most that all rounds can cost."""
        return Spending.of(self.round, self.rounds)

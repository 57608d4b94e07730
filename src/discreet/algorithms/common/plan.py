"""The most that a question may cost, known before it starts."""

from dataclasses import dataclass

from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Cost, Pure

ANY_VOCABULARY = 1000
"""A vocabulary size for plans without a model: no cost depends on it."""


@dataclass(frozen=True)
class Plan:
    """The most that a question may cost: public.

    Attributes:
        ceiling: the question's own budget.
        round: the cost of one private token, or of the whole answer.
        rounds: the number of rounds that the ceiling pays for.
        selection_epsilon: the pure epsilon that the selection of units costs, before the first round.
    """

    ceiling: Budget
    round: Cost
    rounds: int
    selection_epsilon: float = 0.0

    @property
    def max_cost(self) -> Spending:
        """The most that the question can spend."""
        selection = self.selection_epsilon
        return self.generation_cost + (Spending.of(Pure(selection)) if selection else Spending.nothing())

    @property
    def generation_cost(self) -> Spending:
        """The most that all rounds can cost."""
        return Spending.of(self.round, self.rounds)

"""An algorithm: the number of units that are similar to the question, with noise."""

from dataclasses import dataclass
from typing import ClassVar

from discreet import (
    Account,
    Algorithm,
    AlgorithmSpec,
    Budget,
    GeneratedAnswer,
    Input,
    Payment,
    Plan,
    Query,
    UsageError,
)
from discreet.models.protocol import VotingModel
from discreet.privacy.accounting import Spending, budget_for
from discreet.privacy.costs import Pure
from discreet.privacy.mechanisms.counting import NoisyCount
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.store.sealed_corpus import SealedCorpus


@dataclass(frozen=True)
class NearbyUnits(Algorithm):
    """Counts the units that are similar to the question, with noise.

    Attributes:
        epsilon: what the count costs every unit.
        similarity: a unit is counted if its best passage is at least this similar to the question; public.
    """

    name: ClassVar[str] = "nearby-units"
    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.EVERY_UNIT, inputs=frozenset({Input.PASSAGES}))

    epsilon: float = 1.0
    similarity: float = 0.3

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= 100:
            raise UsageError(f"epsilon is a number above 0 and at most 100, not {self.epsilon}.")

    @property
    def cost(self) -> Pure:
        """What the count costs a unit."""
        return Pure(self.epsilon)

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        """Return the cost of one count."""
        if not budget.admits(Spending.of(self.cost)):
            raise UsageError(f"The budget {budget.epsilon:g} cannot pay epsilon {self.epsilon:g}. Give a smaller one.")
        return Plan(budget_for(self.cost, self.epsilon, budget.delta), self.cost, 1)

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Charge every unit, count those that pay, and release the count."""
        paying = account.charge_every_unit(Spending.of(self.cost))
        near = paying.among(corpus.above(query.text, self.similarity)).map(lambda _: True)
        number = paying.paid.release(NoisyCount.calibrated(self.epsilon, ADD_REMOVE_ONE), near)
        return GeneratedAnswer(str(number), "end", tokens=1, private_tokens=1)

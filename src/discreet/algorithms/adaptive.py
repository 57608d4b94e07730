"""Adaptive: as many voters for a question as there are units near it.

The future work of DP-KSA (Tang et al. 2026, Section 7: "a more adaptive scheme for selecting the number of ensembles").
The units above a public similarity are counted, with noise; a unit is there or not, so it moves the count by one.
The noisy count is public; another algorithm then answers with so many voters. Every unit pays for both. Units that
cannot pay are neither counted nor read.

A noisy count, rather than a selection among the numbers with scores -|count - n|: at the same scale both cost the
same zCDP, and the count half the pure epsilon (privacy-spec, parts 1 and 8).
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Self

from discreet.algorithms.common.algorithm import Algorithm, Guarantee, Query
from discreet.algorithms.common.answer import GeneratedAnswer
from discreet.algorithms.common.ensemble import RoundBudget, VoterEnsemble, calibrate_to_epsilon
from discreet.algorithms.common.plan import Plan
from discreet.algorithms.consensus import Consensus
from discreet.errors import UsageError
from discreet.generation.capabilities import Capability
from discreet.generation.model import LanguageModel
from discreet.privacy.account import Account, Payment
from discreet.privacy.accounting import Budget
from discreet.privacy.mechanisms.counting import NoisyCount
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.retrieval.sealed_corpus import SealedCorpus

COUNT_SHARE = 0.1
"""The count's part of a question's epsilon: noise of scale 10/epsilon, small beside steps of 20 voters.

Of a consensus it is a tenth of the epsilon; of dp-ksa about a fifth of the zCDP.
"""


@dataclass(frozen=True, kw_only=True)
class Adaptive(Algorithm):
    """Parameters.

    Attributes:
        inner: how the question is answered, and what it may cost with the count. Its own `voters` are not used.
        similarity: a unit is counted if its best passage is at least so similar to the question: public.
        numbers: the numbers of voters to choose from: public.
    """

    name: ClassVar[str] = "adaptive"
    guarantee: ClassVar[Guarantee] = Guarantee.DP
    payment: ClassVar[Payment] = Payment.EVERY_UNIT
    decides: ClassVar[frozenset[str]] = frozenset({"voters"})

    inner: VoterEnsemble = field(default_factory=Consensus)
    similarity: float = 0.32
    numbers: tuple[int, ...] = (20, 40, 60, 80)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", tuple(sorted(set(self.numbers))))  # a list will do
        if not self.numbers:
            raise UsageError("There is at least one number of voters to choose from. Try 20, 40, 60 and 80.")
        if not -1 <= self.similarity <= 1:
            raise UsageError(f"A similarity lies between -1 and 1, not {self.similarity}.")
        for number in self.numbers:
            self.having(number)  # refuses what would be refused after the count was paid

    @property
    def epsilon(self) -> float:
        """What the question may cost in all."""
        return self.inner.epsilon

    @property
    def count(self) -> NoisyCount:
        """How the units near the question are counted."""
        return NoisyCount.calibrated(COUNT_SHARE * self.epsilon, ADD_REMOVE_ONE)

    def having(self, voters: int) -> VoterEnsemble:
        """What answers with so many voters."""
        return replace(self.inner, voters=voters)

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        """Return the most that a question may cost: the count, and the answer. The number of voters changes neither."""
        rounds = self.calibrate(budget, vocabulary)
        self.having(self.numbers[-1]).check(rounds)
        return rounds.plan

    def calibrate(self, budget: Budget, vocabulary: int) -> RoundBudget:
        """Split what the count leaves of the total into rounds."""
        return calibrate_to_epsilon(self.inner, self.inner.delta or budget.delta, vocabulary, 1 / self.count.scale)

    def scaled_to(self, epsilon: float) -> Self:
        """Return the same algorithm for a question of `epsilon`, with rounds as precise as that allows."""
        return replace(self, inner=self.inner.scaled_to(epsilon))

    def prepare(self, question: str, model: LanguageModel) -> None:
        """Check that the generation can answer."""
        self.inner.prepare(question, model)

    @property
    def required(self) -> frozenset[Capability]:
        """What the generation requires."""
        return self.inner.required

    @property
    def public_choices(self) -> tuple[str, ...]:
        """Those of the generation."""
        return self.inner.public_choices

    @property
    def releases_shares(self) -> bool:
        """Whether the generation does."""
        return self.inner.releases_shares

    def number(self, counted: int) -> int:
        """The number of voters nearest to what was counted; the smaller of two."""
        return min(self.numbers, key=lambda number: abs(number * self.inner.units_per_voter - counted))

    def run(self, query: Query, corpus: SealedCorpus, model: LanguageModel, account: Account) -> GeneratedAnswer:
        """Count, choose a number of voters, and have so many answer."""
        rounds = self.calibrate(account.budget, model.vocabulary_size)
        paying = account.charge_every_unit(rounds.plan.max_cost)
        near = paying.among(corpus.above(query.text, self.similarity)).map(lambda _: True)
        answering = self.having(self.number(paying.paid.release(self.count, near)))
        nearest = paying.nearest(partial(corpus.nearest, query.text), answering.units_read)
        documents = corpus.partition_to_voters(nearest, answering.voters, answering.units_per_voter)
        return answering.respond(query.text, documents, model, paying.paid, rounds, query.public)

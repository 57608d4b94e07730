"""Adaptive: as many voters for a question as there are units near it.

The future work of DP-KSA (Tang et al. 2026, Section 7: "a more adaptive scheme for selecting the number of ensembles").
The units above a public similarity are counted, with noise; a unit is there or not, so it moves the count by one. From
then on the number of voters is public, and another algorithm answers with so many. Everybody pays for both.

A noisy count, rather than a selection among the numbers with scores -|count - n|: at the same scale both cost the
same zCDP, and the count half the pure epsilon (privacy-spec, parts 1 and 8).
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar

from discreet.algorithms.answer import Draft, Plan
from discreet.algorithms.consensus import Consensus
from discreet.algorithms.ensemble import Ensemble, Rounds, split_total
from discreet.errors import UsageError
from discreet.generation.model import LanguageModel
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.individual import PRESENCE
from discreet.privacy.mechanisms.counting import NoisyCount
from discreet.retrieval.retriever import Corpus

COUNT_SHARE = 0.1
"""The count's part of a question's epsilon: noise of scale 10/epsilon, small beside steps of 20 voters.

Of a consensus it is a tenth of the epsilon; of dp-ksa about a fifth of the zCDP.
"""


@dataclass(frozen=True, kw_only=True)
class Adaptive:
    """Parameters.

    Attributes:
        inner: how the question is answered, and what it may cost with the count. Its own `voters` are not used.
        similarity: a unit is counted if its best passage is at least so similar to the question: public.
        numbers: the numbers of voters to choose from: public.
    """

    name: ClassVar[str] = "adaptive"
    private: ClassVar[bool] = True

    inner: Ensemble = field(default_factory=Consensus)
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
        return NoisyCount.calibrated(COUNT_SHARE * self.epsilon, PRESENCE)

    def having(self, voters: int) -> Ensemble:
        """What answers with so many voters."""
        return replace(self.inner, voters=voters)

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        """What a question may cost: the count, and the answer. Neither depends on the number of voters."""
        rounds = self.rounds(self.inner.delta or budget.delta, vocabulary)
        self.having(self.numbers[-1]).check(rounds)
        return rounds.plan

    def rounds(self, delta: float, vocabulary: int) -> Rounds:
        """What is left of the total for the answer after the count."""
        return split_total(self.inner, delta, vocabulary, 1 / self.count.scale)

    def number(self, counted: int) -> int:
        """The number of voters nearest to what was counted; the smaller of two."""
        return min(self.numbers, key=lambda number: abs(number * self.inner.units_per_voter - counted))

    def answer(self, question: str, corpus: Corpus, model: LanguageModel, privacy: PrivacyFilter) -> Draft:
        """Count, choose a number of voters, and have so many answer."""
        rounds = self.rounds(privacy.ceiling.delta, model.vocabulary_size)
        near = corpus.above(question, self.similarity).map(lambda _: True)
        voters = self.number(privacy.release(self.count, near))
        documents = corpus.top_units(question, voters, self.inner.units_per_voter)
        return self.having(voters).respond(question, documents, model, privacy, rounds, corpus.public)

"""Adaptive: the number of voters follows the number of units near the question.

This is the future work of DP-KSA (Tang et al. 2026, Section 7: "a more adaptive scheme for selecting the number of
ensembles"). A noisy count gives the number of units above a public similarity. One unit moves the count by at most one
(add or remove). The noisy count is public. Another algorithm then answers with the corresponding number of voters.
Every unit pays for the count and the answer. Units that cannot pay are neither counted nor read.

The alternative is a selection among the numbers with scores -|count - n|. At the same scale both cost the same zCDP,
and the count costs half the pure epsilon (privacy-spec, parts 1 and 8).
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

from discreet.algorithms.base import Algorithm, AlgorithmSpec, GeneratedAnswer, Plan, Query
from discreet.algorithms.consensus import Consensus
from discreet.algorithms.ensemble import RoundBudget, VoterEnsemble, calibrate_to_epsilon
from discreet.errors import UsageError
from discreet.models.protocol import VotingModel
from discreet.privacy.account import Account, Payment
from discreet.privacy.accounting import Budget
from discreet.privacy.costs import Pure
from discreet.privacy.mechanisms.counting import NoisyCount
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.store.sealed_corpus import SealedCorpus

COUNT_SHARE = 0.1
"""The count's part of a question's epsilon. The noise has scale 10/epsilon, small against steps of 20 voters.

It is a tenth of the epsilon of a consensus, and about a fifth of the zCDP of dp-ksa.
"""


@dataclass(frozen=True, kw_only=True)
class Adaptive(Algorithm):
    """Parameters of an answer with an adaptive number of voters.

    Attributes:
        inner: the algorithm that answers. Its epsilon is the most that the answer and the count may cost together. Its
            own `voters` are not used.
        similarity: the public threshold. A unit is counted if the similarity of its best passage reaches it.
        numbers: the public numbers of voters to choose from.
    """

    name: ClassVar[str] = "adaptive"
    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.EVERY_UNIT)

    inner: VoterEnsemble = field(default_factory=Consensus, metadata={"decides": "voters"})
    similarity: float = 0.32
    numbers: tuple[int, ...] = (20, 40, 60, 80)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", tuple(sorted(set(self.numbers))))  # accepts a list, too
        if not self.numbers:
            raise UsageError("numbers is empty; at least one number of voters is required. Try 20, 40, 60 and 80.")
        if not -1 <= self.similarity <= 1:
            raise UsageError(f"A similarity lies between -1 and 1, not {self.similarity}.")
        for number in self.numbers:
            self.having(number)  # refuse a wrong number before the count is paid
        own = self.inner.spec
        self.declare(capabilities=own.capabilities, choices=own.choices, counts_choices=own.counts_choices)

    @property
    def epsilon(self) -> float:
        """The most that the question may cost in total."""
        return self.inner.epsilon

    @property
    def count(self) -> NoisyCount:
        """The mechanism that counts the units near the question."""
        return NoisyCount.calibrated(COUNT_SHARE * self.epsilon, ADD_REMOVE_ONE)

    def having(self, voters: int) -> VoterEnsemble:
        """Return the generation with `voters` voters."""
        return replace(self.inner, voters=voters)

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        """Return the most that a question may cost, the count included. The number of voters does not change it."""
        rounds = self.calibrate(budget, vocabulary)
        self.having(self.numbers[-1]).check(rounds)
        return rounds.plan

    def calibrate(self, budget: Budget, vocabulary: int) -> RoundBudget:
        """Split the total without the cost of the count into rounds."""
        counted = Pure(1 / self.count.scale)
        return calibrate_to_epsilon(self.inner, self.inner.delta or budget.delta, vocabulary, counted)

    def number(self, counted: int) -> int:
        """Return the number of voters nearest to the noisy count; the smaller one of two equally near."""
        return min(self.numbers, key=lambda number: abs(number * self.inner.units_per_voter - counted))

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Count the units near the question, choose the number of voters, and answer with them."""
        rounds = self.calibrate(account.budget, model.vocabulary_size)
        paying = account.charge_every_unit(rounds.plan.max_cost)
        near = paying.among(corpus.above(query.searched, self.similarity)).map(lambda _: True)
        answering = self.having(self.number(paying.paid.release(self.count, near)))
        nearest = paying.nearest(partial(corpus.nearest, query.searched), answering.units_read)
        documents = corpus.partition_to_voters(nearest, answering.voters, answering.units_per_voter)
        return answering.respond(query.text, documents, model, paying.paid, rounds, query.public)

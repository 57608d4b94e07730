"""PrivateRAG: a retrieval combined with a generation, for many questions. Each unit pays for its own part.

A subclass is a retrieval: it selects the units that take part, and charges them. `inner` is the generation: any
ensemble that is private for the units that it was dealt.
"""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from discreet.algorithms.common.algorithm import Algorithm, GeneratedAnswer, Guarantee, Plan, Query
from discreet.algorithms.common.ensemble import (
    RoundBudget,
    VoterEnsemble,
    calibrate_to_epsilon,
    calibrate_to_uses,
    check_number,
)
from discreet.algorithms.consensus import Consensus
from discreet.errors import UsageError
from discreet.generation.capabilities import Capability
from discreet.generation.model import VotingModel
from discreet.privacy.account import Account, Payment
from discreet.privacy.accounting import NANO, Budget
from discreet.privacy.costs import Pure
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.partition import REPLACE_ONE
from discreet.privacy.private import Private
from discreet.retrieval.sealed_corpus import Found, SealedCorpus

PRICE = 2.5
"""The default epsilon of a question for a unit. It suffices for the retrieval and a consensus of 40 voters."""


@dataclass(frozen=True, kw_only=True)
class PrivateRAG(Algorithm):
    """Parameters of an algorithm in which each unit pays for the questions in which it takes part.

    Attributes:
        inner: the generation: any algorithm that is private for the units that it was dealt.
        epsilon: the epsilon that a question may cost a unit (epsilon_q).
        uses: in place of `epsilon`, the number of questions in which each unit may take part (M). A unit's budget is
            divided evenly among them.

    With neither, a question costs `PRICE`, or a unit's whole budget if that is less.
    """

    guarantee: ClassVar[Guarantee] = Guarantee.DP
    payment: ClassVar[Payment] = Payment.EACH_UNIT

    inner: VoterEnsemble = field(default_factory=Consensus)
    epsilon: float | None = None
    uses: int | None = None

    def __post_init__(self) -> None:
        if self.uses is not None and self.uses < 1:
            raise UsageError(f"A unit takes part in at least 1 question (uses), not {self.uses}.")
        if self.epsilon is not None:
            check_number("epsilon", self.epsilon)

    @abstractmethod
    def retrieve(
        self, query: Query, corpus: SealedCorpus, rounds: RoundBudget, account: Account
    ) -> tuple[Private[Found], PrivacyFilter]:
        """Select and charge the units that take part.

        Returns:
            the units that paid, the nearest first, and the filter that spends the cost of the rounds.
        """

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Retrieve units, deal their documents to voters, and answer."""
        return self.answer(query, corpus, model, account, self.calibrate(account.budget, model.vocabulary_size))

    def answer(
        self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account, rounds: RoundBudget
    ) -> GeneratedAnswer:
        """Answer `query` with a budget for each round."""
        paying, paid = self.retrieve(query, corpus, rounds, account)
        documents = corpus.partition_to_voters(paying, self.inner.voters, self.inner.units_per_voter)
        documents = self.inner.look_up(query.text, documents, corpus)
        return self.inner.respond(query.text, documents, model, paid, rounds, query.public)

    @property
    def selection_epsilon(self) -> float:
        """The pure epsilon that the retrieval costs a unit."""
        return 0.0

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        """Return the most that a question may cost a unit."""
        rounds = self.calibrate(budget, vocabulary)
        self.inner.check(rounds)
        return rounds.plan

    def calibrate(self, budget: Budget, vocabulary: int) -> RoundBudget:
        """Return the budget of a round, and the largest number of rounds.

        Raises:
            UsageError: if the question's delta is above the vault's, or its epsilon does not pay the retrieval.
        """
        delta = self.check_delta(budget)
        selection = Pure(self.selection_epsilon) if self.selection_epsilon else None
        if self.shares_budget and self.uses:
            return calibrate_to_uses(self.inner, budget, self.uses, selection, vocabulary)
        price = self.price(budget)
        if price <= self.selection_epsilon:
            raise UsageError(
                f"Epsilon {price:g} does not pay for the retrieval, which costs {self.selection_epsilon:g}. "
                "Raise epsilon."
            )
        rounds = calibrate_to_epsilon(replace(self.inner, epsilon=price - self.selection_epsilon), delta, vocabulary)
        return replace(rounds, plan=replace(rounds.plan, selection=selection))

    def check_delta(self, budget: Budget) -> float:
        """Return the question's delta.

        Raises:
            UsageError: if it is above the vault's.
        """
        delta = self.inner.delta or budget.delta
        if delta > budget.delta:
            raise UsageError(
                f"The question's delta, {delta:g}, is above the vault's, {budget.delta:g}. Give a smaller one, or none."
            )
        return delta

    def price(self, budget: Budget) -> float:
        """Return the epsilon that a question may cost a unit, if `uses` does not decide it."""
        # Parts are rounded up to billionths. Three billionths are left, since the sum might else exceed a small grant.
        return min(PRICE, budget.epsilon - 3 / NANO) if self.epsilon is None else self.epsilon

    def scaled_to(self, epsilon: float) -> Self:
        """Return the same algorithm for a question of `epsilon`, with rounds as precise as that allows."""
        return replace(self, epsilon=epsilon, inner=self.inner.without_price())

    def prepare(self, question: str, model: VotingModel) -> None:
        """Check that the generation can answer.

        Raises:
            UsageError: if it cannot.
        """
        self.inner.prepare(question, model)

    def with_choices(self, choices: tuple[str, ...], unsaid: str) -> Self:
        """Return the algorithm with a generation that chooses among `choices`, if it can."""
        return replace(self, inner=self.inner.with_choices(choices, unsaid))

    def with_readings(self) -> Self:
        """Return the algorithm whose generation votes by what was read before, if it can."""
        return replace(self, inner=self.inner.with_readings())

    @property
    def hears_proposals(self) -> bool:
        """Whether public answers can be candidates of the vote of the generation."""
        return self.inner.hears_candidates(REPLACE_ONE)

    def with_proposals(self, answers: tuple[str, ...]) -> Self:
        """Return the algorithm whose generation has public candidates, at the same price; itself if it hears none."""
        return replace(self, inner=self.inner.with_candidates(answers)) if self.hears_proposals else self

    def count_votes(self, budget: Budget, vocabulary: int) -> tuple[VoterEnsemble, RoundBudget]:
        """Return the generation and the budget of its rounds."""
        return self.inner, self.calibrate(budget, vocabulary)

    @property
    def required(self) -> frozenset[Capability]:
        """The capabilities that the generation requires."""
        return self.inner.required

    @property
    def needs_model(self) -> bool:
        """Whether the generation asks a model."""
        return self.inner.needs_model

    @property
    def needs_readings(self) -> bool:
        """Whether the generation votes by what was read before."""
        return self.inner.needs_readings

    @property
    def label(self) -> str:
        """The name, with the number of questions among which a unit's budget is divided."""
        return f"{self.name}, M={self.uses}" if self.uses else self.name

    @property
    def least_epsilon(self) -> float:
        """The epsilon that the retrieval costs."""
        return self.selection_epsilon

    @property
    def shares_budget(self) -> bool:
        """Whether `uses` alone decides the price."""
        return self.epsilon is None and self.uses is not None

    @property
    def prices_by_grant(self) -> bool:
        """Whether no epsilon is given: `uses`, or the usual number of questions, divides the grant."""
        return self.epsilon is None

    @property
    def units_read(self) -> int:
        """The number of units that the generation reads."""
        return self.inner.units_read

    @property
    def public_choices(self) -> tuple[str, ...]:
        """The public choices of the generation."""
        return self.inner.public_choices

    @property
    def releases_shares(self) -> bool:
        """Whether the generation releases shares of the vote."""
        return self.inner.releases_shares

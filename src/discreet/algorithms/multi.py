"""What the algorithms for many questions share: an inner algorithm, and what a unit pays for each question."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar

from discreet.algorithms.answer import Draft, Plan
from discreet.algorithms.consensus import Consensus
from discreet.algorithms.ensemble import Ensemble, Rounds, check_number, split_total, split_uses
from discreet.errors import UsageError
from discreet.generation.model import LanguageModel
from discreet.privacy.accounting import Budget
from discreet.privacy.individual import UnitFilter
from discreet.retrieval.retriever import Corpus

PRICE = 2.5
"""What a question costs a unit unless told otherwise: enough for a consensus of 40 voters, and to find them."""


@dataclass(frozen=True, kw_only=True)
class ManyQuestions(ABC):
    """Parameters of an algorithm that pays by unit.

    Attributes:
        inner: how a single question is answered: any algorithm that is private for the units it was dealt.
        epsilon: what a question may cost a unit (epsilon_q).
        uses: instead, in how many questions each unit may take part (M): its budget is shared out evenly among them.

    With neither, a question costs `PRICE`, or all that a unit may spend if that is less.
    """

    name: ClassVar[str]
    private: ClassVar[bool] = True

    inner: Ensemble = field(default_factory=Consensus)
    epsilon: float | None = None
    uses: int | None = None

    def __post_init__(self) -> None:
        if self.uses is not None and self.uses < 1:
            raise UsageError(f"A unit takes part in at least 1 question (uses), not {self.uses}.")
        if self.epsilon is not None:
            check_number("epsilon", self.epsilon)

    @property
    def entry(self) -> float:
        """Pure epsilon that a question costs a unit before its first round."""
        return 0.0

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        """What a question may cost a unit, given what a unit may spend in all."""
        rounds = self.rounds(budget, vocabulary)
        self.inner.check(rounds)
        return rounds.plan

    def rounds(self, budget: Budget, vocabulary: int) -> Rounds:
        """The budget of a round, and how many there may be."""
        delta = self.inner.delta or budget.delta
        if delta > budget.delta:
            raise UsageError(
                f"The question's delta, {delta:g}, is above the vault's, {budget.delta:g}. Give a smaller one, or none."
            )
        if self.epsilon is None and self.uses is not None:
            return split_uses(self.inner, budget, self.uses, self.entry, vocabulary)
        price = min(PRICE, budget.epsilon) if self.epsilon is None else self.epsilon
        if price <= self.entry:
            raise UsageError(f"Epsilon {price:g} does not even pay the entry of {self.entry:g}. Raise it.")
        rounds = split_total(replace(self.inner, epsilon=price - self.entry), delta, vocabulary)
        return replace(rounds, plan=replace(rounds.plan, entry=self.entry))

    @abstractmethod
    def answer(self, question: str, corpus: Corpus, model: LanguageModel, privacy: UnitFilter) -> Draft:
        """Answer `question`; every unit that takes part pays through `privacy`."""

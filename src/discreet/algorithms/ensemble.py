"""Ensembles of voters: their parameters, their price, and the division of a total into rounds.

Each voter reads documents of its own. Only mechanisms release the voters' output. An answer is paid in rounds: a round
is a private token, or the whole answer. An ensemble is a generation (`respond`). It is also a whole algorithm with
retrieval by rank (`run`). Docstrings give the papers' names of parameters.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar

from discreet.algorithms.base import Algorithm, AlgorithmSpec, GeneratedAnswer, Plan, Query
from discreet.errors import UsageError
from discreet.models.capabilities import Capability, require_capabilities
from discreet.models.prompts import DOCUMENT_TOKENS, layout
from discreet.models.protocol import VotingModel
from discreet.models.voters import VoterBatch
from discreet.privacy.account import Account, Payment
from discreet.privacy.accounting import Budget, Spending, budget_for, largest
from discreet.privacy.costs import Cost, Together
from discreet.privacy.filter import Priced, PrivacyFilter
from discreet.privacy.mechanisms.order_selection import Prices
from discreet.privacy.partition import REPLACE_ONE
from discreet.privacy.private import Change, Private
from discreet.store.documents import Passage
from discreet.store.sealed_corpus import SealedCorpus

MOST_VOTERS = 1000
MOST_PREFIX = 1000
"""The largest prefix in characters. Each answer is parsed with its prefix, so a long prefix would take long."""


@dataclass(frozen=True, kw_only=True)
class VoterConfig:
    """Parameters of voters.

    Attributes:
        voters: the number of voters (m), each with documents of its own.
        units_per_voter: the number of units that each voter reads (k).
        max_tokens: the longest answer in tokens (T_max).
        prefix: the first words of the answer: public and free.
        document_tokens: the public length in tokens to which a unit's passage is cut or padded; 0 for the model's
            default.
    """

    voters: int = 40
    units_per_voter: int = 1
    max_tokens: int = 32
    prefix: str = ""
    document_tokens: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.voters <= MOST_VOTERS:
            raise UsageError(f"The number of voters lies between 1 and {MOST_VOTERS}, not {self.voters}. Try 40.")
        for name in ("units_per_voter", "max_tokens"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is at least 1, not {getattr(self, name)}.")
        check_prefix(self.prefix)

    def asked(self, question: str) -> str:
        """Return the question that voters read."""
        return question

    @property
    def text_tokens(self) -> int:
        """The public number of tokens for a unit's passage."""
        return self.document_tokens or DOCUMENT_TOKENS

    def reader(self, question: str, model: VotingModel) -> Callable[[str], Sequence[int]]:
        """Return a function from the text of a passage to its tokens; voters read the first `text_tokens` of them."""
        return model.encode

    def check_fits(self, question: str, model: VotingModel) -> None:
        """Refuse a question that does not fit into the model's context, before anything is paid.

        Raises:
            UsageError: if the question, the answer or the documents may be too long.
        """
        tokens = self.text_tokens * self.units_per_voter
        plain = self.asked(question)
        layout(model, plain, prefix=self.prefix, document_tokens=tokens, max_tokens=self.max_tokens)

    def look_up(
        self, question: str, documents: Private[tuple[Passage, ...]], corpus: SealedCorpus
    ) -> Private[tuple[Passage, ...]]:
        """Return the documents of the voters with what the corpus knows of them; by default, unchanged."""
        return documents

    def start_voters(
        self, question: str, documents: Private[tuple[Passage, ...]], model: VotingModel, public: str = ""
    ) -> VoterBatch:
        """Return one batch with a prompt for each voter and the public prompt."""
        texts = documents.map(lambda passages: tuple(passage.text for passage in passages))
        return VoterBatch(
            model,
            self.asked(question),
            texts,
            units_per_voter=self.units_per_voter,
            prefix=self.prefix,
            max_tokens=self.max_tokens,
            document_tokens=self.text_tokens,
            public=public,
            read=self.reader(self.asked(question), model),
        )


def check_prefix(prefix: str) -> None:
    """Refuse a prefix that is longer than `MOST_PREFIX`.

    Raises:
        UsageError: if it is longer.
    """
    if len(prefix) > MOST_PREFIX:
        raise UsageError(f"A prefix has at most {MOST_PREFIX} characters, not {len(prefix)}. Shorten it.")


FAILURE_SHARE = 0.01
"""The part of a question's delta for the failure probabilities of its mechanisms; the rest is for conversion."""


@dataclass(frozen=True)
class Rounds:
    """The rounds of an answer.

    Attributes:
        wanted: how many the total should buy.
        most: the most of one answer, if the price of a round is given.
        epsilon: the price of a round; None if it follows from the total.
    """

    wanted: int = 1
    most: int = 1
    epsilon: float | None = None


@dataclass(frozen=True, kw_only=True)
class VoterEnsemble(VoterConfig, Algorithm):
    """Parameters of a private answer by voters: those of `VoterConfig`, and two more.

    Attributes:
        epsilon: the total privacy budget of the question (epsilon_total).
        delta: the question's delta (delta_total); the vault's if None.
    """

    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.EVERY_UNIT, frozenset({Capability.COMPLETIONS}))

    epsilon: float = 10.0
    delta: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("epsilon", self.epsilon)
        if self.delta is not None and not 0 < self.delta < 1:
            raise UsageError(f"Delta is a probability between 0 and 1, not {self.delta}. Try 1e-6.")

    @property
    def rounds(self) -> Rounds:
        """The rounds of an answer."""
        return Rounds()

    @abstractmethod
    def mechanisms(self, epsilon: float, delta: float, change: Change, vocabulary: int) -> Sequence[Priced]:
        """Return the mechanisms of one round of budget (epsilon, delta), in order. More epsilon never costs less."""

    @abstractmethod
    def respond(
        self,
        question: str,
        documents: Private[tuple[Passage, ...]],
        model: VotingModel,
        privacy: PrivacyFilter,
        rounds: "RoundBudget",
        known: str = "",
    ) -> GeneratedAnswer:
        """Answer from the documents that each voter was dealt, with a budget for each round.

        Args:
            question: the question, public.
            documents: one sealed share for each voter: a tuple of at most `units_per_voter` passages, empty for a voter
                without documents. `documents.change` is what one unit can change about them.
            model: the model that each voter asks, with the capabilities of `requires`.
            privacy: the filter of the question. Its `release` pays for one draw of a mechanism, then makes the draw.
            rounds: the budget of each round: `epsilon` and `delta` without unit, as `mechanisms` takes them. At most
                `rounds.plan.rounds` rounds are paid.
            known: the text of the public prompt in place of a document: answers that were released before. "" for none.

        Returns:
            The released text, why it ended, and the numbers of its tokens and of its private tokens.

        Raises:
            BudgetExhausted: if the filter refuses a payment. Nothing was drawn for it; earlier releases stay paid.
            EngineFailed: if an engine of this package failed.
            PrivateValueError: if another step on private values failed. Its message is withheld.
        """

    def failures(self, delta: float) -> float:
        """Return the part of a question's delta for the failure probabilities of its mechanisms."""
        return FAILURE_SHARE * delta

    def ceiling(self, cost: Cost, delta: float, failures: float) -> Budget:
        """Return the budget of a question whose rounds cost `cost` each."""
        return budget_for(cost, self.epsilon, delta, failures)

    def calibrate(self, budget: Budget, vocabulary: int) -> "RoundBudget":
        """Split the question's total into rounds."""
        return calibrate_to_epsilon(self, self.delta or budget.delta, vocabulary)

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        """Return the most that a question may cost."""
        rounds = self.calibrate(budget, vocabulary)
        self.check(rounds)
        return rounds.plan

    @property
    def units_read(self) -> int:
        """The number of units that all voters read together."""
        return self.voters * self.units_per_voter

    @property
    def abstains(self) -> bool:
        """Whether no release depends on a voter without documents, so that units can come and go."""
        return False

    def releases(self) -> "tuple[VoterEnsemble, ...]":
        """Return the ensemble once for each release between which public arithmetic may choose."""
        return (self,)

    def at_prices(self, prices: Prices) -> "VoterEnsemble | None":
        """Return the ensemble that releases by a curve at these prices, for an epsilon of 1; None if it has none."""
        return None

    def bought_later(self) -> Sequence[Priced]:
        """Return what is released after an answer by a curve, and paid with it."""
        return ()

    def units_needed(self, rounds: "RoundBudget") -> int:
        """Return how many units near a question are enough for an answer."""
        return self.units_read

    def count_votes(self, budget: Budget, vocabulary: int) -> "tuple[VoterEnsemble, RoundBudget]":
        """Return itself and the budget of its rounds."""
        return self, self.calibrate(budget, vocabulary)

    def check(self, rounds: "RoundBudget") -> None:
        """Refuse a budget that is too small for any release.

        Raises:
            UsageError: if it is too small. The message states the budget that suffices.
        """

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Answer from the units that are nearest to the question. Every unit pays."""
        rounds = self.calibrate(account.budget, model.vocabulary_size)
        paying = account.charge_every_unit(rounds.plan.max_cost)
        nearest = paying.nearest(partial(corpus.nearest, query.searched), self.units_read)
        documents = corpus.partition_to_voters(nearest, self.voters, self.units_per_voter)
        documents = self.look_up(query.text, documents, corpus)
        return self.respond(query.text, documents, model, paying.paid, rounds, query.public)


@dataclass(frozen=True)
class RoundBudget:
    """The division of a total: the plan of the question, (epsilon, delta) of one round, and the change it is for."""

    plan: Plan
    epsilon: float
    delta: float
    change: Change = REPLACE_ONE


@lru_cache(maxsize=128)
def calibrate_to_epsilon(
    ensemble: VoterEnsemble, delta: float, vocabulary: int, selection: Cost | None = None
) -> RoundBudget:
    """Fit rounds into the total: the requested number of rounds, each as precise as possible.

    If the price of a round is given, the result has as many rounds as fit. Otherwise bisection finds the budget of a
    round. `selection` is the cost of the question before its first round.

    Raises:
        UsageError: if a round costs more than the total.
    """
    failures = ensemble.failures(delta)
    before = Spending.of(selection) if selection else Spending.nothing()

    def split(epsilon: float, wanted: int) -> RoundBudget:
        delta_each = failures / wanted * (1 - 1e-9)  # keeps the rounded-up sum below `failures`
        mechanisms = ensemble.mechanisms(epsilon, delta_each, REPLACE_ONE, vocabulary)
        cost = Together(tuple(mechanism.cost(REPLACE_ONE) for mechanism in mechanisms))
        ceiling = ensemble.ceiling(cost, delta, failures)
        plan = Plan(ceiling, cost, ceiling.affordable(cost, before, wanted), selection)
        return RoundBudget(plan, epsilon, delta_each)

    wanted, price = ensemble.rounds.wanted, ensemble.rounds.epsilon
    if price is None:
        low, high = ensemble.epsilon / wanted / 100, ensemble.epsilon
        return split(largest(lambda epsilon: split(epsilon, wanted).plan.rounds == wanted, low, high), wanted)
    rounds = split(price, ensemble.rounds.most)
    if rounds.plan.rounds == 0:
        raise UsageError(
            f"A private token of epsilon {price:g} does not fit into a total of {ensemble.epsilon:g}. "
            "Lower epsilon_token or raise epsilon."
        )
    return split(price, rounds.plan.rounds)


@lru_cache(maxsize=128)
def calibrate_to_uses(
    ensemble: VoterEnsemble, budget: Budget, uses: int, selection: Cost | None, vocabulary: int
) -> RoundBudget:
    """Divide a unit's budget among `uses` questions, with rounds as precise as that allows.

    Args:
        ensemble: the generation.
        budget: the most that a unit may spend in all its questions.
        uses: the number of questions in which each unit may take part (M).
        selection: the cost of a question before its first round; None for none.
        vocabulary: the number of tokens of the model's vocabulary.

    Raises:
        UsageError: if the budget cannot pay for so many questions.
    """
    wanted, price = ensemble.rounds.wanted, ensemble.rounds.epsilon
    delta_each = budget.failures / (uses * wanted) * (1 - 1e-9)

    def cost(epsilon: float) -> Together:
        mechanisms = ensemble.mechanisms(epsilon, delta_each, REPLACE_ONE, vocabulary)
        return Together(tuple(mechanism.cost(REPLACE_ONE) for mechanism in mechanisms))

    def fits(epsilon: float, rounds: int) -> bool:
        once = Spending.of(cost(epsilon), rounds) + (Spending.of(selection) if selection else Spending.nothing())
        return budget.admits(once.times(uses))

    if price is None:
        rounds, smallest = wanted, budget.epsilon / wanted / uses / 100
        epsilon = largest(lambda epsilon: fits(epsilon, wanted), smallest, budget.epsilon)
    else:
        epsilon = price
        rounds = max((n for n in range(1, ensemble.rounds.most + 1) if fits(epsilon, n)), default=0)
    if not rounds or not fits(epsilon, rounds):
        raise UsageError(
            f"A unit's budget of epsilon {budget.epsilon:g} does not pay for {uses} questions like this. Use fewer "
            "`uses`, fewer private tokens, or a smaller epsilon_token."
        )
    return RoundBudget(Plan(budget, cost(epsilon), rounds, selection), epsilon, delta_each)


def check_question(algorithm: Algorithm, question: str, model: VotingModel) -> None:
    """Check that `model` can answer `question` by an algorithm, before anything is paid.

    Raises:
        UsageError: if it cannot do what the algorithm requires, or voters have no room for the question.
    """
    answering = getattr(algorithm, "inner", algorithm)
    require_capabilities(model, algorithm.spec.capabilities, answering.name)
    if isinstance(answering, VoterConfig):
        answering.check_fits(question, model)


def check_number(name: str, value: float) -> None:
    """Refuse a value that is not a finite number above 0, or that is too large or too small for the arithmetic.

    Raises:
        UsageError: if the value is refused.
    """
    if not (math.isfinite(value) and value > 0):
        raise UsageError(f"{name} is a finite number above 0, not {value}. Smaller is more private; try 1 to 10.")
    if not 1e-12 <= value <= 1e12:  # its square and its reciprocal must not overflow
        raise UsageError(f"{name} lies between 1e-12 and 1e12, not {value:g}. Smaller is more private; try 1 to 10.")

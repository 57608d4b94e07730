"""What DPVoteRAG and DPSparseVoteRAG share: their parameters, and how a total is split over tokens.

Parameters keep the names of the paper (Koga, Wu and Chaudhuri) in their docstrings.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from discreet.algorithms.answer import Draft, Plan
from discreet.errors import UnknownName, UsageError
from discreet.generation.model import LanguageModel
from discreet.generation.voters import Voters
from discreet.privacy.accounting import Budget, Spending, budget_for, largest
from discreet.privacy.change import Change
from discreet.privacy.costs import Cost, Pure, Together
from discreet.privacy.filter import Mechanism, Priced, PrivacyFilter
from discreet.privacy.mechanisms.exponential import ExponentialMechanism, vote_scale
from discreet.privacy.mechanisms.limited_domain import LimitedDomain, ObservedSelection
from discreet.privacy.private import Private
from discreet.retrieval.documents import Passage
from discreet.retrieval.retriever import TOP_UNITS, Corpus

SELECTIONS = ("observed", "limited-domain", "vocabulary")
MOST_VOTERS = 1000
# Of a question's delta, this part is for the failure probabilities of its selections; the rest is for conversion.
FAILURE_SHARE = 0.01

Majority = Mechanism[int, int | None]


@dataclass(frozen=True, kw_only=True)
class Voting(ABC):
    """Parameters of an answer by votes.

    Attributes:
        epsilon: the total privacy budget of the question (epsilon_total).
        delta: its delta (delta_total); the vault's if not given.
        voters: how many voters (m), each with documents of its own.
        units_per_voter: how many units each voter reads (k).
        private_tokens: how many private tokens the total should buy; the budget of a token follows.
        epsilon_token: the budget of a private token (epsilon_token), instead of `private_tokens`.
        selection: how the token is chosen: "observed" (among the tokens that voters said, or none),
            "limited-domain" (the paper's mechanism, charged for replacement), "vocabulary" (exponential mechanism
            over all tokens: pure, never none).
        max_tokens: the longest answer (T_max).
        prefix: how the answer begins: public, and free.
        document_tokens: public length to which a unit's passage is cut or padded; the model's default if 0.
    """

    epsilon: float = 10.0
    delta: float | None = None
    voters: int = 40
    units_per_voter: int = 1
    private_tokens: int = 8
    epsilon_token: float | None = None
    selection: str = "vocabulary"
    max_tokens: int = 32
    prefix: str = ""
    document_tokens: int = 0

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon)
        if self.delta is not None and not 0 < self.delta < 1:
            raise UsageError(f"Delta is a probability between 0 and 1, not {self.delta}. Try 1e-6.")
        if self.epsilon_token is not None:
            check_number("epsilon_token", self.epsilon_token)
        if not 1 <= self.voters <= MOST_VOTERS:
            raise UsageError(f"The number of voters lies between 1 and {MOST_VOTERS}, not {self.voters}. Try 40.")
        for name in ("units_per_voter", "private_tokens", "max_tokens"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is at least 1, not {getattr(self, name)}.")
        if self.selection not in SELECTIONS:
            raise UnknownName("selection", self.selection, SELECTIONS)

    def majority(self, epsilon: float, delta: float, change: Change, vocabulary: int) -> Majority:
        """The selection of one token that costs `epsilon` (and `delta`, if it can fail) under `change`."""
        if self.selection == "vocabulary":
            return ExponentialMechanism(vocabulary, vote_scale(change, epsilon))
        if self.selection == "limited-domain":
            return LimitedDomain.calibrated(epsilon, delta, change, self.voters)
        return ObservedSelection.calibrated(epsilon, delta, change)

    def ceiling(self, cost: Cost, delta: float, failures: float) -> Budget:
        """The budget of a question whose private tokens cost `cost` each."""
        return budget_for(cost, self.epsilon, delta, failures)

    @abstractmethod
    def mechanisms(self, epsilon: float, delta: float, change: Change, vocabulary: int) -> Sequence[Priced]:
        """What one private token of budget (epsilon, delta) runs, in order."""

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        """What a question may cost, given the vault's budget and the size of the model's vocabulary."""
        return split_total(self, self.delta or budget.delta, vocabulary).plan

    def answer(self, question: str, corpus: Corpus, model: LanguageModel, privacy: PrivacyFilter) -> Draft:
        """Answer from the nearest units of the whole vault."""
        tokens = split_total(self, privacy.ceiling.delta, model.vocabulary_size)
        documents = corpus.top_units(question, self.voters, self.units_per_voter)
        return self.respond(question, documents, model, privacy, tokens, corpus.public)

    @abstractmethod
    def respond(
        self,
        question: str,
        documents: Private[tuple[Passage, ...]],
        model: LanguageModel,
        privacy: PrivacyFilter,
        tokens: "Tokens",
        known: str = "",
    ) -> Draft:
        """Answer from what each voter was dealt, with a budget for each private token.

        `known` is what the public prompt knows: answers that were released before.
        """

    def start_voters(
        self, question: str, documents: Private[tuple[Passage, ...]], model: LanguageModel, public: str = ""
    ) -> Voters:
        """One prompt a voter and the public prompt, in one batch."""
        texts = documents.map(lambda passages: tuple(passage.text for passage in passages))
        return Voters(
            model,
            question,
            texts,
            units_per_voter=self.units_per_voter,
            prefix=self.prefix,
            max_tokens=self.max_tokens,
            document_tokens=self.document_tokens,
            public=public,
        )


@dataclass(frozen=True)
class Tokens:
    """How a total is split: the plan of the question, and (epsilon, delta) of one private token."""

    plan: Plan
    epsilon: float
    delta: float


@lru_cache(maxsize=128)
def split_total(voting: Voting, delta: float, vocabulary: int) -> Tokens:
    """Fit private tokens into the total: as many as asked for, each as precise as possible.

    With `epsilon_token` given, as many tokens as fit. Calibration finds the budget of a token by bisection.

    Raises:
        UsageError: `epsilon_token` is more than the total can pay once.
    """
    failures = FAILURE_SHARE * delta

    def split(epsilon: float, wanted: int) -> Tokens:
        each = failures / wanted * (1 - 1e-9)  # so that their sum, rounded up, stays below
        mechanisms = voting.mechanisms(epsilon, each, TOP_UNITS, vocabulary)
        cost = Together(tuple(mechanism.cost(TOP_UNITS) for mechanism in mechanisms))
        ceiling = voting.ceiling(cost, delta, failures)
        return Tokens(Plan(ceiling, cost, ceiling.affordable(cost, most=wanted)), epsilon, each)

    wanted = min(voting.private_tokens, voting.max_tokens)
    if voting.epsilon_token is None:
        low, high = voting.epsilon / wanted / 2, voting.epsilon
        return split(largest(lambda each: split(each, wanted).plan.rounds == wanted, low, high), wanted)
    tokens = split(voting.epsilon_token, voting.max_tokens)
    if tokens.plan.rounds == 0:
        raise UsageError(
            f"A private token of epsilon {voting.epsilon_token:g} does not fit into a total of {voting.epsilon:g}. "
            "Lower epsilon_token or raise epsilon."
        )
    return split(voting.epsilon_token, tokens.plan.rounds)


@lru_cache(maxsize=128)
def split_uses(voting: Voting, budget: Budget, uses: int, entry: float, vocabulary: int) -> Tokens:
    """Share a unit's budget out among `uses` questions: each private token as precise as that allows.

    Args:
        voting: how a question is answered.
        budget: what a unit may spend in all.
        uses: how many questions each unit may take part in (M).
        entry: pure epsilon that a question costs before its first token.
        vocabulary: how many tokens the model knows.

    Raises:
        UsageError: the budget cannot pay for so many.
    """
    wanted = min(voting.private_tokens, voting.max_tokens)
    each = budget.failures / (uses * wanted) * (1 - 1e-9)

    def cost(epsilon: float) -> Together:
        mechanisms = voting.mechanisms(epsilon, each, TOP_UNITS, vocabulary)
        return Together(tuple(mechanism.cost(TOP_UNITS) for mechanism in mechanisms))

    def fits(epsilon: float, rounds: int) -> bool:
        once = Spending.of(cost(epsilon), rounds) + (Spending.of(Pure(entry)) if entry else Spending.nothing())
        return budget.admits(once.times(uses))

    if voting.epsilon_token is None:
        rounds, smallest = wanted, budget.epsilon / wanted / uses / 100
        epsilon = largest(lambda each: fits(each, wanted), smallest, budget.epsilon)
    else:
        epsilon = voting.epsilon_token
        rounds = max((n for n in range(1, voting.max_tokens + 1) if fits(epsilon, n)), default=0)
    if not rounds or not fits(epsilon, rounds):
        raise UsageError(
            f"A unit's budget of epsilon {budget.epsilon:g} does not pay for {uses} questions like this. Use fewer "
            "`uses`, fewer private tokens, or a smaller epsilon_token."
        )
    return Tokens(Plan(budget, cost(epsilon), rounds, entry), epsilon, each)


def check_number(name: str, value: float) -> None:
    """Refuse what is not a finite number above 0."""
    if not (math.isfinite(value) and value > 0):
        raise UsageError(f"{name} is a finite number above 0, not {value}. Smaller is more private; try 1 to 10.")

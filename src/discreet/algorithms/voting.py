"""What DPVoteRAG and DPSparseVoteRAG share: their parameters, and how a total is split over tokens.

Parameters keep the names of the paper (Koga, Wu and Chaudhuri) in their docstrings.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from discreet.algorithms.answer import Plan
from discreet.errors import UnknownName, UsageError
from discreet.generation.model import LanguageModel
from discreet.generation.voters import Voters
from discreet.privacy.accounting import budget_for, largest
from discreet.privacy.change import Change, Relation
from discreet.privacy.costs import Together
from discreet.privacy.filter import Mechanism, Priced
from discreet.privacy.mechanisms.exponential import ExponentialMechanism, vote_scale
from discreet.privacy.mechanisms.limited_domain import LimitedDomain, ObservedSelection
from discreet.privacy.private import Private
from discreet.retrieval.documents import Passage

TOP_UNITS = Change(1, Relation.REPLACE)
"""What one unit changes after retrieval of the nearest units: another unit takes the place of one."""

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

    @abstractmethod
    def mechanisms(self, epsilon: float, delta: float, change: Change, vocabulary: int) -> Sequence[Priced]:
        """What one private token of budget (epsilon, delta) runs, in order."""

    def plan(self, delta: float, vocabulary: int) -> Plan:
        """What a question may cost, given the vault's delta and the size of the model's vocabulary."""
        return split_total(self, self.delta or delta, vocabulary).plan

    def start_voters(self, question: str, documents: Private[tuple[Passage, ...]], model: LanguageModel) -> Voters:
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
        ceiling = budget_for(cost, voting.epsilon, delta, failures)
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


def check_number(name: str, value: float) -> None:
    """Refuse what is not a finite number above 0."""
    if not (math.isfinite(value) and value > 0):
        raise UsageError(f"{name} is a finite number above 0, not {value}. Smaller is more private; try 1 to 10.")

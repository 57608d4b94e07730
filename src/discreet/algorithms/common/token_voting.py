"""The parts that DPVoteRAG and DPSparseVoteRAG share: voters continue one answer, token by token.

Docstrings give the paper's names of parameters (Koga, Wu and Chaudhuri).
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from discreet.algorithms.common.ensemble import VoterEnsemble, check_number
from discreet.errors import UnknownName, UsageError
from discreet.generation.capabilities import Capability
from discreet.privacy.filter import Mechanism
from discreet.privacy.mechanisms.exponential import ExponentialMechanism, vote_scale
from discreet.privacy.mechanisms.limited_domain import LimitedDomain, ObservedSelection
from discreet.privacy.private import Change

SELECTIONS = ("observed", "limited-domain", "vocabulary")

Majority = Mechanism[int, int | None]


@dataclass(frozen=True, kw_only=True)
class TokenVoting(VoterEnsemble):
    """Parameters of an answer by votes on tokens: those of `VoterEnsemble`, and three more. A round is a private token.

    Attributes:
        private_tokens: the number of private tokens that the total should buy; the budget of a token follows.
        epsilon_token: the budget of a private token (epsilon_token), in place of `private_tokens`.
        selection: the mechanism that chooses the token: "observed" (among the tokens of the voters, or none),
            "limited-domain" (the paper's mechanism, charged for replacement), "vocabulary" (the exponential mechanism
            over all tokens: pure, never none).
    """

    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.VOTES})

    private_tokens: int = 8
    epsilon_token: float | None = None
    selection: str = "vocabulary"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon_token is not None:
            check_number("epsilon_token", self.epsilon_token)
        if self.private_tokens < 1:
            raise UsageError(f"private_tokens is at least 1, not {self.private_tokens}.")
        if self.selection not in SELECTIONS:
            raise UnknownName("selection", self.selection, SELECTIONS)

    @property
    def rounds(self) -> int:
        """The number of private tokens that the total should buy."""
        return min(self.private_tokens, self.max_tokens)

    @property
    def most_rounds(self) -> int:
        """The largest number of private tokens: all tokens of an answer."""
        return self.max_tokens

    def without_price(self) -> Self:
        """Return the same algorithm with a price of a token that follows from the total."""
        return replace(self, epsilon_token=None)

    @property
    def price(self) -> float | None:
        """The budget of a private token; None if it follows from the total."""
        return self.epsilon_token

    def majority(self, epsilon: float, delta: float, change: Change, vocabulary: int) -> Majority:
        """Return the selection of one token that costs `epsilon` (and `delta`, if it can fail) under `change`."""
        if self.selection == "vocabulary":
            return ExponentialMechanism(vocabulary, vote_scale(change, epsilon))
        if self.selection == "limited-domain":
            return LimitedDomain.calibrated(epsilon, delta, change, self.voters)
        return ObservedSelection.calibrated(epsilon, delta, change)

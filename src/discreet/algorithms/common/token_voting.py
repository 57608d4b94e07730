"""What DPVoteRAG and DPSparseVoteRAG share: voters continue one answer, token by token.

Parameters keep the names of the paper (Koga, Wu and Chaudhuri) in their docstrings.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from discreet.algorithms.common.ensemble import VoterEnsemble, check_number
from discreet.errors import UnknownName, UsageError
from discreet.generation.capabilities import Capability
from discreet.privacy.change import Change
from discreet.privacy.filter import Mechanism
from discreet.privacy.mechanisms.exponential import ExponentialMechanism, vote_scale
from discreet.privacy.mechanisms.limited_domain import LimitedDomain, ObservedSelection

SELECTIONS = ("observed", "limited-domain", "vocabulary")

Majority = Mechanism[int, int | None]


@dataclass(frozen=True, kw_only=True)
class TokenVoting(VoterEnsemble):
    """Parameters of an answer by votes on tokens: those of `VoterEnsemble`, and three more. A round is a private token.

    Attributes:
        private_tokens: how many private tokens the total should buy; the budget of a token follows.
        epsilon_token: the budget of a private token (epsilon_token), instead of `private_tokens`.
        selection: how the token is chosen: "observed" (among the tokens that voters said, or none),
            "limited-domain" (the paper's mechanism, charged for replacement), "vocabulary" (exponential mechanism
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
        """How many private tokens the total should buy."""
        return min(self.private_tokens, self.max_tokens)

    @property
    def most_rounds(self) -> int:
        """Every token may be a private one."""
        return self.max_tokens

    def without_price(self) -> Self:
        """Return the same algorithm with a price of a token that follows from the total."""
        return replace(self, epsilon_token=None)

    @property
    def price(self) -> float | None:
        """The budget of a private token, if given."""
        return self.epsilon_token

    def majority(self, epsilon: float, delta: float, change: Change, vocabulary: int) -> Majority:
        """The selection of one token that costs `epsilon` (and `delta`, if it can fail) under `change`."""
        if self.selection == "vocabulary":
            return ExponentialMechanism(vocabulary, vote_scale(change, epsilon))
        if self.selection == "limited-domain":
            return LimitedDomain.calibrated(epsilon, delta, change, self.voters)
        return ObservedSelection.calibrated(epsilon, delta, change)

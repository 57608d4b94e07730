"""One token from the summed opinions of many documents: clip, sum, sample (DP-SynRAG, DP-RAG).

Each share gives every token of the vocabulary a weight in [-c, c]; a token is sampled with probability proportional
to exp(public logit + sum of the weights): an exponential mechanism whose utility is the sum (privacy-spec, part 8).
Weights are whole numbers of 2^-16, so that their sum is exact whatever its order, and so is the sensitivity. Nothing
is filtered or scaled after the sum: a top-k of private sums would be a release of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.change import Change, Relation
from discreet.privacy.costs import BoundedRange, Cost
from discreet.privacy.noise import Noise

ONE = 2**16
"""A weight of 1."""
Weights = NDArray[np.int32]


_EXACT = 2.0**50
LARGEST_CLIP = 2.0
"""A larger one is no privacy to speak of: epsilon 4 for one token."""


@dataclass(frozen=True)
class TokenPrice:
    """What a token costs, before there is anything to draw it from."""

    clip: float

    def __str__(self) -> str:
        return f"token from aggregated logits, clip {self.clip:.6g}"

    def cost(self, change: Change) -> Cost:
        """Bounded range 2c when a share comes or goes, 4c when one is replaced."""
        moves = 2 if change.relation is Relation.REPLACE else 1
        return BoundedRange(2 * moves * change.shares * self.clip)


@dataclass(frozen=True)
class AggregatedLogits:
    """Sample a token from public logits and the sum of the shares' weights.

    Attributes:
        clip: the largest weight, in either direction.
        public: what is added to the sums, shape (vocabulary,): released, or of the public prompt.
    """

    clip: float
    public: NDArray[np.float64] = field(repr=False)

    def __str__(self) -> str:
        return str(TokenPrice(self.clip))

    @property
    def bound(self) -> int:
        """The largest weight in units of 2^-16, rounded down."""
        return int(self.clip * ONE)

    def cost(self, change: Change) -> Cost:
        """As `TokenPrice`."""
        return TokenPrice(self.clip).cost(change)

    def draw(self, shares: Sequence[Weights], noise: Noise) -> int:
        """A token."""
        total = np.zeros(len(self.public), dtype=np.int64)
        for share in shares:
            total += np.clip(share, -self.bound, self.bound)
        # Public logits are rounded to the same unit, and held to where sums of such numbers are exact in double
        # precision: beyond it one share could push a sum over the edge to the next number that there is.
        scores = np.clip(np.round(self.public * ONE), -_EXACT, _EXACT) + total
        return noise.select((scores / ONE).tolist(), 1.0)

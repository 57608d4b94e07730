"""One token from the summed weights of many documents: clip, sum, sample (DP-SynRAG, DP-RAG).

Each share gives each token of the vocabulary a weight in [-c, c]. A token is sampled with probability proportional to
exp(public logit + sum of the weights). This is an exponential mechanism whose utility is the sum (privacy-spec, part
8). Weights are multiples of 2^-16, so their sum and its sensitivity are exact in any order. The sum is neither filtered
nor scaled: a top-k of private sums would be a release of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.costs import BoundedRange, Cost
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change

ONE = 2**16
"""A weight of 1, in units of 2^-16."""
Weights = NDArray[np.int32]


_EXACT = 2.0**50
LARGEST_CLIP = 2.0
"""The largest clip. One token costs epsilon 4 with it; a larger clip gives no useful privacy."""


@dataclass(frozen=True)
class TokenPrice:
    """The cost of a token, without the data that a draw needs."""

    clip: float

    def __str__(self) -> str:
        return f"token from aggregated logits, clip {self.clip:.6g}"

    def cost(self, change: Change) -> Cost:
        """Return bounded range 2c if a share is added or removed, 4c if one is replaced."""
        return BoundedRange(2 * change.moves * self.clip)


@dataclass(frozen=True)
class AggregatedLogits:
    """Sample a token from public logits and the sum of the shares' weights.

    Attributes:
        clip: the largest absolute weight.
        public: the summand of the sums, shape (vocabulary,): released, or from the public prompt.
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
        """Return the cost of `TokenPrice`."""
        return TokenPrice(self.clip).cost(change)

    def draw(self, shares: Sequence[Weights], noise: Noise) -> int:
        """Return a token."""
        total = np.zeros(len(self.public), dtype=np.int64)
        for share in shares:
            total += np.clip(share, -self.bound, self.bound)
        # Public logits are rounded to the same unit, and clipped to the range in which such sums are exact in double
        # precision. Outside it, rounding could change a sum by more than one share's weight.
        scores = np.clip(np.round(self.public * ONE), -_EXACT, _EXACT) + total
        return noise.select((scores / ONE).tolist(), 1.0)

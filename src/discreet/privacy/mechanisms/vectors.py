"""Mechanisms over vectors: projected vectors with noise, and a token from the summed weights of documents."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.costs import BoundedRange, Cost, ZeroConcentrated
from discreet.privacy.noise import Noise, Whole
from discreet.privacy.private import Change

# --- projected vectors with noise, for an untrusted recipient ---------------------------------------------------------
# The product of an integer vector e and a public integer matrix P is exact. So e P moves by at most 2 |e| |P| if e is
# replaced, where |P| is the matrix's spectral norm (privacy-spec, part 7). There is no rounding before the noise. The
# noise is discrete Gaussian: rho = (2 |e| |P|)^2/(2 sigma^2) (Canonne, Kamath and Steinke 2020, Theorem 14).
#
# The number of rows is public. Rows without a share hold noise alone, so the number of shares is not visible.

Placed = tuple[int, Whole]
"""A row, and the vector that it holds."""
# The singular values of an integer matrix are computed to about 1e-12 of the largest.
_MARGIN = 1 + 1e-9


@dataclass(frozen=True, eq=False)
class NoisyVectors:
    """Each share's vector in the share's row, projected, with noise.

    A share may become any other, also one of another row. The old and the new row then move by one length each, which
    is less than two lengths in one row. A row that several shares claim counts as empty.

    Attributes:
        matrix: the public matrix, shape (d, k).
        rows: the public number of rows.
        length: the largest length of a vector; a longer one counts as zero.
        sigma: the scale of the noise, in units of `reach`.
    """

    matrix: Whole = field(repr=False)
    rows: int
    length: int
    sigma: float

    def __post_init__(self) -> None:
        if not self.reach < 2**52:
            raise ValueError("The matrix is too large for exact products. Take smaller entries.")

    def __str__(self) -> str:
        size = self.matrix.shape[1]
        return f"{self.rows} projected vectors of {size} numbers, each with noise of sigma {self.sigma:.6g} reaches"

    @staticmethod
    def calibrated(rho: float, matrix: Whole, rows: int, length: int, change: Change) -> "NoisyVectors":
        """Return the release that costs `rho` under `change`."""
        return NoisyVectors(matrix, rows, length, change.moves / math.sqrt(2 * rho))

    @cached_property
    def reach(self) -> float:
        """The largest length of a projected vector: `length` times the spectral norm, rounded up."""
        return self.length * spectral_norm(self.matrix)

    def cost(self, change: Change) -> Cost:
        """Return distance^2/(2 sigma^2)-zCDP.

        The distance is one reach for an added or removed share, and two reaches for a replaced one.
        """
        return ZeroConcentrated(change.moves**2 / (2 * self.sigma**2))

    def draw(self, shares: Sequence[Placed], noise: Noise) -> Whole:
        """Return the noisy vectors, shape (rows, k)."""
        claimed = Counter(row for row, _ in shares)
        total = np.zeros((self.rows, self.matrix.shape[1]), dtype=np.int64)
        for row, vector in shares:
            if claimed[row] == 1 and 0 <= row < self.rows and self._short_enough(vector):
                total[row] = vector @ self.matrix
        return total + noise.gaussians(self.sigma * self.reach, total.size).reshape(total.shape)

    def _short_enough(self, vector: Whole) -> bool:
        if vector.shape != self.matrix.shape[:1] or vector.max() > self.length or vector.min() < -self.length:
            return False
        return int(np.dot(vector, vector)) <= self.length**2


def spectral_norm(matrix: Whole) -> float:
    """Return the largest factor by which an integer matrix lengthens a vector, rounded up."""
    return float(np.linalg.norm(matrix.astype(np.float64), 2)) * _MARGIN


# --- one token from the summed weights of many documents: clip, sum, sample -------------------------------------------
# DP-SynRAG and DP-RAG. Each share gives each token of the vocabulary a weight in [-c, c]. A token is sampled with
# probability proportional to exp(public logit + sum of the weights). This is an exponential mechanism whose utility is
# the sum (privacy-spec, part 8). Weights are multiples of 2^-16, so their sum and its sensitivity are exact in any
# order. The sum is neither filtered nor scaled: a top-k of private sums would be a release of its own.

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

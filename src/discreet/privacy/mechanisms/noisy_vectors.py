"""Projected vectors with noise, one for each share, for an untrusted recipient.

The product of an integer vector e and a public integer matrix P is exact. So e P moves by at most 2 |e| |P| if e is
replaced, where |P| is the matrix's spectral norm (privacy-spec, part 7). There is no rounding before the noise. The
noise is discrete Gaussian: rho = (2 |e| |P|)^2/(2 sigma^2) (Canonne, Kamath and Steinke 2020, Theorem 14).

The number of rows is public. Rows without a share hold noise alone, so the number of shares is not visible.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from discreet.privacy.costs import Cost, ZeroConcentrated
from discreet.privacy.noise import Noise, Whole
from discreet.privacy.private import Change

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

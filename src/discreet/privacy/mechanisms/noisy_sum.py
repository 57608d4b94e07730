"""The sum of integer vectors of bounded length, with discrete Gaussian noise: the centre of a cluster."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.costs import Cost, ZeroConcentrated
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change, Relation

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class NoisySum:
    """The sum of the shares' vectors, with noise in each coordinate.

    With integers, the sum and its sensitivity are exact in any order.

    Attributes:
        dimension: the number of coordinates of a vector.
        length: the largest length of a vector; a longer one counts as zero.
        sigma: the scale of the noise, in units of `length`.
    """

    dimension: int
    length: int
    sigma: float

    def __str__(self) -> str:
        return f"noisy sum of {self.dimension} coordinates, sigma {self.sigma:.6g} lengths"

    @staticmethod
    def calibrated(rho: float, dimension: int, length: int, change: Change) -> "NoisySum":
        """Return the sum that costs `rho` under `change`."""
        return NoisySum(dimension, length, _distance(change) / math.sqrt(2 * rho))

    def cost(self, change: Change) -> Cost:
        """Return distance^2/(2 sigma^2)-zCDP.

        The distance is one length for an added or removed share, and two lengths for a replaced one.
        """
        return ZeroConcentrated(_distance(change) ** 2 / (2 * self.sigma**2))

    def draw(self, shares: Sequence[Whole], noise: Noise) -> Whole:
        """Return a noisy sum, shape (dimension,)."""
        total = np.zeros(self.dimension, dtype=np.int64)
        for share in shares:
            if share.shape == total.shape and int(np.dot(share, share)) <= self.length**2:
                total += share
        return total + np.array([noise.gaussian(self.sigma * self.length) for _ in total], dtype=np.int64)


def _distance(change: Change) -> int:
    return change.shares * (2 if change.relation is Relation.REPLACE else 1)

"""The number of shares with each of several public values: histograms with discrete noise, Laplace or Gaussian."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.privacy.costs import Cost, Pure
from discreet.privacy.mechanisms.counting import LEAST_SIGMA
from discreet.privacy.mechanisms.exponential import vote_range
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change, Relation
from discreet.privacy.sampled_costs import GaussianShift


@dataclass(frozen=True)
class NoisyHistogram:
    """The number of shares with each of the values 0..values-1; other shares are ignored.

    Attributes:
        values: the number of public values.
        scale: the scale of the noise of each count.
    """

    values: int
    scale: float

    def __str__(self) -> str:
        return f"noisy histogram over {self.values} public values, scale {self.scale:.6g}"

    @staticmethod
    def calibrated(epsilon: float, values: int, change: Change) -> "NoisyHistogram":
        """Return the histogram that costs `epsilon` under `change`."""
        return NoisyHistogram(values, vote_range(change, 1.0) / epsilon)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of a count, or a little more."""
        return math.sqrt(2) * self.scale

    def cost(self, change: Change) -> Cost:
        """Return a pure cost: a replaced share changes two counts by one; an added or removed share changes one."""
        return Pure(vote_range(change, self.scale))

    def draw(self, shares: Sequence[int], noise: Noise) -> tuple[int, ...]:
        """Return a noisy count for each value."""
        counts = Counter(shares)
        return tuple(counts[value] + noise.laplace(self.scale) for value in range(self.values))


@dataclass(frozen=True)
class GaussianHistogram:
    """The number of shares with each of the values 0..values-1; other shares are ignored.

    Attributes:
        values: the number of public values.
        sigma: the scale of the noise of each count.
    """

    values: int
    sigma: float

    def __str__(self) -> str:
        return f"Gaussian histogram over {self.values} public values, sigma {self.sigma:.6g}"

    @staticmethod
    def calibrated(rho: float, values: int, change: Change) -> "GaussianHistogram":
        """Return the histogram that costs at most `rho` under `change`, rounding included."""
        sigma = max(LEAST_SIGMA, math.sqrt(_squared_move(change) / (2 * rho)))
        while _squared_move(change) / (2 * sigma**2) > rho:
            sigma = math.nextafter(sigma, math.inf)
        return GaussianHistogram(values, sigma)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of a count, or a little more."""
        return self.sigma

    def cost(self, change: Change) -> GaussianShift:
        """Return 1/(2 sigma^2)-zCDP if a share is added or removed, which changes one count by one.

        A replaced share changes two counts by one: the distance is sqrt(2), and the cost twice as much.
        """
        return GaussianShift(_squared_move(change) / (2 * self.sigma**2))

    def draw(self, shares: Sequence[int], noise: Noise) -> tuple[int, ...]:
        """Return a noisy count for each value."""
        counts = Counter(shares)
        return tuple(counts[value] + noise.gaussian(self.sigma) for value in range(self.values))


def _squared_move(change: Change) -> int:
    """Return the squared distance by which the counts move: of several shares, all may leave one count."""
    moved = change.shares**2
    return moved if change.relation is Relation.ADD_REMOVE else 2 * moved

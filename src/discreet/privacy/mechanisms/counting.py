"""Noisy counts: discrete Laplace noise for pure costs, discrete Gaussian noise for streams of questions.

(The geometric mechanism of Ghosh, Roughgarden and Sundararajan 2009; Canonne, Kamath and Steinke 2020.)
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.privacy.costs import Cost, Pure
from discreet.privacy.gaussian_tails import least_threshold
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change
from discreet.privacy.sampled_costs import GaussianShift

LEAST_SIGMA = 0.1
"""With so little noise a count is exact, and a threshold of the noise can still be computed."""
_MARGIN = 1 + 1e-9


@dataclass(frozen=True)
class NoisyCount:
    """The number of true shares, with discrete Laplace noise.

    Attributes:
        scale: the scale of the noise; one share changes the count by one.
        failure: the probability, at most, that a later step fails which relies on the noise (`privacy.rows`). It is
            paid with the count.
    """

    scale: float
    failure: float = 0.0

    def __str__(self) -> str:
        return f"noisy count, scale {self.scale:.6g}"

    @staticmethod
    def calibrated(epsilon: float, change: Change, failure: float = 0.0) -> "NoisyCount":
        """Return the count that costs at most `epsilon` under `change`, rounding included."""
        scale = change.shares / epsilon
        while change.shares / scale > epsilon:
            scale = math.nextafter(scale, math.inf)
        return NoisyCount(scale, failure)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, or a little more."""
        return math.sqrt(2) * self.scale

    def tail(self, probability: float) -> int:
        """Return the least t >= 1 with P[noise >= t] = r^t / (1 + r) <= probability, where r = e^(-1/scale)."""
        ratio = math.exp(-1 / self.scale)
        found = max(1, math.floor(-self.scale * math.log(probability * (1 + ratio))))
        while math.exp(-found / self.scale) / (1 + ratio) * _MARGIN > probability:
            found += 1
        return found

    def cost(self, change: Change) -> Cost:
        """Return a pure cost: a share that is added, removed or replaced changes the count by at most one."""
        return Pure(change.shares / self.scale, self.failure)

    def draw(self, shares: Sequence[bool], noise: Noise) -> int:
        """Return a noisy count."""
        return sum(map(bool, shares)) + noise.laplace(self.scale)


@dataclass(frozen=True)
class GaussianCount:
    """The number of true shares, with discrete Gaussian noise.

    Attributes:
        sigma: the scale of the noise; one share changes the count by one.
        failure: as in `NoisyCount`.
    """

    sigma: float
    failure: float = 0.0

    def __str__(self) -> str:
        return f"Gaussian count, sigma {self.sigma:.6g}"

    @staticmethod
    def calibrated(rho: float, change: Change, failure: float = 0.0) -> "GaussianCount":
        """Return the count that costs at most `rho` under `change`, rounding included."""
        sigma = max(LEAST_SIGMA, change.shares / math.sqrt(2 * rho))
        while change.shares**2 / (2 * sigma**2) > rho:
            sigma = math.nextafter(sigma, math.inf)
        return GaussianCount(sigma, failure)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, or a little more."""
        return self.sigma

    def tail(self, probability: float) -> int:
        """Return the least t >= 1 with P[noise >= t] <= probability."""
        return least_threshold(self.sigma, probability)

    def cost(self, change: Change) -> GaussianShift:
        """Return 1/(2 sigma^2)-zCDP for one share: the count moves by at most one."""
        return GaussianShift(change.shares**2 / (2 * self.sigma**2), self.failure)

    def draw(self, shares: Sequence[bool], noise: Noise) -> int:
        """Return a noisy count."""
        return sum(map(bool, shares)) + noise.gaussian(self.sigma)

"""The exact set of the most frequent words, if it is stable: DP-KSA, Algorithm 2 (TopKWithPTR; Tang et al. 2026).

Propose, test, release; privacy-spec, part 4. The replacement of one share moves a count by at most 1. So the set of the
k most frequent words is the same for all neighbours if the gap d_k is above 2. A noisy test checks that.

The noise is a *discrete* Gaussian of scale s = 2 sigma, since gaps are integers. It is drawn exactly. Moving max(2,
d_k) by 2 costs as much zCDP as with the continuous one, 2^2 / (2 s^2) (Canonne, Kamath and Steinke 2020, Theorem 4).
The paper's shift, s z(1 - delta), becomes an integer t: the least one of at least s z(1 - delta) - 1/2. Then P[Z > t]
<= delta, for this reason. For z > t, exp(-z^2 / 2s^2) is at most its integral from z - 1/2 to z + 1/2, being convex
there (t + 1/2 >= s, since z(1 - delta) >= 1). The sum over all z is at least the integral over the line, s sqrt(2 pi),
by Poisson's formula. So P[Z > t] <= P[N(0, s^2) > t + 1/2] <= delta.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from discreet.privacy.costs import Cost, ZeroConcentrated
from discreet.privacy.mechanisms.gap_choice import Words, by_count, gap_after
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change

UNSTABLE = 2
"""The largest gap at which a neighbour may have another set."""
LARGEST_DELTA = 0.15
"""The largest delta with z(1 - delta) >= 1."""


@dataclass(frozen=True)
class StableSet:
    """The set of the `size` most frequent words if max(2, d) + noise - shift > 2, else None.

    Attributes:
        sigma: half of the noise's scale.
        delta: an upper bound of the probability that an unstable set is released.
        size: the public number of words (k).
    """

    sigma: float
    delta: float
    size: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.delta <= LARGEST_DELTA:
            raise ValueError(f"The test fails with a probability above 0 and up to {LARGEST_DELTA}, not {self.delta}.")

    def __str__(self) -> str:
        return f"set of the {self.size} most frequent, if stable, sigma {self.sigma:.6g}, delta {self.delta:.6g}"

    @staticmethod
    def calibrated(rho: float, delta: float) -> "StableSet":
        """Return the test that costs `rho` and `delta`."""
        return StableSet(1 / math.sqrt(2 * rho), delta)

    def of(self, size: int) -> "StableSet":
        """Return the same test for another number of words, at the same cost."""
        return replace(self, size=size)

    def cost(self, change: Change) -> Cost:
        """Return 1/(2 sigma^2)-zCDP with failure `delta`, if one share is replaced.

        If the set is stable for one neighbour, both have the same set, and only the test differs. If it is stable for
        neither, both release a set with probability at most delta. An added or removed share changes counts like a
        replacement of, or by, the empty set: no more.

        Raises:
            NotImplementedError: if a unit changes several shares.
        """
        if change.shares != 1:
            raise NotImplementedError("The stable set is analysed for one share a unit.")
        return ZeroConcentrated(1 / (2 * self.sigma**2), self.delta)

    def draw(self, shares: Sequence[Words], noise: Noise) -> tuple[str, ...] | None:
        """Return the words in alphabetical order, or None. The cost does not cover their order by count."""
        ranked = by_count(shares)
        noisy = max(UNSTABLE, gap_after(self.size, ranked)) + noise.gaussian(2 * self.sigma)
        if noisy - shift(self.sigma, self.delta) <= UNSTABLE:
            return None
        return tuple(sorted(word for word, _ in ranked[: self.size]))


def shift(sigma: float, delta: float) -> int:
    """Return the subtrahend of the noisy gap that releases an unstable set with probability at most delta."""
    return math.ceil(-2 * sigma * NormalDist().inv_cdf(delta) - 0.5)


def pass_probability(gap: int, sigma: float, delta: float) -> float:
    """Return the probability that a set with this gap passes the test."""
    reach = math.ceil(20 * sigma) + 1
    values = np.arange(-reach, reach + 1)
    weights = np.exp(-((values / (2 * sigma)) ** 2) / 2)
    enough = max(UNSTABLE, gap) + values - shift(sigma, delta) > UNSTABLE
    return float(weights[enough].sum() / weights.sum())


def gap_to_pass(probability: float, sigma: float, delta: float) -> int:
    """Return the smallest gap with which a set passes with at least this probability."""
    most = UNSTABLE + 2 + shift(sigma, delta) + math.ceil(20 * sigma)
    return bisect_left(range(most), probability, key=lambda gap: pass_probability(gap, sigma, delta))

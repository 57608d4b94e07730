"""A noisy count: discrete Laplace (the geometric mechanism; Ghosh, Roughgarden and Sundararajan 2009)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.privacy.change import Change
from discreet.privacy.costs import Cost, Pure
from discreet.privacy.noise import Noise


@dataclass(frozen=True)
class NoisyCount:
    """The number of true shares, with discrete Laplace noise.

    Attributes:
        scale: the scale of the noise; one share changes the count by one.
    """

    scale: float

    def __str__(self) -> str:
        return f"noisy count, scale {self.scale:.6g}"

    @staticmethod
    def calibrated(epsilon: float, change: Change) -> "NoisyCount":
        """Return the count that costs at most `epsilon` under `change`, rounding included."""
        scale = change.shares / epsilon
        while change.shares / scale > epsilon:
            scale = math.nextafter(scale, math.inf)
        return NoisyCount(scale)

    def cost(self, change: Change) -> Cost:
        """Return a pure cost: a share that is added, removed or replaced changes the count by at most one."""
        return Pure(change.shares / self.scale)

    def draw(self, shares: Sequence[bool], noise: Noise) -> int:
        """Return a noisy count."""
        return sum(map(bool, shares)) + noise.laplace(self.scale)

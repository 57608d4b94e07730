"""The number of shares with each of several public values: a histogram with discrete Laplace noise."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.privacy.change import Change
from discreet.privacy.costs import Cost, Pure
from discreet.privacy.mechanisms.exponential import vote_range
from discreet.privacy.noise import Noise


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

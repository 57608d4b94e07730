"""A public threshold with about the wanted number of shares above it: the exponential mechanism over thresholds."""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.privacy.costs import BoundedRange, Cost
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change


@dataclass(frozen=True)
class ThresholdChoice:
    """Select one of the thresholds 0 .. thresholds-1. A share is the index of the first threshold that it passes.

    The score of threshold i is minus the distance between `wanted` and the number of shares that pass i. One share
    changes each score by at most one, in either direction.

    Attributes:
        thresholds: the number of thresholds, the highest first.
        wanted: the target number of shares above the threshold.
        scale: the scale of the noise: weights are exp(score / scale).
    """

    thresholds: int
    wanted: int
    scale: float

    def __str__(self) -> str:
        return f"choice among {self.thresholds} thresholds, {self.wanted} wanted, scale {self.scale:.6g}"

    @staticmethod
    def calibrated(epsilon: float, thresholds: int, wanted: int, change: Change) -> "ThresholdChoice":
        """Return the choice that costs `epsilon` under `change`."""
        return ThresholdChoice(thresholds, wanted, 2 * change.shares / epsilon)

    def cost(self, change: Change) -> Cost:
        """Return a bounded range: log-weights move by at most shares/scale, up or down."""
        return BoundedRange(2 * change.shares / self.scale)

    def draw(self, shares: Sequence[int], noise: Noise) -> int:
        """Return the index of a threshold."""
        passing, scores = 0, []
        for threshold in range(self.thresholds):
            passing += sum(share == threshold for share in shares)
            scores.append(-float(abs(passing - self.wanted)))
        return noise.select(scores, self.scale)

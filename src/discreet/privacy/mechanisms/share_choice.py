"""A public threshold with about a share of the total weight above it: the exponential mechanism over thresholds.

DP-RAG (Grislain 2024), top-p; privacy-spec, part 8. The best number of units above a threshold depends on the question.
The best share of their weight, which decreases with distance, depends on it less.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.privacy.costs import BoundedRange, Cost
from discreet.privacy.mechanisms.aggregated_logits import ONE
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change, Relation


@dataclass(frozen=True)
class ShareChoice:
    """Select one of the thresholds, the highest first. A share is the index of the first threshold that it passes.

    The score of threshold i is -|p W - W_i|, where W is the weight of all shares, and W_i of those that pass i. An
    added share moves p W - W_i by between -(1 - p) and p, so each score by at most the larger of p and 1 - p. Weights
    and p are rounded to multiples of 2^-16, so that sums do not depend on order. The cost is that of the rounded p.

    Attributes:
        weights: the public weight of a share for the first threshold that it passes, between 0 and 1. A share that
            passes none weighs 0.
        share: p, between 0 and 1.
        scale: the scale of the noise: log-weights are scores / scale.
    """

    weights: tuple[float, ...]
    share: float
    scale: float

    def __post_init__(self) -> None:
        if not (self.weights and all(0 <= weight <= 1 for weight in self.weights) and 0 < self.share < 1):
            raise ValueError(f"Weights and the share lie between 0 and 1; the share is {self.share}.")

    def __str__(self) -> str:
        return (
            f"choice among {len(self.weights)} thresholds, {self.share:g} of all weight wanted, scale {self.scale:.6g}"
        )

    @staticmethod
    def calibrated(epsilon: float, weights: tuple[float, ...], share: float, change: Change) -> "ShareChoice":
        """Return the choice that costs `epsilon` under `change`."""
        return ShareChoice(weights, share, 2 * _moved(share, change) / epsilon)

    def cost(self, change: Change) -> Cost:
        """Return a bounded range: twice the largest move of a log-weight."""
        return BoundedRange(2 * _moved(self.share, change) / self.scale)

    def draw(self, shares: Sequence[int], noise: Noise) -> int:
        """Return the index of a threshold."""
        weights, p = [round(weight * ONE) for weight in self.weights], _whole(self.share)
        counts = [sum(share == threshold for share in shares) for threshold in range(len(weights))]
        whole = sum(count * weight for count, weight in zip(counts, weights, strict=True))
        passing, scores = 0, []
        for count, weight in zip(counts, weights, strict=True):
            passing += count * weight
            scores.append(-abs(p * whole - ONE * passing) / ONE**2)
        return noise.select(scores, self.scale)


def _whole(share: float) -> int:
    return round(share * ONE)


def _moved(share: float, change: Change) -> float:
    """Return the largest change of a score. If a share is replaced, one share moves it by p and the other by 1 - p."""
    p = _whole(share)
    return change.shares * (max(p, ONE - p) / ONE if change.relation is Relation.ADD_REMOVE else 1.0)

"""A public threshold above which lies about a share of the whole weight: the exponential mechanism over thresholds.

DP-RAG (Grislain 2024), top-p; privacy-spec, part 8. How many units should be above a threshold depends on the question;
the share of their weight, which falls off with distance, does so less.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.privacy.change import Change, Relation
from discreet.privacy.costs import BoundedRange, Cost
from discreet.privacy.mechanisms.aggregated_logits import ONE
from discreet.privacy.noise import Noise


@dataclass(frozen=True)
class ShareChoice:
    """Select one of the thresholds, the highest first; a share says the first of them that it passes.

    The score of threshold i is -|p W - W_i|, with W the weight of all shares and W_i that of those that pass i. A share
    that comes moves p W - W_i by between -(1 - p) and p, so each score by at most the larger of p and 1 - p. Weights
    and p are taken as whole numbers of 2^-16, so that no sum follows from an order; the cost is that of this p.

    Attributes:
        weights: of a share, by the first threshold that it passes: public, between 0 and 1. One that passes none has 0.
        share: p, between 0 and 1.
        scale: the noise: log-weights are scores / scale.
    """

    weights: tuple[float, ...]
    share: float
    scale: float

    def __post_init__(self) -> None:
        if not (self.weights and all(0 <= weight <= 1 for weight in self.weights) and 0 < self.share < 1):
            raise ValueError("Weights lie between 0 and 1, and the share between.")

    def __str__(self) -> str:
        return (
            f"choice among {len(self.weights)} thresholds, {self.share:g} of all weight wanted, scale {self.scale:.6g}"
        )

    @staticmethod
    def calibrated(epsilon: float, weights: tuple[float, ...], share: float, change: Change) -> "ShareChoice":
        """The choice that costs `epsilon` under `change`."""
        return ShareChoice(weights, share, 2 * _moved(share, change) / epsilon)

    def cost(self, change: Change) -> Cost:
        """Bounded range: log-weights move by at most so much, up or down."""
        return BoundedRange(2 * _moved(self.share, change) / self.scale)

    def draw(self, shares: Sequence[int], noise: Noise) -> int:
        """One draw."""
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
    """By how much a score can move. A share in place of another: one way by p, the other by 1 - p."""
    p = _whole(share)
    return change.shares * (max(p, ONE - p) / ONE if change.relation is Relation.ADD_REMOVE else 1.0)

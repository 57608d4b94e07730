"""What Theorem 1 of a paper on random projection claims, worked out: a calculator, not a guarantee.

Yao and Li, "Differentially private retrieval augmented generation with random projection". Norms of embeddings lie in
[gamma, Delta], so the ratio Gamma of the variances of two projected rows lies in [gamma^2/Delta^2, Delta^2/gamma^2].
The Renyi divergence of order alpha between two rows of k such Gaussians is (Equation 11)

    k (-ln(Gamma)/2 - ln((1 - alpha) Gamma + alpha) / (2 (alpha - 1))),

and infinite where (1 - alpha) Gamma + alpha <= 0, that is from Gamma = alpha/(alpha - 1) on. The paper says that
its inequality always holds for Gamma >= 1; it does not. And even where the number is finite it bounds the law of one
row by itself: rows share the matrix, which whoever knows enough of them can work out (`attacks/distinguish.py`).
"""

import math
from dataclasses import dataclass

import numpy as np

from discreet.errors import UsageError
from discreet.privacy.costs import ORDERS, Claimed, Curve

GAMMA, DELTA, K, SIGMA, ALPHA = 1.0, 2.0, 64, 0.1, 99.0
"""The paper's parameters."""
LARGEST_K = 10**6
"""No embedding has more numbers."""
PAPER_EPSILON = 5.051
"""What the paper says that they have."""

CAVEAT = (
    "the bound of Yao and Li (Theorem 1) is about one projected row by itself. Rows share one matrix, and the texts "
    "found by them are used as they are, so it is not a differential privacy guarantee for the released text."
)


@dataclass(frozen=True)
class RenyiBound:
    """A Renyi divergence of at most `epsilon` at the order `alpha`, and so at every lower one."""

    alpha: float
    epsilon: float

    @property
    def curve(self) -> Curve:
        """Nothing is known of higher orders."""
        return np.where(self.alpha >= ORDERS, self.epsilon, np.inf)

    @property
    def delta(self) -> float:
        """It holds without exception."""
        return 0.0

    def describe(self) -> dict[str, float | str]:
        """The cost as plain data."""
        return {"kind": "Renyi", "epsilon": self.epsilon, "alpha": self.alpha}


@dataclass(frozen=True)
class ProjectionClaim:
    """Theorem 1 for given parameters.

    Attributes:
        k: to how many numbers a vector is projected.
        gamma, delta: between which lengths embeddings are brought.
        alpha: the order.

    Raises:
        UsageError: a parameter is out of range.
    """

    k: int = K
    gamma: float = GAMMA
    delta: float = DELTA
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        check_bounds(self.gamma, self.delta)
        if not 1 <= self.k <= LARGEST_K:
            raise UsageError(f"A projection has from 1 to {LARGEST_K:,} dimensions; k is another. The paper takes 64.")
        if not (self.alpha > 1 and math.isfinite(self.alpha)):
            raise UsageError(f"A Renyi divergence has an order above 1; alpha is {self.alpha:g}. The paper takes 99.")

    @property
    def widest(self) -> float:
        """The largest ratio of variances."""
        return (self.delta / self.gamma) ** 2

    @property
    def epsilon(self) -> float:
        """The smallest epsilon that fulfils Equation 1 at both ends; infinite where the formula has no value.

        The divergence falls until Gamma = 1, where it is 0, and rises from there: the ends are the worst.
        """
        return max(row_divergence(self.k, ratio, self.alpha) for ratio in (1 / self.widest, self.widest))

    @property
    def highest_order(self) -> float:
        """Below this order the formula has a value for all ratios; infinite if all norms are one."""
        return self.widest / (self.widest - 1) if self.widest > 1 else math.inf

    def converted(self, delta: float) -> float:
        """The epsilon of (epsilon, delta) that Appendix B makes of it (Mironov 2017, Proposition 3)."""
        if not 0 < delta < 1:
            raise UsageError(f"Delta is a probability between 0 and 1, not {delta:g}. Try 1e-6.")
        return self.epsilon + math.log(1 / delta) / (self.alpha - 1)

    def cost(self) -> Claimed:
        """As what stands on a receipt."""
        return Claimed(RenyiBound(self.alpha, self.epsilon), CAVEAT)


def check_bounds(gamma: float, delta: float) -> None:
    """Nothing, if lengths can be brought between these bounds.

    Raises:
        UsageError: they cannot.
    """
    if not (gamma > 0 and delta > gamma and math.isfinite(delta)):
        raise UsageError(
            f"The bounds of norms must be 0 < gamma < Delta; they are {gamma:g} and {delta:g}. The paper takes 1 and 2."
        )


def row_divergence(k: int, ratio: float, alpha: float) -> float:
    """The Renyi divergence of order `alpha` between two projected rows whose variances have this ratio; may be inf."""
    argument = (1 - alpha) * ratio + alpha
    if argument <= 0:
        return math.inf
    return k * (-math.log(ratio) / 2 - math.log(argument) / (2 * (alpha - 1)))


def narrowest_ratio(k: int, alpha: float, epsilon: float) -> float:
    """The smallest Gamma, at most 1, at which the divergence is no more than `epsilon`."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        inside = middle > 0 and row_divergence(k, middle, alpha) <= epsilon
        low, high = (low, middle) if inside else (middle, high)
    return high


def best_order(k: int, gamma: float, delta: float, probability: float) -> ProjectionClaim:
    """The claim at the order at which Appendix B makes the smallest epsilon of it."""
    highest = ProjectionClaim(k, gamma, delta).highest_order
    orders = [1 + (highest - 1) * step / 1000 for step in range(1, 1000)]
    return min((ProjectionClaim(k, gamma, delta, order) for order in orders), key=lambda c: c.converted(probability))

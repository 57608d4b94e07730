"""The published claim of Theorem 1 of a paper on random projection: a calculator, not a guarantee.

Yao and Li, "Differentially private retrieval augmented generation with random projection". Norms of embeddings lie in
[gamma, Delta], so the ratio Gamma of the variances of two projected rows lies in [gamma^2/Delta^2, Delta^2/gamma^2].
The Renyi divergence of order alpha between two rows of k such Gaussians is (Equation 11)

    k (-ln(Gamma)/2 - ln((1 - alpha) Gamma + alpha) / (2 (alpha - 1))),

and infinite where (1 - alpha) Gamma + alpha <= 0, that is from Gamma = alpha/(alpha - 1) on. The paper claims that its
inequality holds for all Gamma >= 1, which is wrong. Where the number is finite, it bounds the law of a single row. But
all rows share the matrix, and an attacker who knows enough rows can compute it (`attacks/distinguish.py`).
"""

import math
from dataclasses import dataclass

import numpy as np

from discreet.errors import UsageError
from discreet.privacy.costs import ORDERS, Claimed, Curve

GAMMA, DELTA, K, SIGMA, ALPHA = 1.0, 2.0, 64, 0.1, 99.0
"""The paper's parameters."""
LARGEST_K = 10**6
"""The largest k: no embedding has more dimensions."""
PAPER_EPSILON = 5.051
"""The epsilon that the paper states for its parameters."""

CAVEAT = (
    "the bound of Yao and Li (Theorem 1) is about one projected row by itself. Rows share one matrix, and the texts "
    "found by them are used as they are, so it is not a differential privacy guarantee for the released text."
)


@dataclass(frozen=True)
class RenyiBound:
    """A Renyi divergence of at most `epsilon` at the order `alpha`, and so at every lower order."""

    alpha: float
    epsilon: float

    @property
    def curve(self) -> Curve:
        """The curve; infinite at orders above `alpha`, for which no bound is known."""
        return np.where(self.alpha >= ORDERS, self.epsilon, np.inf)

    @property
    def delta(self) -> float:
        """The failure probability: 0."""
        return 0.0

    def describe(self) -> dict[str, float | str]:
        """Return the cost as plain data."""
        return {"kind": "Renyi", "epsilon": self.epsilon, "alpha": self.alpha}


@dataclass(frozen=True)
class ProjectionClaim:
    """Theorem 1 for given parameters.

    Attributes:
        k: the number of dimensions after the projection.
        gamma, delta: the bounds of the lengths of embeddings.
        alpha: the order.

    Raises:
        UsageError: if a parameter is out of range.
    """

    k: int = K
    gamma: float = GAMMA
    delta: float = DELTA
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        check_bounds(self.gamma, self.delta)
        if not 1 <= self.k <= LARGEST_K:
            raise UsageError(f"k lies between 1 and {LARGEST_K:,}, not {self.k}. The paper takes 64.")
        if not (self.alpha > 1 and math.isfinite(self.alpha)):
            raise UsageError(f"alpha is a finite order above 1, not {self.alpha:g}. The paper takes 99.")

    @property
    def widest(self) -> float:
        """The largest ratio of variances."""
        return (self.delta / self.gamma) ** 2

    @property
    def epsilon(self) -> float:
        """The smallest epsilon that fulfils Equation 1 at both ends; infinite where the formula has no value.

        The divergence falls until Gamma = 1, where it is 0, and rises from there. So its maximum is at an end.
        """
        return max(row_divergence(self.k, ratio, self.alpha) for ratio in (1 / self.widest, self.widest))

    @property
    def highest_order(self) -> float:
        """The order below which the formula has a value for all ratios; infinite if all norms are equal."""
        return self.widest / (self.widest - 1) if self.widest > 1 else math.inf

    def converted(self, delta: float) -> float:
        """Return the epsilon of (epsilon, delta) by the conversion of Appendix B (Mironov 2017, Proposition 3).

        Raises:
            UsageError: if delta is not between 0 and 1.
        """
        if not 0 < delta < 1:
            raise UsageError(f"Delta is a probability between 0 and 1, not {delta:g}. Try 1e-6.")
        return self.epsilon + math.log(1 / delta) / (self.alpha - 1)

    def cost(self) -> Claimed:
        """Return the claim as a cost for a receipt."""
        return Claimed(RenyiBound(self.alpha, self.epsilon), CAVEAT)


def check_bounds(gamma: float, delta: float) -> None:
    """Check that lengths can be brought between these bounds.

    Raises:
        UsageError: if they cannot.
    """
    if not (gamma > 0 and delta > gamma and math.isfinite(delta)):
        raise UsageError(
            f"The bounds of norms must be 0 < gamma < Delta; they are {gamma:g} and {delta:g}. The paper takes 1 and 2."
        )


def row_divergence(k: int, ratio: float, alpha: float) -> float:
    """Return the Renyi divergence of order `alpha` between two projected rows, in nats; may be infinite.

    `ratio` is the ratio of their variances.
    """
    argument = (1 - alpha) * ratio + alpha
    if argument <= 0:
        return math.inf
    return k * (-math.log(ratio) / 2 - math.log(argument) / (2 * (alpha - 1)))


def narrowest_ratio(k: int, alpha: float, epsilon: float) -> float:
    """Return the smallest Gamma, at most 1, at which the divergence is at most `epsilon`."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        inside = middle > 0 and row_divergence(k, middle, alpha) <= epsilon
        low, high = (low, middle) if inside else (middle, high)
    return high


def best_order(k: int, gamma: float, delta: float, probability: float) -> ProjectionClaim:
    """Return the claim at the order for which Appendix B gives the smallest epsilon."""
    highest = ProjectionClaim(k, gamma, delta).highest_order
    orders = [1 + (highest - 1) * step / 1000 for step in range(1, 1000)]
    return min((ProjectionClaim(k, gamma, delta, order) for order in orders), key=lambda c: c.converted(probability))

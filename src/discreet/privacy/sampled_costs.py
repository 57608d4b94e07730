"""What a release costs if each unit takes part by a secret coin: privacy-spec, part 10.7.

Each unit takes part with a public probability p, by a fresh coin that stays secret, and comes or goes. Without the unit
the law is Q. With it the law is (1 - p) Q + p P, where P is the law when the coin lets it take part.

- Pure and bounded range: from P <= e^epsilon Q + delta follows (1 - p) Q + p P <= (1 + p (e^epsilon - 1)) Q + p delta,
  and the other direction costs no more (Li, Qardaji and Su 2012; Balle, Barthe and Gaboardi 2018, Theorem 8).
- Gaussian: K counts move by 1 under noise of scale sigma, rho = K / (2 sigma^2). At a whole order a the moment is
  sum_k C(a, k) (1 - p)^(a-k) p^k e^(rho k (k-1)): the discrete Gaussian, shifted by whole numbers, has the moments of
  the continuous one. Between whole orders the logarithm of the moment is convex, so a chord bounds it. The other
  direction is no larger, since z -> 1 - z exchanges the two laws (Mironov, Talwar and Zhang 2019).
- An event of probability delta that only P has becomes one of probability p delta. The rest is a mixture with less of
  P, and a divergence of (1 - p) Q + p P from Q, either way, does not fall with p.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.privacy.costs import ORDERS, BoundedRange, Cost, Curve, Pure, ZeroConcentrated


@dataclass(frozen=True)
class GaussianShift(ZeroConcentrated):
    """rho-zCDP of whole numbers that move under (discrete) Gaussian noise, and of nothing else.

    A bound by zCDP alone says too little for secret sampling; this class says which law it is.
    """


@dataclass(frozen=True)
class SampledGaussian:
    """A `GaussianShift` in which each unit takes part with a public probability, by a fresh secret coin.

    Attributes:
        rho: of the release without sampling.
        probability: with which a unit takes part.
        delta: the probability of the event outside which the curve holds; sampling is included.
    """

    rho: float
    probability: float
    delta: float = 0.0

    @property
    def curve(self) -> Curve:
        """The curve of the sampled Gaussian, unbounded at order infinity."""
        return sampled_gaussian_curve(self.rho, self.probability).copy()

    def describe(self) -> dict[str, float | str]:
        """Return the cost as plain data."""
        return {"kind": "sampled zCDP", "rho": self.rho, "probability": self.probability, "delta": self.delta}


def amplify(cost: Cost, probability: float) -> Cost:
    """Return what each unit pays for a release of `cost` in which it takes part with `probability`.

    Raises:
        NotImplementedError: if no bound is proved for costs of this kind.
    """
    if isinstance(cost, Pure | BoundedRange):
        return Pure(amplified_epsilon(cost.epsilon, probability), probability * cost.delta)
    if isinstance(cost, GaussianShift):
        return SampledGaussian(cost.rho, probability, probability * cost.delta)
    raise NotImplementedError(f"No bound of secret sampling is proved for {type(cost).__name__} costs.")


def amplified_epsilon(epsilon: float, probability: float) -> float:
    """Return ln(1 + p (e^epsilon - 1))."""
    return math.log1p(probability * math.expm1(epsilon))


@lru_cache(maxsize=256)
def sampled_gaussian_curve(rho: float, probability: float) -> Curve:
    """Return the divergence at each of `ORDERS`."""
    finite = ORDERS[:-1]
    below, above = np.floor(finite), np.ceil(finite)
    whole = sorted({*below, *above})
    logs = dict(zip(whole, (_log_moment(int(order), rho, probability) for order in whole), strict=True))
    low, high = (np.array([logs[order] for order in side]) for side in (below, above))
    moments = low + (finite - below) * (high - low)
    # Sampling never costs more than the release itself.
    curve = np.append(np.minimum(np.maximum(moments, 0.0) / (finite - 1), rho * finite), np.inf if rho > 0 else 0.0)
    curve.setflags(write=False)
    return curve


def _log_moment(order: int, rho: float, probability: float) -> float:
    """Return ln E_Q[((1 - p) + p P/Q)^order] at a whole order."""
    if order == 1 or probability == 0:
        return 0.0
    if probability == 1:
        return rho * order * (order - 1)
    k = np.arange(order + 1, dtype=np.float64)
    factorials = np.array([math.lgamma(number + 1) for number in range(order + 1)])
    choose = factorials[-1] - factorials - factorials[::-1]
    terms = choose + (order - k) * math.log1p(-probability) + k * math.log(probability) + rho * k * (k - 1)
    return float(np.logaddexp.reduce(terms))

"""The cost of a release: a Rényi curve on a fixed grid of orders, and a probability of failure.

The attribute `curve` is the Rényi divergence at each of `ORDERS`. The last order is infinity, that is pure epsilon. The
attribute `delta` is the probability of an event that must be removed before the curve holds (Bun and Steinke 2016).
Costs are frozen data: the mechanism's kind, and its noise. Formulas: privacy-spec, part 1.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Curve = NDArray[np.float64]

ORDERS: Curve = np.concatenate(
    [
        np.arange(101, 200) / 100,  # 1.01 .. 1.99
        np.arange(20, 160) / 10,  # 2.0 .. 15.9
        np.arange(16, 65),  # 16 .. 64
        [80, 96, 128, 192, 256, 384, 512, 768, 1024],
        [np.inf],
    ]
).astype(np.float64)
"""The orders of all curves. The last one is infinity."""

# Below this epsilon the closed forms lose precision by cancellation. Their simple upper bounds are used instead, which
# differ by a factor of 1 + O(epsilon).
_SMALL = 1e-3


class Cost(Protocol):
    """The cost of one release."""

    @property
    def curve(self) -> Curve:
        """The Rényi divergence at each of `ORDERS`, in nats."""

    @property
    def delta(self) -> float:
        """The probability of the event outside which the curve holds."""

    def describe(self) -> dict[str, float | str]:
        """Return the cost as plain data, for a receipt."""


@dataclass(frozen=True)
class Pure:
    """Pure epsilon-DP, after removing an event of probability at most `delta`."""

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        _check(self.epsilon, self.delta)

    @property
    def curve(self) -> Curve:
        """The curve of randomised response, which dominates every epsilon-DP release."""
        return pure_curve(self.epsilon)

    def describe(self) -> dict[str, float | str]:
        """Return the cost as plain data."""
        return {"kind": "pure", "epsilon": self.epsilon, "delta": self.delta}


@dataclass(frozen=True)
class BoundedRange:
    """Bounded range: all log-ratios of output probabilities lie within an interval of length `epsilon`.

    It implies epsilon-DP and epsilon^2/8-zCDP (Cesar and Rogers 2021). The exponential mechanism has it.
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        _check(self.epsilon, self.delta)

    @property
    def curve(self) -> Curve:
        """The largest divergence of any pair of distributions with that range."""
        return bounded_range_curve(self.epsilon).copy()

    def describe(self) -> dict[str, float | str]:
        """Return the cost as plain data."""
        return {"kind": "bounded-range", "epsilon": self.epsilon, "delta": self.delta}


@dataclass(frozen=True)
class ZeroConcentrated:
    """rho-zCDP: a divergence of at most rho times the order (Bun and Steinke 2016)."""

    rho: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        _check(self.rho, self.delta)

    @property
    def curve(self) -> Curve:
        """A line through the origin; infinite at order infinity unless rho is 0."""
        return self.rho * ORDERS if self.rho > 0 else np.zeros_like(ORDERS)

    def describe(self) -> dict[str, float | str]:
        """Return the cost as plain data."""
        return {"kind": "zCDP", "rho": self.rho, "delta": self.delta}


@dataclass(frozen=True)
class NonPrivate:
    """A cost without a bound, for baselines. Every budget refuses it."""

    @property
    def curve(self) -> Curve:
        """Infinite at every order."""
        return np.full_like(ORDERS, np.inf)

    @property
    def delta(self) -> float:
        """The failure probability: 0, since an infinite curve always holds."""
        return 0.0

    def describe(self) -> dict[str, float | str]:
        """Return the cost as plain data."""
        return {"kind": "not private", "epsilon": math.inf, "delta": 0.0}


@dataclass(frozen=True)
class Claimed:
    """A published bound that is no guarantee for the released value. Every budget refuses it, regardless of its size.

    Attributes:
        cost: the claimed cost.
        caveat: why the claim does not hold; printed on receipts.
    """

    cost: Cost
    caveat: str

    @property
    def curve(self) -> Curve:
        """Infinite at every order, since the claim is not proved."""
        return np.full_like(ORDERS, np.inf)

    @property
    def delta(self) -> float:
        """The failure probability: 0, since an infinite curve always holds."""
        return 0.0

    def describe(self) -> dict[str, float | str]:
        """Return the cost as plain data. The claim is under `claimed`, and not under the keys of a guarantee."""
        claimed = ", ".join(f"{name} {value}" for name, value in self.cost.describe().items())
        return {"kind": "claim", "claimed": claimed, "caveat": self.caveat}


@dataclass(frozen=True)
class Together:
    """Several releases that are paid for as one round."""

    costs: tuple[Cost, ...]

    @property
    def curve(self) -> Curve:
        """The sum of the curves."""
        return np.asarray(np.sum([cost.curve for cost in self.costs], axis=0), dtype=np.float64)

    @property
    def delta(self) -> float:
        """The sum of the failure probabilities."""
        return sum(cost.delta for cost in self.costs)

    def describe(self) -> dict[str, float | str]:
        """Return the cost as plain data."""
        return {"kind": "together", "costs": "; ".join(str(cost.describe()) for cost in self.costs)}


@dataclass(frozen=True)
class Times:
    """The same release, `times` times."""

    cost: Cost
    times: int

    @property
    def curve(self) -> Curve:
        """The curve of all releases."""
        return np.asarray(self.cost.curve * self.times, dtype=np.float64)

    @property
    def delta(self) -> float:
        """The failure probability of all releases."""
        return self.cost.delta * self.times

    def describe(self) -> dict[str, float | str]:
        """Return the cost as plain data."""
        return self.cost.describe() | {"times": self.times}


@lru_cache(maxsize=256)
def pure_curve(epsilon: float) -> Curve:
    """Return the divergence of randomised response at each of `ORDERS`, in nats (privacy-spec, part 1)."""
    finite = ORDERS[:-1]
    simple = np.minimum(epsilon, finite * epsilon**2 / 2)
    if epsilon < _SMALL:
        return _fixed(np.append(simple, epsilon))
    log_p, log_q = -np.logaddexp(0.0, -epsilon), -np.logaddexp(0.0, epsilon)
    moments = np.logaddexp(
        finite * log_p + (1 - finite) * log_q,
        finite * log_q + (1 - finite) * log_p,
    )
    return _fixed(np.append(np.minimum(simple, np.maximum(moments / (finite - 1), 0.0)), epsilon))


@lru_cache(maxsize=256)
def bounded_range_curve(epsilon: float) -> Curve:
    """Return the largest divergence of a pair with bounded range `epsilon`, at each of `ORDERS`, in nats.

    By convexity the worst pair has two outcomes, with log-ratios t and t - epsilon. Its moment of order a is
    proportional to `A x^(a-1) - B x^a` with x = e^t, A = 1 - e^(-a epsilon), B = e^(-epsilon) - e^(-a epsilon). It is
    largest at x = (a-1)A / (aB), where it equals x^(a-1) A / a. The omitted factor is 1 / (1 - e^(-epsilon)).
    """
    finite = ORDERS[:-1]
    simple = np.minimum(epsilon, finite * epsilon**2 / 8)
    if epsilon < _SMALL:
        return _fixed(np.append(simple, epsilon))
    a = -np.expm1(-finite * epsilon)
    log_b = -epsilon + np.log(-np.expm1(-(finite - 1) * epsilon))
    t = np.log((finite - 1) / finite) + np.log(a) - log_b
    log_moment = (finite - 1) * t + np.log(a / finite) - np.log(-np.expm1(-epsilon))
    return _fixed(np.append(np.minimum(simple, np.maximum(log_moment / (finite - 1), 0.0)), epsilon))


def _fixed(curve: Curve) -> Curve:
    """Make a cached curve read-only, and return it."""
    curve.setflags(write=False)
    return curve


def _check(size: float, delta: float) -> None:
    if not (size >= 0 and math.isfinite(size)):
        raise ValueError(f"A cost is a finite number of at least 0, not {size}.")
    if not 0 <= delta < 1:
        raise ValueError(f"A probability of failure lies in [0, 1), not {delta}.")


# --- what a release costs if each unit takes part by a secret coin ----------------------------------------------------
# Privacy-spec, part 10.7. Each unit takes part with a public probability p, by a fresh coin that stays secret, and
# comes or goes. Without the unit the law is Q. With it the law is (1 - p) Q + p P, where P is the law when the coin
# lets it take part.
#
# - Pure and bounded range: from P <= e^epsilon Q + delta follows (1 - p) Q + p P <= (1 + p (e^epsilon - 1)) Q + p
#   delta, and the other direction costs no more (Li, Qardaji and Su 2012; Balle, Barthe and Gaboardi 2018, Theorem 8).
# - Gaussian: K counts move by 1 under noise of scale sigma, rho = K / (2 sigma^2). At a whole order a the moment is
#   sum_k C(a, k) (1 - p)^(a-k) p^k e^(rho k (k-1)): the discrete Gaussian, shifted by whole numbers, has the moments of
#   the continuous one. Between whole orders the logarithm of the moment is convex, so a chord bounds it. The other
#   direction is no larger, since z -> 1 - z exchanges the two laws (Mironov, Talwar and Zhang 2019).
# - An event of probability delta that only P has becomes one of probability p delta. The rest is a mixture with less of
#   P, and a divergence of (1 - p) Q + p P from Q, either way, does not fall with p.


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

"""Tails of the discrete Gaussian, as bounds that hold in floating point.

The law is P[Z = z] = exp(-z^2 / (2 sigma^2)) / N, with N the sum over all whole numbers (Canonne, Kamath and Steinke
2020). The continuous tail is no bound for it: at sigma 0.5 the discrete one is larger at some thresholds.

`upper_tail` bounds P[Z >= t] from above. The numerator is summed from t to a cut; beyond the cut each term is at most
r times the one before, so the rest is at most a geometric series. The denominator is cut, and so too small. Every
floating-point step has a relative error below 1e-12: exponents are below 1000, and sums have non-negative terms. The
result is multiplied by 1 + 1e-9, which covers all of them.
"""

import math
from functools import lru_cache

import numpy as np

from discreet.privacy.costs import Curve

_MARGIN = 1 + 1e-9
_TINY = 1e-300
"""More than all terms that underflow together."""
_REACH = 40
LEAST_SIGMA, LARGEST_SIGMA = 1e-2, 1e6


@lru_cache(maxsize=4096)
def upper_tail(sigma: float, threshold: int) -> float:
    """Return an upper bound of P[Z >= threshold], too large by a factor of at most 1 + 1e-8.

    Raises:
        ValueError: if `sigma` is out of range, or `threshold` is below 1.
    """
    if threshold < 1:
        raise ValueError(f"The tail of the noise begins at 1 or above, not at {threshold}.")
    terms = _terms(sigma)
    if threshold >= len(terms):
        return _TINY
    last = len(terms) - 1
    ratio = math.exp(-(2 * last + 1) / (2 * sigma**2))
    rest = float(terms[last]) * ratio / (1 - ratio)
    return min(1.0, (float(terms[threshold:].sum()) + rest + _TINY) / _total(sigma) * _MARGIN)


@lru_cache(maxsize=4096)
def least_threshold(sigma: float, probability: float) -> int:
    """Return the least t >= 1 with P[Z >= t] <= probability.

    Raises:
        ValueError: if `probability` is not above 1e-290.
    """
    if probability <= 1e-290:
        raise ValueError(f"A threshold needs a probability of failure above 1e-290, not {probability}.")
    low, high = 0, len(_terms(sigma))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if upper_tail(sigma, middle) <= probability else (middle, high)
    return high


def pass_chance(sigma: float, threshold: int) -> float:
    """Return P[Z >= threshold] for any whole number, in floating point: for plans, not for guarantees."""
    if threshold >= 1:
        return upper_tail(sigma, threshold)
    # By symmetry P[Z >= t] = 1 - P[Z >= 1 - t].
    return 1 - upper_tail(sigma, 1 - threshold)


@lru_cache(maxsize=64)
def _terms(sigma: float) -> Curve:
    if not LEAST_SIGMA <= sigma <= LARGEST_SIGMA:
        raise ValueError(f"The scale of the noise is from {LEAST_SIGMA} to {LARGEST_SIGMA:g}, not {sigma}.")
    numbers = np.arange(math.ceil(_REACH * sigma) + 2, dtype=np.float64)
    return np.exp(-(numbers**2) / (2 * sigma**2))


@lru_cache(maxsize=64)
def _total(sigma: float) -> float:
    """Return the denominator: each term but that of 0 is on both sides."""
    terms = _terms(sigma)
    return 2 * float(terms.sum()) - float(terms[0])

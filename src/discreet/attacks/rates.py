"""What counts of an attacker's successes say about a privacy loss, at least."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.accounting import largest


def lower_bound(
    true_positives: int, false_positives: int, trials: int, delta: float = 1e-5, confidence: float = 0.95
) -> float:
    """A privacy loss below which nothing explains such counts: ln((TPR - delta) / FPR), each rate at its worst.

    Both rates are bounded by Clopper and Pearson's intervals, so that both hold with probability `confidence`.
    """
    miss = (1 - confidence) / 2
    lowest = 1 - highest_rate(trials - true_positives, trials, miss)
    if lowest <= delta:
        return 0.0
    return max(0.0, math.log((lowest - delta) / highest_rate(false_positives, trials, miss)))


def highest_rate(count: int, trials: int, miss: float) -> float:
    """The largest rate at which so few or fewer of `trials` come up with probability at least `miss`."""
    if count >= trials:
        return 1.0
    counts, ways = np.arange(count + 1), _log_ways(trials)[: count + 1]

    def plausible(rate: float) -> bool:
        logs = ways + counts * math.log(rate) + (trials - counts) * math.log1p(-rate)
        return float(np.exp(logs).sum()) >= miss

    return largest(plausible, count / trials if count else 1e-12, 1 - 1e-12)


@lru_cache(maxsize=8)
def _log_ways(trials: int) -> NDArray[np.float64]:
    """The logarithm of `trials` over n, for n from 0 to `trials`."""
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, trials + 1)))])
    return np.asarray(factorials[-1] - factorials - factorials[::-1], dtype=np.float64)

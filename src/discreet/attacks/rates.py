"""How well an attack tells two kinds of things apart, with intervals; what that says of epsilon, and epsilon of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.accounting import largest

CONFIDENCE = 0.95
_Z = 1.959964  # of the standard normal distribution, for that confidence


@dataclass(frozen=True)
class Rate:
    """So many of so many, and Clopper and Pearson's interval for the rate behind it, of confidence 0.95.

    Attributes:
        count, of: what was counted, and among how many; `of` is at least 1.
        low, high: the interval's ends.
    """

    count: int
    of: int
    low: float
    high: float

    @staticmethod
    def among(count: int, of: int) -> "Rate":
        """The rate of `count` in `of`."""
        miss = (1 - CONFIDENCE) / 2
        return Rate(count, of, 1 - highest_rate(of - count, of, miss), highest_rate(count, of, miss))

    @property
    def value(self) -> float:
        """The rate that was measured."""
        return self.count / self.of


@dataclass(frozen=True)
class Auc:
    """The area under the curve of true against false positives.

    It is the probability that a score of the one kind is above one of the other, ties counting half: 0.5 is guessing.

    Attributes:
        value: what was measured.
        low, high: an interval of confidence 0.95, by `of` or by `of_pairs`.
        ins, outs: how many scores of each kind it was measured with.
        error: the standard error that pairs show; 0 without pairs.
    """

    value: float
    low: float
    high: float
    ins: int
    outs: int
    error: float = 0.0

    @staticmethod
    def of(ins: Sequence[float], outs: Sequence[float]) -> "Auc":
        """The area for scores of the things that are in, and of others that are not; there are some of each.

        The interval holds all areas that lie no further from what was measured than 1.96 times the standard error that
        they themselves would have (Newcombe 2006, his method 5, with the variance of Hanley and McNeil 1982). Unlike
        one that is drawn from the sample, it has a width at 0 and at 1, too.
        """
        value = float(_wins(ins, outs).mean())
        high = _furthest(value, len(ins), len(outs))
        return Auc(value, 1 - _furthest(1 - value, len(ins), len(outs)), high, len(ins), len(outs))

    @staticmethod
    def of_pairs(ins: Sequence[float], outs: Sequence[float]) -> "Auc":
        """The area for scores of the same things, in order, in and out; there are two of them at least.

        Nothing is compared with itself: its own two scores may have noise in common, which the guarantee says nothing
        about. How far each thing alone moves the area, with both its scores, gives the standard error (DeLong's, for
        clusters: Obuchowski 1997); what does not depend on being in moves nothing. So that there is a width where all
        are alike, or all told apart, two things are made up for the interval: one told apart wholly, one the
        wrong way round (as Agresti and Caffo 2000 do for rates).
        """
        wins, ones, zeros = _wins(ins, outs), np.ones((len(ins), 1)), np.zeros((len(ins), 1))
        more = np.block([[wins, ones, zeros], [ones.T, 1.0, 0.5], [zeros.T, 0.5, 0.0]])
        value, middle = _against_others(wins).mean() / 2, _against_others(more).mean() / 2
        moved = _against_others(more) - 2 * middle
        error = math.sqrt(float((moved**2).sum()) / (len(moved) * (len(moved) - 1)))
        low, high = max(0.0, min(value, middle - _Z * error)), min(1.0, max(value, middle + _Z * error))
        return Auc(float(value), float(low), float(high), len(ins), len(outs), error)

    def more_than(self, most: float, doubt: float) -> bool:
        """Whether members are told apart better than by an area of `most`, scores read either way.

        Args:
            most: at least 0.5.
            doubt: the probability with which this may be said of an area that is not more.
        """
        value = max(self.value, 1 - self.value)
        variance = max(_variance(most, self.ins, self.outs), self.error**2)
        apart = NormalDist().inv_cdf(1 - doubt / 2) ** 2 * variance
        return value > most and (value - most) ** 2 > apart


def _wins(ins: Sequence[float], outs: Sequence[float]) -> NDArray[np.float64]:
    """Whether each of the one kind is above each of the other: 1, 0, or 1/2 for a tie; shape (ins, outs)."""
    return np.asarray(np.sign(np.asarray(ins)[:, None] - np.asarray(outs)[None, :]) + 1, dtype=np.float64) / 2


def _against_others(wins: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each thing: how often its score in wins over others' out, and how often theirs in win over its out."""
    own = np.diag(wins)
    return np.asarray((wins.sum(axis=1) + wins.sum(axis=0) - 2 * own) / (len(wins) - 1), dtype=np.float64)


def _furthest(value: float, ins: int, outs: int) -> float:
    """The largest area that `value` is compatible with."""

    def compatible(area: float) -> bool:
        return (area - value) ** 2 <= _Z**2 * _variance(area, ins, outs)

    return largest(compatible, max(value, 1e-9), 1 - 1e-9) if value < 1 else 1.0


def _variance(area: float, ins: int, outs: int) -> float:
    """Of an estimate from so many of each kind (Hanley and McNeil 1982, as Newcombe averages it)."""
    mean = (ins + outs) / 2
    spread = 1 + (mean - 1) * ((1 - area) / (2 - area) + area / (1 + area))
    return area * (1 - area) * spread / (ins * outs)


def curve(ins: Sequence[float], outs: Sequence[float]) -> list[tuple[float, float]]:
    """The rates of false and of true positives at every threshold, from (0, 0) to (1, 1)."""
    levels = sorted({*ins, *outs}, reverse=True)
    points = [(sum(v >= t for v in outs) / len(outs), sum(v >= t for v in ins) / len(ins)) for t in levels]
    return [(0.0, 0.0), *points]


def true_positives(ins: Sequence[float], outs: Sequence[float], false_positives: float) -> Rate:
    """The true positives at the lowest threshold with no more than this rate of false ones.

    With fewer than 1 / `false_positives` outs that is the lowest with none.
    """
    worst = sorted(outs, reverse=True)[math.floor(false_positives * len(outs))]
    return Rate.among(sum(score > worst for score in ins), len(ins))


def most_true_positives(false_positives: float, epsilon: float, delta: float) -> float:
    """The highest rate of true positives that (epsilon, delta) allows at this rate of false ones."""
    more = math.exp(min(epsilon, 700.0))
    return min(1.0, more * false_positives + delta, 1 - max(0.0, 1 - delta - false_positives) / more)


def most_auc(epsilon: float, delta: float) -> float:
    """The largest area that (epsilon, delta) allows: that under `most_true_positives`."""
    corners = [0.0, (1 - delta) / (math.exp(min(epsilon, 700.0)) + 1), 1 - delta, 1.0]
    heights = [most_true_positives(at, epsilon, delta) for at in corners]
    return float(np.trapezoid(heights, corners))


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

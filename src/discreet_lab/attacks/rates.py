"""Measures of how well an attack distinguishes two classes, with intervals, and their relation to epsilon."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.accounting import largest

CONFIDENCE = 0.95
_Z = 1.959964  # of the standard normal distribution, for `CONFIDENCE`


@dataclass(frozen=True)
class Rate:
    """A rate `count` of `of`, with Clopper and Pearson's interval of confidence 0.95 for the true rate.

    Attributes:
        count, of: the number of hits and of trials; `of` is at least 1.
        low, high: the ends of the interval.
    """

    count: int
    of: int
    low: float
    high: float

    @staticmethod
    def among(count: int, of: int) -> "Rate":
        """Return the rate of `count` in `of`."""
        miss = (1 - CONFIDENCE) / 2
        return Rate(count, of, 1 - highest_rate(of - count, of, miss), highest_rate(count, of, miss))

    @property
    def value(self) -> float:
        """The measured rate."""
        return self.count / self.of


@dataclass(frozen=True)
class Auc:
    """The area under the curve of true against false positives.

    It is the probability that a score in is above a score out, where a tie counts half: 0.5 is guessing.

    Attributes:
        value: the measured area.
        low, high: an interval of confidence 0.95, by `of` or by `of_pairs`.
        ins, outs: the number of scores in and out.
        error: the standard error from pairs; 0 without pairs.
    """

    value: float
    low: float
    high: float
    ins: int
    outs: int
    error: float = 0.0

    @staticmethod
    def of(ins: Sequence[float], outs: Sequence[float]) -> "Auc":
        """Return the area for scores of some things that are in, and of others that are out; both must be present.

        The interval has all areas within 1.96 of their own standard errors of the measured one (Newcombe 2006, his
        method 5, with the variance of Hanley and McNeil 1982). Unlike an interval with the standard error of the
        sample, it has a width at 0 and at 1, too.
        """
        value = float(_wins(ins, outs).mean())
        high = _furthest(value, len(ins), len(outs))
        return Auc(value, 1 - _furthest(1 - value, len(ins), len(outs)), high, len(ins), len(outs))

    @staticmethod
    def of_pairs(ins: Sequence[float], outs: Sequence[float]) -> "Auc":
        """Return the area for scores of the same things, in order, in and out; at least two are needed.

        A thing is not compared with itself: its own two scores may share noise, on which the guarantee has no bound.
        The standard error follows from the effect of each thing, with both its scores, on the area (DeLong's, for
        clusters: Obuchowski 1997). A factor that is independent of membership has no effect. For an interval with a
        width even if all are alike, or all distinguished, two artificial things are added: one fully distinguished, and
        one the wrong way round (as Agresti and Caffo 2000 do for rates).
        """
        wins, ones, zeros = _wins(ins, outs), np.ones((len(ins), 1)), np.zeros((len(ins), 1))
        more = np.block([[wins, ones, zeros], [ones.T, 1.0, 0.5], [zeros.T, 0.5, 0.0]])
        value, middle = _against_others(wins).mean() / 2, _against_others(more).mean() / 2
        moved = _against_others(more) - 2 * middle
        error = math.sqrt(float((moved**2).sum()) / (len(moved) * (len(moved) - 1)))
        low, high = max(0.0, min(value, middle - _Z * error)), min(1.0, max(value, middle + _Z * error))
        return Auc(float(value), float(low), float(high), len(ins), len(outs), error)

    def more_than(self, most: float, doubt: float) -> bool:
        """Return whether members are distinguished better than by an area of `most`.

        Scores are read in either direction.

        Args:
            most: the area, at least 0.5.
            doubt: the probability of a positive result if the true area is not larger.
        """
        value = max(self.value, 1 - self.value)
        variance = max(_variance(most, self.ins, self.outs), self.error**2)
        apart = NormalDist().inv_cdf(1 - doubt / 2) ** 2 * variance
        return value > most and (value - most) ** 2 > apart


def _wins(ins: Sequence[float], outs: Sequence[float]) -> NDArray[np.float64]:
    """Return the comparison of each score in with each score out: 1, 0, or 1/2 for a tie; shape (ins, outs)."""
    return np.asarray(np.sign(np.asarray(ins)[:, None] - np.asarray(outs)[None, :]) + 1, dtype=np.float64) / 2


def _against_others(wins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each thing, its rate of wins in over the others' out, plus their rate of wins in over its out."""
    own = np.diag(wins)
    return np.asarray((wins.sum(axis=1) + wins.sum(axis=0) - 2 * own) / (len(wins) - 1), dtype=np.float64)


def _furthest(value: float, ins: int, outs: int) -> float:
    """Return the largest area that is compatible with `value`."""

    def compatible(area: float) -> bool:
        return (area - value) ** 2 <= _Z**2 * _variance(area, ins, outs)

    return largest(compatible, max(value, 1e-9), 1 - 1e-9) if value < 1 else 1.0


def _variance(area: float, ins: int, outs: int) -> float:
    """Return the variance of an estimate from `ins` and `outs` scores.

    The formula is of Hanley and McNeil (1982), as Newcombe averages it.
    """
    mean = (ins + outs) / 2
    spread = 1 + (mean - 1) * ((1 - area) / (2 - area) + area / (1 + area))
    return area * (1 - area) * spread / (ins * outs)


def curve(ins: Sequence[float], outs: Sequence[float]) -> list[tuple[float, float]]:
    """Return the rates of false and of true positives at every threshold, from (0, 0) to (1, 1)."""
    levels = sorted({*ins, *outs}, reverse=True)
    points = [(sum(v >= t for v in outs) / len(outs), sum(v >= t for v in ins) / len(ins)) for t in levels]
    return [(0.0, 0.0), *points]


def true_positives(ins: Sequence[float], outs: Sequence[float], false_positives: float) -> Rate:
    """Return the true positives at the lowest threshold with at most this rate of false positives.

    With fewer than 1 / `false_positives` outs, it is the lowest threshold without a false positive.
    """
    worst = sorted(outs, reverse=True)[math.floor(false_positives * len(outs))]
    return Rate.among(sum(score > worst for score in ins), len(ins))


def most_true_positives(false_positives: float, epsilon: float, delta: float) -> float:
    """Return the highest rate of true positives that (epsilon, delta) allows at this rate of false positives."""
    more = math.exp(min(epsilon, 700.0))
    return min(1.0, more * false_positives + delta, 1 - max(0.0, 1 - delta - false_positives) / more)


def most_auc(epsilon: float, delta: float) -> float:
    """Return the largest area that (epsilon, delta) allows: the area under `most_true_positives`."""
    corners = [0.0, (1 - delta) / (math.exp(min(epsilon, 700.0)) + 1), 1 - delta, 1.0]
    heights = [most_true_positives(at, epsilon, delta) for at in corners]
    return float(np.trapezoid(heights, corners))


def lower_bound(
    true_positives: int, false_positives: int, trials: int, delta: float = 1e-5, confidence: float = 0.95
) -> float:
    """Return a lower bound of the privacy loss: ln((TPR - delta) / FPR), with each rate at its worst.

    Clopper and Pearson's intervals bound both rates, so that both hold with probability `confidence`.
    """
    miss = (1 - confidence) / 2
    lowest = 1 - highest_rate(trials - true_positives, trials, miss)
    if lowest <= delta:
        return 0.0
    return max(0.0, math.log((lowest - delta) / highest_rate(false_positives, trials, miss)))


def highest_rate(count: int, trials: int, miss: float) -> float:
    """Return the largest rate at which `count` or fewer of `trials` occur with probability at least `miss`."""
    if count >= trials:
        return 1.0
    counts, ways = np.arange(count + 1), _log_ways(trials)[: count + 1]

    def plausible(rate: float) -> bool:
        logs = ways + counts * math.log(rate) + (trials - counts) * math.log1p(-rate)
        return float(np.exp(logs).sum()) >= miss

    return largest(plausible, count / trials if count else 1e-12, 1 - 1e-12)


@lru_cache(maxsize=8)
def _log_ways(trials: int) -> NDArray[np.float64]:
    """Return the logarithm of `trials` over n, for n from 0 to `trials`."""
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, trials + 1)))])
    return np.asarray(factorials[-1] - factorials - factorials[::-1], dtype=np.float64)

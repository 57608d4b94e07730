"""How well an attack tells two classes apart, with intervals, beside what (epsilon, delta) allows any attacker.

(epsilon, delta) holds if P(S) <= e^epsilon Q(S) + delta for every set S of outcomes, and the same with P and Q
exchanged. So one set that violates it, with confidence, is a lower bound of epsilon.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from operator import ge, le
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.accounting import largest

# --- bounds -----------------------------------------------------------------------------------------------------------


Key = Hashable
Event = Callable[[Key], bool]
"""Returns whether an outcome is in a set."""
Orders = Callable[[Counter[Any], Counter[Any]], Iterator[tuple[list[Key], Callable[[int], Event]]]]
"""Yields orders of the counted outcomes, each with a function that returns the event of its first n + 1 outcomes."""


@dataclass(frozen=True)
class Bound:
    """The bound from one set of outcomes.

    Attributes:
        epsilon: a lower bound of the privacy loss; 0 if the counts show none.
        likely: how many of `trials` draws were in the set, for the input on which it is likelier.
        rare: the same for the other input.
        trials: the number of counted draws of each input.
    """

    epsilon: float
    likely: int
    rare: int
    trials: int


def epsilon_at_least(first: Sequence[Key], second: Sequence[Key], delta: float, doubt: float) -> Bound:
    """Return the larger of the bounds in both directions.

    Args:
        first: outcomes of independent draws on an input; numbers, or any other values.
        second: outcomes of independent draws on a neighbouring input.
        delta: the delta of the claim.
        doubt: an upper bound of the probability that the bound is above the true loss. Each direction has half of it.
    """
    return _either_way(first, second, delta, doubt, _orders)


def epsilon_by_threshold(first: Sequence[float], second: Sequence[float], delta: float, doubt: float) -> Bound:
    """Return the larger of the bounds in both directions, with events above or below a threshold.

    Use it for outcomes in which few numbers occur twice. Sets of such numbers look best on the half that chooses, and
    have no draws on the other half.
    """
    return _either_way(first, second, delta, doubt, _thresholds)


def _either_way(first: Sequence[Any], second: Sequence[Any], delta: float, doubt: float, orders: Orders) -> Bound:
    ways = ((first, second), (second, first))
    return max((_one_way(one, other, delta, doubt / 2, orders) for one, other in ways), key=lambda bound: bound.epsilon)


def _one_way(likely: Sequence[Key], rare: Sequence[Key], delta: float, doubt: float, orders: Orders) -> Bound:
    half = min(len(likely), len(rare)) // 2
    event = _best_event(Counter(likely[:half]), Counter(rare[:half]), half, delta, doubt, orders)
    hits, misses = (sum(event(key) for key in draws[half : 2 * half]) for draws in (likely, rare))
    return Bound(lower_bound(hits, misses, half, delta, 1 - doubt), hits, misses, half)


def _best_event(
    likely: Counter[Key], rare: Counter[Key], trials: int, delta: float, doubt: float, orders: Orders
) -> Event:
    """Return the event with the largest bound on these draws, among the candidates."""
    found = (
        (score, event)
        for order, events in orders(likely, rare)
        for score, event in _scores(order, events, likely, rare, trials, delta, doubt)
    )
    return max(found, key=lambda one: one[0], default=(0.0, lambda _: False))[1]


def _orders(likely: Counter[Key], rare: Counter[Key]) -> Iterator[tuple[list[Key], Callable[[int], Event]]]:
    """Yield the orders by ratio of frequencies, and for numbers also by value."""
    keys = likely.keys() | rare.keys()
    # Half a draw is added on both sides, so that an outcome that occurred once by chance is not ranked first.
    ranked = sorted(keys, key=lambda key: ((rare[key] + 0.5) / (likely[key] + 0.5), repr(key)))
    yield ranked, lambda last: partial(_among, frozenset(ranked[: last + 1]))
    if all(isinstance(key, int | float) for key in keys):
        yield from _thresholds(likely, rare)


def _thresholds(likely: Counter[Any], rare: Counter[Any]) -> Iterator[tuple[list[Key], Callable[[int], Event]]]:
    for descending, beyond in ((False, le), (True, ge)):
        ordered: list[Any] = sorted(likely.keys() | rare.keys(), reverse=descending)
        yield ordered, partial(_half_line, ordered, beyond)


def _among(keys: frozenset[Key], key: Key) -> bool:
    return key in keys


def _half_line(ordered: Sequence[Key], beyond: Callable[[Any, Any], bool], last: int) -> Event:
    # The event includes values beyond all draws of the first half.
    return lambda key: beyond(key, ordered[last])


def _scores(
    order: Sequence[Key],
    events: Callable[[int], Event],
    likely: Counter[Key],
    rare: Counter[Key],
    trials: int,
    delta: float,
    doubt: float,
) -> Iterable[tuple[float, Event]]:
    """Return the best prefix of an order, with its bound by Wilson's interval, a fast approximation."""
    if not order:
        return []
    z = NormalDist().inv_cdf(1 - doubt / 2)
    low = _wilson(np.cumsum([likely[key] for key in order]) / trials, trials, -z) - delta
    high = _wilson(np.cumsum([rare[key] for key in order]) / trials, trials, z)
    shown = np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -np.inf)
    best = int(np.argmax(shown))
    return [(float(shown[best]), events(best))]


def _wilson(rate: NDArray[np.float64], trials: int, z: float) -> NDArray[np.float64]:
    middle = rate + z * z / (2 * trials)
    off = z * np.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials**2))
    return np.asarray((middle + off) / (1 + z * z / trials), dtype=np.float64)


# --- rates ------------------------------------------------------------------------------------------------------------


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


# --- advantage --------------------------------------------------------------------------------------------------------

# All else is the same, and known to the attacker. The draws are independent. So these figures may be compared with the
# guarantee itself, without the reservations of an attack on answers in words.


@dataclass(frozen=True)
class Advantage:
    """The result of an attack.

    Attributes:
        auc: the area under the curve of true against false positives.
        value: true less false positives at one threshold.
        shown: a lower bound of the privacy loss epsilon at the claim's delta, with confidence 0.95.
        epsilon, delta: the claim.
    """

    auc: Auc
    value: float
    shown: float
    epsilon: float
    delta: float

    @staticmethod
    def of(ins: Sequence[float], outs: Sequence[float], epsilon: float, delta: float) -> "Advantage":
        """Return the advantage of scores with the person over as many scores without, at least four of each.

        One half of the scores chooses the threshold, and the other half is counted.
        """
        half = len(ins) // 2
        threshold = max({*ins[:half], *outs[:half]}, key=lambda at: _apart(ins[:half], outs[:half], at))
        value = _apart(ins[half:], outs[half:], threshold)
        shown = epsilon_by_threshold(ins, outs, delta, 1 - CONFIDENCE).epsilon
        return Advantage(Auc.of(ins, outs), value, shown, epsilon, delta)

    @property
    def most_auc(self) -> float:
        """The largest area that the claim allows."""
        return most_auc(self.epsilon, self.delta)

    @property
    def most(self) -> float:
        """The largest advantage that the claim allows at any threshold."""
        return most_advantage(self.epsilon, self.delta)

    @property
    def exceeded(self) -> bool:
        """Whether the claim is refuted."""
        return self.shown > self.epsilon


def most_advantage(epsilon: float, delta: float) -> float:
    """Return the largest difference of true and false positives that (epsilon, delta) allows."""
    more = math.exp(min(epsilon, 700.0))
    return min(1.0, (more - 1 + 2 * delta) / (more + 1))


def _apart(ins: Sequence[float], outs: Sequence[float], threshold: float) -> float:
    """Return the true less the false positives of "in" at or above a threshold."""
    return sum(one >= threshold for one in ins) / len(ins) - sum(one >= threshold for one in outs) / len(outs)

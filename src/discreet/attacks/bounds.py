"""How much two random outcomes differ at least: a lower bound on epsilon from draws alone.

(epsilon, delta) holds if P(S) <= e^epsilon Q(S) + delta for every set S of outcomes, and the same with P and Q
exchanged. So one set for which it fails refutes it. The set is chosen on one half of the draws: outcomes are ranked by
how much more often they came up on one side, and the first so many of them are taken. On the other half, which had no
say in the choice, it is counted, and Clopper and Pearson's intervals bound both rates.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import ge, le
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.rates import lower_bound

Key = Hashable
Event = Callable[[Key], bool]
"""Whether an outcome is in a set."""
Orders = Callable[[Counter[Any], Counter[Any]], Iterator[tuple[list[Key], Callable[[int], Event]]]]
"""Orders of the outcomes that were counted on either side, each with what makes an event of its first n + 1."""


@dataclass(frozen=True)
class Bound:
    """What one set of outcomes shows.

    Attributes:
        epsilon: a privacy loss below which nothing explains the counts; 0 if they show none.
        likely: how many of `trials` draws fell into the set, of the input on which it is likelier.
        rare: the same for the other input.
        trials: the draws that were counted, of each input.
    """

    epsilon: float
    likely: int
    rare: int
    trials: int


def epsilon_at_least(first: Sequence[Key], second: Sequence[Key], delta: float, doubt: float) -> Bound:
    """The larger of the bounds in either direction.

    Args:
        first: outcomes of independent draws on an input; numbers, or anything else.
        second: the same on a neighbouring input.
        delta: of the claim that is looked at.
        doubt: the probability, at most, that the bound is above the truth. Each direction has half of it.
    """
    return _either_way(first, second, delta, doubt, _orders)


def epsilon_by_threshold(first: Sequence[float], second: Sequence[float], delta: float, doubt: float) -> Bound:
    """The same, with all that is above or below a threshold for a set: where hardly a number comes up twice.

    Of such numbers, sets of single ones look best on the half that chooses, and catch nothing on the other.
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
    """The set that would show most, by these draws, among those that are worth a try."""
    found = (
        (score, event)
        for order, events in orders(likely, rare)
        for score, event in _scores(order, events, likely, rare, trials, delta, doubt)
    )
    return max(found, key=lambda one: one[0], default=(0.0, lambda _: False))[1]


def _orders(likely: Counter[Key], rare: Counter[Key]) -> Iterator[tuple[list[Key], Callable[[int], Event]]]:
    """By how much more often they came up; numbers also as they are."""
    keys = likely.keys() | rare.keys()
    # Half a draw is added on both sides, so that what came up once by chance is not ranked first.
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
    # Also holds what lies further out than any draw of the first half.
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
    """The best beginning of an order, with what it would show: by Wilson's interval, which is quick, and close."""
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

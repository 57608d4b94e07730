"""Lower bounds of epsilon from draws of two random outcomes.

(epsilon, delta) holds if P(S) <= e^epsilon Q(S) + delta for every set S of outcomes, and the same with P and Q
exchanged. So one set that violates the inequality refutes the claim. One half of the draws chooses the set: outcomes
are ranked by the ratio of their frequencies, and the set is a prefix of the ranking. The other half, which is
independent of the choice, is counted. Clopper and Pearson's intervals bound both rates.
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

from discreet_lab.attacks.rates import lower_bound

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

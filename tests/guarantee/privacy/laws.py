"""Exact output laws of mechanisms, from formulas of their own, and checkers of what a mechanism claims.

A law is a dictionary from outcomes to probabilities. The checkers are given two neighbouring inputs; a mechanism
passes them and its broken twin does not.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import combinations_with_replacement
from typing import Any, TypeVar

import mpmath
import numpy as np

from discreet.privacy.costs import ORDERS, Cost, Curve
from discreet.privacy.private import Change, Relation

Law = dict[object, float]
Votes = tuple[int, ...]
Prices = tuple[tuple[float, float, float], ...]
"""Orders, each with the price of a release and of nothing."""
Real = Any  # a number of mpmath, which has no types
T = TypeVar("T")

REPLACE = Change(1, Relation.REPLACE)
ADD_REMOVE = Change(1, Relation.ADD_REMOVE)


def softmax(scores: dict[object, float], scale: float) -> Law:
    top = max(scores.values())
    weights = {outcome: math.exp((score - top) / scale) for outcome, score in scores.items()}
    total = sum(weights.values())
    return {outcome: weight / total for outcome, weight in weights.items()}


def exponential_law(votes: Votes, candidates: int, scale: float) -> Law:
    counts = Counter(votes)
    return softmax({c: float(counts[c]) for c in range(candidates)}, scale)


def observed_law(votes: Votes, scale: float, bottom: float) -> Law:
    scores: dict[object, float] = {value: float(count) for value, count in Counter(votes).items()}
    return softmax({**scores, None: bottom}, scale)


def limited_domain_law(votes: Votes, epsilon: float, delta: float, domain: int) -> Law:
    ranked = sorted(Counter(votes).items(), key=lambda item: (-item[1], item[0]))
    left_out = ranked[domain][1] if len(ranked) > domain else 0
    scores: dict[object, float] = {value: float(count) for value, count in ranked[:domain]}
    return softmax({**scores, None: left_out + 1 + math.log(1 / delta) / epsilon}, 1 / epsilon)


def permute_and_flip_law(votes: Votes, candidates: int, scale: float) -> Law:
    """McKenna and Sheldon: accept candidates, in random order, with probability exp((count - best) / scale)."""
    counts = Counter(votes)
    best = max(counts[c] for c in range(candidates))
    accept = {c: math.exp((counts[c] - best) / scale) for c in range(candidates)}
    law: Law = dict.fromkeys(range(candidates), 0.0)

    def walk(left: tuple[int, ...], probability: float) -> None:
        for candidate in left:
            here = probability / len(left)
            law[candidate] += here * accept[candidate]
            rest = tuple(c for c in left if c != candidate)
            if rest:
                walk(rest, here * (1 - accept[candidate]))

    walk(tuple(range(candidates)), 1.0)
    return law


def neighbours(values: int, votes: int, relation: Relation) -> Iterator[tuple[Votes, Votes]]:
    """All ordered pairs of neighbouring vote vectors of up to `votes` votes, up to the order of votes."""
    for count in range(1, votes + 1):
        for first in combinations_with_replacement(range(values), count):
            for place in range(count):
                rest = first[:place] + first[place + 1 :]
                if relation is Relation.ADD_REMOVE:
                    yield first, rest
                    yield rest, first
                else:
                    for value in range(values):
                        if value != first[place]:
                            yield first, (*rest, value)


def common(p: Law, q: Law, delta: float) -> tuple[Law, Law]:
    """Both laws without the outcomes that only one of them has, whose probability must be at most `delta`."""
    for law, other in ((p, q), (q, p)):
        lost = sum(probability for outcome, probability in law.items() if other.get(outcome, 0.0) == 0.0)
        assert lost <= delta * (1 + 1e-9), f"an event of probability {lost} is not covered by {delta}"
    shared = {outcome for outcome in p if p[outcome] > 0 and q.get(outcome, 0.0) > 0}
    p_left, q_left = sum(p[o] for o in shared), sum(q[o] for o in shared)
    return {o: p[o] / p_left for o in shared}, {o: q[o] / q_left for o in shared}


def log_ratios(p: Law, q: Law) -> list[float]:
    return [math.log(p[outcome] / q[outcome]) for outcome in p]


def span(p: Law, q: Law) -> float:
    ratios = log_ratios(p, q)
    return max(ratios) - min(ratios)


def largest_loss(p: Law, q: Law) -> float:
    return max(abs(ratio) for ratio in log_ratios(p, q))


def hockey_stick(p: Law, q: Law, epsilon: float) -> float:
    return sum(max(0.0, probability - math.exp(epsilon) * q.get(outcome, 0.0)) for outcome, probability in p.items())


def divergence(p: Law, q: Law, order: float) -> float:
    return float(divergences(p, q, np.array([order]))[0])


def divergences(p: Law, q: Law, orders: Curve) -> Curve:
    """The divergence at each order."""
    logs = np.outer(orders, np.log(list(p.values()))) + np.outer(1 - orders, np.log([q[o] for o in p]))
    return np.asarray(np.logaddexp.reduce(logs, axis=1) / (orders - 1))


LOOKED_AT = np.array([1.5, 2.0, 4.0, 10.0, 64.0])
PLACES = [int(np.argmin(np.abs(ORDERS[:-1] - order))) for order in LOOKED_AT]


def check_cost(p: Law, q: Law, cost: Cost) -> float:
    """Assert that the pair stays within `cost`; returns the largest share of the curve that it reaches."""
    return check_shared(*common(p, q, cost.delta), cost)


def check_shared(p: Law, q: Law, cost: Cost) -> float:
    """The same for a pair that `common` returned."""
    curve = cost.curve
    reached = largest_loss(p, q) / float(curve[-1])
    assert reached <= 1 + 1e-9, f"loss {largest_loss(p, q)} above {curve[-1]}"
    allowed, seen = curve[PLACES], divergences(p, q, LOOKED_AT)
    assert (seen <= allowed * (1 + 1e-9) + 1e-12).all(), f"orders {LOOKED_AT}: divergences {seen} above {allowed}"
    return reached


@cache
def laplace_law(scale: float, reach: int) -> dict[int, float]:
    """Discrete Laplace on -reach..reach; `reach` should leave nothing to speak of outside."""
    weights = {z: math.exp(-abs(z) / scale) for z in range(-reach, reach + 1)}
    total = (1 + math.exp(-1 / scale)) / (1 - math.exp(-1 / scale))
    return {z: weight / total for z, weight in weights.items()}


@cache
def gaussian_law(scale: float, reach: int) -> dict[int, float]:
    """Discrete Gaussian on -reach..reach; `reach` should leave nothing to speak of outside."""
    weights = {z: math.exp(-(z**2) / (2 * scale**2)) for z in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {z: weight / total for z, weight in weights.items()}


def sparse_vector_law(
    counts: Sequence[int], threshold: int, threshold_scale: float, query_scale: float, reach: int = 200
) -> Law:
    """The law of the step at which a run that fires "below" fires first (None: never), for one count a step."""
    noise = np.array(list(laplace_law(query_scale, 4 * reach).values()))
    cumulative = np.cumsum(noise)  # P[noise <= z], z from -4 reach
    threshold_law = laplace_law(threshold_scale, reach)
    shift, silent = (np.array(list(each)) for each in (threshold_law.keys(), threshold_law.values()))
    law: Law = {}
    for step, count in enumerate(counts):
        fires = cumulative[np.clip(threshold + shift - count + 4 * reach, 0, 8 * reach)]
        law[step] = float(np.sum(silent * fires))
        silent = silent * (1 - fires)
    return law | {None: float(np.sum(silent))}


# -- curves that are best at given orders ----------------------------------------------------------------------------


def moments(x: Real, y: Real, delta: Real, order: Real) -> Iterator[tuple[Real, Real]]:
    """P^a Q^(1-a) of the release and of nothing, for counts with releases x and y: one vote more is P, then fewer."""

    def term(p: Real, q: Real) -> Real:
        if p <= 0:
            return mpmath.mpf(0)
        return p**order * q ** (1 - order) if q > 0 else mpmath.inf

    yield term(y - delta, x), term(1 - y, 1 - x)
    yield term(x, y), term(1 - x - delta, 1 - y)


@cache
def best_curve(prices: Prices, delta: float) -> tuple[Real, ...]:
    """The largest curve in real numbers, by bisection: each entry is the largest y that all inequalities allow."""
    with mpmath.workdps(80):
        cut, one = mpmath.mpf(delta), mpmath.mpf(1)
        factors = [
            (mpmath.mpf(a), *(mpmath.exp((1 - mpmath.mpf(a)) * mpmath.mpf(c)) for c in both)) for a, *both in prices
        ]

        def allowed(x: Real, y: Real) -> bool:
            pairs = ((h * release + n * nothing) for a, h, n in factors for release, nothing in moments(x, y, cut, a))
            return all(moment <= 1 for moment in pairs)

        curve = [mpmath.mpf(0), cut]
        while (x := curve[-1]) < one:
            low, high = x, one
            if allowed(x, one):
                low = one
            while high - low > mpmath.mpf(10) ** -70 and low < one:
                middle = (low + high) / 2
                low, high = (middle, high) if allowed(x, middle) else (low, middle)
            curve.append(low)
        return tuple(curve)


@lru_cache(maxsize=1_000_000)
def least_moment(
    p: tuple[float, ...], q: tuple[float, ...], weights: tuple[float, ...], delta: float, order: float
) -> float:
    """The sum of w P^a Q^(1-a), after that part of P, of at most `delta`, is cut off which lowers it most.

    Outcomes that have no finite term are cut off first, and then those of the largest (P/Q) w^(1/(a-1)), to one level.
    """
    found = [(p_o, q_o, w) for p_o, q_o, w in zip(p, q, weights, strict=True) if p_o > 0]
    lost = sum(p_o for p_o, q_o, w in found if q_o <= 0 or math.isinf(w))
    if lost > delta * (1 + 1e-9):
        return math.inf
    shares = [(p_o, q_o * w ** (1 / (1 - order)), q_o, w) for p_o, q_o, w in found if q_o > 0 and math.isfinite(w)]
    above = below = level = 0.0
    for p_o, share, _, _ in sorted(shares, key=lambda one: -one[0] / one[1]):
        above, below = above + p_o, below + share
        level = max(level, (above - max(0.0, delta - lost)) / below)
    return math.fsum(w * min(p_o, level * share) ** order * q_o ** (1 - order) for p_o, share, q_o, w in shares)

"""How probably an answer with so many votes is released: the curves of optimal selection, in whole numbers.

The first curve is optimal partition selection (Desfontaines, Voss, Gipson and Mandayam 2022; privacy-spec, part 10.2):

    pi(0) = 0,  pi(n) = min(e^epsilon pi(n-1) + delta,  1 - e^-epsilon (1 - pi(n-1) - delta),  1).

The second is for public candidates, which start at a prior instead of 0 and need no delta (part 10.5):

    pi(0) = prior,  pi(n) = min(e^epsilon pi(n-1),  1 - e^-epsilon (1 - pi(n-1))).

A curve is a table of whole numbers t(n), and the probability is t(n) / 2^64. Every step rounds towards "nothing", with
a lower bound of e^epsilon. So the whole numbers themselves satisfy, for all n,

    t(n) <= e^epsilon t(n-1) + delta 2^64   and   2^64 - t(n-1) <= e^epsilon (2^64 - t(n)) + delta 2^64,

and no rounding error is left to account for. The curves are non-decreasing, so the other two inequalities follow.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from discreet.privacy.noise import WHOLE

_BITS = 192
_ONE = 1 << _BITS
LEAST_EPSILON, LARGEST_EPSILON = 1e-4, 64.0
"""Outside this range a table would be too long, or its steps too coarse."""
LEAST_PRIOR = 2.0**-32
"""Below this prior the whole numbers would be too coarse."""


@lru_cache(maxsize=256)
def unseen_curve(epsilon: float, delta: float) -> tuple[int, ...]:
    """Return the table for answers that only voters name: entry n is for n votes, and the last one for all above.

    Raises:
        ValueError: if `epsilon` or `delta` is out of range.
    """
    growth = _growth(epsilon)
    if not 0 <= delta < 1:
        raise ValueError(f"Delta is a probability of at least 0 and below 1, not {delta}.")
    return _table(growth, _whole(delta))


@lru_cache(maxsize=256)
def counted_curve(epsilon: float, delta: float) -> tuple[int, ...]:
    """Return a table for answers that are released with a count: `counted_selection` says how.

    It is `unseen_curve` with the delta that `delta_of_counts` keeps. The rest of delta is for rounding, which can make
    each count a little likelier than the curve allows. `leaks` adds that up.

    Raises:
        ValueError: if `epsilon` or `delta` is out of range, or `delta` is too small for counts.
    """
    table = _table(_growth(epsilon), delta_of_counts(epsilon, delta))
    if max(leaks(table, epsilon)) > _whole(delta):
        raise _too_small(epsilon, delta)
    return table


def delta_of_counts(epsilon: float, delta: float) -> int:
    """Return the delta of the curve of counts in units of 2^-64: less a millionth, or less 4096 if that is more.

    Raises:
        ValueError: if `epsilon` or `delta` is out of range, or nothing is left of `delta`.
    """
    _growth(epsilon)
    kept = _whole(delta) - max(_whole(delta) >> 20, 4096)
    if not 0 < kept < WHOLE:
        raise _too_small(epsilon, delta)
    return kept


def _too_small(epsilon: float, delta: float) -> ValueError:
    return ValueError(f"Delta {delta} is too small for counts at epsilon {epsilon}. Use `unseen_curve`.")


def leaks(table: Sequence[int], epsilon: float) -> tuple[Fraction, Fraction]:
    """Return the delta of a count that grows by one, and of one that falls by one, in units of 2^-64.

    An answer with n votes has outcome m, of 1..n, with probability t(m) - t(m-1), and is released as n + 1 - m. Such
    an outcome is m + 1 with one vote more. Outcomes that one vote makes likelier by more than e^epsilon are added up.
    """
    growth = _growth(epsilon)

    def excess(likely: int, rare: int) -> int:
        return max(0, (likely << _BITS) - growth * rare)

    steps = [0, *(after - before for before, after in pairwise(table)), 0]
    more = sum(excess(after, before) for before, after in pairwise(steps))
    fewer = counted = 0
    for votes, before in enumerate(table):
        counted += excess(steps[votes], steps[votes + 1])
        fewer = max(fewer, counted + excess(WHOLE - before, WHOLE - read_curve(table, votes + 1)))
    return Fraction(more, _ONE), Fraction(fewer, _ONE)


@lru_cache(maxsize=256)
def candidate_curve(epsilon: float, prior: float) -> tuple[int, ...]:
    """Return the table for public candidates: entry n is for n votes, and the last one for all above.

    Raises:
        ValueError: if `epsilon` or `prior` is out of range.
    """
    growth = _growth(epsilon)
    if not LEAST_PRIOR <= prior <= 0.5:
        raise ValueError(f"The prior of a candidate is a probability from 2^-32 to 0.5, not {prior}.")
    table = [_whole(prior)]
    while (following := _step(table[-1], growth, 0)) > table[-1]:
        table.append(following)
    return tuple(table)


def read_curve(table: Sequence[int], votes: int) -> int:
    """Return the entry for so many votes."""
    return table[min(votes, len(table) - 1)]


def least_votes(table: Sequence[int], probability: float) -> int | None:
    """Return the fewest votes that are released with at least `probability`; None if no number of votes is."""
    found = bisect_left(table, math.ceil(Fraction(probability) * WHOLE))
    return found if found < len(table) else None


def _whole(probability: float) -> int:
    """Return a probability in units of 2^-64, rounded down."""
    return math.floor(math.ldexp(probability, 64))  # no digit is lost


def _table(growth: int, extra: int) -> tuple[int, ...]:
    table = [0]
    while extra and table[-1] < WHOLE:
        table.append(_step(table[-1], growth, extra))
    return tuple(table)


def _step(weight: int, growth: int, extra: int) -> int:
    """Return the largest whole number that both inequalities allow after `weight`."""
    up = (weight * growth >> _BITS) + extra
    rest = WHOLE - weight - extra
    down = WHOLE - -(-(rest << _BITS) // growth) if rest > 0 else WHOLE
    return min(up, down, WHOLE)


@lru_cache(maxsize=256)
def _growth(epsilon: float) -> int:
    """Return e^epsilon in units of 2^-192, rounded down."""
    if not LEAST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise ValueError(f"Epsilon is from {LEAST_EPSILON} to {LARGEST_EPSILON:g} in this selection, not {epsilon}.")
    # All terms of the series are positive, and each is rounded down.
    exact = Fraction(epsilon)
    total, term, number = 0, _ONE, 0
    while term:
        total, number = total + term, number + 1
        term = term * exact.numerator // (exact.denominator * number)
    return total

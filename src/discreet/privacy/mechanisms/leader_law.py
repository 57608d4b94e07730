"""The law of the leader's selection, in whole numbers (privacy-spec, part 10.4).

There are as many slots as voters. Slot j has c_j votes; an answer that no voter gave is a slot without votes. With h =
epsilon/2 and pi the curve of `selection_curves` for (epsilon, delta/2):

    w_j = e^(h c_j) / sum_i e^(h c_i)            over all slots, so that one vote changes the sum by at most e^h
    l     is a slot with the most votes          of several, one by chance
    q_j = min(pi(c_j), w_j)                      for j other than l
    R   = 1 - sum_j q_j                          over the same j; R >= w_l
    j is released with q_j, l with pi(c_l) R, and nothing with (1 - pi(c_l)) R.

e^h is a rational number a little below, so that every quotient is exact. Each probability is rounded down to a multiple
of 2^-64; the rest belongs to "nothing".
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from discreet.privacy.mechanisms.selection_curves import read_curve, unseen_curve
from discreet.privacy.noise import WHOLE

MARGIN = 0.02
"""The part of delta that the law does not use. It covers all rounding here and in the certificate."""
_FINE = 1 << 40


def leader_delta(delta: float) -> float:
    """Return the delta of the curve pi, for the delta of the law."""
    return delta * (1 - MARGIN) / 2


def leader_curve(epsilon: float, delta: float) -> tuple[int, ...]:
    """Return the curve pi of the law, in units of 2^-64."""
    return unseen_curve(epsilon, leader_delta(delta))


@lru_cache(maxsize=64)
def vote_factor(epsilon: float) -> Fraction:
    """Return e^(epsilon/2), rounded down: one vote more makes a slot so many times as heavy."""
    # Two units below what the library says: its last digit may be wrong.
    return Fraction(math.floor(math.exp(epsilon / 2) * _FINE) - 2, _FINE)


def leader_law(counts: Sequence[int], leader: int, slots: int, epsilon: float, delta: float) -> list[int]:
    """Return the weight of each answer in units of 2^-64. What is missing to 2^64 is the weight of nothing.

    Args:
        counts: the votes of each answer that has any.
        leader: the place of the leader in `counts`.
        slots: the public number of voters, at least the sum of `counts`.
        epsilon: of the law, not its cost.
        delta: of the law and of its cost.
    """
    curve, factor = leader_curve(epsilon, delta), vote_factor(epsilon)
    heavy = [factor**count for count in counts]
    total = sum(heavy, start=Fraction(slots - len(counts)))
    alone = [Fraction(read_curve(curve, count), WHOLE) for count in counts]
    released = [min(own, weight / total) for own, weight in zip(alone, heavy, strict=True)]
    rest = 1 - sum(q for j, q in enumerate(released) if j != leader)
    released[leader] = alone[leader] * rest
    return [math.floor(q * WHOLE) for q in released]

"""The law of the leader's selection, in whole numbers (privacy-spec, part 10.4).

There are as many slots as voters. Slot j has c_j votes; an answer that no voter gave is a slot without votes. With h =
epsilon/2 and pi the curve of `unseen_curve` for (epsilon, delta/2):

    w_j = e^(h c_j) / sum_i e^(h c_i)            over all slots, so that one vote changes the sum by at most e^h
    l     is a slot with the most votes          of several, one by chance
    q_j = min(pi(c_j), w_j)                      for j other than l
    R   = 1 - sum_j q_j                          over the same j; R >= w_l
    j is released with q_j, l with pi(c_l) R, and nothing with (1 - pi(c_l)) R.

e^h is a rational number a little below, so that whole numbers suffice. Each probability is rounded down to a multiple
of 2^-64; the rest belongs to "nothing". All slots are computed, with numbers of one size, for all votes alike.

A public candidate has a slot of its own, and votes of its own from the start. They count like votes of voters that do
not change.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

from discreet.privacy.mechanisms.optimal_selection import PRIOR, read_curve, unseen_curve
from discreet.privacy.noise import WHOLE

MARGIN = 0.02
"""The part of delta that the law does not use. It covers all rounding here and in the certificate."""
_BITS = 40


def leader_delta(delta: float) -> float:
    """Return the delta of the curve pi, for the delta of the law."""
    return delta * (1 - MARGIN) / 2


def leader_curve(epsilon: float, delta: float) -> tuple[int, ...]:
    """Return the curve pi of the law, in units of 2^-64."""
    return unseen_curve(epsilon, leader_delta(delta))


@lru_cache(maxsize=64)
def slot_weights(epsilon: float, most: int) -> tuple[int, ...]:
    """Return e^(h c) for c = 0..`most` votes, in units of 2^(-40 `most`). The base is e^h, rounded down to 2^-40."""
    # Two units below what the library says: its last digit may be wrong.
    base = math.floor(math.exp(epsilon / 2) * (1 << _BITS)) - 2
    return tuple(base**votes << _BITS * (most - votes) for votes in range(most + 1))


def prior_votes(epsilon: float, delta: float, candidates: int) -> int:
    """Return the votes of each public candidate from the start: as many as keep it within its part of `PRIOR`."""
    curve = leader_curve(epsilon, delta)
    return bisect_right(curve, int(PRIOR * WHOLE) // candidates) - 1 if candidates else 0


def leader_law(
    counts: Sequence[int], leader: int, slots: int, epsilon: float, delta: float, start: int = 0
) -> list[int]:
    """Return the weight of each answer in units of 2^-64. What is missing to 2^64 is the weight of nothing.

    Args:
        counts: the votes of each answer that has any.
        leader: the place of the leader in `counts`.
        slots: the public number of voters and of candidates. Without candidates, at least the sum of `counts`.
        epsilon: of the law, not its cost.
        delta: of the law and of its cost.
        start: the votes that each candidate has before a voter votes. They are part of `counts`.
    """
    curve, weights = leader_curve(epsilon, delta), slot_weights(epsilon, slots + start)
    votes = [*counts, *[0] * (slots - len(counts))]
    total = sum(weights[count] for count in votes)
    # In units of 1 / (2^64 total): pi(c) is `alone` total, and w is 2^64 times the slot's weight.
    alone = [read_curve(curve, count) for count in votes]
    released = [min(own * total, weights[count] * WHOLE) for own, count in zip(alone, votes, strict=True)]
    rest = WHOLE * total - (sum(released) - released[leader])
    released[leader] = alone[leader] * rest // WHOLE
    return [part // total for part in released[: len(counts)]]

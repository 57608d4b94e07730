"""Optimal selection: how probably an answer with so many votes is released, in whole numbers.

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
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Generic, TypeVar

from discreet.privacy.costs import Cost, Pure
from discreet.privacy.noise import WHOLE, Noise
from discreet.privacy.private import Change

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
    """Return a table for answers that are released with a count: see `CountedSelection`.

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
    votes = bisect_left(table, math.ceil(Fraction(probability) * WHOLE))
    return votes if votes < len(table) else None


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


V = TypeVar("V", int, str)

CONFIDENCE = 0.95


@dataclass(frozen=True)
class CountedAnswer:
    """A released answer.

    Attributes:
        answer: the answer.
        count: the number of units that gave it, with noise.
        low, high: the interval. The probability that an answer is released and its true count is outside is at most
            0.05. It is no statement about released answers alone: those are the ones whose noise was high.
    """

    answer: int | str
    count: int
    low: int
    high: int


def count_votes(shares: Sequence[V | None]) -> Counter[V]:
    """Return the number of votes of each answer. Shares that are None abstain."""
    counts: Counter[V | None] = Counter(shares)  # faster than a count of those that do not abstain
    del counts[None]
    return counts  # type: ignore[return-value]


PRIOR = 0.02
"""The probability, at most, that a candidate without a vote is released: it is divided among all candidates."""


@dataclass(frozen=True)
class OptimalSelection(Generic[V]):
    """The set of answers that are released, each by its own curve.

    Privacy-spec, parts 10.2 and 10.5. An answer with n votes is released with probability pi(n), independently of all
    other answers. The curve pi is the largest for which one vote more or less is (epsilon, delta)-DP. A unit
    that comes or goes moves one count, so all answers above the line are released for one epsilon.

    Post-processing is what uses the released set and public values alone: an alphabetical order, the order of public
    candidates, a choice by the public model. The order by count is not post-processing, for the counts stay sealed:
    `CountedSelection` releases it at the same price.

    Attributes:
        epsilon, delta: of the curve of one answer.
        candidates: answers that are public before the votes are counted. They start at the prior and need no delta.
        prior: the probability that a candidate without a vote is released.
    """

    epsilon: float
    delta: float
    candidates: tuple[V, ...] = ()
    prior: float = PRIOR

    def __post_init__(self) -> None:
        unseen_curve(self.epsilon, self.delta)
        candidate_curve(self.epsilon, self.prior)

    def __str__(self) -> str:
        among = f", {len(self.candidates)} public candidates at {self.prior:.6g}" if self.candidates else ""
        return f"optimal selection, epsilon {self.epsilon:.6g}, delta {self.delta:.6g}{among}"

    @staticmethod
    def calibrated(epsilon: float, delta: float, change: Change, candidates: Sequence[V] = ()) -> "OptimalSelection[V]":
        """Return the selection that costs (epsilon, delta) under `change`, with `PRIOR` divided among candidates."""
        distinct = tuple(dict.fromkeys(candidates))
        moves = selection_moves(change)
        return OptimalSelection(epsilon / moves, delta / moves, distinct, PRIOR / max(1, len(distinct)))

    def chance(self, votes: int) -> float:
        """Return how probably an answer with so many votes is released that is no candidate."""
        return read_curve(unseen_curve(self.epsilon, self.delta), votes) / WHOLE

    def candidate_chance(self, votes: int) -> float:
        """Return how probably a candidate with so many votes is released."""
        return read_curve(candidate_curve(self.epsilon, self.prior), votes) / WHOLE

    def votes_needed(self, probability: float) -> int | None:
        """Return the fewest votes with which an answer that is no candidate is released with `probability`."""
        return least_votes(unseen_curve(self.epsilon, self.delta), probability)

    def candidate_votes_needed(self, probability: float) -> int | None:
        """Return the fewest votes with which a candidate is released with `probability`."""
        return least_votes(candidate_curve(self.epsilon, self.prior), probability)

    def cost(self, change: Change) -> Cost:
        """Return (epsilon, delta) for a vote that comes or goes, and twice both for one that is replaced.

        A vote that comes or goes moves one count by one, and the answers are drawn independently. A replaced vote
        moves two counts: two independent draws of (epsilon, delta) each.
        """
        moves = selection_moves(change)
        return Pure(moves * self.epsilon, moves * self.delta)

    def draw(self, shares: Sequence[V | None], noise: Noise) -> tuple[V, ...]:
        """Return the released answers in their own order, which is public. Shares that are None abstain."""
        counts = count_votes(shares)
        unseen = unseen_curve(self.epsilon, self.delta)
        curves: dict[V, tuple[int, ...]] = dict.fromkeys(self.candidates, candidate_curve(self.epsilon, self.prior))
        answers: list[V] = sorted(set(counts) | set(curves))
        return tuple(a for a in answers if noise.toss(read_curve(curves.get(a, unseen), counts[a])))


def selection_moves(change: Change) -> int:
    """Return how many counts one unit moves: two if its vote is replaced.

    Raises:
        NotImplementedError: if a unit has several shares.
    """
    if change.shares != 1:
        raise NotImplementedError("Optimal selection is analysed for one share a unit; use ObservedSelection.")
    return change.moves


class OneCurve(ABC):
    """A selection by one curve. A public candidate has votes of its own on it from the start (part 10.5).

    Attributes:
        prior: the probability, at most, that a candidate without a vote is released.
    """

    prior: float

    @abstractmethod
    def curve(self) -> tuple[int, ...]:
        """Return the table of the curve: entry n is for n votes in units of 2^-64, and the last one for all above."""

    @property
    def ahead(self) -> int:
        """The votes that a candidate has from the start: as many as keep it within its prior."""
        return bisect_right(self.curve(), int(self.prior * WHOLE)) - 1

    def chance(self, votes: int) -> float:
        """Return how probably an answer with so many votes is released that is no candidate."""
        return read_curve(self.curve(), votes) / WHOLE

    def candidate_chance(self, votes: int) -> float:
        """Return how probably a candidate with so many votes is released."""
        return self.chance(votes + self.ahead)

    def votes_needed(self, probability: float) -> int:
        """Return the fewest votes with which an answer that is no candidate is released with `probability`."""
        return least_votes(self.curve(), probability) or 0

    def candidate_votes_needed(self, probability: float) -> int:
        """Return the fewest votes with which a candidate is released with `probability`."""
        return max(0, self.votes_needed(probability) - self.ahead)


@dataclass(frozen=True)
class CountedSelection(OneCurve, Generic[V]):
    """The answers that are released, each by its own curve and with its noisy count.

    An answer with n votes has an outcome m with probability pi(m) - pi(m-1), for m = 1..n, and none with 1 - pi(n). So
    it is released with probability pi(n), as in `OptimalSelection`. What is released with it is n + 1 - m: its count
    under noise whose law does not depend on n, cut where the answer is not released. (Desfontaines et al. 2022 have it
    where ln(1/delta)/epsilon fits whole steps, as truncated geometric noise.)

    One vote more moves outcome m to m + 1. Let s(m) = pi(m) - pi(m-1), e = e^epsilon, r(n) = 1 - pi(n).

    - While pi rises by its first rule, s(m+1) = e s(m) exactly, and s(1) = delta. By the second rule s(m+1) = s(m) / e.
    - More against fewer votes: s(m+1) <= e s(m) for all m >= 1, and s(1) = delta is all that is left over.
    - Fewer against more: s(m) <= e s(m+1). Where the rules change this says pi(m-1) + pi(m) <= 1: there the first rule
      was the smaller one at m, that is pi(m-1) <= (1 - delta) / (e + 1), and pi(m) = e pi(m-1) + delta. What is left
      over is r(n) - e r(n+1) <= delta, of "nothing".
    - At the end pi reaches 1 with r(N-1) <= delta. "Nothing" then leaves r(N-1), and the last count s(N-1) - e s(N).
      There s(N-1) = r(N-2) - r(N-1) = e r(N-1) + delta - r(N-1): together delta. Beyond N it is s(N) <= delta.

    So the pair (answer, count) is (epsilon, delta)-DP, as the answer alone. `leaks` adds up what
    rounding to whole numbers changes, exactly, for every table that is used.

    A public candidate starts with votes of its own, as many as bring pi to its prior. That moves no neighbour further.

    The curve is made when it is first read, for a search of the price needs none. A curve that would leak more than
    delta is refused then, with a ValueError: no answer is drawn from it.

    Attributes:
        epsilon, delta: of one answer and its count.
        candidates: answers that are public before the votes are counted.
        prior: the probability, at most, that a candidate without a vote is released.
    """

    epsilon: float
    delta: float
    candidates: tuple[V, ...] = ()
    prior: float = PRIOR

    def __post_init__(self) -> None:
        delta_of_counts(self.epsilon, self.delta)
        if not 0 <= self.prior <= 1:
            raise ValueError(f"The prior of a candidate is a probability, not {self.prior}.")

    def __str__(self) -> str:
        among = f", {len(self.candidates)} public candidates at {self.prior:.6g}" if self.candidates else ""
        return f"counted selection, epsilon {self.epsilon:.6g}, delta {self.delta:.6g}{among}"

    @staticmethod
    def calibrated(epsilon: float, delta: float, change: Change, candidates: Sequence[V] = ()) -> "CountedSelection[V]":
        """Return the selection that costs (epsilon, delta) under `change`, with `PRIOR` divided among candidates."""
        moves = selection_moves(change)
        return CountedSelection[V](epsilon / moves, delta / moves).with_candidates(candidates)

    def with_candidates(self, candidates: Sequence[V]) -> "CountedSelection[V]":
        """Return the same selection with public candidates, among which `PRIOR` is divided. The cost is the same."""
        distinct = tuple(dict.fromkeys(candidates))
        return replace(self, candidates=distinct, prior=PRIOR / max(1, len(distinct)))

    def curve(self) -> tuple[int, ...]:
        """Return the curve in units of 2^-64."""
        return counted_curve(self.epsilon, self.delta)

    def cost(self, change: Change) -> Cost:
        """Return (epsilon, delta) for a vote that comes or goes, and twice both for one that is replaced."""
        moves = selection_moves(change)
        return Pure(moves * self.epsilon, moves * self.delta)

    def draw(self, shares: Sequence[V | None], noise: Noise) -> tuple[CountedAnswer, ...]:
        """Return the released answers, the largest noisy count first; of equal ones, the first in their own order.

        That order follows from released values. Shares that are None abstain.
        """
        counts = count_votes(shares)
        public_values = frozenset(self.candidates)
        answers: list[V] = sorted(set(counts) | public_values)
        released = [self._outcome(a, counts[a], self.ahead if a in public_values else 0, noise) for a in answers]
        return tuple(sorted((one for one in released if one), key=lambda one: -one.count))

    def _outcome(self, answer: V, votes: int, start: int, noise: Noise) -> CountedAnswer | None:
        table = self.curve()
        # Entries above the answer's own votes stand for "nothing", as does what is above the whole table.
        outcome = noise.invert(table[: votes + start + 1])
        if outcome > votes + start:
            return None
        centre, low, high = _places(self.epsilon, self.delta)
        # The true count is `noisy` + m - centre, with m between `low` and `high` nineteen times out of twenty.
        noisy = votes - outcome + centre
        least = 0 if start else 1
        return CountedAnswer(answer, noisy, max(least, noisy + low - centre), max(least, noisy + high - centre))


@lru_cache(maxsize=256)
def _places(epsilon: float, delta: float) -> tuple[int, ...]:
    """Return the least m with pi(m) >= 1/2, and the ends between which m is nineteen times out of twenty."""
    parts = 0.5, (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2
    return tuple(bisect_left(counted_curve(epsilon, delta), int(part * WHOLE)) for part in parts)

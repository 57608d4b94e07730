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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.costs import Cost, Pure
from discreet.privacy.mechanisms.optimal_selection import (
    LEAST_EPSILON,
    PRIOR,
    count_votes,
    least_votes,
    read_curve,
    unseen_curve,
)
from discreet.privacy.mechanisms.selection import ObservedSelection, V
from discreet.privacy.noise import WHOLE, Noise
from discreet.privacy.partition import REPLACE_ONE
from discreet.privacy.private import Change

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


# --- the low answers: how probably one is released, and what they weigh -----------------------------------------------
# A state is known by its explicit answers, those near the top (below). The votes that they leave are
# spread over the low answers, in a way that is not listed. A public candidate has a `head_start` of votes that no voter
# gave. How many of the explicit answers are candidates is known within bounds. If c of them are, they leave (voters -
# votes + c head_start) votes. Every bound here is linear in c, or the smaller of two that are, so the two ends suffice.

Numbers = NDArray[np.float64]
Wholes = NDArray[np.int64]
_MOST_STATES = 60_000
_DEPTHS = (5, 8)
"""The numbers of levels that are tried first."""


@dataclass(frozen=True)
class Electorate:
    """The public numbers of a selection.

    Attributes:
        voters: the number of voters.
        candidates: the number of public candidates.
        head_start: the votes that each candidate has before a voter votes.
    """

    voters: int
    candidates: int = 0
    head_start: int = 0

    @property
    def slots(self) -> int:
        """The number of answers that can have a vote."""
        return self.voters + self.candidates

    @property
    def most(self) -> int:
        """The most votes of an answer."""
        return self.voters + self.head_start


class LowAnswers:
    """Bounds for the answers that are not explicit.

    Attributes:
        floor: with so many votes, or fewer, an answer is low. One of all such answers is released with at most `low`. 0
            if there is no such number.
    """

    def __init__(self, alone: Numbers, half: float, public: Electorate, low: float) -> None:
        self.alone, self.half, self.public = alone, half, public
        self._rates = cache(self._rates_of)
        # Answers so many votes below the top weigh so little that all of them are low.
        self.depth = 4 + math.ceil(math.log(public.slots / low) / half)
        self.floor = self._floor(low)

    def _floor(self, low: float) -> int:
        votes = max(0, self.public.head_start - 1)
        while (
            votes < self.public.most and self._all(votes + 2) <= low and self.alone[votes + 2] * self.public.slots <= 1
        ):
            votes += 1
        return votes if votes >= self.public.head_start else 0

    def _all(self, votes: int) -> float:
        """Return how probably, at most, one of all answers is released if each has at most so many votes."""
        everything = np.array([[self.public.candidates], [self.public.voters]], dtype=float)
        return float(self._few(everything, votes)[0])

    def lowest(self, top: int) -> list[int]:
        """Return what to try as the most votes of a low answer where the top is `top`: fewer and fewer."""
        return sorted({max(self.floor, top + 1 - depth) for depth in (*_DEPTHS, self.depth)}, reverse=True)

    def _few(self, left: Numbers, most: int) -> Numbers:
        """Return how probably, at most, one of these answers is released: candidates, and any others.

        Args:
            left: how many of them are candidates, and how many votes of voters they have together; shape (..., 2,
                states).
            most: how many votes an answer has at most, of which a candidate has `head_start` from the start.
        """
        candidates, votes = left[..., 0, :], left[..., 1, :]
        a_vote, a_rise = self._rates(most)
        if not self.public.candidates:
            return votes * a_vote
        more: Numbers = candidates * self.alone[self.public.head_start] + votes * a_rise
        full: Numbers = candidates * self.alone[most] + votes * a_vote
        return np.minimum(more, full)

    def _rates_of(self, most: int) -> tuple[float, float]:
        """Return how much likelier one vote makes a release, at most: of any answer, and of one that begins higher."""
        start = self.public.head_start
        a_vote = float((self.alone[1 : most + 1] / np.arange(1, most + 1)).max())
        if not self.public.candidates:
            return a_vote, a_vote
        rises = (self.alone[start + 1 : most + 1] - self.alone[start]) / np.arange(1, most + 1 - start)
        return a_vote, float(rises.max(initial=a_vote))

    def released(self, ends: Numbers, lowest: int, weight: Numbers, total: Numbers) -> Numbers:
        """Return bounds for the probability that one low answer is released, the lower one first; shape (2, states).

        Args:
            ends: what the explicit answers leave.
            lowest: the votes of an answer at the lowest explicit level.
            weight: the most that the low answers of a state weigh together.
            total: bounds for what all slots weigh, shape (2, states).
        """
        public, most = self.public, self.floor + 1
        upper = self._few(ends, most).max(axis=0)
        if lowest > most:  # answers above the floor; each weighs little
            upper += (public.candidates + public.voters / most) * np.exp(self.half * lowest) / total[0]
            upper = np.minimum(upper, self._few(ends, lowest).max(axis=0))
        own = np.minimum(self.alone[public.head_start], math.exp(self.half * public.head_start) / total[1])
        return np.array([ends[1, 0] * own, np.minimum(upper, weight / total[0])])

    def weights(self, ends: Numbers, number: Wholes, lowest: int) -> Numbers:
        """Return bounds for what all low answers of each state weigh together, the lower one first.

        Args:
            ends: what the explicit answers leave.
            number: how many explicit answers there are.
            lowest: the votes of an answer at the lowest explicit level.
        """
        public = self.public
        slots = (public.slots - number).astype(float)
        begun = math.expm1(self.half * public.head_start)
        a_vote = math.expm1(self.half * lowest) / lowest
        if public.candidates and lowest > public.head_start:
            rise = math.exp(self.half * lowest) - math.exp(self.half * public.head_start)
            a_vote = max(a_vote, rise / (lowest - public.head_start))
        heavy = (ends[:, 0] * begun + (ends[:, 1] + 1) * a_vote).max(axis=0)
        return np.array([slots + ends[1, 0] * begun, slots + heavy])

    def ends(self, sums: Wholes) -> Numbers:
        """Return how many low answers are candidates, and how many votes are left, at both ends of what may be.

        The numbers of votes that are left are those of voters, below 0 where the explicit answers have too many.

        Args:
            sums: how many explicit answers there are, and their votes; shape (2, states).

        Returns:
            shape (2 ends, 2, states).
        """
        public, (number, votes) = self.public, sums
        most = np.minimum(public.candidates, number)
        least = np.minimum(np.maximum(-((public.voters - votes) // max(1, public.head_start)), 0), most)
        explicit = np.array([least, most])
        left = public.candidates - explicit, public.voters - votes + explicit * public.head_start
        return np.stack(left, axis=1).astype(float)

    def list_states(self, levels: Wholes) -> Wholes | None:
        """Return all numbers of answers at levels[1:] that voters can give, with one at the top; None if too many."""
        public = self.public
        states = np.zeros((1, 1), dtype=np.int64)
        for place, level in enumerate(levels[1:]):
            number, votes = states.sum(axis=1), states @ levels[: place + 1]
            room = np.maximum(0, public.candidates - number)
            left = public.voters - votes + public.head_start * np.minimum(public.candidates, number)
            own = level - public.head_start
            if own:
                most = np.where(left <= room * own, left // own, room + (left - room * own) // level)
            else:  # a candidate without a vote is low, but for one that gains
                most = np.minimum(1, room + left // level)
            first = int(place == 0)
            repeats = np.maximum(0, most + 1 - first)
            if repeats.sum() > _MOST_STATES:
                return None
            rows = np.repeat(np.arange(len(states)), repeats)
            more = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats) + first
            states = np.column_stack([states[rows], more])
        return states


# --- a proof, by computation, of what the selection costs -------------------------------------------------------------
# docs/privacy-details.md, "The leader". A vote moves from answer a to answer b; either may be an abstention.
# Let x = e^-h.
# Three kinds of moves are proved by hand there, for every epsilon and any number of voters, with the epsilon of the law
# and delta:
#
# - neither answer leads before or after;
# - b is the only leader before, and gains;
# - every answer, before and after, has so few votes that all of them together are hardly ever released.
#
# All other moves touch the top. For them this file bounds the divergence over *all* states. A state is kept by the
# number of answers at each of the levels near its top ("explicit"). The others ("low") are known by two bounds alone:
# how probably one of them is released, and how much they weigh together. The weight is divided into intervals until the
# bound holds in each, or a limit is reached; then nothing is certified.

LARGEST_EPSILON, LEAST_DELTA, LARGEST_DELTA = 8.0, 1e-13, 0.1
"""Beyond these nothing is certified."""
SLACKS = (0.004, 0.007, 0.011, 0.015, 0.02, 0.03, 0.04, 0.055, 0.075, 0.1, 0.14, 0.2, 0.3, 0.45)
"""The parts by which the cost may exceed the epsilon of the law."""
_FLOATS = 1e-14
"""More than the error of the floats in one divergence: it is a sum of some dozens of terms, each at most 1."""
_PRICES = 32
"""Proofs between a price and its double."""
_LOWS = (0.003, 0.01, 0.02, 0.03, 0.045, 0.07, 0.1)
_MOST_PIECES = 400_000


@dataclass(frozen=True)
class CertifiedLaw:
    """A law that is proved to cost a price.

    Attributes:
        epsilon: of the law.
        head_start: the votes that each public candidate has before a voter votes.
    """

    epsilon: float
    head_start: int = 0


def find_law(epsilon: float, delta: float, voters: int, candidates: int = 0) -> CertifiedLaw | None:
    """Return the law with the largest epsilon, of those tried, that is certified to cost `epsilon`; None if none is.

    Proofs are made for the prices 2^(k/32), and `epsilon` is rounded down to one. A proof takes a second, and analysts
    may name any number as a price. So there are few enough proofs to keep them all.
    """
    if not 0 < epsilon < math.inf:
        return None
    price = min(epsilon, 2 ** (math.floor(_PRICES * math.log2(epsilon)) / _PRICES))
    return _law_of(price, delta, voters, candidates)


@lru_cache(maxsize=4096)
def _law_of(price: float, delta: float, voters: int, candidates: int) -> CertifiedLaw | None:
    if not (LEAST_EPSILON <= price <= LARGEST_EPSILON and LEAST_DELTA <= delta <= LARGEST_DELTA):
        return None
    for fewer in (0, 1) if candidates else (0,):

        def law(slack: float, fewer: int = fewer) -> CertifiedLaw:
            inner = price / (1 + slack)
            return CertifiedLaw(inner, max(0, prior_votes(inner, delta, candidates) - fewer))

        low, high = 0, len(SLACKS)
        while low < high:
            middle = (low + high) // 2
            tried = law(SLACKS[middle])
            if certified(tried.epsilon, delta, voters, price, candidates, tried.head_start):
                high = middle
            else:
                low = middle + 1
        if low < len(SLACKS):
            return law(SLACKS[low])
    return None


def certified_cost(inner: float, delta: float, voters: int) -> float | None:
    """Return the least cost, of those tried, that is certified for a law; None if none is."""
    return next((cost for slack in SLACKS if certified(inner, delta, voters, cost := inner * (1 + slack))), None)


@lru_cache(maxsize=256)
def certified(inner: float, delta: float, voters: int, epsilon: float, candidates: int = 0, start: int = 0) -> bool:
    """Return whether the law at (`inner`, `delta`) with so many voters is proved to cost at most (`epsilon`, `delta`).

    Each of `candidates` public answers has `start` votes before a voter votes. False means that no proof was found.
    """
    if not (LEAST_EPSILON <= inner <= epsilon <= LARGEST_EPSILON and voters >= 1):
        return False
    if not LEAST_DELTA <= delta <= LARGEST_DELTA or (candidates and start < 1):
        return False
    public = Electorate(voters, candidates, start if candidates else 0)
    for low in _LOWS:
        proof = _Proof(inner, delta, public, epsilon, low * inner)
        if proof.floor:
            return proof.holds()
    return False


@dataclass(frozen=True)
class _States:
    """Many states with the same number of votes at the top.

    Attributes:
        levels: the numbers of votes of explicit answers, falling by one; shape (levels,).
        answers: how many answers have so many votes; shape (states, levels).
        top: the most votes of an answer.
    """

    levels: Wholes
    answers: Wholes
    top: int

    @cached_property
    def sums(self) -> Wholes:
        """The number of explicit answers, and their votes; shape (2, states)."""
        return np.array([self.answers.sum(axis=1), self.answers @ self.levels])

    @property
    def place(self) -> int:
        """The place of the top among the levels."""
        return int(self.levels[0]) - self.top


@dataclass(frozen=True)
class _Bounds:
    """Bounds for the law in many states: the lower ones first, shape (2, states) each; `level` (2, states, levels).

    Attributes:
        level: for an answer at each level that does not lead.
        leader: for an answer at the top, one of the leaders by chance.
        nothing: for the release of nothing.
    """

    level: Numbers
    leader: Numbers
    nothing: Numbers


class _Proof:
    """The bounds that hold for every state, for one selection."""

    def __init__(self, inner: float, delta: float, public: Electorate, epsilon: float, low: float) -> None:
        curve = leader_curve(inner, delta)
        entries = [read_curve(curve, votes) for votes in range(public.most + 2)]
        self.alone: Numbers = np.array([entry / WHOLE for entry in entries])
        self.missing: Numbers = np.array([(WHOLE - entry) / WHOLE for entry in entries])
        none, one = slot_weights(inner, 1)
        self.half = math.log(one / none)
        self.growth = math.exp(epsilon)
        self.delta, self.public = delta, public
        # The law rounds the probability of each answer by at most 2^-64.
        self.rounding = _FLOATS + (1 + self.growth) * (public.slots + 1) / WHOLE
        self.low = LowAnswers(self.alone, self.half, public, low)
        possible = epsilon >= inner - math.log1p(-low) and self.rounding <= MARGIN * delta
        self.floor = self.low.floor if possible else 0

    def holds(self) -> bool:
        """Return whether every move at every top above the floor is within epsilon and delta."""
        return all(self._holds_at(top) for top in range(self.floor + 1, self.public.most + 1))

    def _holds_at(self, top: int) -> bool:
        # Few explicit levels often suffice, and have few states.
        return any(self._holds_above(top, lowest) for lowest in self.low.lowest(top))

    def _holds_above(self, top: int, lowest: int) -> bool:
        """Return whether the moves at `top` are within epsilon and delta, where answers above `lowest` are explicit."""
        levels = np.arange(top + 1, lowest - 1, -1)
        answers = self.low.list_states(levels)
        if answers is None:
            return False
        states = _States(levels, answers, top)
        ends = self.low.ends(states.sums)
        return all(_Move(self, states, ends, *move).holds() for move in _list_moves(states))

    def bounds(self, states: _States, ends: Numbers, weights: Numbers) -> _Bounds:
        """Return bounds for the law.

        Args:
            states: the states.
            ends: what their explicit answers leave to low ones (`LowAnswers.ends`).
            weights: bounds for the weight of low answers, shape (2, states).
        """
        place, votes = states.place, np.exp(self.half * states.levels)
        total = states.answers @ votes + weights
        share = votes / total[::-1, :, None]
        level = np.minimum(self.alone[states.levels], share)
        rivals = (states.answers * level).sum(axis=2) - level[:, :, place]
        low = self.low.released(ends, int(states.levels[-1]), weights[1], total)
        rest = np.array([np.maximum(1 - rivals[1] - low[1], share[0, :, place]), 1 - rivals[0] - low[0]])
        tied = states.answers[:, place]
        leader = self.alone[states.top] * rest / tied + (1 - 1 / tied) * level[:, :, place]
        return _Bounds(level, leader, self.missing[states.top] * rest)


class _Move:
    """One move in many states: from an answer at level `loser` to one at `winner`; None is low, or an abstention."""

    def __init__(self, proof: _Proof, states: _States, ends: Numbers, loser: int | None, winner: int | None) -> None:
        self.proof, self.levels, self.top = proof, states.levels, states.top
        self.moved = [(level, level + step) for level, step in ((loser, -1), (winner, 1)) if level is not None]
        change = np.zeros(len(self.levels), dtype=np.int64)
        for old, new in self.moved:
            change[self._place(old)] -= 1
            change[self._place(new)] += 1
        before, falls = states.answers, np.flatnonzero(change < 0)
        possible = (before[:, falls] + change[falls] >= 0).all(axis=1)
        if loser is None:
            possible &= ends[1, 1] >= 1
        # A leader that is alone and gains is proved by hand.
        if winner == self.top and loser != self.top:
            possible &= before[:, states.place] > 1
        self.before = before[possible]
        self.after = self.before + change
        sums, self.ends = states.sums[:, possible], ends[:, :, possible]
        self.later = proof.low.ends(sums + np.array([[change.sum()], [change @ self.levels]]))
        self.lightest, self.heaviest = proof.low.weights(self.ends, sums[0], int(self.levels[-1]))
        self.loses_low, self.gains_low = loser is None, winner is None

    def _place(self, level: int) -> int:
        return int(self.levels[0]) - level

    def holds(self) -> bool:
        """Return whether the move is within epsilon and delta in every state."""
        place = self.top - 1
        tops = np.where(self.after[:, 0] > 0, self.top + 1, np.where(self.after[:, 1] > 0, self.top, place))
        # With the top at the floor, before or after, all answers are low or nearly so: proved by hand.
        return all(
            self._holds_for(np.flatnonzero(tops == top), top)
            for top in (self.top + 1, self.top, self.top - 1)
            if top > self.proof.floor
        )

    def _holds_for(self, rows: Wholes, top: int) -> bool:
        """Return whether the move holds in the states `rows`, after which the top is `top`."""
        pieces, weights = rows, np.array([self.lightest[rows], self.heaviest[rows]])
        seen = 0
        while len(pieces):
            seen += len(pieces)
            if seen > _MOST_PIECES:
                return False
            bad = ~(self._excess(pieces, weights, top) <= self.proof.delta)  # what is no number proves nothing
            if not bad.any():
                return True
            pieces, weights = pieces[bad], weights[:, bad]
            points = weights[[0, 0]]
            if not (self._excess(pieces, points, top) <= self.proof.delta).all():
                return False
            middle = weights.mean(axis=0)
            weights = np.concatenate([[weights[0], middle], [middle, weights[1]]], axis=1)
            pieces = np.concatenate([pieces, pieces])
        return True

    def _excess(self, rows: Wholes, weights: Numbers, top: int) -> Numbers:
        """Return a bound for the divergence at epsilon, for bounds of the weight of low answers, shape (2, states)."""
        proof = self.proof
        one = math.exp(proof.half * int(self.levels[-1])) * -math.expm1(-proof.half)
        moved = weights + np.array([[-one * self.loses_low], [one * self.gains_low]])
        old = _States(self.levels, self.before[rows], self.top)
        new = _States(self.levels, self.after[rows], top)
        before = proof.bounds(old, self.ends[:, :, rows], weights)
        after = proof.bounds(new, self.later[:, :, rows], np.maximum(moved, self.lightest[rows]))

        def leaves(level: int, later: int) -> Numbers:
            most = before.leader[1] if level == self.top else before.level[1, :, self._place(level)]
            least = after.leader[0] if later == top else after.level[0, :, self._place(later)]
            lost: Numbers = np.maximum(0, most - proof.growth * least)
            return lost

        total: Numbers = np.maximum(0, before.nothing[1] - proof.growth * after.nothing[0]) + proof.rounding
        for level, later in self.moved:
            total += leaves(level, later)
        for level in {self.top, top}:  # answers that did not move, and lead before or after
            still = old.answers[:, self._place(level)] - sum(level == moving for moving, _ in self.moved)
            total += np.maximum(0, still) * leaves(level, level)
        total += self.loses_low * leader_delta(proof.delta)
        return total


def _list_moves(states: _States) -> Iterator[tuple[int | None, int | None]]:
    """Yield the moves that touch the top: from it, to it, or to a level below it."""
    levels = [int(level) for level in states.levels[1:]]
    for loser in (None, *levels[:-1]):
        for winner in (None, *levels):
            if states.top in (loser, winner) or winner == states.top - 1:
                yield loser, winner


# --- the mechanism ----------------------------------------------------------------------------------------------------
# Selection of one answer with half of the votes: privacy-spec, part 10.4. The exponential mechanism over the observed
# answers (`ObservedSelection`) pays for a replaced vote as if two answers always competed. They compete only if both
# are near the top. Here an answer that is alone at the top is released by the best possible curve, and only answers
# that are near each other share the probability (the law above).
#
# What the law costs has no closed form. The proof above finds a bound for the parameters at hand. Where it finds
# no proof, the selection is `ObservedSelection` at the same price. That choice follows from public numbers.
#
# Public candidates have votes of their own from the start, on the same curve (part 10.5). All others stay possible.
# Their number is filled up to one of `SIZES` with candidates that no voter can name: then there are few proofs. If such
# a one is drawn, nothing is released, which is post-processing.

SIZES = (5, 10, 20)
"""The numbers of candidates for which a price is proved."""
MOST_CANDIDATES = SIZES[-1]


@dataclass(frozen=True)
class LeaderSelection:
    """Select at most one of the answers that voters gave, or of the candidates.

    Attributes:
        epsilon, delta: the cost.
        voters: the public number of voters, at least the number of votes.
        candidates: answers that are public before the votes are counted, at most 20. They are left out where no price
            is proved with them.
    """

    epsilon: float
    delta: float
    voters: int
    candidates: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.candidates)) < len(self.candidates):
            raise ValueError("A candidate is named twice.")
        if len(self.candidates) > MOST_CANDIDATES:
            raise ValueError(f"{len(self.candidates)} candidates are more than {MOST_CANDIDATES}.")

    def __str__(self) -> str:
        law = f"its law at {self.inner:.6g}" if self.inner else f"not certified, so {self.fallback}"
        among = f", {len(self.candidates)} public candidates at {self.ahead} votes" if self.proposes else ""
        if self.candidates and not among:
            among = f", {len(self.candidates)} public candidates, not certified, so without them"
        price = f"epsilon {self.epsilon:.6g}, delta {self.delta:.6g}"
        return f"leader selection, {price}, {self.voters} voters{among}; {law}"

    def with_candidates(self, candidates: Sequence[V]) -> "LeaderSelection":
        """Return the same selection with public candidates."""
        return replace(self, candidates=tuple(dict.fromkeys(candidates)))

    @property
    def heard(self) -> tuple[Any, ...]:
        """The candidates that take part; none if no law with them is certified."""
        return self.candidates if self.proposes else ()

    @property
    def proposes(self) -> bool:
        """Whether there are candidates, and a law with them is certified."""
        return self.size > 0

    @property
    def size(self) -> int:
        """The number of candidates, filled up; 0 if none take part."""
        return self._law[0]

    @property
    def inner(self) -> float | None:
        """The epsilon of the law; None if no law is certified at this price."""
        law = self._law[1]
        return law.epsilon if law else None

    @property
    def ahead(self) -> int:
        """The votes that each candidate has from the start."""
        law = self._law[1]
        return law.head_start if law else 0

    @property
    def _law(self) -> tuple[int, CertifiedLaw | None]:
        """The number of candidates that a certified law has, and that law. It follows from public numbers."""
        for size in SIZES if self.candidates else ():
            if size >= len(self.candidates):
                law = find_law(self.epsilon, self.delta, self.voters, size)
                if law is not None:
                    return size, law
        return 0, find_law(self.epsilon, self.delta, self.voters)

    @property
    def fallback(self) -> ObservedSelection:
        """The selection in place of a law that is not certified."""
        return ObservedSelection.calibrated(self.epsilon, self.delta, REPLACE_ONE)

    def chance(self, votes: int) -> float:
        """Return how probably an answer with so many votes is released if no other answer competes."""
        if self.inner is None:
            return self.fallback.chance(votes)
        return read_curve(leader_curve(self.inner, self.delta), votes) / WHOLE

    def candidate_chance(self, votes: int) -> float:
        """Return how probably a candidate with so many votes is released if no other answer competes."""
        return self.chance(votes + self.ahead)

    def votes_needed(self, probability: float) -> int | None:
        """Return the fewest votes with which an answer without a rival is released with `probability`."""
        if self.inner is None:
            return self.fallback.votes_needed(probability)
        return least_votes(leader_curve(self.inner, self.delta), probability)

    def candidate_votes_needed(self, probability: float) -> int | None:
        """Return the fewest votes with which a candidate without a rival is released with `probability`."""
        votes = self.votes_needed(probability)
        return None if votes is None else max(0, votes - self.ahead)

    def cost(self, change: Change) -> Cost:
        """Return (epsilon, delta). A vote that comes or goes is a vote that replaces an abstention.

        Raises:
            NotImplementedError: if a unit has several shares.
        """
        if change.shares != 1:
            raise NotImplementedError("Leader selection is analysed for one share a unit; use ObservedSelection.")
        return Pure(self.epsilon, self.delta)

    def draw(self, shares: Sequence[V | None], noise: Noise) -> V | None:
        """Return the selected answer, or None. Shares that are None abstain.

        Raises:
            ValueError: if there are more votes than `voters`.
        """
        counts = count_votes(shares)
        if counts.total() > self.voters:
            raise ValueError(f"This selection is for at most {self.voters} votes.")
        size, certified = self._law
        if certified is None:
            return self.fallback.draw(shares, noise)
        public_values: tuple[V, ...] = self.candidates if size else ()
        answers: list[V] = sorted(set(counts) | set(public_values))
        votes = [counts[answer] + certified.head_start * (answer in public_values) for answer in answers]
        # The candidates that fill up the number.
        votes += [certified.head_start] * (size - len(public_values))
        if not votes:
            return None
        tied = [place for place, count in enumerate(votes) if count == max(votes)]
        leader = tied[noise.below(len(tied))]
        law = leader_law(votes, leader, self.voters + size, certified.epsilon, self.delta, certified.head_start)
        chosen = noise.invert(list(accumulate(law)))
        return answers[chosen] if chosen < len(answers) else None

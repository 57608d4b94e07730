"""A proof, by computation, of what the leader's selection costs: docs/privacy-details.md, "The leader".

A vote moves from answer a to answer b; either may be an abstention. Let x = e^-h. Three kinds of moves are proved by
hand there, for every epsilon and any number of voters, with the epsilon of the law and delta:

- neither answer leads before or after;
- b is the only leader before, and gains;
- every answer, before and after, has so few votes that all of them together are hardly ever released.

All other moves touch the top. For them this file bounds the divergence over *all* states. A state is kept by the number
of answers at each of the levels near its top ("explicit"). The others ("low") are known by two bounds alone: how
probably one of them is released, and how much they weigh together. The weight is divided into intervals until the
bound holds in each, or a limit is reached; then nothing is certified.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.mechanisms.leader_law import MARGIN, leader_curve, leader_delta, prior_votes, slot_weights
from discreet.privacy.mechanisms.leader_low import Electorate, LowAnswers
from discreet.privacy.mechanisms.optimal_selection import LEAST_EPSILON, read_curve
from discreet.privacy.noise import WHOLE

Numbers = NDArray[np.float64]
Wholes = NDArray[np.int64]
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

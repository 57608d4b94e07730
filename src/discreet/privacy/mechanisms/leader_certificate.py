"""A proof, by computation, of what the leader's selection costs: docs/mechanisms.md, "The leader".

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
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.mechanisms.leader_law import MARGIN, leader_curve, leader_delta, slot_weights
from discreet.privacy.mechanisms.selection_curves import LEAST_EPSILON, read_curve
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
_MOST_STATES, _MOST_PIECES = 60_000, 400_000


def inner_epsilon(epsilon: float, delta: float, voters: int) -> float | None:
    """Return the largest epsilon of a law, of those tried, that is certified to cost `epsilon`; None if none is.

    Proofs are made for the prices 2^(k/32), and `epsilon` is rounded down to one. A proof takes a second, and analysts
    may name any number as a price. So there are few enough proofs to keep them all.
    """
    if not 0 < epsilon < math.inf:
        return None
    return _inner_of(min(epsilon, 2 ** (math.floor(_PRICES * math.log2(epsilon)) / _PRICES)), delta, voters)


@lru_cache(maxsize=4096)
def _inner_of(price: float, delta: float, voters: int) -> float | None:
    low, high = 0, len(SLACKS)
    while low < high:
        middle = (low + high) // 2
        if certified(price / (1 + SLACKS[middle]), delta, voters, price):
            high = middle
        else:
            low = middle + 1
    return price / (1 + SLACKS[low]) if low < len(SLACKS) else None


def certified_cost(inner: float, delta: float, voters: int) -> float | None:
    """Return the least cost, of those tried, that is certified for a law; None if none is."""
    return next((cost for slack in SLACKS if certified(inner, delta, voters, cost := inner * (1 + slack))), None)


@lru_cache(maxsize=256)
def certified(inner: float, delta: float, voters: int, epsilon: float) -> bool:
    """Return whether the law at (`inner`, `delta`) with so many voters is proved to cost at most (`epsilon`, `delta`).

    False means that no proof was found.
    """
    if not (LEAST_EPSILON <= inner <= epsilon <= LARGEST_EPSILON and voters >= 1):
        return False
    if not LEAST_DELTA <= delta <= LARGEST_DELTA:
        return False
    for low in (0.003 * inner, 0.01 * inner):
        proof = _Proof(inner, delta, voters, epsilon, low)
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

    def __init__(self, inner: float, delta: float, voters: int, epsilon: float, low: float) -> None:
        curve = leader_curve(inner, delta)
        entries = [read_curve(curve, votes) for votes in range(voters + 2)]
        self.alone: Numbers = np.array([entry / WHOLE for entry in entries])
        self.missing: Numbers = np.array([(WHOLE - entry) / WHOLE for entry in entries])
        none, one = slot_weights(inner, 1)
        self.half = math.log(one / none)
        self.growth = math.exp(epsilon)
        self.delta, self.voters = delta, voters
        # The law rounds the probability of each answer by at most 2^-64.
        self.rounding = _FLOATS + (1 + self.growth) * (voters + 1) / WHOLE
        possible = epsilon >= inner - math.log1p(-low) and self.rounding <= MARGIN * delta
        self.floor = self._floor(low) if possible else 0
        # Answers so many votes below the top weigh so little that all of them are low.
        self.depth = 4 + math.ceil(math.log(voters / low) / self.half)

    def _floor(self, low: float) -> int:
        """Return with how many votes answers are low: one of all is released with at most `low`. 0 if none are."""
        votes = 0
        while votes < self.voters and self._released(votes + 2) <= low and self.alone[votes + 2] * self.voters <= 1:
            votes += 1
        return votes

    def _released(self, votes: int) -> float:
        """Return how probably, at most, one of all answers is released if each has at most so many votes."""
        few = self.alone[1 : votes + 1]
        return float(self.voters * (few / np.arange(1, len(few) + 1)).max())

    def lowest(self, top: int) -> int:
        """Return the most votes of a low answer, where the top is `top`, or one more or less after the move."""
        return max(self.floor, top + 1 - self.depth)

    def released_low(self, top: int) -> float:
        """Return how probably, at most, one of all low answers is released."""
        far = self.voters / (self.floor + 1) * math.exp(-self.half * (self.depth - 2))
        return self._released(self.floor + 1) + (far if self.lowest(top) > self.floor else 0.0)

    def holds(self) -> bool:
        """Return whether every move at every top above the floor is within epsilon and delta."""
        return all(self._holds_at(top) for top in range(self.floor + 1, self.voters + 1))

    def _holds_at(self, top: int) -> bool:
        levels = np.arange(top + 1, self.lowest(top) - 1, -1)
        answers = _list_states(levels, self.voters)
        if answers is None:
            return False
        states = _States(levels, answers, top)
        return all(_Move(self, states, *move).holds() for move in _list_moves(states))

    def bounds(self, states: _States, total: Numbers) -> _Bounds:
        """Return bounds for the law, from bounds for the weight of all slots, shape (2, states)."""
        place, votes = states.place, np.exp(self.half * states.levels)
        share = votes / total[::-1, :, None]
        level = np.minimum(self.alone[states.levels], share)
        rivals = (states.answers * level).sum(axis=2) - level[:, :, place]
        low = self.released_low(states.top)
        rest = np.stack([np.maximum(1 - rivals[1] - low, share[0, :, place]), 1 - rivals[0]])
        tied = states.answers[:, place]
        leader = self.alone[states.top] * rest / tied + (1 - 1 / tied) * level[:, :, place]
        return _Bounds(level, leader, self.missing[states.top] * rest)


class _Move:
    """One move in many states: from an answer at level `loser` to one at `winner`; None is low, or an abstention."""

    def __init__(self, proof: _Proof, states: _States, loser: int | None, winner: int | None) -> None:
        self.proof, self.levels, self.top = proof, states.levels, states.top
        self.moved = [(level, level + step) for level, step in ((loser, -1), (winner, 1)) if level is not None]
        before = states.answers
        after = before.copy()
        for old, new in self.moved:
            after[:, self._place(old)] -= 1
            after[:, self._place(new)] += 1
        left = proof.voters - before @ self.levels
        possible = (after >= 0).all(axis=1) & ((left >= 1) | (loser is not None))
        # A leader that is alone and gains is proved by hand.
        if winner == self.top and loser != self.top:
            possible &= before[:, states.place] > 1
        self.before, self.after, self.left = before[possible], after[possible], left[possible]
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
        lowest = int(self.levels[-1])
        slots = (self.proof.voters - self.before.sum(axis=1)).astype(float)
        heaviest = slots + (self.left + 1) * math.expm1(self.proof.half * lowest) / lowest
        pieces, weights = rows, np.stack([slots[rows], heaviest[rows]])
        seen = 0
        while len(pieces):
            seen += len(pieces)
            bad = ~(self._excess(pieces, weights, top, slots) <= self.proof.delta)  # what is no number proves nothing
            pieces, weights = pieces[bad], weights[:, bad]
            points = np.stack([weights[0], weights[0]])
            if seen > _MOST_PIECES or not (self._excess(pieces, points, top, slots) <= self.proof.delta).all():
                return False
            middle = weights.mean(axis=0)
            weights = np.concatenate([np.stack([weights[0], middle]), np.stack([middle, weights[1]])], axis=1)
            pieces = np.concatenate([pieces, pieces])
        return True

    def _excess(self, rows: Wholes, weights: Numbers, top: int, slots: Numbers) -> Numbers:
        """Return a bound for the divergence at epsilon, for bounds of the weight of low answers, shape (2, states)."""
        proof = self.proof
        one = math.exp(proof.half * int(self.levels[-1])) * -math.expm1(-proof.half)
        moved = weights + np.array([[-one * self.loses_low], [one * self.gains_low]])
        votes = np.exp(proof.half * self.levels)
        old = _States(self.levels, self.before[rows], self.top)
        new = _States(self.levels, self.after[rows], top)
        before = proof.bounds(old, old.answers @ votes + weights)
        after = proof.bounds(new, new.answers @ votes + np.maximum(moved, slots[rows]))

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


def _list_states(levels: Wholes, voters: int) -> Wholes | None:
    """Return all numbers of answers at levels[1:] that voters can give, with one at the top; None if too many."""
    found = np.zeros((1, 1), dtype=np.int64)
    left = np.array([voters])
    for place, level in enumerate(levels[1:]):
        most = left // level
        first = int(place == 0)
        repeats = np.maximum(0, most + 1 - first)
        if repeats.sum() > _MOST_STATES:
            return None
        rows = np.repeat(np.arange(len(found)), repeats)
        number = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats) + first
        found = np.column_stack([found[rows], number])
        left = left[rows] - number * level
    return found

"""What is known of the low answers in the proof for the leader: how probably one is released, and what they weigh.

A state is known by its explicit answers, those near the top (`leader_certificate`). The votes that they leave are
spread over the low answers, in a way that is not listed. A public candidate has a `head_start` of votes that no voter
gave. How many of the explicit answers are candidates is known within bounds. If c of them are, they leave
(voters - votes + c head_start) votes. Every bound here is linear in c, or the smaller of two that are, so the two ends
suffice.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

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
        found = np.zeros((1, 1), dtype=np.int64)
        for place, level in enumerate(levels[1:]):
            number, votes = found.sum(axis=1), found @ levels[: place + 1]
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
            rows = np.repeat(np.arange(len(found)), repeats)
            more = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats) + first
            found = np.column_stack([found[rows], more])
        return found

"""Optimal selection that releases a noisy count with each answer, at the same price.

An answer with n votes has an outcome m with probability pi(m) - pi(m-1), for m = 1..n, and none with 1 - pi(n). So it
is released with probability pi(n), as in `optimal_selection`. What is released with it is n + 1 - m: its count under
noise whose law does not depend on n, cut where the answer is not released. (Desfontaines et al. 2022 have it where
ln(1/delta)/epsilon fits whole steps, as truncated geometric noise.)

One vote more moves outcome m to m + 1. Let s(m) = pi(m) - pi(m-1), e = e^epsilon, r(n) = 1 - pi(n).

- While pi rises by its first rule, s(m+1) = e s(m) exactly, and s(1) = delta. By the second rule s(m+1) = s(m) / e.
- More against fewer votes: s(m+1) <= e s(m) for all m >= 1, and s(1) = delta is all that is left over.
- Fewer against more: s(m) <= e s(m+1). Where the rules change this says pi(m-1) + pi(m) <= 1: there the first rule was
  the smaller one at m, that is pi(m-1) <= (1 - delta) / (e + 1), and pi(m) = e pi(m-1) + delta. What is left over is
  r(n) - e r(n+1) <= delta, of "nothing".
- At the end pi reaches 1 with r(N-1) <= delta. "Nothing" then leaves r(N-1), and the last count s(N-1) - e s(N), where
  s(N-1) = r(N-2) - r(N-1) = e r(N-1) + delta - r(N-1): together delta. Beyond N it is s(N) <= delta.

So the pair (answer, count) is (epsilon, delta)-DP, as the answer alone. `selection_curves.leaks` adds up what rounding
to whole numbers changes, exactly, for every table that is used.

A public candidate starts with votes of its own, as many as bring pi to its prior. That moves no neighbour further.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Generic

from discreet.privacy.costs import Cost, Pure
from discreet.privacy.mechanisms.counted_answer import CONFIDENCE, CountedAnswer, V, count_votes
from discreet.privacy.mechanisms.optimal_selection import PRIOR, selection_moves
from discreet.privacy.mechanisms.selection_curves import counted_curve, delta_of_counts, least_votes, read_curve
from discreet.privacy.noise import WHOLE, Noise
from discreet.privacy.private import Change


@dataclass(frozen=True)
class CountedSelection(Generic[V]):
    """The answers that are released, each by its own curve and with its noisy count.

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
        known = tuple(dict.fromkeys(candidates))
        return replace(self, candidates=known, prior=PRIOR / max(1, len(known)))

    @property
    def table(self) -> tuple[int, ...]:
        """The curve in units of 2^-64."""
        return counted_curve(self.epsilon, self.delta)

    @property
    def start(self) -> int:
        """The votes that a candidate has from the start: as many as keep it within its prior."""
        return bisect_right(self.table, int(self.prior * WHOLE)) - 1

    def chance(self, votes: int) -> float:
        """Return how probably an answer with so many votes is released that is no candidate."""
        return read_curve(self.table, votes) / WHOLE

    def candidate_chance(self, votes: int) -> float:
        """Return how probably a candidate with so many votes is released."""
        return self.chance(votes + self.start)

    def votes_needed(self, probability: float) -> int:
        """Return the fewest votes with which an answer that is no candidate is released with `probability`."""
        return least_votes(self.table, probability) or 0

    def candidate_votes_needed(self, probability: float) -> int:
        """Return the fewest votes with which a candidate is released with `probability`."""
        return max(0, self.votes_needed(probability) - self.start)

    def cost(self, change: Change) -> Cost:
        """Return (epsilon, delta) for a vote that comes or goes, and twice both for one that is replaced."""
        moves = selection_moves(change)
        return Pure(moves * self.epsilon, moves * self.delta)

    def draw(self, shares: Sequence[V | None], noise: Noise) -> tuple[CountedAnswer, ...]:
        """Return the released answers, the largest noisy count first; of equal ones, the first in their own order.

        That order follows from released values. Shares that are None abstain.
        """
        counts = count_votes(shares)
        known = frozenset(self.candidates)
        answers: list[V] = sorted(set(counts) | known)
        released = [self._outcome(a, counts[a], self.start if a in known else 0, noise) for a in answers]
        return tuple(sorted((one for one in released if one), key=lambda one: -one.count))

    def _outcome(self, answer: V, votes: int, start: int, noise: Noise) -> CountedAnswer | None:
        table = self.table
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

"""Every answer that enough voters gave, each by itself: optimal partition selection, with public candidates.

Privacy-spec, parts 10.2 and 10.5. An answer with n votes is released with probability pi(n), independently of all
other answers. The curve pi is the largest for which one vote more or less is (epsilon, delta)-DP (`selection_curves`).
A unit that comes or goes moves one count, so all answers above the line are released for one epsilon.

Post-processing is what uses the released set and public values alone: an alphabetical order, the order of public
candidates, a choice by the public model. The order by count is not post-processing, for the counts stay sealed:
`counted_selection` releases it at the same price.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from discreet.privacy.costs import Cost, Pure
from discreet.privacy.mechanisms.counted_answer import V, count_votes
from discreet.privacy.mechanisms.selection_curves import candidate_curve, least_votes, read_curve, unseen_curve
from discreet.privacy.noise import WHOLE, Noise
from discreet.privacy.private import Change, Relation

PRIOR = 0.02
"""The probability, at most, that a candidate without a vote is released: it is divided among all candidates."""


@dataclass(frozen=True)
class OptimalSelection(Generic[V]):
    """The set of answers that are released, each by its own curve.

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
        known = tuple(dict.fromkeys(candidates))
        moves = selection_moves(change)
        return OptimalSelection(epsilon / moves, delta / moves, known, PRIOR / max(1, len(known)))

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
        known: dict[V, tuple[int, ...]] = dict.fromkeys(self.candidates, candidate_curve(self.epsilon, self.prior))
        answers: list[V] = sorted(set(counts) | set(known))
        return tuple(a for a in answers if noise.toss(read_curve(known.get(a, unseen), counts[a])))


def selection_moves(change: Change) -> int:
    """Return how many counts one unit moves: two if its vote is replaced.

    Raises:
        NotImplementedError: if a unit has several shares.
    """
    if change.shares != 1:
        raise NotImplementedError("Optimal selection is analysed for one share a unit; use ObservedSelection.")
    return 2 if change.relation is Relation.REPLACE else 1

"""The exponential mechanism over public candidates (McSherry and Talwar 2007), and permute-and-flip.

Privacy-spec, part 2a. Each share is one vote; the candidates are public (a vocabulary, a list of choices).
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.privacy.change import Change, Relation
from discreet.privacy.costs import BoundedRange, Cost, Pure
from discreet.privacy.noise import Noise


def vote_range(change: Change, scale: float) -> float:
    """How far log-weights `count / scale` of votes can spread apart between neighbours.

    Replacing a vote moves one count up and another down: 2 / scale. Adding or removing one moves counts in one
    direction only: 1 / scale.
    """
    moves = 2 if change.relation is Relation.REPLACE else 1
    return moves * change.shares / scale


def vote_scale(change: Change, epsilon: float) -> float:
    """The scale at which selection from votes has bounded range `epsilon`."""
    return vote_range(change, 1.0) / epsilon


@dataclass(frozen=True)
class ExponentialMechanism:
    """Select candidate c in 0..candidates-1 with probability proportional to exp(count_c / scale).

    Votes outside that range are ignored: the candidates are public, whatever the voters say.
    """

    candidates: int
    scale: float

    def __str__(self) -> str:
        return f"exponential mechanism over {self.candidates} public candidates, scale {self.scale:.6g}"

    def cost(self, change: Change) -> Cost:
        """Bounded range 2/scale under replacement of a vote, 1/scale when one comes or goes."""
        return BoundedRange(vote_range(change, self.scale))

    def draw(self, shares: Sequence[int], noise: Noise) -> int:
        """A candidate. Those without votes are drawn as one block, and then uniformly within it."""
        counts = Counter(vote for vote in shares if 0 <= vote < self.candidates)
        seen = sorted(counts)
        unseen = self.candidates - len(seen)
        scores = [float(counts[candidate]) for candidate in seen]
        if unseen:
            scores.append(self.scale * math.log(unseen))
        chosen = noise.select(scores, self.scale)
        return seen[chosen] if chosen < len(seen) else _nth_absent(seen, noise.below(unseen))


@dataclass(frozen=True)
class PermuteAndFlip:
    """Permute-and-flip (McKenna and Sheldon 2020): never picks worse than the exponential mechanism.

    Pure epsilon but not of bounded range, so for many compositions the exponential mechanism costs less.
    """

    candidates: int
    scale: float

    def __str__(self) -> str:
        return f"permute-and-flip over {self.candidates} public candidates, scale {self.scale:.6g}"

    def cost(self, change: Change) -> Cost:
        """Pure 2/scale under replacement of a vote, 1/scale when one comes or goes."""
        return Pure(vote_range(change, self.scale))

    def draw(self, shares: Sequence[int], noise: Noise) -> int:
        """A candidate."""
        counts = Counter(shares)
        return noise.permute_and_flip([float(counts[c]) for c in range(self.candidates)], self.scale)


def _nth_absent(present: Sequence[int], n: int) -> int:
    """The n-th (from 0) whole number that is not in the sorted list `present`."""
    for value in present:
        if value > n:
            break
        n += 1
    return n

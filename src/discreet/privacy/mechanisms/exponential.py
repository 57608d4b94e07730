"""The exponential mechanism over public candidates (McSherry and Talwar 2007), and permute-and-flip.

Privacy-spec, part 2a. Each share is one vote. The candidates are public (a vocabulary, a list of choices).
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.privacy.costs import BoundedRange, Cost, Pure
from discreet.privacy.mechanisms.counting import vote_range
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change


def vote_scale(change: Change, epsilon: float) -> float:
    """Return the scale at which selection from votes has bounded range `epsilon`."""
    return vote_range(change, 1.0) / epsilon


@dataclass(frozen=True)
class ExponentialMechanism:
    """Select candidate c in 0..candidates-1 with probability proportional to exp(count_c / scale).

    Votes outside that range are ignored: the candidates are public, and do not depend on the votes.

    Attributes:
        candidates: the number of candidates.
        scale: the scale.
        public_votes: votes that count besides. They are public, and the same for neighbours, so they cost nothing.
    """

    candidates: int
    scale: float
    public_votes: tuple[int, ...] = ()

    def __str__(self) -> str:
        besides = f", {len(self.public_votes)} public votes" if self.public_votes else ""
        return f"exponential mechanism over {self.candidates} public candidates, scale {self.scale:.6g}{besides}"

    def cost(self, change: Change) -> Cost:
        """Return bounded range 2/scale if a vote is replaced, 1/scale if one is added or removed."""
        return BoundedRange(vote_range(change, self.scale))

    def draw(self, shares: Sequence[int], noise: Noise) -> int:
        """Return a candidate. All candidates without votes are drawn as one block, and then uniformly within it."""
        counts = Counter(vote for vote in (*shares, *self.public_votes) if 0 <= vote < self.candidates)
        seen = sorted(counts)
        unseen = self.candidates - len(seen)
        scores = [float(counts[candidate]) for candidate in seen]
        if unseen:
            scores.append(self.scale * math.log(unseen))
        chosen = noise.select(scores, self.scale)
        return seen[chosen] if chosen < len(seen) else _nth_absent(seen, noise.below(unseen))


@dataclass(frozen=True)
class PermuteAndFlip:
    """Permute-and-flip (McKenna and Sheldon 2020): its error is never larger than that of the exponential mechanism.

    It is pure, but has no bounded range. So for many compositions the exponential mechanism costs less. Its attributes
    are those of `ExponentialMechanism`.
    """

    candidates: int
    scale: float
    public_votes: tuple[int, ...] = ()

    def __str__(self) -> str:
        besides = f", {len(self.public_votes)} public votes" if self.public_votes else ""
        return f"permute-and-flip over {self.candidates} public candidates, scale {self.scale:.6g}{besides}"

    def cost(self, change: Change) -> Cost:
        """Return pure 2/scale if a vote is replaced, 1/scale if one is added or removed."""
        return Pure(vote_range(change, self.scale))

    def draw(self, shares: Sequence[int], noise: Noise) -> int:
        """Return a candidate."""
        counts = Counter((*shares, *self.public_votes))
        return noise.permute_and_flip([float(counts[c]) for c in range(self.candidates)], self.scale)


def _nth_absent(present: Sequence[int], n: int) -> int:
    """Return the n-th (from 0) non-negative integer that is not in the sorted list `present`."""
    for value in present:
        if value > n:
            break
        n += 1
    return n

"""The number of most frequent words to release: DP-KSA, Algorithm 3 (FindBestK; Tang et al. 2026).

Privacy-spec, part 4. A share is a set of words, so a word counts at most once for each answer. The gap after the k most
frequent words is d_k = H_(k) - H_(k+1), where H_(1) >= H_(2) >= ... are the words' counts; absent words count 0. The
exponential mechanism draws k with the gaps as scores. The paper's regulariser r(k), minus infinity outside a public
range, is the range.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.privacy.costs import BoundedRange, Cost
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change

Words = frozenset[str]


def by_count(shares: Sequence[Words]) -> list[tuple[str, int]]:
    """Return the words with their counts, the most frequent first; ties are in the public order of the words."""
    return sorted(Counter(word for words in shares for word in words).items(), key=lambda item: (-item[1], item[0]))


def gap_after(size: int, ranked: Sequence[tuple[str, int]]) -> int:
    """Return d_k for k = `size`: the difference between the counts of rank k and rank k + 1."""

    def count(rank: int) -> int:
        return ranked[rank][1] if rank < len(ranked) else 0

    return count(size - 1) - count(size)


def gap_sensitivity(change: Change) -> int:
    """Return the largest change of a gap, up or down.

    A replaced share moves every count by at most 1, hence every H_(k). A gap moves by at most 2, since one side may
    rise while the other falls. An added or removed share moves counts in one direction only. H_(k) and H_(k+1) both
    move by 0 or 1 in the same direction, and the gap by at most 1, up or down.
    """
    return change.moves


@dataclass(frozen=True)
class GapChoice:
    """Select k in `least` .. `most` with probability proportional to exp(d_k / scale).

    Attributes:
        least, most: the public range.
        scale: the scale of the (Gumbel) noise.
    """

    least: int
    most: int
    scale: float

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most:
            raise ValueError(f"Numbers of words lie in a range 1 <= least <= most, not {self.least} to {self.most}.")

    def __str__(self) -> str:
        return f"number of words, {self.least} to {self.most}, by gap of counts, scale {self.scale:.6g}"

    @staticmethod
    def calibrated(epsilon: float, least: int, most: int, change: Change) -> "GapChoice":
        """Return the choice that costs `epsilon` under `change`.

        If a share is replaced, its scale is 4 / epsilon (the paper: 2 / epsilon).
        """
        return GapChoice(least, most, 2 * gap_sensitivity(change) / epsilon)

    def cost(self, change: Change) -> Cost:
        """Return a bounded range: one gap may rise while its neighbour falls, each by the sensitivity."""
        return BoundedRange(2 * gap_sensitivity(change) / self.scale)

    def draw(self, shares: Sequence[Words], noise: Noise) -> int:
        """Return a number of words."""
        ranked, sizes = by_count(shares), range(self.least, self.most + 1)
        return sizes[noise.select([float(gap_after(size, ranked)) for size in sizes], self.scale)]

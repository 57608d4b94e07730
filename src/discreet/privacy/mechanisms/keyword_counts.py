"""The number of units with each keyword, for keywords that many units have: DP-SynRAG's histogram.

The paper adds noise to the keywords that occur, and releases the largest. The presence of a word in the list then
reveals that at least one unit has it. Here a word is released only if its noisy count is above a threshold. The word of
a single unit passes it with probability at most delta (privacy-spec, part 8).
"""

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from discreet.privacy.costs import Cost, ZeroConcentrated
from discreet.privacy.noise import Noise, gaussians_in_calls
from discreet.privacy.private import Change, Relation

MOST_DRAWS = 1 << 16
"""The draws of one call at most: the values of 10,000 units with six each. They take half a second."""


@dataclass(frozen=True)
class KeywordCounts:
    """Noisy counts of the words that enough shares have.

    Attributes:
        words: the number of words of a share that count (K): its first ones in alphabetical order.
        sigma: the scale of the discrete Gaussian noise of each count.
        delta: an upper bound of the probability that a word of a single unit is released.
        of: the kind of words, for the receipt.
        draws: the public size of a call for noise: no less than the words that occur, if a bound of them is released.
    """

    words: int
    sigma: float
    delta: float
    of: str = "keywords"
    draws: int = MOST_DRAWS

    def __str__(self) -> str:
        return f"counts of {self.of}, {self.words} a unit, sigma {self.sigma:.6g}, above {self.threshold}"

    @staticmethod
    def calibrated(rho: float, delta: float, words: int, change: Change, of: str = "keywords") -> "KeywordCounts":
        """Return the counts that cost `rho` and `delta` under `change`."""
        return KeywordCounts(words, math.sqrt(_moves(change) * words / (2 * rho)), delta, of)

    def of_units(self, most: int) -> "KeywordCounts":
        """Return the same counts for so many units with a word at most: a public or released number."""
        return replace(self, draws=min(MOST_DRAWS, self.words * max(1, most)))

    @property
    def threshold(self) -> int:
        """The least count that is released: 1 + sigma z(1 - delta/K), exactly, in integers."""
        return 1 + noise_above(self.sigma, self.delta / self.words)

    def cost(self, change: Change) -> Cost:
        """Return K/(2 sigma^2)-zCDP if a share is added or removed; twice as much if one is replaced.

        Words of both neighbours are counted with Gaussian noise, at distance sqrt(K). A word of only one neighbour is
        released with probability at most delta/K. An added or removed share has at most K such words. (Canonne, Kamath
        and Steinke 2020 for the discrete Gaussian.)

        Raises:
            NotImplementedError: if a unit changes several shares.
        """
        if change.shares != 1:
            raise NotImplementedError("Counts of keywords are analysed for one share a unit.")
        moves = _moves(change)
        return ZeroConcentrated(moves * self.words / (2 * self.sigma**2), self.delta)

    def draw(self, shares: Sequence[Collection[str]], noise: Noise) -> dict[str, int]:
        """Return noisy counts by word, in alphabetical order: the order depends on the released words alone.

        A draw takes as long as many steps of Python. One for each word that occurs would show a unit with unusual ones.
        """
        counts = Counter(word for share in shares for word in sorted(set(share))[: self.words])
        drawn = gaussians_in_calls(noise, self.sigma, self.draws, len(counts))
        noisy = {word: counts[word] + one for word, one in zip(sorted(counts), drawn, strict=True)}
        least = self.threshold
        return {word: count for word, count in noisy.items() if count >= least}


@lru_cache(maxsize=64)
def noise_above(sigma: float, probability: float) -> int:
    """Return the least t >= 1 that a discrete Gaussian of scale `sigma` reaches with at most `probability`."""
    reach = math.ceil(sigma * 40) + 2
    weights = [math.exp(-(z**2) / (2 * sigma**2)) for z in range(reach)]
    total = weights[0] + 2 * math.fsum(weights[1:])
    tail, t = 0.0, reach
    while t > 1 and (tail + weights[t - 1]) / total <= probability:
        t -= 1
        tail += weights[t]
    return t


def _moves(change: Change) -> int:
    # Two sets of K words may differ in 2K counts, each by one.
    return 2 if change.relation is Relation.REPLACE else 1

"""Every answer whose noisy count is above a threshold, with that count and its interval: for streams of questions.

Privacy-spec, parts 10.3 and 11. The noise is the discrete Gaussian, of which many releases compose well. An answer
that one unit alone gave has a count of 1, and passes the threshold with a known probability: the failure.

Public candidates (part 10.5) have a count in any case, also of no unit, and a lower threshold. It is released under the
same noise as all counts. A candidate needs no part of delta, since its name reveals nothing: both neighbours have it.
"""

import itertools
import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.privacy.gaussian_tails import least_threshold, pass_chance, upper_tail
from discreet.privacy.mechanisms.counted_answer import CONFIDENCE, CountedAnswer, V
from discreet.privacy.mechanisms.optimal_selection import PRIOR
from discreet.privacy.noise import Noise, gaussians_in_calls
from discreet.privacy.private import Change, Relation
from discreet.privacy.sampled_costs import GaussianShift


@dataclass(frozen=True)
class ThresholdedCounts:
    """Noisy counts of the answers that reach a threshold.

    Attributes:
        sigma: the scale of the discrete Gaussian noise of each count.
        threshold: the least noisy count that is released of an answer that is no candidate.
        values: how many answers of a share count (K): its first ones in their own order if it has more.
        candidates: answers that are public before the votes are counted.
        prior: the probability, at most, that a candidate without a vote is released.
    """

    sigma: float
    threshold: int
    values: int = 1
    candidates: tuple[Any, ...] = ()
    prior: float = PRIOR

    def __post_init__(self) -> None:
        if self.threshold < 2 or self.values < 1:
            raise ValueError(f"Threshold >= 2 and values >= 1 do not hold: {self.threshold}, {self.values}.")
        if not 0 < self.prior <= 1:
            raise ValueError(f"The prior of a candidate is a probability above 0, not {self.prior}.")

    def __str__(self) -> str:
        public = f", {len(self.candidates)} public candidates from {self.candidate_threshold} on"
        among = public if self.candidates else ""
        return f"counts of answers, {self.values} a unit, sigma {self.sigma:.6g}, from {self.threshold} on{among}"

    @staticmethod
    def calibrated(rho: float, delta: float, change: Change, values: int = 1) -> "ThresholdedCounts":
        """Return the counts that cost at most `rho` and `delta` under `change`."""
        moves = _moves(change) * values
        sigma = math.sqrt(moves / (2 * rho))
        while moves / (2 * sigma**2) > rho:
            sigma = math.nextafter(sigma, math.inf)
        return ThresholdedCounts(sigma, 1 + least_threshold(sigma, delta / values), values)

    def with_candidates(self, candidates: Sequence[V]) -> "ThresholdedCounts":
        """Return the same counts with public candidates, among which `PRIOR` is divided. The cost is the same."""
        known = tuple(dict.fromkeys(candidates))
        return replace(self, candidates=known, prior=PRIOR / max(1, len(known)))

    @property
    def candidate_threshold(self) -> int:
        """The least noisy count that is released of a candidate: one without a vote reaches it within the prior."""
        return min(self.threshold, least_threshold(self.sigma, self.prior))

    @property
    def failure(self) -> float:
        """The probability, at most, that an answer is released which one unit alone gave and which is no candidate."""
        return min(1.0, self.values * upper_tail(self.sigma, self.threshold - 1))

    @property
    def margin(self) -> int:
        """The least whole number that the noise exceeds in either direction with probability at most 0.05."""
        return least_threshold(self.sigma, (1 - CONFIDENCE) / 2) - 1

    def chance(self, votes: int) -> float:
        """Return how probably an answer with so many votes is released that is no candidate."""
        return pass_chance(self.sigma, self.threshold - votes) if votes else 0.0

    def candidate_chance(self, votes: int) -> float:
        """Return how probably a candidate with so many votes is released."""
        return pass_chance(self.sigma, self.candidate_threshold - votes)

    def votes_needed(self, probability: float) -> int:
        """Return the fewest votes with which an answer that is no candidate is released with `probability`."""
        return next(votes for votes in itertools.count(1) if self.chance(votes) >= probability)

    def candidate_votes_needed(self, probability: float) -> int:
        """Return the fewest votes with which a candidate is released with `probability`."""
        return next(votes for votes in itertools.count() if self.candidate_chance(votes) >= probability)

    def cost(self, change: Change) -> GaussianShift:
        """Return K/(2 sigma^2)-zCDP when a share comes or goes, and twice that when one is replaced.

        K counts move by one, and 2K if a share is replaced. An answer that one neighbour alone has is released with
        probability at most delta/K, and each neighbour has at most K of them (Canonne, Kamath and Steinke 2020).
        Candidates change nothing: both neighbours have the noisy count of each of them.
        """
        return GaussianShift(_moves(change) * self.values / (2 * self.sigma**2), self.failure)

    def draw(self, shares: Sequence[Collection[V]], noise: Noise) -> tuple[CountedAnswer, ...]:
        """Return the released answers, the largest noisy count first; of equal ones, the first in their own order.

        That order follows from released values. A share without values abstains. The noise is drawn in one call, whose
        size follows from the number of shares.
        """
        counts = Counter(value for share in shares for value in sorted(set(share))[: self.values])
        known = frozenset(self.candidates)
        answers = sorted(known.union(counts))
        most = max(1, len(known) + self.values * len(shares))
        drawn = gaussians_in_calls(noise, self.sigma, most, len(answers))
        noisy = {value: counts[value] + one for value, one in zip(answers, drawn, strict=True)}
        least = {value: self.candidate_threshold if value in known else self.threshold for value in noisy}
        released = [value for value, count in noisy.items() if count >= least[value]]
        return tuple(self._counted(value, noisy[value]) for value in sorted(released, key=lambda v: -noisy[v]))

    def _counted(self, value: int | str, count: int) -> CountedAnswer:
        # One unit at least gave an answer that is released and is no candidate: that is public.
        least = 0 if value in self.candidates else 1
        return CountedAnswer(value, count, max(least, count - self.margin), count + self.margin)


def _moves(change: Change) -> int:
    if change.shares != 1:
        raise NotImplementedError("Thresholded counts are analysed for one share a unit.")
    return 2 if change.relation is Relation.REPLACE else 1

"""Noisy counts and sums: discrete Laplace noise for pure costs, discrete Gaussian noise for streams of questions.

Of shares that are true, of public values, of answers and of keywords that many units have, and of vectors.

(The geometric mechanism of Ghosh, Roughgarden and Sundararajan 2009; Canonne, Kamath and Steinke 2020.)
"""

import itertools
import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.costs import BoundedRange, Cost, GaussianShift, Pure, ZeroConcentrated, amplify
from discreet.privacy.filter import Mechanism
from discreet.privacy.mechanisms.optimal_selection import CONFIDENCE, PRIOR, CountedAnswer, V
from discreet.privacy.noise import WHOLE, Noise, gaussians_in_calls, least_threshold, pass_chance, upper_tail
from discreet.privacy.private import Change, Relation

LEAST_SIGMA = 0.1
"""With so little noise a count is exact, and a threshold of the noise can still be computed."""
_MARGIN = 1 + 1e-9


def vote_range(change: Change, scale: float) -> float:
    """Return the range of the change of log-weights `count / scale` between neighbours.

    The replacement of a vote moves one count up and another down: 2 / scale. Its addition or removal moves counts in
    one direction only: 1 / scale.
    """
    return change.moves / scale


@dataclass(frozen=True)
class NoisyCount:
    """The number of true shares, with discrete Laplace noise.

    Attributes:
        scale: the scale of the noise; one share changes the count by one.
        failure: the probability, at most, that a later step fails which relies on the noise (`RowRule`). It is
            paid with the count.
    """

    scale: float
    failure: float = 0.0

    def __str__(self) -> str:
        return f"noisy count, scale {self.scale:.6g}"

    @staticmethod
    def calibrated(epsilon: float, change: Change, failure: float = 0.0) -> "NoisyCount":
        """Return the count that costs at most `epsilon` under `change`, rounding included."""
        scale = change.shares / epsilon
        while change.shares / scale > epsilon:
            scale = math.nextafter(scale, math.inf)
        return NoisyCount(scale, failure)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, or a little more."""
        return math.sqrt(2) * self.scale

    def tail(self, probability: float) -> int:
        """Return the least t >= 1 with P[noise >= t] = r^t / (1 + r) <= probability, where r = e^(-1/scale)."""
        ratio = math.exp(-1 / self.scale)
        bound = max(1, math.floor(-self.scale * math.log(probability * (1 + ratio))))
        while math.exp(-bound / self.scale) / (1 + ratio) * _MARGIN > probability:
            bound += 1
        return bound

    def cost(self, change: Change) -> Cost:
        """Return a pure cost: a share that is added, removed or replaced changes the count by at most one."""
        return Pure(change.shares / self.scale, self.failure)

    def draw(self, shares: Sequence[bool], noise: Noise) -> int:
        """Return a noisy count."""
        return sum(map(bool, shares)) + noise.laplace(self.scale)


@dataclass(frozen=True)
class GaussianCount:
    """The number of true shares, with discrete Gaussian noise.

    Attributes:
        sigma: the scale of the noise; one share changes the count by one.
        failure: as in `NoisyCount`.
    """

    sigma: float
    failure: float = 0.0

    def __str__(self) -> str:
        return f"Gaussian count, sigma {self.sigma:.6g}"

    @staticmethod
    def calibrated(rho: float, change: Change, failure: float = 0.0) -> "GaussianCount":
        """Return the count that costs at most `rho` under `change`, rounding included."""
        sigma = max(LEAST_SIGMA, change.shares / math.sqrt(2 * rho))
        while change.shares**2 / (2 * sigma**2) > rho:
            sigma = math.nextafter(sigma, math.inf)
        return GaussianCount(sigma, failure)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, or a little more."""
        return self.sigma

    def tail(self, probability: float) -> int:
        """Return the least t >= 1 with P[noise >= t] <= probability."""
        return least_threshold(self.sigma, probability)

    def cost(self, change: Change) -> GaussianShift:
        """Return 1/(2 sigma^2)-zCDP for one share: the count moves by at most one."""
        return GaussianShift(change.shares**2 / (2 * self.sigma**2), self.failure)

    def draw(self, shares: Sequence[bool], noise: Noise) -> int:
        """Return a noisy count."""
        return sum(map(bool, shares)) + noise.gaussian(self.sigma)


@dataclass(frozen=True)
class NoisyHistogram:
    """The number of shares with each of the values 0..values-1; other shares are ignored.

    Attributes:
        values: the number of public values.
        scale: the scale of the noise of each count.
        each: how many values of a share count (K), at most: its first ones if it has more.
    """

    values: int
    scale: float
    each: int = 1

    def __str__(self) -> str:
        return f"noisy histogram over {self.values} public values{_several(self.each)}, scale {self.scale:.6g}"

    @staticmethod
    def calibrated(epsilon: float, values: int, change: Change, each: int = 1) -> "NoisyHistogram":
        """Return the histogram that costs at most `epsilon` under `change`, rounding included."""
        scale = each * vote_range(change, 1.0) / epsilon
        while each * vote_range(change, scale) > epsilon:
            scale = math.nextafter(scale, math.inf)
        return NoisyHistogram(values, scale, each)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of a count, or a little more."""
        return math.sqrt(2) * self.scale

    def cost(self, change: Change) -> Cost:
        """Return a pure cost: an added or removed share changes K counts by one, a replaced one twice as many."""
        return Pure(self.each * vote_range(change, self.scale))

    def draw(self, shares: Sequence[int | Collection[int]], noise: Noise) -> tuple[int, ...]:
        """Return a noisy count for each value."""
        counts = _count(shares, self.each)
        return tuple(counts[value] + noise.laplace(self.scale) for value in range(self.values))


@dataclass(frozen=True)
class GaussianHistogram:
    """The number of shares with each of the values 0..values-1; other shares are ignored.

    Attributes:
        values: the number of public values.
        sigma: the scale of the noise of each count.
        each: how many values of a share count (K), at most: its first ones if it has more.
    """

    values: int
    sigma: float
    each: int = 1

    def __str__(self) -> str:
        return f"Gaussian histogram over {self.values} public values{_several(self.each)}, sigma {self.sigma:.6g}"

    @staticmethod
    def calibrated(rho: float, values: int, change: Change, each: int = 1) -> "GaussianHistogram":
        """Return the histogram that costs at most `rho` under `change`, rounding included."""
        moved = each * _squared_move(change)
        sigma = max(LEAST_SIGMA, math.sqrt(moved / (2 * rho)))
        while moved / (2 * sigma**2) > rho:
            sigma = math.nextafter(sigma, math.inf)
        return GaussianHistogram(values, sigma, each)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of a count, or a little more."""
        return self.sigma

    def cost(self, change: Change) -> GaussianShift:
        """Return K/(2 sigma^2)-zCDP if a share is added or removed, which changes K counts by one: a distance sqrt(K).

        A replaced share changes 2 K counts by one: the distance is sqrt(2 K), and the cost twice as much.
        """
        return GaussianShift(self.each * _squared_move(change) / (2 * self.sigma**2))

    def draw(self, shares: Sequence[int | Collection[int]], noise: Noise) -> tuple[int, ...]:
        """Return a noisy count for each value."""
        counts = _count(shares, self.each)
        return tuple(counts[value] + noise.gaussian(self.sigma) for value in range(self.values))


def _count(shares: Sequence[int | Collection[int]], each: int) -> Counter[int]:
    """Return how many shares have each value, of `each` values of a share at most."""
    single = [share for share in shares if type(share) is int]
    if len(single) == len(shares):  # as of most statistics: to look for collections takes longer
        return Counter(single)
    return Counter(
        value
        for share in shares
        for value in (sorted(set(share))[:each] if isinstance(share, Collection) else (share,))
    )


def _several(each: int) -> str:
    return f", {each} a unit" if each > 1 else ""


def _squared_move(change: Change) -> int:
    """Return the squared distance by which the counts move: of several shares, all may leave one count."""
    moved = change.shares**2
    return moved if change.relation is Relation.ADD_REMOVE else 2 * moved


@dataclass(frozen=True)
class ThresholdedCounts:
    """Noisy counts of the answers that reach a threshold.

    Privacy-spec, parts 10.3 and 11. The noise is the discrete Gaussian, of which many releases compose well. An answer
    that one unit alone gave has a count of 1, and passes the threshold with a known probability: the failure.

    Public candidates (part 10.5) have a count in any case, also of no unit, and a lower threshold. It is released under
    the same noise as all counts. A candidate needs no part of delta, since its name reveals nothing: both neighbours
    have it.

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
        moves = _moves_of_one(change) * values
        sigma = math.sqrt(moves / (2 * rho))
        while moves / (2 * sigma**2) > rho:
            sigma = math.nextafter(sigma, math.inf)
        return ThresholdedCounts(sigma, 1 + least_threshold(sigma, delta / values), values)

    def with_candidates(self, candidates: Sequence[V]) -> "ThresholdedCounts":
        """Return the same counts with public candidates, among which `PRIOR` is divided. The cost is the same."""
        distinct = tuple(dict.fromkeys(candidates))
        return replace(self, candidates=distinct, prior=PRIOR / max(1, len(distinct)))

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
        return GaussianShift(_moves_of_one(change) * self.values / (2 * self.sigma**2), self.failure)

    def draw(self, shares: Sequence[Collection[V]], noise: Noise) -> tuple[CountedAnswer, ...]:
        """Return the released answers, the largest noisy count first; of equal ones, the first in their own order.

        That order follows from released values. A share without values abstains. The noise is drawn in one call, whose
        size follows from the number of shares.
        """
        counts = Counter(value for share in shares for value in sorted(set(share))[: self.values])
        public_values = frozenset(self.candidates)
        answers = sorted(public_values.union(counts))
        most = max(1, len(public_values) + self.values * len(shares))
        drawn = gaussians_in_calls(noise, self.sigma, most, len(answers))
        noisy = {value: counts[value] + one for value, one in zip(answers, drawn, strict=True)}
        least = {value: self.candidate_threshold if value in public_values else self.threshold for value in noisy}
        released = [value for value, count in noisy.items() if count >= least[value]]
        return tuple(self._counted(value, noisy[value]) for value in sorted(released, key=lambda v: -noisy[v]))

    def _counted(self, value: int | str, count: int) -> CountedAnswer:
        # One unit at least gave an answer that is released and is no candidate: that is public.
        least = 0 if value in self.candidates else 1
        return CountedAnswer(value, count, max(least, count - self.margin), count + self.margin)


def _moves_of_one(change: Change) -> int:
    if change.shares != 1:
        raise NotImplementedError("Thresholded counts are analysed for one share a unit.")
    return change.moves


MOST_DRAWS = 1 << 16
"""The draws of one call at most: the values of 10,000 units with six each. They take half a second."""


@dataclass(frozen=True)
class KeywordCounts:
    """Noisy counts of the words that enough shares have.

    The paper adds noise to the keywords that occur, and releases the largest. The presence of a word in the list then
    reveals that at least one unit has it. Here a word is released only if its noisy count is above a threshold. The
    word of a single unit passes it with probability at most delta (privacy-spec, part 8).

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
        return KeywordCounts(words, math.sqrt(change.moves * words / (2 * rho)), delta, of)

    def of_units(self, most: int) -> "KeywordCounts":
        """Return the same counts for so many units with a word at most: a public or released number."""
        return replace(self, draws=min(MOST_DRAWS, self.words * max(1, most)))

    @property
    def threshold(self) -> int:
        """The least count that is released: 1 + sigma z(1 - delta/K), exactly, in integers."""
        return 1 + least_threshold(self.sigma, self.delta / self.words)

    def cost(self, change: Change) -> Cost:
        """Return K/(2 sigma^2)-zCDP if a share is added or removed; twice as much if one is replaced.

        Words of both neighbours are counted with Gaussian noise, at distance sqrt(K): two sets of K words may differ in
        2K counts, each by one. A word of only one neighbour is
        released with probability at most delta/K. An added or removed share has at most K such words. (Canonne, Kamath
        and Steinke 2020 for the discrete Gaussian.)

        Raises:
            NotImplementedError: if a unit changes several shares.
        """
        if change.shares != 1:
            raise NotImplementedError("Counts of keywords are analysed for one share a unit.")
        return ZeroConcentrated(change.moves * self.words / (2 * self.sigma**2), self.delta)

    def draw(self, shares: Sequence[Collection[str]], noise: Noise) -> dict[str, int]:
        """Return noisy counts by word, in alphabetical order: the order depends on the released words alone.

        A draw takes as long as many steps of Python. One for each word that occurs would show a unit with unusual ones.
        """
        counts = Counter(word for share in shares for word in sorted(set(share))[: self.words])
        drawn = gaussians_in_calls(noise, self.sigma, self.draws, len(counts))
        noisy = {word: counts[word] + one for word, one in zip(sorted(counts), drawn, strict=True)}
        least = self.threshold
        return {word: count for word, count in noisy.items() if count >= least}


Whole = NDArray[np.int64]


@dataclass(frozen=True)
class NoisySum:
    """The sum of the shares' vectors, with noise in each coordinate.

    With integers, the sum and its sensitivity are exact in any order.

    Attributes:
        dimension: the number of coordinates of a vector.
        length: the largest length of a vector; a longer one counts as zero.
        sigma: the scale of the noise, in units of `length`.
    """

    dimension: int
    length: int
    sigma: float

    def __str__(self) -> str:
        return f"noisy sum of {self.dimension} coordinates, sigma {self.sigma:.6g} lengths"

    @staticmethod
    def calibrated(rho: float, dimension: int, length: int, change: Change) -> "NoisySum":
        """Return the sum that costs `rho` under `change`."""
        return NoisySum(dimension, length, change.moves / math.sqrt(2 * rho))

    def cost(self, change: Change) -> Cost:
        """Return distance^2/(2 sigma^2)-zCDP.

        The distance is one length for an added or removed share, and two lengths for a replaced one.
        """
        return ZeroConcentrated(change.moves**2 / (2 * self.sigma**2))

    def draw(self, shares: Sequence[Whole], noise: Noise) -> Whole:
        """Return a noisy sum, shape (dimension,)."""
        total = np.zeros(self.dimension, dtype=np.int64)
        for share in shares:
            if share.shape == total.shape and int(np.dot(share, share)) <= self.length**2:
                total += share
        return total + np.array([noise.gaussian(self.sigma * self.length) for _ in total], dtype=np.int64)


# --- a mechanism in which each share takes part by a fresh secret coin ------------------------------------------------
# Privacy-spec, part 10.7. The coins are tossed inside the draw, one for each share and each draw, and leave no trace: a
# caller can neither supply a coin nor use one again. All admitted units pay, whether their coin let them take part or
# not.

S = TypeVar("S")
R = TypeVar("R")


@dataclass(frozen=True)
class SecretSample(Generic[S, R]):
    """A mechanism on a secret sample of its shares.

    Attributes:
        mechanism: what is drawn from the sample.
        probability: with which each share takes part: public.
    """

    mechanism: Mechanism[S, R]
    probability: float

    def __post_init__(self) -> None:
        if not 0 < self.probability <= 1:
            raise ValueError(f"A share takes part with a probability above 0 and up to 1, not {self.probability}.")

    def __str__(self) -> str:
        return f"a secret sample of {self.probability:.6g}: {self.mechanism}"

    def cost(self, change: Change) -> Cost:
        """Return the amplified cost (`amplify`) for a share that comes or goes.

        A replaced share goes, and another one comes: two steps of (e, d), together (2 e, (1 + e^e) d).

        Raises:
            NotImplementedError: if the change is of several shares, or of a replaced one and the cost is not pure.
        """
        if change.shares != 1:
            raise NotImplementedError("Secret sampling is analysed for one share a unit.")
        once = self.mechanism.cost(Change(1, Relation.ADD_REMOVE))
        sampled = amplify(once, self.probability)
        if change.relation is Relation.ADD_REMOVE:
            return sampled
        if not isinstance(once, Pure | BoundedRange) or not isinstance(sampled, Pure):
            raise NotImplementedError("Secret sampling of a replaced share is analysed for pure costs.")
        return Pure(2 * sampled.epsilon, (1 + math.exp(sampled.epsilon)) * sampled.delta)

    def draw(self, shares: Sequence[S], noise: Noise) -> R:
        """Draw from the shares whose coin, tossed here, lets them take part."""
        weight = math.floor(Fraction(self.probability) * WHOLE)
        return self.mechanism.draw([share for share in shares if noise.toss(weight)], noise)

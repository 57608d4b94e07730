"""Selections: one value, a set of words or a threshold, of the many that could be released. Privacy-spec, parts 2 to 4.

The exponential mechanism over public candidates, selection among the values that votes name, the words of DP-KSA,
public thresholds, and the sparse vector technique. All of them count votes, or sets of words, of sealed shares.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TypeVar

import numpy as np

from discreet.privacy.costs import BoundedRange, Cost, Pure, ZeroConcentrated
from discreet.privacy.mechanisms.counting import vote_range
from discreet.privacy.mechanisms.optimal_selection import count_votes
from discreet.privacy.mechanisms.vectors import ONE
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change, Relation

# --- the exponential mechanism over public candidates, and permute-and-flip -------------------------------------------
# McSherry and Talwar 2007; privacy-spec, part 2a. Each share is one vote. The candidates are public (a vocabulary, a
# list of choices).


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


# --- selection among the values of the votes --------------------------------------------------------------------------
# The domain is unbounded, and the result may be None. Two mechanisms of privacy-spec, part 2b. `ObservedSelection` is
# one draw of the exponential mechanism over the observed values and a bottom, tight under both relations.
# `LimitedDomain` is Durfee and Rogers 2019 (top-1), as used by DPVoteRAG, and charged for the actual relation of its
# input.

V = TypeVar("V", int, str)


@dataclass(frozen=True)
class ObservedSelection:
    """Select an observed value with weight exp(count / scale), or None with weight exp(bottom / scale).

    Attributes:
        scale: the scale of the noise.
        bottom: the virtual count of None.
    """

    scale: float
    bottom: float

    def __str__(self) -> str:
        return f"selection among observed values, scale {self.scale:.6g}, bottom at {self.bottom:.6g}"

    @staticmethod
    def calibrated(epsilon: float, delta: float, change: Change) -> "ObservedSelection":
        """Return the mechanism that costs (epsilon, delta) under `change`.

        For one share, bottom = 1 + scale ln(1/delta - 1).
        """
        scale = vote_scale(change, epsilon)
        return ObservedSelection(scale, scale * (_own_weight(change.shares, scale) + math.log(1 / delta - 1)))

    def chance(self, votes: int) -> float:
        """Return the probability that a value with `votes` votes is selected if no other value exists."""
        return float(np.exp(-np.logaddexp(0.0, (self.bottom - votes) / self.scale)))

    def votes_needed(self, probability: float) -> int:
        """Return the fewest votes with which a value without a rival is selected with `probability`."""
        return math.ceil(self.bottom + self.scale * math.log(probability / (1 - probability)))

    def cost(self, change: Change) -> Cost:
        """Return a bounded range; delta bounds the probability of a value that only one neighbour holds.

        Such values weigh at most `_own_weight`, against the weight of the bottom alone. For one share, delta = 1 / (1 +
        exp((bottom - 1) / scale)).
        """
        ahead = self.bottom / self.scale - _own_weight(change.shares, self.scale)
        return BoundedRange(vote_range(change, self.scale), float(np.exp(-np.logaddexp(0.0, ahead))))

    def draw(self, shares: Sequence[V | None], noise: Noise) -> V | None:
        """Return an observed value, or None. A share of None abstains, which moves fewer votes than any value."""
        counts: Counter[V] = count_votes(shares)
        values: list[V] = sorted(counts)
        chosen = noise.select([*(float(counts[value]) for value in values), self.bottom], self.scale)
        return values[chosen] if chosen < len(values) else None


@dataclass(frozen=True)
class LimitedDomain:
    """Durfee and Rogers 2019, Algorithm 1 with k = 1: Gumbel(1/epsilon) noise on the `domain` largest counts.

    None competes at h + 1 + ln(1/delta)/epsilon, where h is the largest omitted count.

    Attributes:
        epsilon, delta: the parameters of the mechanism, equal to its cost if one vote is added or removed.
        domain: the number of largest counts that take part (the paper's k-bar).
        votes: the public number of votes. With domain >= votes no count is omitted.
    """

    epsilon: float
    delta: float
    domain: int
    votes: int

    def __str__(self) -> str:
        return f"LimitedDomain, epsilon {self.epsilon:.6g}, delta {self.delta:.6g}, domain {self.domain}"

    @staticmethod
    def calibrated(epsilon: float, delta: float, change: Change, votes: int) -> "LimitedDomain":
        """Return the mechanism that costs (epsilon, delta) under `change` of one share."""
        inner = epsilon / vote_range(change, 1.0)
        shrink = 1 + math.exp(inner) if change.relation is Relation.REPLACE else 1.0
        return LimitedDomain(inner, delta / shrink, votes, votes)

    def cost(self, change: Change) -> Cost:
        """Return (epsilon, delta) if a vote is added or removed; (2 epsilon, (1 + e^epsilon) delta) if one is replaced.

        Bounded range is proved only if no count is omitted; otherwise the pure curve is charged.

        Raises:
            NotImplementedError: if a unit changes several shares.
        """
        if change.shares != 1:
            raise NotImplementedError("LimitedDomain is analysed for one share a unit; use ObservedSelection.")
        replaced = change.relation is Relation.REPLACE
        epsilon = 2 * self.epsilon if replaced else self.epsilon
        delta = (1 + math.exp(self.epsilon)) * self.delta if replaced else self.delta
        return (BoundedRange if self.domain >= self.votes else Pure)(epsilon, delta)

    def draw(self, shares: Sequence[int], noise: Noise) -> int | None:
        """Return an observed value among the `domain` most frequent, or None.

        Raises:
            ValueError: if there are more than `votes` shares.
        """
        if len(shares) > self.votes:
            raise ValueError(f"This mechanism was calibrated for at most {self.votes} votes.")
        # Ties at the boundary are resolved by the value itself, a public order.
        ranked = sorted(Counter(shares).items(), key=lambda item: (-item[1], item[0]))
        kept, rest = ranked[: self.domain], ranked[self.domain :]
        bottom = (rest[0][1] if rest else 0) + 1 + math.log(1 / self.delta) / self.epsilon
        chosen = noise.select([*(float(count) for _, count in kept), bottom], 1 / self.epsilon)
        return kept[chosen][0] if chosen < len(kept) else None


def _own_weight(shares: int, scale: float) -> float:
    """Return an upper bound of the log-weight of all values that only one neighbour holds.

    `shares` votes on values of v votes each weigh (shares / v) exp(v / scale). A mixture weighs at most as much as the
    best v.
    """
    return max(math.log(shares / votes) + votes / scale for votes in range(1, shares + 1))


# --- how many of the most frequent words to release (DP-KSA, Algorithm 3) ---------------------------------------------
# FindBestK; Tang et al. 2026. Privacy-spec, part 4. A share is a set of words, so a word counts at most once for each
# answer. The gap after the k most frequent words is d_k = H_(k) - H_(k+1), where H_(1) >= H_(2) >= ... are the words'
# counts; absent words count 0. The exponential mechanism draws k with the gaps as scores. The paper's regulariser r(k),
# minus infinity outside a public range, is the range.

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


# --- the exact set of the most frequent words, if it is stable (DP-KSA, Algorithm 2) ----------------------------------
# TopKWithPTR; Tang et al. 2026. Propose, test, release; privacy-spec, part 4. The replacement of one share moves a
# count by at most 1. So the set of the k most frequent words is the same for all neighbours if the gap d_k is above 2.
# A noisy test checks that.
#
# The noise is a *discrete* Gaussian of scale s = 2 sigma, since gaps are integers. It is drawn exactly. Moving max(2,
# d_k) by 2 costs as much zCDP as with the continuous one, 2^2 / (2 s^2) (Canonne, Kamath and Steinke 2020, Theorem 4).
# The paper's shift, s z(1 - delta), becomes an integer t: the least one of at least s z(1 - delta) - 1/2. Then P[Z > t]
# <= delta, for this reason. For z > t, exp(-z^2 / 2s^2) is at most its integral from z - 1/2 to z + 1/2, being convex
# there (t + 1/2 >= s, since z(1 - delta) >= 1). The sum over all z is at least the integral over the line, s sqrt(2
# pi), by Poisson's formula. So P[Z > t] <= P[N(0, s^2) > t + 1/2] <= delta.

UNSTABLE = 2
"""The largest gap at which a neighbour may have another set."""
LARGEST_DELTA = 0.15
"""The largest delta with z(1 - delta) >= 1."""


@dataclass(frozen=True)
class StableSet:
    """The set of the `size` most frequent words if max(2, d) + noise - shift > 2, else None.

    Attributes:
        sigma: half of the noise's scale.
        delta: an upper bound of the probability that an unstable set is released.
        size: the public number of words (k).
    """

    sigma: float
    delta: float
    size: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.delta <= LARGEST_DELTA:
            raise ValueError(f"The test fails with a probability above 0 and up to {LARGEST_DELTA}, not {self.delta}.")

    def __str__(self) -> str:
        return f"set of the {self.size} most frequent, if stable, sigma {self.sigma:.6g}, delta {self.delta:.6g}"

    @staticmethod
    def calibrated(rho: float, delta: float) -> "StableSet":
        """Return the test that costs `rho` and `delta`."""
        return StableSet(1 / math.sqrt(2 * rho), delta)

    def of(self, size: int) -> "StableSet":
        """Return the same test for another number of words, at the same cost."""
        return replace(self, size=size)

    def cost(self, change: Change) -> Cost:
        """Return 1/(2 sigma^2)-zCDP with failure `delta`, if one share is replaced.

        If the set is stable for one neighbour, both have the same set, and only the test differs. If it is stable for
        neither, both release a set with probability at most delta. An added or removed share changes counts like a
        replacement of, or by, the empty set: no more.

        Raises:
            NotImplementedError: if a unit changes several shares.
        """
        if change.shares != 1:
            raise NotImplementedError("The stable set is analysed for one share a unit.")
        return ZeroConcentrated(1 / (2 * self.sigma**2), self.delta)

    def draw(self, shares: Sequence[Words], noise: Noise) -> tuple[str, ...] | None:
        """Return the words in alphabetical order, or None. The cost does not cover their order by count."""
        ranked = by_count(shares)
        noisy = max(UNSTABLE, gap_after(self.size, ranked)) + noise.gaussian(2 * self.sigma)
        if noisy - shift(self.sigma, self.delta) <= UNSTABLE:
            return None
        return tuple(sorted(word for word, _ in ranked[: self.size]))


def shift(sigma: float, delta: float) -> int:
    """Return the subtrahend of the noisy gap that releases an unstable set with probability at most delta."""
    return math.ceil(-2 * sigma * NormalDist().inv_cdf(delta) - 0.5)


def pass_probability(gap: int, sigma: float, delta: float) -> float:
    """Return the probability that a set with this gap passes the test."""
    reach = math.ceil(20 * sigma) + 1
    values = np.arange(-reach, reach + 1)
    weights = np.exp(-((values / (2 * sigma)) ** 2) / 2)
    enough = max(UNSTABLE, gap) + values - shift(sigma, delta) > UNSTABLE
    return float(weights[enough].sum() / weights.sum())


def gap_to_pass(probability: float, sigma: float, delta: float) -> int:
    """Return the smallest gap with which a set passes with at least this probability."""
    most = UNSTABLE + 2 + shift(sigma, delta) + math.ceil(20 * sigma)
    return bisect_left(range(most), probability, key=lambda gap: pass_probability(gap, sigma, delta))


# --- a public threshold with about the wanted number of shares above it -----------------------------------------------


@dataclass(frozen=True)
class ThresholdChoice:
    """Select one of the thresholds 0 .. thresholds-1. A share is the index of the first threshold that it passes.

    The score of threshold i is minus the distance between `wanted` and the number of shares that pass i. One share
    changes each score by at most one, in either direction.

    Attributes:
        thresholds: the number of thresholds, the highest first.
        wanted: the target number of shares above the threshold.
        scale: the scale of the noise: weights are exp(score / scale).
    """

    thresholds: int
    wanted: int
    scale: float

    def __str__(self) -> str:
        return f"choice among {self.thresholds} thresholds, {self.wanted} wanted, scale {self.scale:.6g}"

    @staticmethod
    def calibrated(epsilon: float, thresholds: int, wanted: int, change: Change) -> "ThresholdChoice":
        """Return the choice that costs `epsilon` under `change`."""
        return ThresholdChoice(thresholds, wanted, 2 * change.shares / epsilon)

    def cost(self, change: Change) -> Cost:
        """Return a bounded range: log-weights move by at most shares/scale, up or down."""
        return BoundedRange(2 * change.shares / self.scale)

    def draw(self, shares: Sequence[int], noise: Noise) -> int:
        """Return the index of a threshold."""
        passing, scores = 0, []
        for threshold in range(self.thresholds):
            passing += sum(share == threshold for share in shares)
            scores.append(-float(abs(passing - self.wanted)))
        return noise.select(scores, self.scale)


# --- a public threshold with about a share of the total weight above it -----------------------------------------------
# DP-RAG (Grislain 2024), top-p; privacy-spec, part 8. The best number of units above a threshold depends on the
# question. The best share of their weight, which decreases with distance, depends on it less.


@dataclass(frozen=True)
class ShareChoice:
    """Select one of the thresholds, the highest first. A share is the index of the first threshold that it passes.

    The score of threshold i is -|p W - W_i|, where W is the weight of all shares, and W_i of those that pass i. An
    added share moves p W - W_i by between -(1 - p) and p, so each score by at most the larger of p and 1 - p. Weights
    and p are rounded to multiples of 2^-16, so that sums do not depend on order. The cost is that of the rounded p.

    Attributes:
        weights: the public weight of a share for the first threshold that it passes, between 0 and 1. A share that
            passes none weighs 0.
        share: p, between 0 and 1.
        scale: the scale of the noise: log-weights are scores / scale.
    """

    weights: tuple[float, ...]
    share: float
    scale: float

    def __post_init__(self) -> None:
        if not (self.weights and all(0 <= weight <= 1 for weight in self.weights) and 0 < self.share < 1):
            raise ValueError(f"Weights and the share lie between 0 and 1; the share is {self.share}.")

    def __str__(self) -> str:
        return (
            f"choice among {len(self.weights)} thresholds, {self.share:g} of all weight wanted, scale {self.scale:.6g}"
        )

    @staticmethod
    def calibrated(epsilon: float, weights: tuple[float, ...], share: float, change: Change) -> "ShareChoice":
        """Return the choice that costs `epsilon` under `change`."""
        return ShareChoice(weights, share, 2 * _moved(share, change) / epsilon)

    def cost(self, change: Change) -> Cost:
        """Return a bounded range: twice the largest move of a log-weight."""
        return BoundedRange(2 * _moved(self.share, change) / self.scale)

    def draw(self, shares: Sequence[int], noise: Noise) -> int:
        """Return the index of a threshold."""
        weights, p = [round(weight * ONE) for weight in self.weights], _whole(self.share)
        counts = [sum(share == threshold for share in shares) for threshold in range(len(weights))]
        whole = sum(count * weight for count, weight in zip(counts, weights, strict=True))
        passing, scores = 0, []
        for count, weight in zip(counts, weights, strict=True):
            passing += count * weight
            scores.append(-abs(p * whole - ONE * passing) / ONE**2)
        return noise.select(scores, self.scale)


def _whole(share: float) -> int:
    return round(share * ONE)


def _moved(share: float, change: Change) -> float:
    """Return the largest change of a score. If a share is replaced, one share moves it by p and the other by 1 - p."""
    p = _whole(share)
    return change.shares * (max(p, ONE - p) / ONE if change.relation is Relation.ADD_REMOVE else 1.0)


# --- the sparse vector technique --------------------------------------------------------------------------------------
# AboveThreshold (Dwork and Roth 2014, Algorithm 1), one run at a time. Privacy-spec, part 3. A query counts the true
# shares. A run answers any number of queries, and stops when it fires. Its cost depends neither on the number of
# queries nor on whether it fires. The next run draws a new threshold.


@dataclass(frozen=True)
class SparseVector:
    """A run that fires if the number of true shares is, up to noise, at most (or at least) a threshold.

    Attributes:
        threshold: a public integer.
        threshold_scale: the discrete Laplace scale of the threshold, drawn once a run.
        query_scale: the discrete Laplace scale of each count.
        fires: "below" to fire at counts up to the threshold (few agree), "above" at counts from it on.
    """

    threshold: int
    threshold_scale: float
    query_scale: float
    fires: str = "below"

    def __str__(self) -> str:
        return (
            f"sparse vector that fires {self.fires} {self.threshold}, "
            f"scales {self.threshold_scale:.6g} and {self.query_scale:.6g}"
        )

    @staticmethod
    def calibrated(
        epsilon: float, threshold: int, change: Change, fires: str = "below", *, split: float = 2 ** (2 / 3)
    ) -> "SparseVector":
        """Return the run that costs `epsilon` under `change`.

        `split` is the ratio of the queries' part to the threshold's part. Lyu, Su and Li 2017 find 2^(2/3) best for one
        firing. The textbook's scales, 2/epsilon and 4/epsilon, are `split=1`.
        """
        for_threshold = epsilon / (1 + split)
        return SparseVector(
            threshold,
            change.shares / for_threshold,
            change.moves / (epsilon - for_threshold),
            fires,
        )

    def cost(self, change: Change) -> Cost:
        """Return pure shares/threshold_scale + 2 shares/query_scale.

        If counts move in one direction only, the factor 2 is 1.
        """
        return Pure(change.shares / self.threshold_scale + change.moves / self.query_scale)

    def start(self, noise: Noise) -> Callable[[Sequence[bool]], tuple[bool, bool]]:
        """Begin a run with a new noisy threshold; return a function from shares to (fired, over)."""
        noisy_threshold = self.threshold + noise.laplace(self.threshold_scale)

        def ask(shares: Sequence[bool]) -> tuple[bool, bool]:
            noisy_count = sum(map(bool, shares)) + noise.laplace(self.query_scale)
            fired = noisy_count <= noisy_threshold if self.fires == "below" else noisy_count >= noisy_threshold
            return fired, fired

        return ask

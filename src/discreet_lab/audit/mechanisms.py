"""Audits of all mechanisms on inputs that differ in one share.

The worst pair loses the claimed epsilon in an event too rare to observe. The pairs here lose much of the claim in
events of a few per cent. The claim is computed from the mechanism and the change, as in a filter.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.privacy.costs import Cost
from discreet.privacy.filter import Mechanism
from discreet.privacy.mechanisms.counting import (
    GaussianCount,
    GaussianHistogram,
    KeywordCounts,
    NoisyCount,
    NoisyHistogram,
    NoisySum,
)
from discreet.privacy.mechanisms.selection import (
    ExponentialMechanism,
    GapChoice,
    LimitedDomain,
    ObservedSelection,
    PermuteAndFlip,
    ShareChoice,
    SparseVector,
    StableSet,
    ThresholdChoice,
    gap_to_pass,
    vote_scale,
)
from discreet.privacy.mechanisms.vectors import ONE, AggregatedLogits, NoisyVectors
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change, Relation
from discreet_lab.attacks.rates import Key
from discreet_lab.audit.case import FAILURE, ProgressCallback, claim_of, rho_of
from discreet_lab.audit.votes import VOTE_MECHANISMS

LEAN = 2.0
"""The log-ratio of two outcomes, in nats: the less likely one occurs about once in ten draws."""
CHANGES = (Change(1, Relation.REPLACE), Change(1, Relation.ADD_REMOVE))


@dataclass(frozen=True)
class MechanismCase:
    """A mechanism with two neighbouring inputs, and a view of the outcome.

    Attributes:
        name: the mechanism's name on the command line.
        pair: a description of the difference between the inputs.
        mechanism: the mechanism.
        change: the change for which its cost is computed.
        first, second: the shares.
        see: maps an outcome to itself, or to a larger class of outcomes. By post-processing, a class never shows more
            loss than the outcome.
        draws: the default number of draws of each input.
    """

    name: str
    pair: str
    mechanism: Mechanism[Any, Any]
    change: Change
    first: Sequence[Any] = field(repr=False)
    second: Sequence[Any] = field(repr=False)
    see: Callable[[Any], Key] = lambda outcome: outcome
    draws: int = 10_000

    @property
    def inputs(self) -> str:
        """The pair and the relation."""
        return f"{self.pair}; {self.change.relation.value}"

    @property
    def claim(self) -> tuple[float, float]:
        """(epsilon, delta) of the mechanism's own cost."""
        return claim_of(self.mechanism.cost(self.change))

    def sample(self, draws: int, noise: Noise, on_progress: ProgressCallback) -> tuple[list[Key], list[Key]]:
        """Return the outcomes of `draws` draws of each input."""
        found: tuple[list[Key], list[Key]] = ([], [])
        for shares, outcomes in zip((self.first, self.second), found, strict=True):
            for _ in range(draws):
                outcomes.append(self.see(self.mechanism.draw(shares, noise)))
            on_progress(draws)
        return found


Pairs = Iterator[tuple[str, Any, Sequence[Any], Sequence[Any], Callable[[Any], Key]]]
"""The difference of the inputs, the mechanism, the inputs, and the view of the outcome."""


def mechanism_cases(epsilon: float, names: Sequence[str] = ()) -> list[MechanismCase]:
    """Return all cases of the named mechanisms (all if none is named), each mechanism calibrated to `epsilon`."""
    return [
        MechanismCase(name, pair, mechanism, change, first, second, see)
        for name, make in MECHANISMS.items()
        if not names or name in names
        for change in CHANGES
        for pair, mechanism, first, second, see in make(epsilon, change)
    ]


def all_of_it(outcome: Any) -> Key:
    """Return the whole outcome."""
    key: Key = outcome
    return key


def near(*expected: int) -> Callable[[Sequence[int]], Key]:
    """Return a view of counts: the difference of each count to the expected one, clipped to 3 in both directions."""
    return lambda counts: tuple(max(-3, min(3, c - e)) for c, e in zip(counts, expected, strict=True))


# -- selections from votes -------------------------------------------------------------------------------------------


def _lean(scale: float, by: int = 0) -> int:
    """Return the number of votes that are `LEAN` nats at a scale, plus `by`."""
    return round(LEAN * scale) + by


def _votes(ahead: int, behind: int, change: Change) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return votes for 0 and 1, and a neighbour with one more vote for 1: in place of one for 0, or added."""
    first = (0,) * ahead + (1,) * behind
    return first, (first[1:] if change.relation is Relation.REPLACE else first) + (1,)


def _exponential(epsilon: float, change: Change) -> Pairs:
    scale = vote_scale(change, epsilon)
    first, second = _votes(_lean(scale, 3), 3, change)
    yield "a vote turns to the weaker candidate", ExponentialMechanism(2, scale), first, second, all_of_it


def _flip(epsilon: float, change: Change) -> Pairs:
    scale = vote_scale(change, epsilon)
    first, second = _votes(max(2, round(scale)) + 3, 3, change)
    yield "a vote turns to the weaker candidate", PermuteAndFlip(2, scale), first, second, all_of_it


def _observed(epsilon: float, change: Change) -> Pairs:
    mechanism = ObservedSelection.calibrated(epsilon, FAILURE, change)
    high = math.ceil(mechanism.bottom + 10 * mechanism.scale)  # so high that the bottom has no effect
    first, second = _votes(high + _lean(mechanism.scale), high, change)
    yield "a vote turns to the weaker value", mechanism, first, second, all_of_it
    alone = () if change.relation is Relation.ADD_REMOVE else (1,)
    yield "a value that one neighbour alone has", mechanism, alone, (2,), all_of_it


def _limited(epsilon: float, change: Change) -> Pairs:
    scale = vote_scale(change, epsilon)
    high = math.ceil(scale * (math.log(1 / FAILURE) + 12))
    first, second = _votes(high + _lean(scale), high, change)
    mechanism = LimitedDomain.calibrated(epsilon, FAILURE, change, max(len(first), len(second)))
    yield "a vote turns to the weaker value", mechanism, first, second, all_of_it
    alone = () if change.relation is Relation.ADD_REMOVE else (1,)
    mechanism = LimitedDomain.calibrated(epsilon, FAILURE, change, 1)
    yield "a value that one neighbour alone has", mechanism, alone, (2,), all_of_it


def _threshold(epsilon: float, change: Change) -> Pairs:
    mechanism = ThresholdChoice.calibrated(epsilon, 2, 0, change)
    short = _lean(mechanism.scale, 1)  # the first threshold lacks so many shares; the second has exactly enough
    mechanism = ThresholdChoice(2, short + 1, mechanism.scale)
    first = (0,) + (1,) * short
    yield (
        "a share passes both thresholds, or none",
        mechanism,
        (*first, 2) if change.relation is Relation.REPLACE else first,
        (*first, 0),
        all_of_it,
    )


def _share(epsilon: float, change: Change) -> Pairs:
    mechanism = ShareChoice.calibrated(epsilon, (1.0, 1.0, 1.0), 0.05, change)
    # A twentieth of the weight is wanted. No share passes the first threshold; one too many pass the second. A share
    # that passes both makes the first one, which is behind, better, and the second one worse.
    second = _lean(mechanism.scale, 2)
    common = (1,) * second + (2,) * (20 * (second - 1) - second - 1)
    kept = common if change.relation is Relation.REPLACE else (*common, 2)
    yield "a share passes all thresholds", mechanism, (*common, 2), (*kept, 0), all_of_it


def _gap(epsilon: float, change: Change) -> Pairs:
    mechanism = GapChoice.calibrated(epsilon, 1, 2, change)
    behind = _lean(mechanism.scale)
    if change.relation is Relation.REPLACE:  # the gap after the first grows by 2, the gap after the second falls by 2
        common = [frozenset("ab")] * (behind + 1) + [frozenset("c")] * 2 + [frozenset("a")]
        yield "both gaps move by two", mechanism, (*common, frozenset("b")), (*common, frozenset("ac")), all_of_it
    else:
        common = [frozenset("ab")] * (behind + 1) + [frozenset("c")]
        yield "both gaps move by one", mechanism, common, (*common, frozenset("ac")), all_of_it


def _aggregated(epsilon: float, change: Change) -> Pairs:
    clip = epsilon / (4 if change.relation is Relation.REPLACE else 2)
    mechanism = AggregatedLogits(clip, np.array([LEAN - epsilon / 2, 0.0]))
    against, of = (np.array(side, dtype=np.int32) * round(clip * ONE) for side in ((1, -1), (-1, 1)))
    if change.relation is Relation.REPLACE:
        yield "a document turns to the rarer token", mechanism, [against], [of], all_of_it
    else:
        yield "a document is for the rarer token", mechanism, [], [of], all_of_it


# -- counts and sums with noise --------------------------------------------------------------------------------------


def _count(epsilon: float, change: Change) -> Pairs:
    first = [True] * 5 + ([False] if change.relation is Relation.REPLACE else [])
    yield "one more says yes", NoisyCount.calibrated(epsilon, change), first, [True] * 6, all_of_it


def _gaussian_count(epsilon: float, change: Change) -> Pairs:
    first = [True] * 5 + ([False] if change.relation is Relation.REPLACE else [])
    yield "one more says yes", GaussianCount.calibrated(rho_of(epsilon), change), first, [True] * 6, all_of_it


def _histogram(epsilon: float, change: Change) -> Pairs:
    first, second = _votes(6, 3, change)
    mechanism = NoisyHistogram.calibrated(epsilon, 2, change)
    yield "one more for the second value", mechanism, first, second, near(second.count(0), 3)


def _gaussian_histogram(epsilon: float, change: Change) -> Pairs:
    first, second = _votes(6, 3, change)
    mechanism = GaussianHistogram.calibrated(rho_of(epsilon), 2, change)
    yield "one more for the second value", mechanism, first, second, near(second.count(0), 3)


def _keywords(epsilon: float, change: Change) -> Pairs:
    mechanism = KeywordCounts.calibrated(rho_of(epsilon), FAILURE, 2, change).of_units(2)  # four words occur
    many = [("a", "b")] * math.ceil(mechanism.threshold + 8 * mechanism.sigma)
    if change.relation is Relation.REPLACE:
        many += [("c", "d")] * len(many)
        yield (
            "a unit with other words, of those that many have",
            mechanism,
            [*many, ("a", "b")],
            [*many, ("c", "d")],
            _lead,
        )
    else:
        yield "a unit with words that many have", mechanism, many, [*many, ("a", "b")], _lead
    alone = [("x",)] if change.relation is Relation.REPLACE else []
    yield "a word that one neighbour alone has", mechanism, alone, [("y", "z")], lambda counts: tuple(counts)


def _lead(counts: dict[str, int]) -> int:
    """Return the lead of the words a and b over c and d: the direction in which the two inputs differ."""
    return sum(count if word in "ab" else -count for word, count in counts.items())


def _stable(epsilon: float, change: Change) -> Pairs:
    mechanism = StableSet.calibrated(rho_of(epsilon), FAILURE)
    gap = gap_to_pass(0.35, mechanism.sigma, FAILURE)
    first = [frozenset("a")] * gap
    yield "the gap falls", mechanism, first, first[1:] + [frozenset("b")] * len(_one(change)), all_of_it
    second = [frozenset("b")] if change.relation is Relation.REPLACE else []
    yield "another set, which is not stable", mechanism, [frozenset("a")], second, all_of_it


def _one(change: Change) -> tuple[int, ...]:
    return (1,) if change.relation is Relation.REPLACE else ()


def _sum(epsilon: float, change: Change) -> Pairs:
    mechanism = NoisySum.calibrated(rho_of(epsilon), 2, 100, change)
    vector = np.array([60, 80])
    first = [-vector] if change.relation is Relation.REPLACE else []
    # Bins of an eighth of the noise's scale are fine enough.
    step = mechanism.sigma * mechanism.length / 8
    yield "a vector as long as may be", mechanism, first, [vector], lambda total: int((total @ (0.6, 0.8)) // step)


def _vectors(epsilon: float, change: Change) -> Pairs:
    matrix = np.array([[18, -8], [24, 6]], dtype=np.int64)
    vector = np.array([60, 80], dtype=np.int64)  # the matrix lengthens this vector most, along its first column
    mechanism = NoisyVectors.calibrated(rho_of(epsilon), matrix, 2, 100, change)
    first = [(0, -vector)] if change.relation is Relation.REPLACE else []
    step = mechanism.sigma * mechanism.reach / 8
    yield "a vector as long as may be", mechanism, first, [(0, vector)], lambda rows: int(rows[0, 0] // step)


# -- the sparse vector -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stream:
    """A run of the sparse vector, queried until it fires or the queries end.

    A share is a sequence of yes or no, one for each query. The outcome is the index of the query at which the run
    fired.
    """

    sparse: SparseVector

    def cost(self, change: Change) -> Cost:
        """Return the cost of the run."""
        return self.sparse.cost(change)

    def draw(self, shares: Sequence[Sequence[bool]], noise: Noise) -> int:
        """Make all queries in order; return the index of the one that fired, or their number if none did."""
        ask = self.sparse.start(noise)
        for number, answers in enumerate(zip(*shares, strict=True)):
            if ask(answers)[0]:
                return number
        return len(shares[0])


SILENT = 6
"""The number of queries at which the run rarely fires, before the one at which it may fire."""


def _sparse(epsilon: float, change: Change) -> Pairs:
    early, late = (True,) * SILENT + (False,), (False,) * SILENT + (True,)
    other = late if change.relation is Relation.REPLACE else None
    for fires in ("below", "above"):
        mechanism = SparseVector.calibrated(epsilon, 0, change, fires)
        away = max(1, round(0.8 * mechanism.threshold_scale))
        threshold = 2 * away
        mechanism = SparseVector(threshold, mechanism.threshold_scale, mechanism.query_scale, fires)
        silent = threshold + away - 1 if fires == "below" else threshold - away
        common = [(place < silent,) * SILENT + (place < threshold,) for place in range(threshold + away)]
        first, second = ([*common, unit] if unit else common for unit in (early, other))
        yield f"a share that turns around; fires {fires}", Stream(mechanism), first, second, all_of_it


MECHANISMS: dict[str, Callable[[float, Change], Pairs]] = {
    "exponential": _exponential,
    "permute-and-flip": _flip,
    "observed-selection": _observed,
    "limited-domain": _limited,
    "threshold-choice": _threshold,
    "share-choice": _share,
    "gap-choice": _gap,
    "aggregated-logits": _aggregated,
    "noisy-count": _count,
    "gaussian-count": _gaussian_count,
    "noisy-histogram": _histogram,
    "gaussian-histogram": _gaussian_histogram,
    "keyword-counts": _keywords,
    "stable-set": _stable,
    "noisy-sum": _sum,
    "noisy-vectors": _vectors,
    "sparse-vector": _sparse,
    **VOTE_MECHANISMS,
}
"""The cases of each mechanism, by the names of the command line."""

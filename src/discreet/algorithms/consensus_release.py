"""The releases of a consensus: which mechanism releases its answer, and how many votes or how much epsilon it needs.

All of it is public arithmetic (privacy-spec, parts 10.3 and 10.6). An open answer and a choice among public answers
have a class each. All units that could vote come or go (`Relation.ADD_REMOVE`), one share each.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.algorithms.base import Support
from discreet.privacy.accounting import NANO, Budget, Spending
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.counting import GaussianHistogram, NoisyHistogram, ThresholdedCounts
from discreet.privacy.mechanisms.leader import (
    LARGEST_EPSILON,
    LEAST_DELTA,
    LeaderSelection,
    certified_cost,
    leader_delta,
)
from discreet.privacy.mechanisms.optimal_selection import (
    CONFIDENCE,
    LEAST_EPSILON,
    CountedAnswer,
    CountedSelection,
    read_curve,
    unseen_curve,
)
from discreet.privacy.mechanisms.optimal_selection import LARGEST_EPSILON as LARGEST_CURVE
from discreet.privacy.mechanisms.order_selection import OrderSelection, Prices
from discreet.privacy.mechanisms.selection import ExponentialMechanism, ObservedSelection, PermuteAndFlip, vote_scale
from discreet.privacy.noise import WHOLE, least_threshold
from discreet.privacy.private import Change, Private, Relation

SHARE, CHANCE = 0.6, 0.9
RECEIPT = 3.0
"""The epsilon that one answer by `OrderSelection` may have by itself, if the other releases have no more."""
_STEPS = 40
LESS = 1 - 1e-8
"""A price and a delta that leave room for rounding, up to the next billionth and the next 1e-18."""


def least_epsilon(units: int, delta: float, share: float = SHARE, chance: float = CHANCE) -> float:
    """Return the least epsilon at which an answer of a share of `units` is released with at least `chance`.

    The release is `OptimalSelection`, or `CountedSelection` at a delta that is larger by a millionth. The answer is no
    candidate. `units` is public, or a released number.

    Args:
        units: how many units vote.
        delta: of the release.
        share: the part of the units that gives the answer; the number is rounded down.
        chance: with which the answer is released.

    Raises:
        ValueError: if no epsilon is enough, or an argument is out of range.
    """
    votes = supporters(units, share)
    wanted = math.ceil(chance * WHOLE)

    def enough(epsilon: float) -> bool:
        return read_curve(unseen_curve(epsilon, delta), votes) >= wanted

    low, high = LEAST_EPSILON, LARGEST_CURVE
    if not enough(high):
        raise ValueError(
            f"No epsilon releases an answer of {votes} votes with probability {chance} at delta {delta}. "
            "At least 2 votes are needed; ask for a smaller probability, or for more units."
        )
    if enough(low):
        return low
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def supporters(units: int, share: float) -> int:
    """Return how many of `units` a share is, rounded down.

    Raises:
        ValueError: if an argument is out of range.
    """
    if units < 0 or not 0 < share <= 1:
        raise ValueError(f"units >= 0 and 0 < share <= 1 do not hold: {units}, {share}.")
    # A hair more than the product: 0.6 of 40 is 24, and not 23.
    return math.floor(units * share * (1 + 1e-12))


def order_prices(budget: Budget, price: int, counts: Spending, receipt: Budget, counted: Spending) -> Prices:
    """Return what a curve may cost at the order of a vault, and at that of a receipt; empty if it may cost nothing.

    Args:
        budget: of a unit of the vault, at whose order the price is counted.
        price: of the whole question there, in billionths of a nat.
        counts: the other releases of the question.
        receipt: the budget of the question by itself.
        counted: those of the other releases that the receipt counts in this budget.
    """
    if budget.accountant != "renyi":
        return ()  # the largest price over its order, as zCDP counts it, is that at the receipt's order
    left = [
        (budget.counted_order, price - budget.filter_state(counts).curve),
        (receipt.counted_order, receipt.limit.curve - receipt.filter_state(counted).curve),
    ]
    fits = all(nano > 0 for _, nano in left)
    return tuple((order, nano / NANO * LESS) for order, nano in left) if fits else ()


# The cost of the leader's law is proved quickly for so many voters.
MOST_LEADER_VOTERS = 40

_LARGEST_RHO = 100.0
# If no unit votes, `unsaid` is chosen at least so probably.
_UNSAID = 0.99

Proposing = LeaderSelection | CountedSelection | ThresholdedCounts | OrderSelection  # type: ignore[type-arg]
"""The selections that can have public candidates."""

OpenSelection = ObservedSelection | Proposing


@dataclass(frozen=True)
class OpenRelease:
    """The release of an answer that any voter can name.

    Attributes:
        voters: the number of voters.
        leader: whether the leader's law may select the answer, where votes are replaced.
        counts: whether counts with Gaussian noise release it, where votes come and go.
        prices: what a curve may cost at each of some orders, for an epsilon of 1: it releases the answer then, where
            votes come and go. Empty for no curve.
    """

    voters: int
    leader: bool
    counts: bool
    prices: Prices = ()

    def selection(self, epsilon: float, delta: float, change: Change) -> OpenSelection:
        """Return the mechanism that costs at most (epsilon, delta) under `change`."""
        if comes_and_goes(change):
            if self.prices:
                return OrderSelection.best(tuple((order, epsilon * each) for order, each in self.prices), delta)
            if self.counts:
                return ThresholdedCounts.calibrated(min(_LARGEST_RHO, epsilon**2 / 8), delta, change)
            return CountedSelection.calibrated(min(LARGEST_CURVE, epsilon), delta, change)
        if self.is_led(change) and epsilon <= LARGEST_EPSILON:
            return LeaderSelection(epsilon, delta, self.voters)
        return ObservedSelection.calibrated(epsilon, delta, change)

    def is_led(self, change: Change) -> bool:
        """Return whether the leader's law selects, where its price is proved."""
        return self.leader and self.voters <= MOST_LEADER_VOTERS and change.shares == 1

    def hears_candidates(self, change: Change) -> bool:
        """Return whether the mechanism can have public candidates under `change`, if its epsilon is at most 8."""
        return comes_and_goes(change) or self.is_led(change)

    def epsilon_needed(self, delta: float, change: Change) -> float:
        """Return an epsilon of the selection that releases a unanimous answer with probability 0.9."""
        if comes_and_goes(change):
            return least_epsilon(self.voters, delta, 1.0, 0.9)
        if self.is_led(change) and self.voters > 1 and delta >= LEAST_DELTA:
            cost = certified_cost(least_epsilon(self.voters, leader_delta(delta), 1.0, 0.9), delta, self.voters)
            if cost is not None:
                return cost
        return 2 * (math.log(1 / delta - 1) + math.log(9)) / max(self.voters - 1, 1)

    def units_needed(self, selection: OpenSelection) -> int:
        """Return the number of units of which 60 % release an answer nine times in ten, the others with one rival."""
        return math.ceil((selection.votes_needed(CHANCE) or self.voters) / SHARE)


@dataclass(frozen=True)
class ChoiceRelease:
    """The release of one of several public answers.

    Attributes:
        choices: the public answers.
        unsaid: the choice that wins if no unit votes; empty for none.
        flip: whether permute-and-flip chooses, and not the exponential mechanism.
        vote_shares: whether noisy numbers of votes are released as well, for half of epsilon.
    """

    choices: tuple[str, ...]
    unsaid: str
    flip: bool
    vote_shares: bool

    def mechanisms(self, epsilon: float, change: Change) -> list[Any]:
        """Return the selection, and the histogram of votes if `vote_shares` is set."""
        epsilon = epsilon / 2 if self.vote_shares else epsilon
        kind = PermuteAndFlip if self.flip else ExponentialMechanism
        scale = vote_scale(change, epsilon)
        selection = kind(len(self.choices), scale, self._public_votes(scale, change))
        return [selection, *([NoisyHistogram.calibrated(epsilon, len(self.choices), change)] * self.vote_shares)]

    def units_needed(self, selection: ExponentialMechanism | PermuteAndFlip) -> int:
        """Return the number of units of which 60 % release a choice nine times in ten, the others with one rival."""
        ahead: float = selection.scale * math.log(CHANCE / (1 - CHANCE) * (len(self.choices) - 1))
        rivals = ahead / (2 * SHARE - 1), (ahead + len(selection.public_votes)) / SHARE
        return math.ceil(max(rivals))

    def _public_votes(self, scale: float, change: Change) -> tuple[int, ...]:
        """Return votes for `unsaid`, with which it wins if no unit votes. Voters without documents abstain."""
        if not self.unsaid or not comes_and_goes(change):
            return ()
        ahead = scale * math.log(_UNSAID / (1 - _UNSAID) * (len(self.choices) - 1))
        return (self.choices.index(self.unsaid),) * math.ceil(ahead)


def heard_candidates(selection: Any) -> tuple[str, ...]:
    """Return the public candidates that take part in a selection."""
    if isinstance(selection, LeaderSelection):
        return selection.heard
    return selection.candidates if isinstance(selection, Proposing) else ()


def best_chance(selection: OpenSelection, votes: int, candidates: Sequence[str]) -> float:
    """Return how probably an answer, or one of the candidates if there are any, is released with so many votes."""
    if isinstance(selection, Proposing) and candidates:
        return selection.with_candidates(candidates).candidate_chance(votes)
    return selection.chance(votes)


def comes_and_goes(change: Change) -> bool:
    """Return whether a vote comes or goes, and is not replaced."""
    return change.relation is Relation.ADD_REMOVE


def voters_needed(selection: OpenSelection) -> int:
    """Return how many voters release a unanimous answer with probability 0.9."""
    votes = selection.votes_needed(0.9)
    if isinstance(selection, LeaderSelection) and (votes is None or votes > MOST_LEADER_VOTERS):
        return selection.fallback.votes_needed(0.9)
    return votes or 0


COUNT_SIGMA = 4.0
"""The noise of a count that is released after an answer."""
_NO_VALUE = -1


def counts_votes(selection: Any) -> bool:
    """Return whether a selection releases a noisy count with its answer."""
    return isinstance(selection, ThresholdedCounts | CountedSelection)


def count_after() -> GaussianHistogram:
    """Return the count that can follow a selection that does not count, for its price."""
    return GaussianHistogram(1, COUNT_SIGMA)


def release_answers(
    selection: Any, votes: Private[str | None], after: Sequence[GaussianHistogram], privacy: PrivacyFilter
) -> tuple[tuple[str, ...], Support | None]:
    """Release what the selection selects, and how many units said so.

    A selection that counts releases the answer with the largest noisy count. The others release all their answers, in
    an order that is public, and then the counts of `after`, which are drawn from the same votes. The price of a count
    does not depend on the number of answers: one unit has one vote, and moves one of the counts by one.

    Returns:
        the answers, and the support of the first one: the counted one first, or the fewest that must have said so.
    """
    lists = isinstance(selection, ThresholdedCounts)
    shares: Private[Any] = votes.map(lambda vote: () if vote is None else (vote,)) if lists else votes
    winners: Any = privacy.release(selection, shares)
    released = winners if isinstance(winners, tuple) else () if winners is None else (winners,)
    if released and isinstance(first := released[0], CountedAnswer):
        return (str(first.answer),), Support(first.count, first.low, first.high)
    if not released:
        return (), None
    if not after:
        return released, _at_least(selection, released)
    places = {answer: place for place, answer in enumerate(released)}
    histogram = GaussianHistogram(len(released), after[0].sigma)
    counts = privacy.release(
        histogram, votes.map(lambda vote: _NO_VALUE if vote is None else places.get(vote, _NO_VALUE))
    )
    ranked = sorted(zip(counts, released, strict=True), key=lambda pair: -pair[0])
    most, margin = ranked[0][0], least_threshold(histogram.sigma, (1 - CONFIDENCE) / 2 / len(released)) - 1
    return tuple(answer for _, answer in ranked), Support(most, max(0, most - margin), max(0, most + margin))


def _at_least(selection: Any, released: tuple[str, ...]) -> Support | None:
    """Return the fewest units that gave each released answer; None if that is not known, or is none."""
    if not isinstance(selection, OrderSelection):
        return None
    least = min(selection.supporters(answer) for answer in released)
    return Support(None, least, None) if least else None

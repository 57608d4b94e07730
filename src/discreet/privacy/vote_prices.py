"""What the release of one answer from votes costs: public arithmetic, for plans.

Privacy-spec, parts 10.3 and 10.6. All units that could vote come or go (`Relation.ADD_REMOVE`), one share each.
"""

import math
from dataclasses import dataclass

from discreet.privacy.accounting import ATTO, NANO, Budget, Spending, largest
from discreet.privacy.costs import Pure
from discreet.privacy.mechanisms.counted_selection import CountedSelection
from discreet.privacy.mechanisms.order_selection import OrderSelection, Prices
from discreet.privacy.mechanisms.selection_curves import LARGEST_EPSILON, LEAST_EPSILON, read_curve, unseen_curve
from discreet.privacy.mechanisms.thresholded_counts import ThresholdedCounts
from discreet.privacy.noise import WHOLE
from discreet.privacy.partition import ADD_REMOVE_ONE

SHARE, CHANCE = 0.6, 0.9
RECEIPT = 3.0
"""The epsilon that one answer by `OrderSelection` may have by itself, if the other releases have no more."""
_STEPS = 40
_LESS = 1 - 1e-8
"""A price and a delta that leave room for rounding, up to the next billionth and the next 1e-18."""
Release = CountedSelection[str] | ThresholdedCounts


@dataclass(frozen=True)
class VoteRelease:
    """The release of answers that a number of questions for each unit can pay.

    Attributes:
        mechanism: the release of one question.
        votes: with so many votes an answer is released with the probability that was asked for.
    """

    mechanism: Release
    votes: int


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

    low, high = LEAST_EPSILON, LARGEST_EPSILON
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


def counted_selection_for(budget: Budget, uses: int) -> CountedSelection[str] | None:
    """Return the counted selection of the largest epsilon that fits `uses` times; None if none does.

    Its delta is an equal part of `budget.failures`.
    """
    delta = _failures_of_one(budget, uses)

    def fits(epsilon: float) -> bool:
        return budget.admits(Spending.of(Pure(epsilon, delta), uses))

    epsilon = largest(fits, LEAST_EPSILON, min(LARGEST_EPSILON, budget.epsilon))
    return CountedSelection(epsilon, delta) if delta > 0 and fits(epsilon) else None


def thresholded_counts_for(budget: Budget, uses: int, values: int = 1) -> ThresholdedCounts | None:
    """Return the thresholded counts of the least noise that fit `uses` times; None if none do.

    Their failure is at most an equal part of `budget.failures`.
    """
    delta = _failures_of_one(budget, uses)
    if delta <= 0:
        return None

    def made(rho: float) -> ThresholdedCounts:
        return ThresholdedCounts.calibrated(rho, delta, ADD_REMOVE_ONE, values)

    def fits(rho: float) -> bool:
        return budget.admits(Spending.of(made(rho).cost(ADD_REMOVE_ONE), uses))

    rho = largest(fits, 1e-8, 100.0)
    return made(rho) if fits(rho) else None


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
    return tuple((order, nano / NANO * _LESS) for order, nano in left) if fits else ()


def order_selection_for(budget: Budget, uses: int, receipt: float = RECEIPT) -> OrderSelection[str] | None:
    """Return the order selection with the largest curve that fits `uses` times; None if none does.

    One answer by itself has at most the epsilon of `receipt` at the budget's delta.
    """
    delta = _failures_of_one(budget, uses)
    alone = Budget(receipt, budget.delta, delta)
    nothing = Spending.nothing()
    prices = order_prices(budget, budget.limit.curve // uses, nothing, alone, nothing)
    return OrderSelection[str].best(prices, delta * _LESS) if prices and delta > 0 else None


def _failures_of_one(budget: Budget, uses: int) -> float:
    # A little less than an equal part: the ledger rounds each failure up to the next 1e-18.
    return budget.limit.failures // uses / ATTO * (1 - 1e-12)


def cheapest_release(budget: Budget, uses: int, chance: float = CHANCE) -> VoteRelease:
    """Return the release with which the fewest votes are enough, if each unit pays for `uses` questions.

    Both release counts. Of two that need as many votes it is `ThresholdedCounts`.

    Args:
        budget: what a unit may spend.
        uses: the number of questions a unit takes part in.
        chance: with which the answer is to be released.

    Raises:
        ValueError: if the budget admits neither.
    """
    found: list[VoteRelease] = []
    if counts := thresholded_counts_for(budget, uses):
        found.append(VoteRelease(counts, counts.votes_needed(chance)))
    if selection := counted_selection_for(budget, uses):
        found.append(VoteRelease(selection, selection.votes_needed(chance)))
    if not found:
        raise ValueError(
            f"The budget admits no release of votes: epsilon {budget.epsilon:g} for {uses} questions, failures "
            f"{budget.failures:g}. Keep a part of delta for failures, or ask fewer questions."
        )
    return min(found, key=lambda one: one.votes)

"""The releases of votes that a budget pays for a number of questions: what the product chooses among, side by side.

Privacy-spec, parts 10.3 and 10.6. All units that could vote come or go (`Relation.ADD_REMOVE`), one share each.
"""

from dataclasses import dataclass

from discreet.algorithms.consensus_release import CHANCE
from discreet.privacy.accounting import ATTO, Budget, Spending, largest
from discreet.privacy.costs import Pure
from discreet.privacy.mechanisms.counting import ThresholdedCounts
from discreet.privacy.mechanisms.optimal_selection import LARGEST_EPSILON, LEAST_EPSILON, CountedSelection
from discreet.privacy.partition import ADD_REMOVE_ONE

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


def counted_selection_for(budget: Budget, uses: int) -> CountedSelection[str] | None:
    """Return the counted selection of the largest epsilon that fits `uses` times; None if none does.

    Its delta is an equal part of `budget.failures`.
    """
    delta = _failures_of_one(budget, uses)

    def fits(epsilon: float) -> bool:
        return budget.admits(Spending.of(Pure(epsilon, delta), uses))

    epsilon = largest(fits, LEAST_EPSILON, min(LARGEST_EPSILON, budget.epsilon))
    return CountedSelection(epsilon, delta) if delta > 0 and fits(epsilon) else None


def thresholded_counts_for(budget: Budget, uses: int) -> ThresholdedCounts | None:
    """Return the thresholded counts of the least noise that fit `uses` times; None if none do.

    Their failure is at most an equal part of `budget.failures`.
    """
    delta = _failures_of_one(budget, uses)
    if delta <= 0:
        return None

    def made(rho: float) -> ThresholdedCounts:
        return ThresholdedCounts.calibrated(rho, delta, ADD_REMOVE_ONE)

    def fits(rho: float) -> bool:
        return budget.admits(Spending.of(made(rho).cost(ADD_REMOVE_ONE), uses))

    rho = largest(fits, 1e-8, 100.0)
    return made(rho) if fits(rho) else None


def _failures_of_one(budget: Budget, uses: int) -> float:
    # A little less than an equal part: the ledger rounds each failure up to the next 1e-18.
    return budget.limit.failures // uses / ATTO * (1 - 1e-12)


def cheapest_release(budget: Budget, uses: int) -> VoteRelease:
    """Return the release with which the fewest votes are enough, if each unit pays for `uses` questions.

    Both release counts. Of two that need as many votes it is `ThresholdedCounts`.

    Args:
        budget: what a unit may spend.
        uses: the number of questions a unit takes part in.

    Raises:
        ValueError: if the budget admits neither.
    """
    found: list[VoteRelease] = []
    if counts := thresholded_counts_for(budget, uses):
        found.append(VoteRelease(counts, counts.votes_needed(CHANCE)))
    if selection := counted_selection_for(budget, uses):
        found.append(VoteRelease(selection, selection.votes_needed(CHANCE)))
    if not found:
        raise ValueError(
            f"The budget admits no release of votes: epsilon {budget.epsilon:g} for {uses} questions, failures "
            f"{budget.failures:g}. Keep a part of delta for failures, or ask fewer questions."
        )
    return min(found, key=lambda one: one.votes)

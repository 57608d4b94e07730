"""The check whether a budget can pay for a cost. Its result is public."""

import math
from bisect import bisect_left
from collections.abc import Callable

from discreet.errors import BudgetExhausted, UsageError
from discreet.privacy.accounting import Budget, Spending

STEP = 0.01
"""An error states the affordable epsilon as a multiple of this."""


def check_affordable(budget: Budget, spent: Spending, epsilon: float, most: Callable[[float], Spending]) -> None:
    """Check that a question of `epsilon` can be paid on top of `spent`.

    Args:
        budget: the vault's budget.
        spent: the spending of every unit.
        epsilon: the requested epsilon.
        most: returns the largest cost for an epsilon.

    Raises:
        BudgetExhausted: if it cannot be paid. The error states an epsilon that can.
    """
    if budget.admits(spent + most(epsilon)):
        return

    def cost(less: float) -> Spending:
        try:
            return most(less)
        except UsageError:  # too small for any release, so small enough to be paid
            return Spending.nothing()

    def fits(less: float) -> bool:
        return budget.admits(spent + cost(less))

    # The order for a price depends on the price, so a lower price may cost more. Lower it until it fits.
    found = round(largest_step(fits, STEP, epsilon) / STEP)
    steps = (step / 100 for step in range(found, found - 100, -1))
    left, fit = budget.left(spent), next((less for less in steps if less > 0 and fits(less)), 0.0)
    if fit and cost(fit) == Spending.nothing():
        fit = 0.0
    advice = f"Epsilon {fit:g} would fit." if fit else "No smaller epsilon fits. Create a vault with a larger grant."
    raise BudgetExhausted(
        f"The budget cannot pay: epsilon {epsilon:.4g} was asked, {left:.4g} of {budget.epsilon:.4g} is left to "
        f"every unit. Nothing was released or charged. {advice}",
        asked=epsilon,
        left=left,
        would_fit=fit,
    )


def largest_step(fits: Callable[[float], bool], low: float, high: float) -> float:
    """Return the largest multiple of `STEP` in [low, high] that fits, by bisection; the one before `low` if none does.

    A message shows it, and a request for it succeeds.
    """
    steps = range(math.ceil(100 * low - 1e-9), math.floor(100 * high + 1e-9) + 1)
    return (steps.start - 1 + bisect_left(steps, True, key=lambda step: not fits(step / 100))) / 100

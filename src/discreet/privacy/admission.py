"""The check whether a budget can pay for a cost. Its result is public."""

import math
from collections.abc import Callable

from discreet.errors import BudgetExhausted, UsageError
from discreet.privacy.accounting import Budget, Spending, largest

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
    found = largest(fits, STEP, epsilon)
    steps = (round_down(found - step * STEP) for step in range(100))
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


def round_down(epsilon: float) -> float:
    """Return epsilon rounded down to a multiple of `STEP`. A message shows it, and a request for it succeeds."""
    return math.floor(epsilon * 100) / 100

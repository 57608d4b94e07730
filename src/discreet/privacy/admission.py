"""Whether a budget can pay for a cost: public."""

import math
from collections.abc import Callable

from discreet.errors import BudgetExhausted, UsageError
from discreet.privacy.accounting import Budget, Spending, largest

STEP = 0.01
"""What could be paid is told to a multiple of this."""


def check_affordable(budget: Budget, spent: Spending, epsilon: float, most: Callable[[float], Spending]) -> None:
    """Nothing, if what is asked for `epsilon` can be paid on top of what everybody has `spent`.

    Args:
        budget: the vault's.
        spent: by everybody.
        epsilon: what was asked for.
        most: what so much epsilon may cost.

    Raises:
        BudgetExhausted: it cannot; says what could.
    """
    if budget.admits(spent + most(epsilon)):
        return

    def cost(less: float) -> Spending:
        try:
            return most(less)
        except UsageError:  # too small to release anything, so small enough to be paid
            return Spending.nothing()

    def fits(less: float) -> bool:
        return budget.admits(spent + cost(less))

    # The order at which a price adds up follows from it, so that a lower one may count for more: down until it fits.
    found = largest(fits, STEP, epsilon)
    steps = (round_down(found - step * STEP) for step in range(100))
    left, fit = budget.left(spent), next((less for less in steps if less > 0 and fits(less)), 0.0)
    if fit and cost(fit) == Spending.nothing():
        fit = 0.0
    advice = f"Epsilon {fit:g} would fit." if fit else "Nothing fits any more; a vault with a larger grant would do."
    raise BudgetExhausted(
        f"The budget cannot pay: epsilon {epsilon:.4g} was asked, {left:.4g} of {budget.epsilon:.4g} is left to "
        f"everybody. Nothing was released or charged. {advice}",
        asked=epsilon,
        left=left,
        would_fit=fit,
    )


def round_down(epsilon: float) -> float:
    """Return the multiple of `STEP` that a message shows, so that asking for it succeeds."""
    return math.floor(epsilon * 100) / 100

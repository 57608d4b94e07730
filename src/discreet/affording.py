"""Whether a vault can pay for a question, and what it could pay for: all of it public."""

import math
from collections.abc import Callable
from dataclasses import replace

from discreet.algorithms.adaptive import Adaptive
from discreet.algorithms.answer import Algorithm, Plan
from discreet.algorithms.dp_rag import DPRAG
from discreet.algorithms.ensemble import Ensemble
from discreet.algorithms.multi import ManyQuestions
from discreet.algorithms.voting import Voting
from discreet.errors import BudgetExhausted, UsageError
from discreet.privacy.accounting import Budget, Spending, largest

Priceable = Ensemble | ManyQuestions | Adaptive | DPRAG
"""What can be asked for less."""
_STEP = 0.01
"""What could be paid is told to a multiple of this."""


def affordable(algorithm: Algorithm | ManyQuestions, budget: Budget, spent: Spending, vocabulary: int) -> Budget:
    """The question's own budget, if all that it may cost can be paid on top of what everybody has `spent`.

    Raises:
        UsageError: the question's delta is above the vault's.
        BudgetExhausted: it cannot be paid; says what could.
    """
    plan = algorithm.plan(budget, vocabulary)
    if plan is None:
        return Budget(1.0, budget.delta)
    if plan.ceiling.delta > budget.delta:
        raise UsageError(
            f"The question's delta, {plan.ceiling.delta:g}, is above the vault's, {budget.delta:g}. Give a smaller "
            "one, or none."
        )
    if budget.admits(spent + plan.most):
        return plan.ceiling
    _check_failures(budget, spent, plan.most)
    asked, left, fit = budget.spent(plan.most), budget.left(spent), _would_fit(algorithm, budget, spent, vocabulary)
    asked = getattr(algorithm, "epsilon", None) or asked
    advice = (
        f"A question of epsilon {fit:.3g} would fit."
        if fit
        else "No question of this kind fits any more; non-rag is free."
    )
    raise BudgetExhausted(
        f"The budget cannot pay: epsilon {asked:.4g} was asked, {left:.4g} of {budget.epsilon:.4g} is left. "
        f"Nothing was released or charged. {advice} Questions that were answered before are free.",
        asked=asked,
        left=left,
        would_fit=fit,
    )


def _check_failures(budget: Budget, spent: Spending, most: Spending) -> None:
    """Refuse by name what would fail too often, however much epsilon is left."""
    left = max(0.0, budget.failures - spent.delta)
    if most.delta > left:
        raise BudgetExhausted(
            f"The budget cannot pay: the question may fail with probability {most.delta:.2g}, and {left:.2g} of the "
            f"vault's {budget.failures:.2g} for that is left. Nothing was released or charged. Ask with a smaller "
            "--delta, or for public choices, which need none.",
            asked=budget.spent(Spending(most.nano, 0)),
            left=budget.left(Spending(spent.nano, 0)),
        )


def affords(budget: Budget, spent: Spending, epsilon: float, most: Callable[[float], Spending]) -> None:
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
    found = largest(fits, _STEP, epsilon)
    steps = (_rounded(found - step * _STEP) for step in range(100))
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


def enough(algorithm: Algorithm | ManyQuestions, ceiling: Budget, budget: Budget) -> Budget:
    """A budget for a simulation of one question of this ceiling, in a vault of that budget."""
    if not isinstance(algorithm, ManyQuestions):
        return ceiling
    # Without a price of its own, a question is given what the vault's budget allows.
    shared_out = algorithm.epsilon is None and algorithm.uses is not None
    return budget if shared_out else replace(budget, epsilon=1e6)


def _would_fit(algorithm: Algorithm | ManyQuestions, budget: Budget, spent: Spending, vocabulary: int) -> float:
    """The largest epsilon of such a question that can still be paid; 0 if below a hundredth."""
    if not isinstance(algorithm, Priceable):
        return 0.0
    smallest = algorithm.entry + _STEP if isinstance(algorithm, ManyQuestions) else _STEP

    def fits(epsilon: float) -> bool:
        try:
            plan: Plan = _smaller(algorithm, epsilon).plan(budget, vocabulary)
        except UsageError:  # too small to release anything, so small enough to be paid
            return True
        return budget.admits(spent + plan.most)

    if not fits(smallest):
        return 0.0
    found = _rounded(largest(fits, smallest, algorithm.epsilon or budget.epsilon))
    try:
        _smaller(algorithm, found).plan(budget, vocabulary)
    except UsageError:
        return 0.0
    return found


def _rounded(epsilon: float) -> float:
    """Down to what a message shows, so that asking for it succeeds."""
    return math.floor(epsilon * 100) / 100


def _smaller(algorithm: Priceable, epsilon: float) -> Priceable:
    """The same algorithm for a question of `epsilon`, with rounds as precise as that allows."""
    if isinstance(algorithm, Adaptive):
        return replace(algorithm, inner=replace(_unpriced(algorithm.inner), epsilon=epsilon))
    if isinstance(algorithm, ManyQuestions):
        return replace(algorithm, epsilon=epsilon, inner=_unpriced(algorithm.inner))
    if isinstance(algorithm, DPRAG):
        return replace(algorithm, epsilon=epsilon)
    return replace(_unpriced(algorithm), epsilon=epsilon)


def _unpriced(algorithm: Ensemble) -> Ensemble:
    return replace(algorithm, epsilon_token=None) if isinstance(algorithm, Voting) else algorithm

"""The admission of questions: whether a vault can pay for a question, and the largest one that it can pay. Public."""

import math
from dataclasses import replace

from discreet.algorithms.common.algorithm import Algorithm
from discreet.algorithms.statistics.statistic import Statistic
from discreet.errors import BudgetExhausted, UsageError
from discreet.privacy.account import Payment
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.admission import STEP, largest_step
from discreet.query.derived import Releases


def question_budget(algorithm: Algorithm, budget: Budget, spent: Spending, vocabulary: int) -> Budget:
    """Return the question's own budget, if the vault can pay its highest cost after `spent`, which all units paid.

    Raises:
        UsageError: if the question's delta is above the vault's.
        BudgetExhausted: if it cannot be paid; the error names the largest question that can.
    """
    plan = algorithm.plan(budget, vocabulary)
    if plan is None:
        return Budget(1.0, budget.delta)
    if plan.ceiling.delta > budget.delta:
        raise UsageError(
            f"The question's delta, {plan.ceiling.delta:g}, is above the vault's, {budget.delta:g}. Choose a "
            "smaller delta, or none."
        )
    # A release can be so precise that more epsilon changes nothing. Its price is nevertheless above the grant.
    if budget.admits(spent + plan.max_cost) and (algorithm.question_epsilon or 0.0) <= budget.epsilon:
        return plan.ceiling
    _check_failures(budget, spent, plan.max_cost)
    asked, left, fit = budget.spent(plan.max_cost), budget.left(spent), _would_fit(algorithm, budget, spent, vocabulary)
    asked = algorithm.question_epsilon or asked
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


def check_counted(statistic: Statistic, unable: int | None, releases: Releases, budget: Budget) -> None:
    """Refuse a statistic if publicly each unit that it is about may be unable to pay: its numbers would mean nothing.

    Args:
        statistic: the statistic.
        unable: how many units at most cannot pay; None if it may be any number.
        releases: what was released; it says how many units the statistic is about at most.
        budget: the grant.

    Raises:
        BudgetExhausted: if it is so. Nothing was charged.
    """
    most = releases.at_most(statistic.members) if unable else math.inf
    if unable is None or unable < most or not unable:
        return
    raise BudgetExhausted(
        f"Earlier questions may have used up the grant of all units that this is about: up to {unable:,} cannot pay, "
        f"and it was about {most:,.0f} at most when that was last released. Nothing was released or charged. What was "
        "released before is free. At a smaller price (--epsilon, --uses) more units may be able to pay.",
        asked=budget.spent(statistic.plan(budget, 0).max_cost),
        left=0.0,
    )


def _check_failures(budget: Budget, spent: Spending, most: Spending) -> None:
    """Refuse a question whose probability of failure is above the rest of the vault's, for every rest of epsilon."""
    left = max(0.0, budget.failures - spent.delta)
    if most.delta > left:
        raise BudgetExhausted(
            f"The budget cannot pay: the question may fail with probability {most.delta:.2g}, and {left:.2g} of the "
            f"vault's {budget.failures:.2g} for that is left. Nothing was released or charged. Ask with a smaller "
            "--delta, or for public choices, which need none.",
            asked=budget.spent(Spending(most.loss_nano, 0)),
            left=budget.left(Spending(spent.loss_nano, 0)),
        )


def simulation_budget(algorithm: Algorithm, ceiling: Budget, budget: Budget) -> Budget:
    """Return a budget for a simulation of one question of this ceiling, in a vault of that budget."""
    if algorithm.payment is not Payment.EACH_UNIT:
        return ceiling
    # A price that is given may be above the grant. Any other price follows from the grant.
    return budget if algorithm.prices_by_grant else replace(budget, epsilon=1e6)


def _would_fit(algorithm: Algorithm, budget: Budget, spent: Spending, vocabulary: int) -> float:
    """Return the largest epsilon of such a question that can still be paid; 0 if below a hundredth."""
    smallest = algorithm.least_epsilon + STEP

    def fits(epsilon: float) -> bool:
        try:
            plan = algorithm.scaled_to(epsilon).plan(budget, vocabulary)
        except UsageError:  # too small for any release, so small enough to be paid
            return True
        return plan is None or budget.admits(spent + plan.max_cost)

    if not fits(smallest):
        return 0.0
    most = min(algorithm.question_epsilon or budget.epsilon, budget.epsilon)
    found = largest_step(fits, smallest, most)
    try:
        algorithm.scaled_to(found).plan(budget, vocabulary)
    except UsageError:
        return 0.0
    return found

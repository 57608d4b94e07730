"""Before a question is answered: whether it may be asked and can be paid, and what all may have cost. Public."""

import math
from dataclasses import dataclass, replace
from pathlib import Path

from discreet.algorithms.base import Algorithm, Guarantee, Plan, UnitCost, is_declared, with_epsilon
from discreet.config import VaultConfig
from discreet.errors import BudgetExhausted, PriceChanged, UsageError
from discreet.privacy.account import Payment
from discreet.privacy.accounting import STEP, Budget, Spending, how_many, largest_step
from discreet.privacy.filter import Receipt
from discreet.query.recall import Releases
from discreet.statistics.statistic import Statistic
from discreet.system.words import percent


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
    if budget.admits(spent + plan.max_cost) and (_given_epsilon(algorithm) or 0.0) <= budget.epsilon:
        return plan.ceiling
    _check_failures(budget, spent, plan.max_cost)
    asked, left, fit = budget.spent(plan.max_cost), budget.left(spent), _would_fit(algorithm, budget, spent, vocabulary)
    asked = _given_epsilon(algorithm) or asked
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
    if algorithm.spec.payment is not Payment.EACH_UNIT:
        return ceiling
    # A price that is given may be above the grant. Any other price follows from the grant.
    return budget if _given_epsilon(algorithm) is None else replace(budget, epsilon=1e6)


def _given_epsilon(algorithm: Algorithm) -> float | None:
    """Return the epsilon that a question may cost, if it is a parameter."""
    return getattr(algorithm, "epsilon", None)


def _would_fit(algorithm: Algorithm, budget: Budget, spent: Spending, vocabulary: int) -> float:
    """Return the largest epsilon of such a question that can still be paid; 0 if below a hundredth."""

    def fits(epsilon: float) -> bool:
        try:
            plan = with_epsilon(algorithm, epsilon).plan(budget, vocabulary)
        except UsageError:  # too small for any release, so small enough to be paid
            return True
        return plan is None or budget.admits(spent + plan.max_cost)

    if not fits(STEP):
        return 0.0
    most = min(_given_epsilon(algorithm) or budget.epsilon, budget.epsilon)
    largest = largest_step(fits, STEP, most)
    try:
        with_epsilon(algorithm, largest).plan(budget, vocabulary)
    except UsageError:
        return 0.0
    return largest


# --- checks before any payment ----------------------------------------------------------------------------------------
# The checks of a question before any payment. They use the question, the algorithm and public values alone.


def check_declared(algorithm: object) -> None:
    """Refuse an algorithm that does not declare what it is.

    Raises:
        UsageError: if it is not an `Algorithm` with a spec.
    """
    name = getattr(algorithm, "name", type(algorithm).__name__)
    if not isinstance(algorithm, Algorithm):
        mistake = "is not an Algorithm: derive its class from discreet.Algorithm"
    elif not is_declared(algorithm):
        mistake = "does not declare who pays and what it promises: set the class attribute `spec` to an AlgorithmSpec"
    else:
        return
    raise UsageError(f"'{name}' {mistake}. Nothing was charged.")


def check_plan(algorithm: Algorithm, plan: Plan | None) -> None:
    """Refuse an algorithm whose plan does not match the payment that it declares.

    Raises:
        UsageError: if it plans a cost and charges nothing, or charges units and plans no cost.
    """
    if algorithm.spec.private and (plan is None) is not (algorithm.spec.payment is Payment.NOTHING):
        problem = "plans no cost" if plan is None else "plans a cost"
        raise UsageError(
            f"'{algorithm.name}' {problem}, and declares that it charges {algorithm.spec.payment}. Make `plan` and "
            "`spec` agree. Nothing was charged."
        )


def check_ceiling(plan: Plan | None, ceiling: Spending | None) -> None:
    """Refuse a question that may cost more than its caller allows.

    Raises:
        PriceChanged: if the plan's highest cost is above the ceiling, at any order or in failures.
    """
    if plan is not None and ceiling is not None and not plan.max_cost.within(ceiling):
        raise PriceChanged(
            "The question may cost a unit more than its caller allows: the vault has changed since its price was "
            "asked. Ask for the price again. Nothing was charged."
        )


def check_payment(algorithm: Algorithm, settings: VaultConfig, path: Path) -> None:
    """Refuse an algorithm that the vault at `path` cannot run.

    Raises:
        UsageError: if it charges single units and the payment is "corpus", or if the vault refuses its claim.
    """
    if algorithm.spec.guarantee is Guarantee.CLAIMED and not settings.accept_claims:
        raise UsageError(
            f"'{algorithm.name}' rests on a published claim that is no guarantee, and the vault at {path} accepts "
            "none. Use an algorithm with a guarantee; for research, make a vault with: discreet init --accept-claims"
        )
    if settings.payment == "corpus" and algorithm.spec.payment is Payment.EACH_UNIT:
        raise UsageError(
            f"'{algorithm.name}' charges single units, but the payment of the vault at {path} is 'corpus': all units "
            "pay for every question. Choose another algorithm, or make a vault with unit payment: discreet init."
        )


def require_opt_in(algorithm: Algorithm, not_private: bool) -> None:
    """Require `not_private` for an algorithm without a guarantee.

    Raises:
        UsageError: if it is not set.
    """
    if not (algorithm.spec.private or not_private):
        raise UsageError(
            f"'{algorithm.name}' gives no guarantee: its answer may repeat any document. To run it nevertheless: "
            "--not-private (in Python: not_private=True)."
        )


# --- the odometer -----------------------------------------------------------------------------------------------------
# The odometer: the most that questions may have cost any one unit. It is public: it depends on receipts and the grant.
#
# The payments of one unit are private. The receipt of a question has its cost to a unit that took part. A unit that
# took part in all questions paid the sum, and no unit paid more.
#
# A unit is defined by its name at the time of a question. If two names become one unit later (the custodian joins them,
# `LogLedger.merge`), their balances are added. The odometer does not change then, since the merged names are private.

_MANY = 10_000


@dataclass(frozen=True)
class Odometer:
    """The most that some questions together may have cost any one unit, under a grant.

    Attributes:
        budget: the grant.
        spending: the total cost of the questions to a unit that took part in all of them.
        questions: the number of questions.
    """

    budget: Budget
    spending: Spending
    questions: int

    @property
    def epsilon(self) -> float:
        """The most that any one unit may have paid, epsilon; it is never above the grant."""
        return min(self.budget.epsilon, self.budget.spent(self.spending))

    @property
    def part(self) -> float:
        """The part of the grant that any one unit has used up at most."""
        return min(1.0, self.budget.part(self.spending))

    def __str__(self) -> str:
        questions = f"{self.questions:,} question{'' if self.questions == 1 else 's'}"
        paid = f"each unit paid at most epsilon {self.epsilon:.4g} of {self.budget.epsilon:g}"
        return f"{questions} so far: {paid}, {percent(self.part)} of the grant"


def unit_cost(budget: Budget, receipt: Receipt | None, uses: int | None) -> UnitCost | None:
    """Return the most that one answer may have cost any one unit; None if it has no guarantee.

    Args:
        budget: the grant.
        receipt: the receipt of the answer.
        uses: the least number of such questions in which one unit can take part.
    """
    if receipt is None or not receipt.private:
        return None
    # At the order of the grant, and at that of the question's own ceiling: both are fixed before any draw.
    spent = budget.spent(receipt.spending) if receipt.spending is not None else receipt.epsilon
    own = receipt.epsilon if receipt.delta <= budget.delta else spent
    return UnitCost(min(budget.epsilon, spent, own), budget.epsilon, uses)


def times(budget: Budget, spent: Spending, plan: Plan | None) -> int | None:
    """Return the least number of questions of this plan in which one unit can take part, from its first one on.

    Args:
        budget: the grant.
        spent: the payments that all units share.
        plan: the highest cost of such a question. None: it costs nothing, and there is no limit.
    """
    if plan is None:
        return None
    return how_many(lambda count: budget.admits(spent + plan.max_cost.times(count)), _MANY)

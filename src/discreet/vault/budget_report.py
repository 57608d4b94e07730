"""What a vault has left: for its custodian, and what of that is public."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.algorithms.common.algorithm import Algorithm
from discreet.algorithms.common.plan import ANY_VOCABULARY, Plan
from discreet.errors import UsageError
from discreet.ledger.records import QuestionRecord
from discreet.privacy.account import Payment
from discreet.privacy.accounting import Budget, FilterState, Spending
from discreet.privacy.ledger import UnitLedger
from discreet.query.odometer import Odometer

if TYPE_CHECKING:
    from discreet.ledger.protocol import VaultLedger

STEPS = 10


@dataclass(frozen=True)
class Level:
    """How many units have between `low` and `high` of epsilon left."""

    low: float
    high: float
    units: int


@dataclass(frozen=True)
class BudgetReport:
    """What was granted, spent and is left, and the questions that paid.

    Attributes:
        granted, delta: what all answers together may reveal about any one unit.
        spent, left: what everybody paid, and what a unit has left that never paid by itself: public.
        unit: what a unit is.
        questions: every question, with what it cost a unit that took part.
        levels: how many units have how much left: private; empty where everybody pays.
        odometer: the epsilon that all questions so far may have cost any one unit at most: public.
        more: an estimate of how many more questions like the default one fit; None if it cannot be told.
    """

    granted: float
    delta: float
    spent: float
    left: float
    unit: str
    questions: tuple[QuestionRecord, ...]
    levels: tuple[Level, ...] = ()
    more: int | None = None
    odometer: float | None = None

    def public(self) -> dict[str, Any]:
        """What an analyst may see."""
        return {
            "granted": self.granted,
            "delta": self.delta,
            "spent": self.spent,
            "left": self.left,
            "unit": self.unit,
            "odometer": self.odometer,
            "answered": sum(question.stopped is not None for question in self.questions),
        }

    def describe(self) -> dict[str, Any]:
        """The report as plain data; the keys are those of `discreet budget --json`."""
        return self.public() | {
            "questions": [question.describe() for question in self.questions],
            "levels": [{"low": one.low, "high": one.high, "units": one.units} for one in self.levels],
            "more": self.more,
        }


def report(ledger: "VaultLedger", algorithm: Algorithm, unit: str, count_units: Callable[[], int]) -> BudgetReport:
    """The report of a vault.

    Args:
        ledger: who has paid what.
        algorithm: how a question is answered if nothing else is said.
        unit: what a unit is called.
        count_units: returns the number of units in the vault; called only where units pay.
    """
    budget, questions = ledger.budget, ledger.questions()
    try:
        plan = algorithm.plan(budget, ANY_VOCABULARY)
    except UsageError:  # the whole grant is too little for an answer of that algorithm
        plan = None
    odometer = Odometer(budget, ledger.spent_at_most(), len(questions)).epsilon
    if algorithm.payment is Payment.EACH_UNIT:
        found = by_units(ledger, unit, questions, count_units(), plan, algorithm.units_read)
    else:
        found = by_everybody(budget, ledger.spent(), unit, questions, plan)
    return replace(found, odometer=odometer)


def by_everybody(
    budget: Budget, spent: Spending, unit: str, questions: Sequence[QuestionRecord], plan: Plan | None
) -> BudgetReport:
    """The report of a vault in which everybody pays for every question."""
    more = None
    if plan is not None:
        more = _times(budget, budget.filter_state(spent), plan.max_cost)
    return BudgetReport(
        budget.epsilon, budget.delta, budget.spent(spent), budget.left(spent), unit, tuple(questions), (), more
    )


def by_units(
    ledger: UnitLedger, unit: str, questions: Sequence[QuestionRecord], units: int, plan: Plan | None, places: int
) -> BudgetReport:
    """The report of a vault in which units pay by themselves.

    Args:
        ledger: who has paid what.
        unit: what a unit is called.
        questions: every question.
        units: how many units the vault holds.
        plan: what another question would cost; None if the grant is too small for any.
        places: how many units a question needs at least.
    """
    budget, everybody = ledger.budget, ledger.budget.filter_state(ledger.spent())
    readings = list(ledger.unit_balances())
    untouched = max(0, units - sum(count for _, count in readings))
    counts, uses = [0] * STEPS, 0
    for own, count in [*readings, (FilterState(), untouched)]:
        left = budget.left_state(everybody + own)
        counts[min(STEPS - 1, int(left / budget.epsilon * STEPS))] += count
        uses += count * _times(budget, everybody + own, plan.max_cost) if plan else 0
    taking = max(places, _taking_part(readings, questions))
    public = by_everybody(budget, ledger.spent(), unit, questions, None)
    width = budget.epsilon / STEPS
    levels = tuple(Level(step * width, (step + 1) * width, count) for step, count in enumerate(counts))
    return replace(public, levels=levels, more=uses // taking)


def _taking_part(readings: Sequence[tuple[FilterState, int]], questions: Sequence[QuestionRecord]) -> int:
    """How many units paid for a question, on average."""
    paid = sum(own.pure * count for own, count in readings)
    asked = sum(int(question.spending.loss_nano[-1]) for question in questions)
    return round(paid / asked) if asked else 0


def _times(budget: Budget, spent: FilterState, most: Spending) -> int:
    """How many more such questions a unit can pay that has spent so much."""
    low, high, cost = 0, 10_000, budget.filter_state(most)
    while high > low:
        middle = (low + high + 1) // 2
        times = FilterState(cost.curve * middle, cost.pure * middle, cost.failures * middle)
        low, high = (middle, high) if budget.admits_state(spent + times) else (low, middle - 1)
    return low

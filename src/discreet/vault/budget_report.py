"""The report of a vault's budget: for its custodian, with a public part for analysts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from discreet.algorithms.base import ANY_VOCABULARY, Algorithm, Plan
from discreet.algorithms.ensemble import VoterEnsemble
from discreet.algorithms.retrieval import PrivateRAG
from discreet.errors import UsageError
from discreet.ledger.records import LogStart, QuestionRecord, QuestionShown
from discreet.privacy.account import Payment
from discreet.privacy.accounting import CUT, Budget, FilterState, Spending, how_many
from discreet.privacy.filter import UnitLedger
from discreet.query.admission import Odometer
from discreet.statistics.counts import Count
from discreet.system.markup import fill
from discreet.system.plain import frame, show_as, to_plain

if TYPE_CHECKING:
    from discreet.ledger.ledger import LogLedger

STEPS = 10
UNKNOWN = -1
COLUMNS = ("id", "time", "algorithm", "private", "stopped", "charges", "epsilon")


@dataclass(frozen=True)
class Level:
    """The number of units that have between `low` and `high` of epsilon left.

    Attributes:
        low, high: the ends.
        units: the number of units: private.
    """

    low: float
    high: float
    units: int


@dataclass(frozen=True)
class BudgetReport:
    """The grant, its spent part and the rest, and the questions that were charged.

    Attributes:
        granted, delta: the bound on what all answers together may reveal about any one unit.
        spent, left: the epsilon that all units paid, and the rest of a unit without payments of its own: public.
        unit: the name of a unit.
        questions: all questions, each with its cost to a unit that took part.
        levels: the numbers of units by their rest of epsilon: private; empty if the payment is "corpus".
        odometer: the most that all questions so far may have cost any one unit, epsilon: public.
        part: the part of the grant that any one unit has used up at most, from 0 to 1: public.
        more: the estimated number of further default questions; None if it cannot be estimated.
        still: the least number of further questions in which a unit can take part that took part in all so far, by
            their kind: "default", and "count" where each unit pays for itself. Public; empty if nothing was asked.
        accountant: the way in which the grant adds up costs.
        start: since when `questions` lists them, and how many there were before.
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
    part: float = 0.0
    still: Mapping[str, int] = field(default_factory=dict)
    accountant: str = "renyi"
    start: LogStart = field(default_factory=lambda: LogStart("", 0, 0, ()))

    def public(self) -> "PublicBudget":
        """Return the public part, for analysts, as it leaves."""
        answered = self.start.answered + sum(question.stopped is not None for question in self.questions)
        return show_as(PublicBudget, self, still=dict(self.still), answered=answered)

    def shown(self) -> "BudgetShown":
        """Return the report as it leaves."""
        questions = tuple(question.shown() for question in self.questions)
        fields = vars(self.public()) | {"questions": questions, "log": self.start}
        return show_as(BudgetShown, self, **fields)

    def describe(self) -> dict[str, Any]:
        """Return the report as plain data, with the keys of `discreet budget --json`."""
        return to_plain(self.shown())

    def to_pandas(self) -> Any:
        """Return the questions as a `pandas.DataFrame`, with the keys of `discreet budget --json` as columns.

        Raises:
            MissingPart: if pandas is not installed.
        """
        return frame((to_plain(question.shown()) for question in self.questions), COLUMNS)

    def _repr_html_(self) -> str:
        return fill("budget.html", report=self.describe(), accountant=self.accountant)


@dataclass(frozen=True, kw_only=True)
class PublicBudget:
    """The public part of a report, for analysts.

    Attributes:
        granted: the epsilon of the grant.
        delta: the delta of the grant.
        spent: the epsilon that all units paid.
        left: the epsilon that is left to a unit without payments of its own.
        unit: the field that names the unit.
        odometer: the most that all questions so far may have cost any one unit.
        part: the part of the grant that any one unit has used up at most; of equal questions each uses an equal part.
        still: in how many further questions a unit can take part that took part in all so far, by their kind:
            "default", and "count", which is absent where every unit pays for every question.
        answered: the number of answered questions.
    """

    granted: float
    delta: float
    spent: float
    left: float
    unit: str
    odometer: float | None
    part: float
    still: dict[str, int]
    answered: int


@dataclass(frozen=True, kw_only=True)
class BudgetShown(PublicBudget):
    """A report on a budget, for the custodian.

    Attributes:
        questions: the questions that were charged.
        levels: units by what they have left: private.
        more: about how many further questions of the default kind the rest pays for; None if it cannot be estimated.
        log: since when the questions are listed.
    """

    questions: tuple[QuestionShown, ...]
    levels: tuple[Level, ...]
    more: int | None
    log: LogStart


def report(
    ledger: "LogLedger", algorithm: VoterEnsemble | PrivateRAG, unit: str, count_units: Callable[[], int]
) -> BudgetReport:
    """Return the report of a vault.

    Args:
        ledger: the charges of all units.
        algorithm: the default algorithm of the vault.
        unit: the name of a unit.
        count_units: returns the number of units in the vault; called only if the payment is "unit".
    """
    budget, questions, start = ledger.budget, ledger.questions(), ledger.start()
    plan, most = _plan(algorithm, budget), ledger.spent_at_most()
    odometer = Odometer(budget, most, start.earlier_questions + len(questions))
    kinds = {"default": plan} | (
        {"count": _plan(Count(), budget)} if algorithm.spec.payment is Payment.EACH_UNIT else {}
    )
    still = {
        name: _times(budget, budget.filter_state(most), one.max_cost)
        for name, one in kinds.items()
        if one and (questions or start.earlier_questions)
    }
    if algorithm.spec.payment is Payment.EACH_UNIT:
        of_questions = None
        if start.earlier_questions:  # the list lacks what they cost; corpora, which all units pay, are no questions
            of_questions = (
                int(most.loss_nano[-1] - ledger.spent().loss_nano[-1]) if most.loss_nano[-1] < CUT else UNKNOWN
            )
        budget_report = by_units(ledger, unit, questions, count_units(), plan, algorithm.units_read, of_questions)
    else:
        budget_report = by_corpus(budget, ledger.spent(), unit, questions, plan)
    budget_report = replace(budget_report, odometer=odometer.epsilon, part=odometer.part, still=still)
    return replace(budget_report, accountant=budget.accountant, start=start)


def _plan(algorithm: Algorithm, budget: Budget) -> Plan | None:
    """Return the highest cost of a question; None if the whole grant is too small for one."""
    try:
        return algorithm.plan(budget, ANY_VOCABULARY)
    except UsageError:
        return None


def by_corpus(
    budget: Budget, spent: Spending, unit: str, questions: Sequence[QuestionRecord], plan: Plan | None
) -> BudgetReport:
    """Return the report of a vault in which all units pay for every question."""
    more = None
    if plan is not None:
        more = _times(budget, budget.filter_state(spent), plan.max_cost)
    return BudgetReport(
        budget.epsilon, budget.delta, budget.spent(spent), budget.left(spent), unit, tuple(questions), (), more
    )


def by_units(
    ledger: UnitLedger,
    unit: str,
    questions: Sequence[QuestionRecord],
    units: int,
    plan: Plan | None,
    least: int,
    asked: int | None = None,
) -> BudgetReport:
    """Return the report of a vault in which each unit pays for the questions that could use its documents.

    Args:
        ledger: the charges of all units.
        unit: the name of a unit.
        questions: all questions.
        units: the number of units in the vault.
        plan: the cost of another question; None if the grant is too small for any.
        least: the least number of units that a question needs.
        asked: the pure loss of all questions together, in billionths of a nat; that of `questions` if None. If it is
            `UNKNOWN`, the number of further questions is not estimated.
    """
    budget, common = ledger.budget, ledger.budget.filter_state(ledger.spent())
    readings = list(ledger.unit_balances())
    untouched = max(0, units - sum(count for _, count in readings))
    counts, uses = [0] * STEPS, 0
    for own, count in [*readings, (FilterState(), untouched)]:
        left = budget.left_state(common + own)
        counts[min(STEPS - 1, int(left / budget.epsilon * STEPS))] += count
        uses += count * _times(budget, common + own, plan.max_cost) if plan else 0
    if asked is None:
        asked = sum(int(question.spending.loss_nano[-1]) for question in questions)
    taking = max(least, _taking_part(readings, asked))
    public = by_corpus(budget, ledger.spent(), unit, questions, None)
    width = budget.epsilon / STEPS
    levels = tuple(Level(step * width, (step + 1) * width, count) for step, count in enumerate(counts))
    return replace(public, levels=levels, more=None if asked == UNKNOWN else uses // taking)


def _taking_part(readings: Sequence[tuple[FilterState, int]], asked: int) -> int:
    """Return the mean number of units that paid for a question."""
    paid = sum(own.pure * count for own, count in readings)
    return round(paid / asked) if asked else 0


def _times(budget: Budget, spent: FilterState, most: Spending) -> int:
    """Return the number of further questions of cost `most` that a unit can pay after `spent`."""
    cost = budget.filter_state(most)

    def fits(times: int) -> bool:
        return budget.admits_state(spent + FilterState(cost.curve * times, cost.pure * times, cost.failures * times))

    return how_many(fits, 10_000)

"""The plan of a grant, from public numbers only. It needs no vault, no document and no model.

It says which questions a grant pays for, and which statistics: how many one person can take part in, and how far off
their numbers are. Its plot shows the number of questions and the attacker's belief, for grants around the planned one.
"""

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from discreet.algorithms.ensemble import check_number
from discreet.algorithms.retrieval import PRICE, PrivateRAG
from discreet.errors import MissingPart, UsageError
from discreet.planning import prices
from discreet.planning.checks import check_delta, check_people, suggested_delta
from discreet.planning.prices import price, times, usual_charge
from discreet.privacy.accounting import Budget, Spending, how_many
from discreet.statistics.cells import Counted
from discreet.statistics.counts import Count, Share
from discreet.statistics.statistic import Statistic
from discreet.statistics.values import ListValues
from discreet.system.markup import fill
from discreet.system.plain import KEY, Sparse, to_plain
from discreet.system.progress import stage

# --- statistics -------------------------------------------------------------------------------------------------------


MOST = 10_000
"""The most questions among which a grant is divided here."""


@dataclass(frozen=True)
class StatisticRow:
    """The statistics of one kind that a grant pays for at the default price.

    Attributes:
        name, what: the algorithm, and the description of the kind.
        epsilon: the cost of one for a unit that takes part.
        times: the number of such questions that one unit can pay for; 0 if the grant pays for none.
        within: the half width of its interval, in people, or for a share in parts of 1; of a list, the people that must
            share a value for its release with probability 0.9.
    """

    name: str
    what: str
    epsilon: float
    times: int
    within: float


def statistic_rows(budget: Budget, people: int) -> tuple[StatisticRow, ...]:
    """Return the statistics that a grant pays for, in a vault of so many people."""
    kinds = (
        (Count(), "a count"),
        (Share(condition="fever"), "a share of all"),
        (ListValues(attribute="symptom"), "a value of a list"),
    )
    return tuple(_statistic_row(kind, what, budget, people) for kind, what in kinds)


def _statistic_row(kind: Statistic, what: str, budget: Budget, people: int) -> StatisticRow:
    try:
        most = kind.plan(budget, 0).max_cost
    except UsageError:
        return StatisticRow(kind.name, what, 0.0, 0, 0.0)
    return StatisticRow(kind.name, what, price(budget, most), times(budget, most), _within(kind, budget, people))


def _within(kind: Statistic, budget: Budget, people: int) -> float:
    if isinstance(kind, Share):
        return share_within(budget, people, kind.usual_uses(budget))
    return kind.needs(budget) or count_within(budget, kind.usual_uses(budget))


def count_within(budget: Budget, uses: int) -> float:
    """Return the half width of the interval of a count if a grant is divided among so many, in people."""
    count = Counted.by(Count(uses=uses).histogram(budget), (10**6,))
    (figure,) = Count().conclude(count)[1]
    return (figure.high - figure.low) / 2


def share_within(budget: Budget, people: int, uses: int) -> float:
    """Return the half width of the interval of a share of all, if half of them have it: a part of 1."""
    share = Share(condition="fever", uses=uses)
    counted = Counted.by(share.histogram(budget), (people // 2, people - people // 2))
    figure = share.conclude(counted)[1][0]
    return (figure.high - figure.low) / 2


def open_questions_left(budget: Budget, paid: Spending) -> int:
    """Return how many questions of the default kind a person can take part in who has paid so much."""
    usual = usual_charge("unit", budget)
    return 0 if usual is None else how_many(lambda count: budget.admits(paid + usual.times(count)), MOST)


def bought(cap: Budget, grant: Budget) -> dict[str, int]:
    """Return how many questions of each kind alone a cap pays for, at their default prices under a grant."""
    usual = usual_charge("unit", grant)
    numbers = {} if usual is None else {"open question": times(cap, usual)}
    for name, kind in {"count": Count(), "list": ListValues(attribute="symptom")}.items():
        with suppress(UsageError):
            numbers[name] = times(cap, kind.plan(grant, 0).max_cost)
    return numbers


@lru_cache(256)
def counts_that_are_within(budget: Budget, most: float) -> int:
    """Return among how many counts a grant can be divided so that each is known to within so many people."""
    return how_many(lambda uses: uses < 1 or count_within(budget, uses) <= most, MOST)


@lru_cache(256)
def shares_that_are_within(budget: Budget, people: int, most: float) -> int:
    """Return among how many shares of all a grant can be divided so that each is known to within such a part of 1."""
    return how_many(lambda uses: uses < 1 or share_within(budget, people, uses) <= most, MOST)


# --- plan -------------------------------------------------------------------------------------------------------------


FOUND = 0.01
"""The least share of the vault's individuals that a counted attack accuses."""


def posterior(prior: float, epsilon: float, delta: float) -> float:
    """Return the largest posterior probability that an accused individual is in the vault.

    An attack accuses the individual if the transcript lies in a set S. With the individual, P[S] is at least `FOUND`.
    Without the individual, P[S] is at least (P[S] - delta) / e^epsilon. Bayes' rule gives the posterior.

    Args:
        prior: the probability that the individual is in the vault, before the first answer.
        epsilon: the epsilon of one answer, or of a whole grant.
        delta: the delta of that answer or grant.
    """
    if delta >= FOUND:
        return 1.0
    kept = (FOUND - delta) / FOUND  # the share of the odds against that remains after delta
    for_it = math.log(prior) + epsilon
    against = math.log1p(-prior) + math.log(kept)
    return 1 / (1 + math.exp(min(against - for_it, 700.0)))


PRIORS = (0.01, 0.1, 0.5)
USED = 80
"""The approximate number of units that a question uses: the search is for 40, and the last bin is taken whole."""
_MOST_QUESTIONS = 10_000


@dataclass(frozen=True)
class Row(Sparse):
    """The questions of one kind that a grant pays for. Its first three fields are those of `QuestionKind`.

    Attributes:
        name, what: the algorithm, and the description of the kind.
        all_pay: whether every unit pays for every question.
        epsilon: the cost of one question for a unit that takes part.
        times: the number of such questions that one unit can pay for.
        vault: the number of such questions in all, if they fall evenly on all units.
        voters: the number of voters.
        likely, surely: the number of voters that must agree for a release with probability 0.5, and with 0.9; None if
            all voters are too few.
    """

    name: str
    what: str
    all_pay: bool = field(metadata={KEY: "everybody"})
    epsilon: float
    times: int
    vault: int
    voters: int
    likely: int | None
    surely: int | None


@dataclass(frozen=True)
class Wanted:
    """The cost of a wanted number of questions.

    Attributes:
        name, what: the algorithm, and the description of the kind.
        uses: the number of the questions that each unit takes part in, if they fall evenly on all units.
        epsilon: the cost of one question for a unit under the grant; None if the grant is too small.
        likely: the number of voters that must then agree for a release with probability 0.5; None if all are too few.
        grant: the epsilon of a grant that pays for all questions at the default cost.
    """

    name: str
    what: str
    uses: int
    epsilon: float | None
    likely: int | None
    grant: float


@dataclass(frozen=True)
class Odds:
    """An attacker's largest belief about one individual.

    Attributes:
        prior: before the first answer.
        one_answer: after one answer.
        all_answers: after all answers.
    """

    prior: float
    one_answer: float
    all_answers: float


@dataclass(frozen=True)
class GrantPlan:
    """The plan of a grant.

    Attributes:
        people: the approximate number of units.
        epsilon, delta: the grant.
        suggested: the suggested delta for this number of people.
        used: the assumed number of units that a question uses.
        rows: the questions that the grant pays for, by kind.
        odds: the bounds on an attacker's belief.
        questions: the wanted number of questions; 0 if none was given.
        wanted: the cost of the wanted questions, by kind.
        statistics: the statistics that the grant pays for, by kind.
    """

    people: int
    epsilon: float
    delta: float
    suggested: float
    used: int
    rows: tuple[Row, ...]
    odds: tuple[Odds, ...]
    questions: int = 0
    wanted: tuple[Wanted, ...] = ()
    statistics: tuple[StatisticRow, ...] = ()

    def describe(self) -> dict[str, Any]:
        """Return the plan as plain data, with the keys of `discreet plan --json`."""
        return to_plain(self)

    def _repr_html_(self) -> str:
        return fill("plan.html", plan=self.describe())


def make_plan(
    people: int, epsilon: float, delta: float | None = None, *, questions: int = 0, used: int = USED
) -> GrantPlan:
    """Return the plan of a grant.

    Args:
        people: the approximate number of units in the vault.
        epsilon: the epsilon of the grant.
        delta: the delta of the grant; default: `suggested_delta(people)`.
        questions: the wanted number of questions in all; 0 for none.
        used: the assumed number of units that a question uses.

    Raises:
        UsageError: if a number is out of range.
    """
    check_people(people)
    check_number("epsilon", epsilon)
    if not 0 <= questions <= _MOST_QUESTIONS:
        raise UsageError(f"--questions is {questions}. Give a number between 1 and {_MOST_QUESTIONS:,}.")
    if used < 1:
        raise UsageError(f"--used is {used}. A question uses at least 1 unit.")
    suggested = suggested_delta(people)
    delta = suggested if delta is None else delta
    check_delta(delta)
    budget, used = prices.vault_budget(epsilon, delta), min(used, people)
    rows = tuple(_row(kind, budget, people, used) for kind in prices.KINDS)
    wanted = tuple(_wanted(kind, budget, people, used, questions) for kind in prices.KINDS) if questions else ()
    one = min(epsilon, rows[0].epsilon if rows[0].times else PRICE)
    odds = tuple(Odds(prior, posterior(prior, one, delta), posterior(prior, epsilon, delta)) for prior in PRIORS)
    statistics = statistic_rows(budget, people)
    return GrantPlan(people, epsilon, delta, suggested, used, rows, odds, questions, wanted, statistics)


def _row(kind: prices.QuestionKind, budget: Budget, people: int, used: int) -> Row:
    algorithm, voters = kind.algorithm, kind.algorithm.inner.voters
    try:
        inner, rounds = _fitting(algorithm, budget).count_votes(budget, prices.VOCABULARY)
    except UsageError:  # the whole grant is too small for one question
        return Row(kind.name, kind.what, kind.all_pay, 0.0, 0, 0, voters, None, None)
    likely = prices.agreement(inner, rounds, prices.LIKELY)
    each = prices.times(budget, rounds.plan.max_cost) if likely is not None else 0
    vault = each if kind.all_pay else people * each // used
    return Row(
        kind.name,
        kind.what,
        kind.all_pay,
        prices.price(budget, rounds.plan.max_cost),
        each,
        vault,
        voters,
        likely,
        prices.agreement(inner, rounds, prices.SURELY),
    )


def _fitting(algorithm: PrivateRAG, budget: Budget) -> PrivateRAG:
    """Return the algorithm at its default cost, or at the cost of the whole grant if the grant is smaller."""
    if budget.admits(algorithm.calibrate(budget, prices.VOCABULARY).plan.max_cost):
        return algorithm
    return replace(algorithm, epsilon=None, uses=1)


def _wanted(kind: prices.QuestionKind, budget: Budget, people: int, used: int, questions: int) -> Wanted:
    uses = questions if kind.all_pay else max(1, -(-questions * used // people))
    grant = prices.grant_for(kind.algorithm, budget, uses)
    try:
        inner, rounds = prices.shared(kind.algorithm, budget, uses)
    except UsageError:
        return Wanted(kind.name, kind.what, uses, None, None, grant)
    likely = prices.agreement(inner, rounds, prices.LIKELY)
    return Wanted(kind.name, kind.what, uses, prices.price(budget, rounds.plan.max_cost), likely, grant)


# --- plot -------------------------------------------------------------------------------------------------------------


_POINTS = 30
_SPAN = 4.0
"""The plot spans a quarter of the grant to four times the grant."""
FORMATS = (".svg", ".png", ".pdf")


def check_plot(out: Path) -> None:
    """Check that a plot can be written to a file of this name.

    Raises:
        UsageError: if the suffix is not one of `FORMATS`.
        MissingPart: if matplotlib is not installed.
    """
    if out.suffix.lower() not in FORMATS:
        raise UsageError(f"The plot file '{out.name}' has an unknown suffix. Use one of: {', '.join(FORMATS)}.")
    if find_spec("matplotlib") is None:
        raise MissingPart("Plots need matplotlib", "eval")


def draw_plan(plan: GrantPlan, out: Path) -> None:
    """Write the plot of a plan to a file.

    Raises:
        UsageError, MissingPart: see `check_plot`.
    """
    check_plot(out)
    import matplotlib
    from matplotlib.figure import Figure

    grants = [plan.epsilon * _SPAN ** (2 * point / (_POINTS - 1) - 1) for point in range(_POINTS)]
    with matplotlib.rc_context({"svg.hashsalt": "discreet", "svg.fonttype": "none"}):
        figure: Any = Figure(figsize=(10, 4), layout="constrained")
        left, right = figure.subplots(1, 2)
        _questions(left, plan, grants)
        _odds(right, plan, grants)
        for axes in (left, right):
            axes.axvline(plan.epsilon, color="grey", linestyle=":", linewidth=1)
            axes.set_xscale("log")
            axes.set_xlabel("epsilon of the grant")
        figure.savefig(out, metadata={"Date": None} if out.suffix.lower() == ".svg" else None)


def _questions(axes: Any, plan: GrantPlan, grants: list[float]) -> None:
    """Draw the number of questions that the whole vault can answer, by kind."""
    plans = []
    with stage("Computing the plans of other grants", len(grants)) as advance:
        for grant in grants:
            plans.append(make_plan(plan.people, grant, plan.delta, used=plan.used))
            advance(1)
    for number, row in enumerate(plan.rows):
        counts = [each.rows[number].vault for each in plans]
        axes.step(grants, counts, where="post", label=f"{row.name}: {row.what}", linewidth=1 + 0.4 * (number % 3))
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylabel(f"questions in all, {plan.people:,} people")
    axes.legend(fontsize=7)


def _odds(axes: Any, plan: GrantPlan, grants: list[float]) -> None:
    """Draw the bound on the attacker's belief, by their belief before the first answer."""
    for prior in PRIORS:
        believed = [100 * posterior(prior, grant, plan.delta) for grant in grants]
        axes.plot(grants, believed, label=f"before: {prior:.0%}")
    axes.set_ylabel("after all answers, at most (%)")
    axes.legend(fontsize=7)

"""The plan of a grant, from public numbers only. It needs no vault, no document and no model."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.algorithms.ensemble import check_number
from discreet.algorithms.retrieval import PRICE, PrivateRAG
from discreet.errors import UsageError
from discreet.planning import prices
from discreet.planning.grants import check_delta, check_people, suggested_delta
from discreet.planning.statistics import StatisticRow, statistic_rows
from discreet.privacy.accounting import Budget
from discreet.system.markup import fill
from discreet.system.plain import KEY, Sparse, to_plain

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

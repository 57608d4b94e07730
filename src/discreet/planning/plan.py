"""What a grant would pay for, from public numbers alone: no vault, no document, no model."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from discreet.algorithms.common.ensemble import check_number
from discreet.algorithms.common.private_rag import PRICE, PrivateRAG
from discreet.errors import UsageError
from discreet.planning.grants import check_delta, check_people, suggested_delta
from discreet.planning.odds import posterior
from discreet.planning.prices import (
    KINDS,
    LIKELY,
    SURELY,
    VOCABULARY,
    Kind,
    agreement,
    grant_for,
    price,
    shared,
    times,
    vault_budget,
)
from discreet.privacy.accounting import Budget

PRIORS = (0.01, 0.1, 0.5)
USED = 80
"""About how many units a question uses: 40 are looked for, and the last bin is taken whole."""
_MOST_QUESTIONS = 10_000


@dataclass(frozen=True)
class Row:
    """What the grant pays for of one kind of question.

    Attributes:
        name, what, everybody: of the kind.
        epsilon: of one question, for a unit that takes part.
        times: how many such questions one unit can pay for.
        vault: how many such questions there can be in all, if they fall evenly on all units.
        voters, likely, surely: of so many voters these must agree for an answer to be released every other time, and
            nine times in ten; None if all of them are too few.
    """

    name: str
    what: str
    everybody: bool
    epsilon: float
    times: int
    vault: int
    voters: int
    likely: int | None
    surely: int | None


@dataclass(frozen=True)
class Wanted:
    """What a wanted number of questions takes.

    Attributes:
        name, what: of the kind.
        uses: how many of the questions each unit takes part in, if they fall evenly on all units.
        epsilon: what a question may then cost a unit under the grant; None if that pays for nothing.
        likely: how many voters must then agree for an answer to be released every other time; None if all are too few.
        grant: the epsilon of a grant that pays for so many questions of the usual strength.
    """

    name: str
    what: str
    uses: int
    epsilon: float | None
    likely: int | None
    grant: float


@dataclass(frozen=True)
class Odds:
    """The most that an attacker may come to believe of one individual: after one answer, and after all of them."""

    prior: float
    one_answer: float
    all_answers: float


@dataclass(frozen=True)
class Plan:
    """What a grant would pay for.

    Attributes:
        people: about how many units there are.
        epsilon, delta: the grant.
        suggested: the delta that is suggested for so many people.
        used: how many units a question is assumed to use.
        rows: what it pays for, by kind of question.
        odds: what an attacker may come to believe.
        questions: how many were wanted; 0 if that was not said.
        wanted: what so many take.
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

    def describe(self) -> dict[str, Any]:
        """The plan as plain data; the keys are those of `discreet plan --json`."""
        return asdict(self)


def make_plan(people: int, epsilon: float, delta: float | None = None, *, questions: int = 0, used: int = USED) -> Plan:
    """Plan a vault.

    Args:
        people: about how many units it will hold.
        epsilon: of the grant.
        delta: of the grant; `suggested_delta(people)` if not given.
        questions: how many questions are wanted in all.
        used: how many units a question is assumed to use.

    Raises:
        UsageError: one of them is no such number.
    """
    check_people(people)
    check_number("epsilon", epsilon)
    if not 0 <= questions <= _MOST_QUESTIONS:
        raise UsageError(f"--questions lies between 1 and {_MOST_QUESTIONS:,}, not at {questions}.")
    if used < 1:
        raise UsageError(f"A question uses at least 1 unit, not {used}.")
    suggested = suggested_delta(people)
    delta = suggested if delta is None else delta
    check_delta(delta)
    budget, used = vault_budget(epsilon, delta), min(used, people)
    rows = tuple(_row(kind, budget, people, used) for kind in KINDS)
    wanted = tuple(_wanted(kind, budget, people, used, questions) for kind in KINDS) if questions else ()
    one = min(epsilon, rows[0].epsilon if rows[0].times else PRICE)
    odds = tuple(Odds(prior, posterior(prior, one, delta), posterior(prior, epsilon, delta)) for prior in PRIORS)
    return Plan(people, epsilon, delta, suggested, used, rows, odds, questions, wanted)


def _row(kind: Kind, budget: Budget, people: int, used: int) -> Row:
    algorithm, voters = kind.algorithm, kind.algorithm.inner.voters
    try:
        rounds = _fitting(algorithm, budget).calibrate(budget, VOCABULARY)
    except UsageError:  # the whole grant is too little for one
        return Row(kind.name, kind.what, kind.everybody, 0.0, 0, 0, voters, None, None)
    likely = agreement(algorithm.inner, rounds, LIKELY)
    each = times(budget, rounds.plan.max_cost) if likely is not None else 0
    vault = each if kind.everybody else people * each // used
    return Row(
        kind.name,
        kind.what,
        kind.everybody,
        price(budget, rounds.plan.max_cost),
        each,
        vault,
        voters,
        likely,
        agreement(algorithm.inner, rounds, SURELY),
    )


def _fitting(algorithm: PrivateRAG, budget: Budget) -> PrivateRAG:
    """The algorithm at its own price, or at that of the whole grant if it costs more than that."""
    if budget.admits(algorithm.calibrate(budget, VOCABULARY).plan.max_cost):
        return algorithm
    return replace(algorithm, epsilon=None, uses=1)


def _wanted(kind: Kind, budget: Budget, people: int, used: int, questions: int) -> Wanted:
    uses = questions if kind.everybody else max(1, -(-questions * used // people))
    grant = grant_for(kind.algorithm, budget, uses)
    try:
        rounds = shared(kind.algorithm, budget, uses)
    except UsageError:
        return Wanted(kind.name, kind.what, uses, None, None, grant)
    likely = agreement(kind.algorithm.inner, rounds, LIKELY)
    return Wanted(kind.name, kind.what, uses, price(budget, rounds.plan.max_cost), likely, grant)

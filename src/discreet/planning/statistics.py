"""Which statistics a grant pays for: how many one person can take part in, and how far off their numbers are."""

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from discreet.algorithms.statistics.cells import Counted
from discreet.algorithms.statistics.counts import Count, Share
from discreet.algorithms.statistics.statistic import Statistic
from discreet.algorithms.statistics.values import ListValues
from discreet.errors import UsageError
from discreet.planning.prices import price, times, usual_charge
from discreet.privacy.accounting import Budget, Spending, how_many

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
    return tuple(_row(kind, what, budget, people) for kind, what in kinds)


def _row(kind: Statistic, what: str, budget: Budget, people: int) -> StatisticRow:
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

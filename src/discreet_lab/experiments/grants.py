"""Which questions work in a vault of some size, under a grant: by the arithmetic of `discreet plan` alone."""

import argparse
from collections.abc import Sequence

from discreet.planning.checks import suggested_delta
from discreet.planning.plan import MOST, counts_that_are_within, make_plan, shares_that_are_within
from discreet.planning.prices import vault_budget
from discreet.statistics.values import ListValues
from discreet_lab.experiments.common import add_csv_option, write_table

PEOPLE, EPSILONS = (200, 2_000, 20_000, 1_000_000), (1.0, 2.0, 10.0)
COLUMNS = (
    *("people", "epsilon", "open questions a person", "votes that are enough", "yes or no questions a person"),
    *("counts within 10 people", "shares within 5 points", "people for a value, 10 lists"),
)


def tabulate_grants(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Which questions a grant pays for, by the number of people.

    Delta is the suggested one. "votes that are enough": an open answer of so many is released with probability 0.9.
    Counts and shares: the number of such questions among which the grant can be divided, so that each interval is no
    wider. A share is that of all people. The last column: so many people must have a value that a list shows it with
    probability 0.9, if the grant is divided among ten lists.
    """
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    write_table(COLUMNS, (row(people, epsilon) for people in PEOPLE for epsilon in EPSILONS), given.csv)


def row(people: int, epsilon: float) -> list[str]:
    """Return a row of the table."""
    plan, budget = make_plan(people, epsilon), vault_budget(epsilon, suggested_delta(people))
    default, choice = plan.rows[:2]
    return [
        f"{people:,}",
        f"{epsilon:g}",
        _number(default.times),
        str(default.surely) if default.times and default.surely else "-",
        _number(choice.times),
        _number(counts_that_are_within(budget, 10)),
        _number(shares_that_are_within(budget, people, 0.05)),
        f"{ListValues(attribute='symptom', uses=10).needs(budget):,}",
    ]


def _number(times: int) -> str:
    return "none" if not times else f"{times:,} or more" if times >= MOST else f"{times:,}"

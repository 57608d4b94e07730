"""Difference: how many more units one condition holds of than another one. Privacy-spec, part 11: three counts.

A unit of which both hold, one or the other, is in one cell of three. Of all others nothing is counted, so they do not
pay.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from discreet.algorithms.common.algorithm import Figure
from discreet.algorithms.statistics.conditions import AnyOf, Condition, Known, narrowed, written
from discreet.algorithms.statistics.counted import Counted, Reckon, ReckonedDifference, Weights, less, whole
from discreet.algorithms.statistics.statistic import CellStatistic
from discreet.errors import UsageError
from discreet.retrieval.unit_records import UnitRecord

FIRST, SECOND, BOTH = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class Difference(CellStatistic):
    """Parameters: those of `Statistic`, and one more.

    Attributes:
        groups: two phrases or conditions, the first of which is counted against the second.
    """

    name: ClassVar[str] = "difference"

    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        groups = (self.groups,) if isinstance(self.groups, str) else tuple(map(str, self.groups))
        object.__setattr__(self, "groups", groups)
        different = {written(self.read(group).facts()) for group in self.groups if group}
        if not len(different) == len(self.groups) == 2:
            raise UsageError(
                f"A difference has 2 different groups, not {len(different)} in {len(self.groups)}. Give each once: "
                "--groups A --groups B."
            )
        super().__post_init__()

    @cached_property
    def _groups(self) -> tuple[Condition, ...]:
        return tuple(map(self.apart, self.groups))

    @cached_property
    def members(self) -> Condition:
        """The units of the population of which one of the two holds. No other unit has any influence."""
        return narrowed(self.base, AnyOf(any=self._groups))

    @property
    def cells(self) -> int:
        """Three cells: the first alone, the second alone, and both."""
        return 3

    def cell(self, record: UnitRecord) -> int:
        """Return which of the two hold of the unit. One does, since it is a member."""
        first, second = (group.holds(record) for group in self._groups)
        return BOTH if first and second else FIRST if first else SECOND

    @property
    def known(self) -> Known:
        """The units of each group, and what the groups have in common."""
        base, (first, second) = self.base, self._groups
        return {
            narrowed(base, first).facts(): {FIRST: 1, BOTH: 1},
            narrowed(base, second).facts(): {SECOND: 1, BOTH: 1},
            narrowed(base, first, second).facts(): {BOTH: 1},
            narrowed(base, first, ~second).facts(): {FIRST: 1},
            narrowed(base, second, ~first).facts(): {SECOND: 1},
        }

    def conclude(self, counted: Counted) -> tuple[str, list[Figure]]:
        """Return both counts and their difference."""
        return say_difference(counted, self.groups, ([FIRST, BOTH], [SECOND, BOTH]))


def say_difference(counted: Counted, groups: Sequence[str], parts: tuple[Weights, Weights]) -> tuple[str, list[Figure]]:
    """Return two counts, which are sums of cells, and their difference."""
    table = [counted.figure(group, "count", Reckon(part)) for group, part in zip(groups, parts, strict=True)]
    difference = counted.figure("difference", "difference", ReckonedDifference(*map(Reckon, parts)))
    table.append(less(table[0], table[1], difference))
    said = "; ".join(f"{figure.name}: {whole(figure)}" for figure in table[:2])
    return f"{said}. {_which(table[2], groups)}", table


def _which(difference: Figure, groups: Sequence[str]) -> str:
    if difference.low <= 0 <= difference.high:
        return "The noise does not let them be told apart."
    more, less = groups if difference.value > 0 else groups[::-1]
    least, most = sorted(abs(end) for end in (difference.low, difference.high))
    return f"There are {least:,.0f} to {most:,.0f} more with {more} than with {less}."

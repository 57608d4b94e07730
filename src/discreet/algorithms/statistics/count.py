"""Count: how many units a condition holds of. Privacy-spec, part 11: one count, which one unit changes by one."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from discreet.algorithms.common.algorithm import Figure
from discreet.algorithms.statistics.conditions import Condition, Known, narrowed
from discreet.algorithms.statistics.counted import Counted, Reckon, Weights, whole
from discreet.algorithms.statistics.statistic import CellStatistic
from discreet.retrieval.unit_records import UnitRecord


@dataclass(frozen=True, kw_only=True)
class Count(CellStatistic):
    """Parameters: those of `Statistic`, and one more.

    Attributes:
        condition: what is counted, a phrase or a condition; every unit of the population if empty.
    """

    name: ClassVar[str] = "count"

    condition: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.counted

    @property
    def counted(self) -> Condition:
        """The condition."""
        return self.read(self.condition)

    @cached_property
    def members(self) -> Condition:
        """The units that are counted. No other unit has any influence, so no other one pays."""
        return narrowed(self.base, self.counted)

    @property
    def cells(self) -> int:
        """One cell: the units that are counted."""
        return 1

    def cell(self, record: UnitRecord) -> int:
        """Return the only cell."""
        return 0

    @property
    def known(self) -> Known:
        """The units that are counted."""
        return {self.members.facts(): {0: 1}}

    def conclude(self, counted: Counted) -> tuple[str, list[Figure]]:
        """Return the count."""
        return say_count(counted, [0])


def say_count(counted: Counted, held: Weights) -> tuple[str, list[Figure]]:
    """Return a count, which is a sum of cells."""
    count = counted.figure("count", "count", Reckon(held))
    return f"{whole(count).capitalize()}.", [count]

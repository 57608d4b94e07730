"""Share: the part of a population of which a condition holds.

Privacy-spec, part 11: two counts, yes and no, of which one unit changes one.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from discreet.algorithms.common.algorithm import Figure
from discreet.algorithms.statistics.conditions import Condition, Known, Says, narrowed
from discreet.algorithms.statistics.counted import MAY_BE_NONE, Counted, Reckon, Weights, at_most, percent, whole
from discreet.algorithms.statistics.statistic import CellStatistic
from discreet.errors import UsageError
from discreet.retrieval.unit_records import UnitRecord

YES, NO = 0, 1


@dataclass(frozen=True, kw_only=True)
class Share(CellStatistic):
    """Parameters: those of `Statistic`, and one more.

    Attributes:
        condition: what holds of some units, a phrase or a condition.
    """

    name: ClassVar[str] = "share"

    condition: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.condition:
            raise UsageError("A share needs a condition: what holds of some of the units. Give --param condition=...")
        _ = self._condition

    @property
    def cells(self) -> int:
        """Two cells: the condition holds, and it does not hold."""
        return 2

    def cell(self, record: UnitRecord) -> int:
        """Return whether the condition holds of the unit."""
        return YES if self._condition.holds(record) else NO

    @cached_property
    def _condition(self) -> Condition:
        return self.apart(self.condition)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The population, and what holds of some of it."""
        return (self.members, self._condition)

    @property
    def known(self) -> Known:
        """The units of which it holds, those of which it does not hold, and all of the population."""
        return {
            narrowed(self.members, self._condition).facts(): {YES: 1},
            narrowed(self.members, ~self._condition).facts(): {NO: 1},
            self.members.facts(): {YES: 1, NO: 1},
        }

    def conclude(self, counted: Counted) -> tuple[str, list[Figure]]:
        """Return the share, and both counts."""
        return self.with_words(say_share(counted, [YES], [YES, NO]))

    def with_words(self, said: tuple[str, list[Figure]]) -> tuple[str, list[Figure]]:
        """Return an answer that says whose other words its intervals leave out."""
        phrases = dict.fromkeys(leaf.says for leaf in self._condition.leaves() if isinstance(leaf, Says))
        if not phrases:
            return said
        named = " or ".join(f'"{one}"' for one in phrases)
        return f"{said[0]} Other words for {named} are not found, and the intervals do not cover them.", said[1]


def say_share(counted: Counted, held: Weights, of: Weights) -> tuple[str, list[Figure]]:
    """Return a share of two sums of cells, and both counts. There may be no unit at all, and then it is any share."""
    share = counted.figure("share", "share", Reckon(held, of))
    size = counted.figure("of", "count", Reckon(of))
    parts = at_most(counted.figure("it holds of", "count", Reckon(held)), size), size
    note = "" if parts[1].low else f" {MAY_BE_NONE}"
    return f"{percent(share).capitalize()}: {whole(parts[0])} of {whole(parts[1])}.{note}", [share, *parts]

"""Share: the part of a population of which a condition holds.

Privacy-spec, part 11: two counts, yes and no, of which one unit changes one.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from discreet.algorithms.common.answer import Figure
from discreet.algorithms.statistics.cell_statistic import CellStatistic
from discreet.algorithms.statistics.counted import Counted, Reckon, percent, whole
from discreet.algorithms.statistics.population import Phrase
from discreet.errors import UsageError
from discreet.retrieval.unit_records import UnitRecord

YES, NO = 0, 1


@dataclass(frozen=True, kw_only=True)
class Share(CellStatistic):
    """Parameters: those of `Statistic`, and two more.

    Attributes:
        condition: what holds of some units, by a phrase.
        negated: whether the share is that of the units of which it does not hold.
    """

    name: ClassVar[str] = "share"

    condition: str = ""
    negated: bool = False

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
    def _condition(self) -> Phrase:
        return self.phrase(self.condition, self.negated)

    def conclude(self, counted: Counted) -> tuple[str, list[Figure]]:
        """Return the share, and both counts."""
        share = counted.figure("share", "share", Reckon([YES], [YES, NO]))
        held = counted.figure("it holds of", "count", Reckon([YES]))
        of = counted.figure("of", "count", Reckon([YES, NO]))
        if not of.low:  # there may be no unit at all
            return "", []
        return f"{percent(share).capitalize()}: {whole(held)} of {whole(of)}.", [share, held, of]

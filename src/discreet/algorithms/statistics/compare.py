"""Compare: the shares of which a condition holds in two or more groups. Privacy-spec, part 11: a histogram by group.

A unit may be in several groups. Its cell is the set of its groups, and whether the condition holds. So it is in
one cell. The share of a group is a sum over cells.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.algorithms.common.answer import Figure
from discreet.algorithms.statistics.cell_statistic import OUTSIDE
from discreet.algorithms.statistics.counted import Counted, Reckon, percent
from discreet.algorithms.statistics.noisy_cells import Cells
from discreet.algorithms.statistics.population import Phrase
from discreet.algorithms.statistics.share import Share
from discreet.errors import UsageError
from discreet.retrieval.unit_records import UnitRecord

MOST_GROUPS = 6


@dataclass(frozen=True, kw_only=True)
class Compare(Share):
    """Parameters: those of `Share`, and one more.

    Attributes:
        groups: the phrases of two to six groups: "Winter Hand", "Glass Knee".
    """

    name: ClassVar[str] = "compare"

    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", (self.groups,) if isinstance(self.groups, str) else tuple(self.groups))
        super().__post_init__()
        different = {self.phrase(group).essence for group in self.groups if group}
        if not 2 <= len(different) == len(self.groups) <= MOST_GROUPS:
            raise UsageError(
                f"A comparison has 2 to {MOST_GROUPS} different groups, not {len(different)} in {len(self.groups)}. "
                "Give each once: --groups A --groups B."
            )
        _ = self._phrases

    @cached_property
    def _phrases(self) -> tuple[Phrase, ...]:
        return tuple(map(self.phrase, self.groups))

    @property
    def cells(self) -> int:
        """Two cells for each set of groups but the empty one."""
        return 2 * ((1 << len(self.groups)) - 1)

    def cell(self, record: UnitRecord) -> int:
        """Return the number of the unit's groups and of whether the condition holds of it."""
        inside = sum(1 << place for place, group in enumerate(self._phrases) if group.holds(record))
        held = super().cell(record)
        return 2 * (inside - 1) + held if inside else OUTSIDE

    def conclude(self, counted: Counted) -> tuple[str, list[Figure]]:
        """Return the share of each group and, of two groups, their difference."""
        sizes = (counted.figure(group, "count", self._size(place)) for place, group in enumerate(self.groups))
        if not all(size.low for size in sizes):  # there may be no unit in a group at all
            return "", []
        shares = [counted.figure(group, "share", self._share(place)) for place, group in enumerate(self.groups)]
        said = "; ".join(f"{figure.name}: {percent(figure)}" for figure in shares)
        if len(shares) > 2:
            return f"{said}.", shares
        difference = counted.figure("difference", "difference", _Difference(self._share(0), self._share(1)))
        return f"{said}. {_which(difference, self.groups)}", [*shares, difference]

    def _share(self, place: int) -> Reckon:
        return Reckon(self._held(place), self._inside(place))

    def _size(self, place: int) -> Reckon:
        return Reckon(self._inside(place))

    def _held(self, place: int) -> list[int]:
        """Return the cells of a group of which the condition holds."""
        return [2 * (groups - 1) for groups in range(1, 1 << len(self.groups)) if groups >> place & 1]

    def _inside(self, place: int) -> list[int]:
        """Return all cells of a group."""
        return [cell + more for cell in self._held(place) for more in (0, 1)]


class _Difference(Reckon):
    """The first share minus the second one."""

    def __init__(self, one: Reckon, other: Reckon) -> None:
        self._one, self._other = one, other

    def __call__(self, counts: Cells) -> Cells:
        found: Cells = np.subtract(self._one(counts), self._other(counts))
        return found


def _which(difference: Figure, groups: tuple[str, ...]) -> str:
    """Return what the difference says: nothing, if its interval holds 0."""
    if difference.low <= 0 <= difference.high:
        return "The noise does not let them be told apart."
    more, less = groups if difference.value > 0 else groups[::-1]
    points = sorted(abs(100 * end) for end in (difference.low, difference.high))
    return f"It is more with {more} than with {less}, by {points[0]:.0f} to {points[1]:.0f} percentage points."

"""Compare: the shares of which a condition holds in two or more groups. Privacy-spec, part 11: a histogram by group.

A unit may be in several groups. Its cell is the set of its groups, and whether the condition holds. So it is in
one cell. The share of a group is a sum over cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from discreet.algorithms.common.algorithm import Figure
from discreet.algorithms.statistics.conditions import Condition, Known, Region, narrowed, written
from discreet.algorithms.statistics.counted import Counted, Reckon, ReckonedDifference, Weights, less, percent
from discreet.algorithms.statistics.share import Share
from discreet.algorithms.statistics.statistic import OUTSIDE
from discreet.errors import UsageError
from discreet.retrieval.unit_records import UnitRecord

MOST_GROUPS = 6


@dataclass(frozen=True, kw_only=True)
class Compare(Share):
    """Parameters: those of `Share`, and one more.

    Attributes:
        groups: the phrases or conditions of two to six groups: "Winter Hand", "Glass Knee".
    """

    name: ClassVar[str] = "compare"

    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        groups = (self.groups,) if isinstance(self.groups, str) else tuple(map(str, self.groups))
        object.__setattr__(self, "groups", groups)
        super().__post_init__()
        few = [group for group in self.groups if group][: MOST_GROUPS + 1]
        different = {written(self.read(group).facts()) for group in few}
        if not 2 <= len(different) == len(self.groups) <= MOST_GROUPS:
            raise UsageError(
                f"A comparison has 2 to {MOST_GROUPS} different groups, not {len(different)} in {len(self.groups)}. "
                "Give each once: --groups A --groups B."
            )

    @cached_property
    def _groups(self) -> tuple[Condition, ...]:
        return tuple(map(self.apart, self.groups))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The population, what holds of some of it, and the groups."""
        return (*super().conditions, *self._groups)

    @property
    def cells(self) -> int:
        """Two cells for each set of groups but the empty one."""
        return 2 * ((1 << len(self.groups)) - 1)

    def cell(self, record: UnitRecord) -> int:
        """Return the number of the unit's groups and of whether the condition holds of it."""
        inside = sum(1 << place for place, group in enumerate(self._groups) if group.holds(record))
        held = super().cell(record)
        return 2 * (inside - 1) + held if inside else OUTSIDE

    @property
    def known(self) -> Known:
        """Each group, with those of it of which the condition holds and does not hold."""
        held, other = self._condition, ~self._condition
        found: dict[Region, dict[int, int]] = {}
        for place, group in enumerate(self._groups):
            inside, yes = self._inside(place), self._held(place)
            found[narrowed(self.members, group, held).facts()] = dict.fromkeys(yes, 1)
            no = [one for one in inside if one not in yes]
            found[narrowed(self.members, group, other).facts()] = dict.fromkeys(no, 1)
            found[narrowed(self.members, group).facts()] = dict.fromkeys(inside, 1)
        return found

    def conclude(self, counted: Counted) -> tuple[str, list[Figure]]:
        """Return the share of each group and, of two groups, their difference."""
        parts = [(self._held(place), self._inside(place)) for place in range(len(self.groups))]
        return self.with_words(say_shares(counted, self.groups, parts))

    def _held(self, place: int) -> list[int]:
        """Return the cells of a group of which the condition holds."""
        return [2 * (groups - 1) for groups in range(1, 1 << len(self.groups)) if groups >> place & 1]

    def _inside(self, place: int) -> list[int]:
        """Return all cells of a group."""
        return [cell + more for cell in self._held(place) for more in (0, 1)]


def say_shares(
    counted: Counted, groups: Sequence[str], parts: Sequence[tuple[Weights, Weights]]
) -> tuple[str, list[Figure]]:
    """Return the share of each group, a quotient of two sums of cells, and the difference of two groups."""
    reckons = [Reckon(held, of) for held, of in parts]
    shares = [counted.figure(group, "share", share) for group, share in zip(groups, reckons, strict=True)]
    sizes = [counted.figure(group, "count", Reckon(of)) for group, (_, of) in zip(groups, parts, strict=True)]
    said = "; ".join(f"{figure.name}: {percent(figure)}" for figure in shares) + "."
    if not all(size.low for size in sizes):
        said += " The noise does not tell whether there is any in each group."
    if len(shares) > 2:
        return said, shares
    difference = less(shares[0], shares[1], counted.figure("difference", "difference", ReckonedDifference(*reckons)))
    return f"{said} {_which(difference, groups)}", [*shares, difference]


def _which(difference: Figure, groups: Sequence[str]) -> str:
    """Return what the difference says: nothing, if its interval holds 0."""
    if difference.low <= 0 <= difference.high:
        return "The noise does not let them be told apart."
    more, less = groups if difference.value > 0 else groups[::-1]
    points = sorted(abs(100 * end) for end in (difference.low, difference.high))
    return f"It is more with {more} than with {less}, by {points[0]:.0f} to {points[1]:.0f} percentage points."

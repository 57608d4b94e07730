"""Counts of conditions: of one, as a part, of two beside each other, and in groups. Privacy-spec, part 11.

A unit is in one public cell at most. So the histogram of all cells costs as much as one count, which one unit changes
by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from discreet.algorithms.base import Figure
from discreet.errors import UsageError
from discreet.privacy.partition import Member
from discreet.statistics.cells import (
    MAY_BE_NONE,
    Counted,
    Reckon,
    ReckonedDifference,
    Weights,
    at_most,
    less,
    percent,
    whole,
)
from discreet.statistics.conditions import AnyOf, Condition, Known, Region, Says, narrowed, written
from discreet.statistics.statistic import OUTSIDE, Brought, CellStatistic
from discreet.store.unit_records import UnitRecord


@dataclass(frozen=True, kw_only=True)
class Count(CellStatistic):
    """Count: how many units a condition holds of. Privacy-spec, part 11: one count, which one unit changes by one.

    Parameters: those of `Statistic`, and one more.

    Attributes:
        condition: what is counted, a phrase or a condition; every unit of the population if empty.
    """

    name: ClassVar[str] = "count"

    condition: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.counted

    @cached_property
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

    def places(self, units: Sequence[Member[UnitRecord]]) -> Brought[Any]:
        """Return the units unchanged: to make an object for each takes longer than all else."""
        return units if type(self) is Count else super().places(units)

    def cells_of(self, members: Sequence[Member[Any]]) -> Sequence[int]:
        """Return the only cell for each unit."""
        return [0] * len(members) if type(self) is Count else super().cells_of(members)

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


# --- the part of a population of which a condition holds --------------------------------------------------------------
# Two counts, yes and no, of which one unit changes one.

YES, NO = 0, 1


@dataclass(frozen=True, kw_only=True)
class Share(CellStatistic):
    """Share: the part of a population of which a condition holds.

    Parameters: those of `Statistic`, and one more.

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


# --- how many more units one condition holds of than another one ------------------------------------------------------
# A unit of which both hold, one or the other, is in one cell of three. Of all others nothing is counted, so they do not
# pay.

FIRST, SECOND, BOTH = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class Difference(CellStatistic):
    """Difference: how many more units one condition holds of than another one. Privacy-spec, part 11: three counts.

    Parameters: those of `Statistic`, and one more.

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


def _which(difference: Figure, groups: Sequence[str], *, points: bool = False) -> str:
    """Return what a difference of counts, or of shares in percentage `points`, says: nothing, if it may be 0."""
    if difference.low <= 0 <= difference.high:
        return "The noise does not let them be told apart."
    more, less = groups if difference.value > 0 else groups[::-1]
    least, most = sorted(abs(end) * (100 if points else 1) for end in (difference.low, difference.high))
    than = f"more with {more} than with {less}"
    if points:
        return f"It is {than}, by {least:.0f} to {most:.0f} percentage points."
    return f"There are {least:,.0f} to {most:,.0f} {than}."


# --- the shares of which a condition holds in two or more groups ------------------------------------------------------
# A unit may be in several groups. Its cell is the set of its groups, and whether the condition holds. So it is in one
# cell. The share of a group is a sum over cells.

MOST_GROUPS = 6


@dataclass(frozen=True, kw_only=True)
class Compare(Share):
    """Compare: the shares of which a condition holds in two or more groups. Privacy-spec, part 11.

    Parameters: those of `Share`, and one more.

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
        regions: dict[Region, dict[int, int]] = {}
        for place, group in enumerate(self._groups):
            inside, yes = self._inside(place), self._held(place)
            regions[narrowed(self.members, group, held).facts()] = dict.fromkeys(yes, 1)
            no = [one for one in inside if one not in yes]
            regions[narrowed(self.members, group, other).facts()] = dict.fromkeys(no, 1)
            regions[narrowed(self.members, group).facts()] = dict.fromkeys(inside, 1)
        return regions

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
    return f"{said} {_which(difference, groups, points=True)}", [*shares, difference]

"""Themes: the share of each public value of a code or a declared category, in all or by group. Privacy-spec, part 11.

    1  each unit has the values that its records have, and the groups in which it has them      `_own`
    2  of many, a sample of at most K (values) and G (groups) counts, drawn from the unit alone `sample`
    3  the units of each group, and the cells (group, value), are counted with noise            `choose_tables`
    4  the shares follow from the noisy counts alone                                            `_table`

The values are public before any record is seen (the codebook, or the declared category). So there is no threshold, and
the data have a value that no unit has, too. The text names those alone that stand above what chance gives in the whole
table. A unit that comes or goes changes at most K cells by one, and G groups: a distance of K (Laplace noise) or
sqrt(K) (Gaussian noise), whichever needs less noise.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

from discreet.algorithms.base import Figure, GeneratedAnswer, Plan, Query
from discreet.errors import UsageError
from discreet.models.protocol import VotingModel
from discreet.privacy.account import Account
from discreet.privacy.accounting import Budget
from discreet.statistics.cells import (
    Counted,
    Histogram,
    Reckon,
    at_most,
    choose_tables,
    cost_of,
    named_from,
    percent,
    usual_tables,
    whole,
)
from discreet.statistics.statistic import Statistic
from discreet.statistics.trend import MONTHS, Periods
from discreet.statistics.values import sample
from discreet.store.sealed_corpus import SealedCorpus
from discreet.store.unit_records import Fields, UnitRecord, values_in
from discreet.system.words import counted

MOST_CELLS = 5000
USUAL_PERIODS_EACH = 3
"""In how many periods a unit counts, if the question does not say it."""


@dataclass(frozen=True, kw_only=True)
class Themes(Statistic):
    """Parameters: those of `Statistic`, and more.

    Attributes:
        attribute: a code, or a declared category with public values: "complaint".
        values: its public values. The vault knows them.
        each: how many values of a unit count, over all its records (K); 0 for as many as the codebook says.
        by: a second code or category by whose values the units are grouped, or "month", "quarter" or "year"; "" for no
            groups.
        groups: its public values, if it is none of these periods. The vault knows them.
        spread: in how many groups a unit counts (G); 0 for as many as the codebook says.
        date_field: the declared date of the periods.
        since, until: as in a trend.
        most: the number of values that are shown, those of most units first; 0 for all.
    """

    name: ClassVar[str] = "themes"

    attribute: str = ""
    values: tuple[str, ...] = ()
    each: int = 0
    by: str = ""
    groups: tuple[str, ...] = ()
    spread: int = 0
    date_field: str = "date"
    since: str = ""
    until: str = ""
    most: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("values", "groups"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if not self.attribute:
            raise UsageError("Themes need an attribute: a code of the codebook, or a category with declared values.")
        if min(self.each, self.spread, self.most) < 0:
            raise UsageError("`each`, `spread` and `most` are at least 0.")
        if self.by in MONTHS:
            periods = Periods.made(self.by, self.since, self.until)
            object.__setattr__(self, "until", periods.until)
            object.__setattr__(self, "since", periods.since)
        elif self.since or self.until:
            raise UsageError("`since` and `until` are of periods. Ask by month, quarter or year.")
        if self._cells[0] > MOST_CELLS:
            raise UsageError(f"The table has {self._cells[0]:,} cells, and at most {MOST_CELLS:,} are counted.")

    @property
    def dates_read(self) -> tuple[str, ...]:
        """The names of the declared dates that it reads."""
        return (self.date_field,) if self.by in MONTHS else ()

    @property
    def fields_tested(self) -> tuple[str, ...]:
        """The names of the fields that it reads."""
        own = (self.attribute, *([self.by] if self.by and self.by not in MONTHS else []))
        return tuple(dict.fromkeys((*super().fields_tested, *own)))

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """The names of the groups; one without a name if there are none."""
        if self.by in MONTHS:
            periods = self._periods
            return tuple(map(periods.name, range(periods.number)))
        return self.groups if self.by else ("",)

    @cached_property
    def _periods(self) -> Periods:
        return Periods(self.by, self.since, self.until)

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        """The number of groups, and in how many of them a unit can be."""
        usual = USUAL_PERIODS_EACH if self.by in MONTHS else 1
        return len(self._names), min(self.spread or usual, max(1, len(self._names)))

    @cached_property
    def _cells(self) -> tuple[int, int]:
        """The number of cells, and in how many of them a unit can be."""
        number = len(self._names) * len(self.values)
        return number, max(1, min((self.each or 1) * self._sizes[1], number))

    def histograms(self, budget: Budget) -> tuple[Histogram, ...]:
        """Return the mechanisms that count the groups and the cells (3)."""
        if not self.values:
            raise UsageError(f"The public values of '{self.attribute}' are not known. Name a code or a category.")
        return choose_tables(self.price(budget), self._sizes, self._cells)

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        """Return the cost of the statistic: that of both counts."""
        return self.price(budget).plan(cost_of(*self.histograms(budget)))

    def usual_uses(self, budget: Budget) -> int:
        """Return among how many tables a grant is divided if neither `epsilon` nor `uses` is given."""
        return usual_tables(budget, self._sizes, self._cells)

    def deviation(self, budget: Budget) -> float:
        """Return the standard deviation of the noise of each value's count, in units."""
        return self.histograms(budget)[1].deviation

    def needs(self, budget: Budget) -> int:
        """Return how many units must share a value so that it is named with probability 0.9."""
        return named_from(self.histograms(budget)[1], self._cells[0])

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Charge the units of the population that can pay, count their groups and cells (3), and conclude (4)."""
        sizes, cells = self.histograms(account.budget)
        able, paid = self.admit(corpus, account, lambda units: self.of_each(units, self._own))
        of = paid.release(sizes, able.map(lambda member: member.value[0]))
        counts = paid.release(cells, able.map(lambda member: member.value[1]))
        total = Counted.by(sizes, of, paid.unable)
        paid.note_payers(total.most_payers)
        text, table = self._table(total, Counted.by(cells, counts, paid.unable))
        return GeneratedAnswer(text + total.note, "end", 0, table=tuple(table), counts=total)

    def _own(self, key: bytes, record: UnitRecord) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Return the groups and the cells of a unit, from its record alone (1, 2); None if it is in no group."""
        there: dict[int, list[int]] = {}
        for own in record.fields:
            if self.attribute in own:
                values = _places(values_in(own, self.attribute), self.values)
                for group in self._groups_of(own):
                    there.setdefault(group, []).extend(values)
        groups = _drawn(there, self._sizes[1], key)
        cells = dict.fromkeys(group * len(self.values) + value for group in groups for value in there[group])
        return (groups, _drawn(cells, self._cells[1], key)) if groups else None

    def _groups_of(self, own: Fields) -> Sequence[int]:
        """Return the groups of a record, from its fields."""
        if not self.by:
            return (0,)
        if self.by not in MONTHS:
            return _places(values_in(own, self.by), self.groups)
        days = (self._periods.place(day) for day in values_in(own, self.date_field))
        return [day for day in days if day is not None]

    def _table(self, total: Counted, found: Counted) -> tuple[str, list[Figure]]:
        """Return the count and the share of each value in each group, those of most units first (4)."""
        lines, table, others = list[str](), list[Figure](), list[float]()
        for group, name in enumerate(self._names):
            of = total.figure(f"{name}: of" if name else "of", "count", Reckon([group]))
            start = group * len(self.values)
            order = sorted(range(len(self.values)), key=lambda place: (-found.counts[start + place], place))
            said = list[str]()
            for place in order[: self.most or None]:
                value = f"{name}: {self.values[place]}" if name else self.values[place]
                both = Counted(
                    (found.counts[start + place], total.counts[group]),
                    (found.deviations[0], total.deviations[0]),
                    (found.laws[0], total.laws[0]),
                    found.unable,
                )
                count = at_most(both.of_table(value, "count", Reckon([0]), self._cells[0]), of)
                share = both.of_table(value, "share", Reckon([0], [1]), self._cells[0])
                table += [count, share]
                if count.low:
                    said.append(f"{self.values[place]}: {percent(share)}" + ("" if name else f", {whole(count)}"))
                else:
                    others.append(count.high)
            table.append(of)
            there = "; ".join(said) or "no value named"
            lines += [f"{name}, of {whole(of)}: {there}."] if name else [*said, f"Of {whole(of)}."]
        groups = f", in at most {self._sizes[1]} of the {len(self._names)} groups" if self.by else ""
        lines.append(f"Each counts in at most {counted(self._cells[1], 'value')}{groups}.")
        if others:
            ends = "" if math.isinf(max(others)) else f", each at most {max(others):,.0f}"
            lines.append(f"Not named: {len(others):,} that may be none{ends}.")
        return "\n".join(lines), table


def _places(own: Sequence[str], public: tuple[str, ...]) -> list[int]:
    """Return the places of a record's values among the public ones."""
    known = _numbered(public)
    return [known[value] for value in map(str.casefold, own) if value in known]


@lru_cache(256)
def _numbered(public: tuple[str, ...]) -> dict[str, int]:
    return {value.casefold(): place for place, value in enumerate(public)}


def _drawn(places: Collection[int], most: int, key: bytes) -> tuple[int, ...]:
    """Return at most so many of a unit's places, each there once, drawn from the unit alone."""
    if len(places) <= most:
        return tuple(places)
    return tuple(map(int, sample(list(map(str, places)), most, key)))

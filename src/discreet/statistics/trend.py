"""Trend: how many units a condition holds of in each period. Privacy-spec, part 11: a histogram by period.

A unit counts in one period: that of the earliest of its documents, between the first date and the last one, that says
the condition; without a condition, the phrase of the population.
"""

import re
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import ClassVar

from discreet.algorithms.base import Figure
from discreet.errors import UsageError
from discreet.statistics.cells import Counted, Reckon, whole
from discreet.statistics.conditions import ALL, Condition, Known, period_of
from discreet.statistics.counts import Count
from discreet.statistics.statistic import OUTSIDE
from discreet.store.unit_records import UnitRecord

MONTHS = {"month": 1, "quarter": 3, "year": 12}
MOST_PERIODS = 240
_PART = re.compile(r"\d{4}(-\d{2})?", re.ASCII)
"""A year, or a month."""
USUAL_PERIODS = 12


@dataclass(frozen=True)
class Periods:
    """The periods from one day to another one.

    Attributes:
        by: their length: "month", "quarter" or "year".
        since, until: the first and the last day, such as 2026-01-31, or a month or year.
    """

    by: str
    since: str
    until: str

    @staticmethod
    def made(by: str, since: str, until: str) -> "Periods":
        """Return the periods, of which the usual ones are the last twelve.

        Raises:
            UsageError: if there are no such periods, or too many of them.
        """
        if by not in MONTHS:
            raise UsageError(f"A trend is by {', '.join(MONTHS)}, not by '{by}'.")
        # Fixed now: the answer is kept, and a month may turn while it is made.
        periods = Periods(by, since, until or date.today().isoformat()[:7])
        periods = replace(periods, since=since or periods._start(periods._last - USUAL_PERIODS + 1))
        if not 1 <= periods.number <= MOST_PERIODS:
            raise UsageError(
                f"A trend has 1 to {MOST_PERIODS} periods, not {periods.number}. Change `since` or `until`."
            )
        return periods

    @cached_property
    def days(self) -> tuple[str, str]:
        """The first day and the last one."""
        (first, _), (_, last) = period_of(self.since) or ("", ""), period_of(self.until) or ("", "9")
        return first, last

    @property
    def number(self) -> int:
        """The number of periods."""
        return self._last - self._first + 1

    def place(self, day: str) -> int | None:
        """Return the number of a day's period; None if the day is in none."""
        if not self.days[0] <= day <= self.days[1]:
            return None
        place = self._number(day) - self._first
        return place if 0 <= place < self.number else None

    def name(self, place: int) -> str:
        """Return the name of a period: "2026", "2026-Q3" or "2026-03"."""
        months = (self._first + place) * MONTHS[self.by]
        year, month = divmod(months, 12)
        if self.by == "year":
            return str(year)
        return f"{year}-Q{month // 3 + 1}" if self.by == "quarter" else f"{year}-{month + 1:02}"

    @property
    def _first(self) -> int:
        return self._number(self.since)

    @property
    def _last(self) -> int:
        named = period_of(self.until)  # a year ends with its last period
        return self._number(named[1] if named else self.until)

    def _number(self, day: str) -> int:
        """Return the number of a day's period, counted from year 0."""
        try:
            day_of = date.fromisoformat((day + "-01-01")[:10] if _PART.fullmatch(day) else day)
        except ValueError:
            raise UsageError(f"'{day}' is no day. Write it as 2026-01-31, or a month, 2026-01, or a year.") from None
        return (12 * day_of.year + day_of.month - 1) // MONTHS[self.by]

    def _start(self, number: int) -> str:
        """Return the first month of a period."""
        year, month = divmod(number * MONTHS[self.by], 12)
        return f"{year:04}-{month + 1:02}"


@dataclass(frozen=True, kw_only=True)
class Trend(Count):
    """Parameters: those of `Count`, and more.

    Attributes:
        by: the length of a period: "month", "quarter" or "year".
        date_field: the name of the declared field with the date.
        since, until: the first and the last day, such as 2026-01-31, or a month or year. If `since` is empty, there are
            twelve periods. If `until` is empty, it is the month of today.
    """

    name: ClassVar[str] = "trend"

    by: str = "month"
    date_field: str = "date"
    since: str = ""
    until: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        periods = Periods.made(self.by, self.since, self.until)
        object.__setattr__(self, "until", periods.until)
        object.__setattr__(self, "since", periods.since)

    @property
    def dates_read(self) -> tuple[str, ...]:
        """The names of the declared dates that it reads."""
        return (self.date_field,)

    @cached_property
    def periods(self) -> Periods:
        """The periods."""
        return Periods(self.by, self.since, self.until)

    @property
    def cells(self) -> int:
        """The number of periods."""
        return self.periods.number

    @property
    def known(self) -> Known:
        """None: a unit without a date is in no period."""
        return {}

    def cell(self, record: UnitRecord) -> int:
        """Return the period of the unit's earliest date at which the condition holds."""
        said = self.counted if self.condition else self.read(self.population)
        for day in sorted({value for value in record.values(self.date_field) if isinstance(value, str)}):
            place = self.periods.place(day)
            if place is not None and (said == ALL or self._says(record, day, said)):
                return place
        return OUTSIDE

    def _says(self, record: UnitRecord, day: str, said: Condition) -> bool:
        return said.holds(record.part(lambda own: own.get(self.date_field) == day))

    def conclude(self, counted: Counted) -> tuple[str, list[Figure]]:
        """Return the count of each period."""
        name, periods = self.periods.name, range(self.cells)
        table = [counted.of_table(name(one), "count", Reckon([one]), len(periods)) for one in periods]
        return "\n".join(f"{figure.name}: {whole(figure)}" for figure in table), table

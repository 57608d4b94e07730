"""The result of a table: its rows, the paper's figures beside them, and where they come from."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet import __version__
from discreet.bench.table import BenchTable, Data, Row
from discreet.system.frames import frame

NOTICE = "For the custodian only: no unit paid for these figures, and the vault's ledger was not touched."
NESTED = "curve"
"""A column with a list of points, which is in JSON alone."""
SOURCE = ("data", "model", "embedder", "seed", "version")
"""The columns of a CSV file that say where a row comes from."""


@dataclass(frozen=True)
class BenchResult:
    """The result of a table.

    Attributes:
        table: the table.
        rows: the rows, with the paper's figures in columns of their own.
        data, model, embedder: where they come from, in words.
        kind: the kind of the data.
        questions: the number of questions.
        seed, seeds: the first seed, and the number of runs with different noise.
        quick: whether it was a quick run.
        notes: remarks.
        seconds: the duration.
    """

    table: BenchTable
    rows: list[Row]
    data: str
    kind: Data
    model: str
    embedder: str
    questions: int
    seed: int
    seeds: int
    quick: bool
    notes: tuple[str, ...]
    seconds: float

    @property
    def columns(self) -> list[str]:
        """The names of the columns, without those that are empty in all rows."""
        named = dict.fromkeys(name for row in self.rows for name in row if name != NESTED)
        return [name for name in named if any(row.get(name) is not None for row in self.rows)]

    @property
    def sources(self) -> dict[str, str]:
        """For each column of the paper's figures that is shown: its place in the paper, its data and its model."""
        return {name_of(self.table, one): one.source for one in self.table.reported_on(self.kind)}

    def cells(self) -> list[list[str]]:
        """Return the rows as text, in the order of `columns`."""
        return [[show(row.get(name)) for name in self.columns] for row in self.rows]

    def source(self) -> dict[str, Any]:
        """Return data, model, embedder, seed and version."""
        asked = f"; {self.questions} question{'s' * (self.questions > 1)}" if self.questions else ""
        runs = f"; {self.seeds} runs" if self.seeds > 1 else ""
        return {
            "data": f"{self.data}{asked}{runs}{'; quick' if self.quick else ''}",
            "model": self.model,
            "embedder": self.embedder,
            "seed": self.seed,
            "version": __version__,
        }

    def describe(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "schema": 1,
            "table": self.table.name,
            "paper": {"authors": self.table.paper.authors, "title": self.table.paper.title},
            "where": self.table.where,
            "shows": self.table.shows,
            "found": self.table.found,
            "differs": self.table.differs,
            "columns": self.columns,
            "rows": self.rows,
            "sources": self.sources,
            **self.source(),
            "kind": str(self.kind),
            "questions": self.questions,
            "seeds": self.seeds,
            "quick": self.quick,
            "notes": list(self.notes),
            "seconds": self.seconds,
            "notice": NOTICE,
        }

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` with the rows.

        Raises:
            MissingPart: if pandas is not installed.
        """
        return frame(self.rows, self.columns)


def name_of(table: BenchTable, one: Any) -> str:
    """Return the column of the paper's figures; with their place in the paper if the measure has several."""
    alone = sum(other.column == one.column and other.data == one.data for other in table.reported) == 1
    return f"{one.column}, paper" if alone else f"{one.column}, paper ({one.source})"


def with_figures(table: BenchTable, rows: Sequence[Row], kind: Data) -> list[Row]:
    """Return the rows with the paper's figures, each right after our own."""
    reported = table.reported_on(kind)
    found = []
    for row in rows:
        made: Row = {}
        for name, value in row.items():
            made[name] = value
            made |= {name_of(table, one): one.figure(row) for one in reported if one.column == name}
        found.append(made)
    return found


def show(value: Any) -> str:
    """Return a cell as text."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if not math.isfinite(value):
            return "infinite"
        return f"{value:g}" if value == round(value) or abs(value) >= 1000 else f"{value:.3f}".rstrip("0")
    return str(value)

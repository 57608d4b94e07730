"""The result of a table: its rows, the paper's figures beside them, and where they come from."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet import __version__
from discreet.system.plain import frame, show_as
from discreet_lab.bench.presets import PAPER
from discreet_lab.bench.table import BenchTable, Data, PaperShown, Row

NOTICE = "For the custodian only: no unit paid for these figures, and the vault's ledger was not touched."
MOST_SHOWN = 3
"""The most figures of the paper for a measure that stand in columns of their own on a screen."""
NESTED = "curve"
"""A column with a list of points, which is in JSON alone."""


@dataclass(frozen=True)
class ScreenTable:
    """A result for a screen.

    Attributes:
        columns: the names of the columns.
        cells: the rows as text.
        sources: for each column of the paper's figures: where they come from.
    """

    columns: list[str]
    cells: list[list[str]]
    sources: dict[str, str]


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
        preset: "paper", "ours" or "".
        notes: remarks.
        seconds: the duration.
        deltas: those of budgets and answers.
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
    deltas: tuple[float, ...] = ()
    preset: str = ""

    @property
    def differs(self) -> str:
        """Why ours differs: what this run shows, and then what is so in every run."""
        paper, reasons = self.table.paper, list[str]()
        if self.model != "none" and paper.models and not any(_is(self.model, one) for one in paper.models):
            reasons.append(f"the model is {self.model}, and the paper's are {', '.join(paper.models)}")
        if paper.delta is not None and (other := [one for one in self.deltas if one != paper.delta]):
            reasons.append(f"delta is {' and '.join(f'{one:g}' for one in other)}, and the paper's is {paper.delta:g}")
        if paper.embedder and self.embedder != "none" and not _is(self.embedder, paper.embedder):
            reasons.append(f"the embedder is {self.embedder}, and the paper's is {paper.embedder}")
        if 0 < self.questions < paper.questions:
            reasons.append(f"there are {self.questions} questions, and the paper has {paper.questions}")
        if self.quick:
            reasons.append("the run is quick, with few values and questions and short answers")
        own = [self.table.ours] if self.preset != "paper" else self._taken_in_place
        text = "; ".join(filter(None, [*reasons, *own])) or "nothing that is known"
        return f"{text[0].upper()}{text[1:]}."

    @property
    def _taken_in_place(self) -> list[str]:
        """What is taken in place of settings of the paper that are not private, for each algorithm of the rows."""
        named = {row.get("algorithm") or str(row.get("corpus")).partition(",")[0] for row in self.rows}
        notes: dict[str, list[str]] = {}
        for name in sorted(named & PAPER.keys()):
            notes.setdefault(PAPER[name].note, []).append(name)
        return [f"of {' and '.join(names)}, {note}" for note, names in notes.items() if note]

    @property
    def columns(self) -> list[str]:
        """The names of the columns, without those that are empty in all rows."""
        named = dict.fromkeys(name for row in self.rows for name in row if name != NESTED)
        return [name for name in named if any(row.get(name) is not None for row in self.rows)]

    @property
    def sources(self) -> dict[str, str]:
        """For each column of the paper's figures that is shown: its place in the paper, its data and its model."""
        columns, reported = self.columns, self.table.reported_on(self.kind)
        return {name: one.source for one in reported if (name := name_of(self.table, one)) in columns}

    def condensed(self) -> ScreenTable:
        """Return the rows for a screen. Where a measure has many figures of the paper, they are one range."""
        sources, measures = self.sources, dict[str, list[str]]()
        for one in self.table.reported_on(self.kind):
            if (name := name_of(self.table, one)) in sources:
                measures.setdefault(one.column, []).append(name)
        ranges = {names[0]: names for names in measures.values() if len(names) > MOST_SHOWN}
        left_out = {name for names in ranges.values() for name in names[1:]}
        kept = [name for name in self.columns if name not in left_out]
        for name, names in ranges.items():
            sources[name] = (
                f"the least and the most of {len(names)} figures, {sources[name]} to {sources[names[-1]]}; --csv and "
                "--json have each"
            )
        cells = [
            [_range(row, ranges[name]) if name in ranges else show(row.get(name)) for name in kept] for row in self.rows
        ]
        return ScreenTable(kept, cells, {name: place for name, place in sources.items() if name in kept})

    def cells(self) -> list[list[str]]:
        """Return the rows as text, in the order of `columns`."""
        return [[show(row.get(name)) for name in self.columns] for row in self.rows]

    def source(self) -> dict[str, Any]:
        """Return data, model, embedder, seed and version."""
        number = f"; {self.questions} question{'s' * (self.questions > 1)}" if self.questions else ""
        runs = f"; {self.seeds} runs" if self.seeds > 1 else ""
        return {
            "data": f"{self.data}{number}{runs}{'; quick' if self.quick else ''}",
            "model": self.model,
            "embedder": self.embedder,
            "seed": self.seed,
            "version": __version__,
        }

    def shown(self) -> "BenchShown":
        """Return the result as it leaves."""
        table = {name: getattr(self.table, name) for name in ("where", "shows", "found")}
        fields = (
            table
            | self.source()
            | {"table": self.table.name, "differs": self.differs, "paper": self.table.paper.shown()}
        )
        return show_as(BenchShown, self, **fields, schema=1, kind=str(self.kind), notice=NOTICE)

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` with the rows.

        Raises:
            MissingPart: if pandas is not installed.
        """
        return frame(self.rows, self.columns)


@dataclass(frozen=True, kw_only=True)
class BenchShown:
    """The result of a table, beside the figures of its paper.

    Attributes:
        schema: the version of this schema.
        table: the name of the table.
        paper: the paper.
        where: the table or figure in the paper.
        shows: what it shows.
        found: what the paper found, in words.
        differs: why ours differs.
        columns: the columns that have a value in some row, in order.
        rows: the rows by their columns: private, unless the data are public. A column that ends with 'paper' has the
            paper's figure. 'curve' has points of false and true positives.
        sources: for each of the paper's columns: its place in the paper, its data and its model.
        data: the data of the rows.
        model: the language model; none if none was asked.
        embedder: the embedder.
        seed: the first seed of the noise.
        version: the version of discreet.
        kind: the kind of the data.
        questions: the number of questions; 0 if the table asks its own.
        seeds: the number of runs with different noise.
        quick: whether fewer values, questions and runs were taken.
        notes: remarks, such as what was left out.
        seconds: how long the run took, in seconds.
        notice: a sentence: that no unit paid for the figures, and that they are for the custodian alone.
    """

    schema: int
    table: str
    paper: PaperShown
    where: str
    shows: str
    found: str
    differs: str
    columns: list[str]
    rows: list[Row]
    sources: dict[str, str]
    data: str
    model: str
    embedder: str
    seed: int
    version: str
    kind: str
    questions: int
    seeds: int
    quick: bool
    notes: tuple[str, ...]
    seconds: float
    notice: str


def _is(model: str, named: str) -> bool:
    """Return whether the name of a model that was run is that of a paper's: "facebook/opt-1.3b" is "OPT 1.3B"."""
    plain = [re.sub(r"[^a-z0-9]", "", one.casefold()) for one in (model.rsplit("/", 1)[-1], named)]
    return plain[1] in plain[0]


def name_of(table: BenchTable, one: Any) -> str:
    """Return the column of the paper's figures; with their place in the paper if the measure has several."""
    alone = sum(other.column == one.column and other.data == one.data for other in table.reported) == 1
    return f"{one.column}, paper" if alone else f"{one.column}, paper ({one.source})"


def with_figures(table: BenchTable, rows: Sequence[Row], kind: Data) -> list[Row]:
    """Return the rows with the paper's figures, each right after our own, and whether they are within our margin."""
    reported = table.reported_on(kind)
    rows_with_figures = []
    for row in rows:
        with_paper: Row = {}
        for name, value in row.items():
            with_paper[name] = value
            with_paper |= {name_of(table, one): one.figure(row) for one in reported if one.column == name}
            if name == "margin":
                figures = [one.figure(row) for one in reported if one.column == table.columns[0]]
                with_paper |= {"beside": said} if (said := beside(row[table.columns[0]], value, figures)) else {}
        rows_with_figures.append(with_paper)
    return rows_with_figures


def beside(ours: float, margin: float | None, papers: Sequence[Any]) -> str:
    """Return whether a paper's figures are within the margin of ours, in words; "" without figures or a margin."""
    numbers = [one for one in papers if isinstance(one, int | float)]
    if not numbers or margin is None or math.isnan(margin):
        return ""
    within = sum(abs(one - ours) <= margin for one in numbers)
    if 0 < within < len(numbers):
        return f"{within} of {len(numbers)} within the margin"
    return "within the margin" if within else "outside the margin"


def tell_other_kind(table: BenchTable, kind: Data) -> str:
    """Return that the paper's figures are for data of another kind, so that none stand beside ours; "" if some do."""
    if not table.reported or table.reported_on(kind):
        return ""
    kinds = " and ".join(dict.fromkeys(str(one.data) for one in table.reported))
    return f"The paper's figures are for {kinds}. These data are {kind}, so no figure of the paper stands beside ours."


def _range(row: Row, names: Sequence[str]) -> str:
    values = [row[name] for name in names if row.get(name) is not None]
    return f"{show(min(values))} to {show(max(values))}" if values else show(None)


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

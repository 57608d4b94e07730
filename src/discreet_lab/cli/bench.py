"""`discreet bench`: rerun the tables and figures of papers on the data at hand."""

import csv
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from discreet.algorithms.ensemble import VoterEnsemble
from discreet.cli.app import Json, app, complete_from
from discreet.cli.output import doing_steps, err, explained, nothing_kept, out, print_json
from discreet.cli.parameters import Params, Plugins, errors_in_full, find_algorithm, parse_for_any, register_files
from discreet.errors import UnknownName, UsageError
from discreet.registry import ALGORITHMS
from discreet.system.files import check_output_path, write_private
from discreet.system.plain import show_as
from discreet_lab.bench.presets import PRESETS
from discreet_lab.bench.result import NOTICE, BenchResult
from discreet_lab.bench.runner import BenchOptions, run_table
from discreet_lab.bench.table import BenchTable, PaperShown
from discreet_lab.bench.tables import TABLES, find_table
from discreet_lab.cli.evaluate import check_model
from discreet_lab.evaluation.metrics import PACKAGED

WIDTH = 80
"""The characters of a line. A table that needs more is printed as records."""
_NO_VAULT = Path(os.devnull)


@dataclass(frozen=True)
class TableShown:
    """A table or figure that can be run again.

    Attributes:
        table: the name of the table.
        paper: the paper.
        where: the table or figure in the paper.
        shows: what it shows.
        work: the estimated work of a whole run.
        plugin: whether one's own algorithm can be a further row.
        data: the kind of the paper's data.
    """

    table: str
    paper: PaperShown
    where: str
    shows: str
    work: str
    plugin: bool
    data: str


@dataclass(frozen=True)
class TableList:
    """The tables and figures that can be run again.

    Attributes:
        schema: the version of this schema.
        tables: the tables, paper by paper.
    """

    schema: int
    tables: list[TableShown]


@app.command()
@explained
def bench(
    table: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="A table. Default: list all.", autocompletion=complete_from(TABLES)),
    ] = None,
    vault: Annotated[Path | None, typer.Argument(metavar="VAULT", help="Default: a fictional hospital.")] = None,
    questions: Annotated[
        Path | None, typer.Argument(metavar="QUESTIONS.jsonl", help='{"question", "answers"} a line.')
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the tables.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Few values: a minute or two.")] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="The most questions, people or mails.")
    ] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(metavar="NUMBER", help="In place of the table's epsilons.")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(metavar="NUMBER", min=0, max=1, help="In place of the table's delta.")
    ] = None,
    param: Params = None,
    voters: Annotated[list[int] | None, typer.Option(metavar="NUMBER", help="As --param voters=NUMBER.")] = None,
    inner: Annotated[list[str] | None, typer.Option(metavar="NAME", help="What answers inside of MuRAG.")] = None,
    preset: Annotated[str, typer.Option(metavar="paper|ours", help="The settings of each algorithm.")] = "",
    model: Annotated[str, typer.Option(help="Another language model.")] = "",
    embedder: Annotated[str, typer.Option(help="Another embedder.")] = "",
    encoder: Annotated[str, typer.Option("--bert-score", metavar="MODEL", help="Vectors for BERTScore.")] = PACKAGED,
    plugin: Plugins = None,
    seed: Annotated[int, typer.Option(min=0, help="The first seed of the noise.")] = 0,
    rows: Annotated[Path | None, typer.Option(help="A file to resume a run with.")] = None,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write the rows to this file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: Json = False,
) -> None:
    """Rerun a table or figure of a paper on the data at hand, beside the paper's own figures: for the custodian only.

    Nothing is paid, and a vault is only read. Tables: discreet bench --list
    """
    if table is None or listed:
        if quick or csv_file is not None:
            raise UsageError("--quick and --csv go with a table. Name one: discreet bench vote-epsilon --quick")
        _print_tables(as_json, given=table)
        return
    wanted = find_table(table)
    if csv_file is not None:
        check_output_path(csv_file, vault or _NO_VAULT, force=force)
    if rows is not None:
        check_output_path(rows, vault or _NO_VAULT, force=True)
    check_model(model, embedder)
    plugins = tuple(register_files(plugin))
    if preset and preset not in PRESETS:
        raise UnknownName("preset", preset, PRESETS)
    named = [*(param or ()), *(f"voters={number}" for number in voters or ())]
    varied = _given(wanted, plugins, named) | ({"epsilon": tuple(epsilon)} if epsilon else {}) | _inner(wanted, inner)
    options = BenchOptions(
        vault, questions, model, limit, varied, delta, seed, plugins, quick, encoder, embedder, preset, rows
    )
    kept = "nothing was kept" if rows is None else f"the same command resumes with {rows}"
    with nothing_kept("Nothing was paid", kept), doing_steps(f"Running {wanted.name}") as on_progress:
        # Only the fictional hospital may show the message of an error: it can have a part of a document.
        fictional = vault is None and questions is None
        with errors_in_full(options.plugins if fictional else (), "run"):
            result = run_table(wanted, options, on_progress)
    # Shown first: it took long, and writing may fail.
    if as_json:
        print_json(result.shown())
    else:
        _print(result)
    if csv_file is not None:
        _write_csv(result, csv_file)


def _given(table: BenchTable, plugins: Sequence[str], param: Sequence[str] | None) -> dict[str, tuple[Any, ...]]:
    """Return the values of each parameter that is given, of the algorithms of a table.

    Raises:
        UsageError: if none of them has the parameter, or if a value has another type.
    """
    own = (table.settings.get("inner"), table.settings.get("algorithm"))
    named = [*table.sweep.get("algorithm", ()), *table.sweep.get("inner", ()), *own, *plugins]
    own_names = [name for name in dict.fromkeys(named) if name in ALGORITHMS]
    if param and not own_names:
        raise UsageError(f"The table '{table.name}' has no algorithm with parameters. Leave --param out.")
    values_of: dict[str, tuple[Any, ...]] = {}
    for text in param or ():
        for name, value in parse_for_any(own_names, [text]).items():
            values_of[name] = (*values_of.get(name, ()), value)
    return values_of


def _inner(table: BenchTable, inner: Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    """Return what answers inside of MuRAG, if it is given.

    Raises:
        UsageError: if the table has nothing inside, or an algorithm cannot answer there.
    """
    if not inner:
        return {}
    if "inner" not in {*table.sweep, *table.settings}:
        raise UsageError(f"The table '{table.name}' has no algorithm inside of another. Leave --inner out.")
    for name in inner:
        if not issubclass(find_algorithm(name), VoterEnsemble):
            raise UsageError(f"'{name}' cannot answer inside of another algorithm; consensus can.")
    return {"inner": tuple(inner)}


def _print_tables(as_json: bool, given: str | None) -> None:
    if given is not None:
        raise UsageError(f"--list lists all tables, and '{given}' names one. Leave one of them out.")
    if as_json:
        print_json(TableList(1, [_shown(one) for one in TABLES.values()]))
        return
    paper = ""
    for one in TABLES.values():
        if one.paper.key != paper:
            paper = one.paper.key
            out.print(f"[bold]{one.paper.title}[/] ({one.paper.authors})")
        out.print(f"  {one.name:22}{one.where}: {one.shows}", markup=False)
        out.print(
            f"  {'':22}work: {one.estimated}{'' if one.no_plugin else '; takes --plugin'}", markup=False, style="dim"
        )
    out.print("\nTry one for a minute or two: discreet bench vote-epsilon --quick")


def _shown(one: BenchTable) -> TableShown:
    named = {"table": one.name, "paper": one.paper.shown(), "work": one.estimated}
    return show_as(TableShown, one, **named, plugin=not one.no_plugin, data=str(one.data))


def _print(result: BenchResult) -> None:
    one, source = result.table, result.source()
    out.print(f"{one.paper.title} ({one.paper.authors}), {one.where}: {one.shows}.", markup=False)
    screen = result.condensed()
    of_paper = _short_names(screen.sources)
    headings = [of_paper.get(column, column) for column in screen.columns]
    if fits(headings, screen.cells):
        # Without lines between columns, tables of ten columns fit a screen of 80 characters.
        shown = Table(*headings, box=SIMPLE_HEAD, padding=0)
        for cells in screen.cells:
            shown.add_row(*cells)
        out.print(shown)
    else:
        for number, cells in enumerate(screen.cells, 1):
            told = "; ".join(f"{name} {cell}" for name, cell in zip(headings, cells, strict=True) if cell != "-")
            out.print(f"{number}. {told}", markup=False)
    for number, (column, place) in enumerate(screen.sources.items(), 1):
        out.print(f"[{number}] {column.partition(' (')[0]}: {place}.", markup=False)
    out.print(f"The paper: {one.found}", markup=False)
    out.print(f"Why ours differs: {result.differs}", markup=False)
    out.print(
        "; ".join(f"{name} {value}" for name, value in source.items()) + f"; {result.seconds:.0f} s.", markup=False
    )
    for note in result.notes:
        err.print(f"Note: {note}", markup=False)
    err.print(NOTICE, markup=False)


def fits(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a table fits `WIDTH` without a broken cell. Words of a heading may be in lines of their own."""
    columns = [[*heading.split(), *cells] for heading, *cells in zip(headings, *rows, strict=True)]
    return sum(max(map(len, cells)) + 1 for cells in columns) + 1 <= WIDTH


def _short_names(sources: Iterable[str]) -> dict[str, str]:
    """Return a short heading for each column of a paper: "paper [1]" if all of them have the same measure."""
    named = {column: column.partition(" (")[0] for column in sources}
    short = len(set(named.values())) == 1 and all(name.endswith(", paper") for name in named.values())
    return {column: f"{'paper' if short else name} [{n}]" for n, (column, name) in enumerate(named.items(), 1)}


def _write_csv(result: BenchResult, path: Path) -> None:
    source, text = result.source(), StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*result.columns, *source])
    rows.writerows([*cells, *map(str, source.values())] for cells in result.cells())
    write_private(path, text.getvalue())

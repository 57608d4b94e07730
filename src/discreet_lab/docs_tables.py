"""Write the tables of the documentation from `docs/results/data`, between markers in the pages.

Usage:

    .venv/bin/python -m discreet_lab.docs_tables          # write the tables
    .venv/bin/python -m discreet_lab.docs_tables --check  # end with 1 if a page is out of date

Markers, each closed by `<!-- end -->`:

- `<!-- table: NAME -->` is replaced by rows of `data/NAME.csv`. It may choose rows and columns:
  `; where: COLUMN=VALUE|VALUE & COLUMN=VALUE` and `; columns: COLUMN | COLUMN`.
- `<!-- setup: NAME NAME -->` is replaced by data, model, machine, seeds, commits and commands of these tables
  (`data/provenance.json`). A table whose script is gone names the last commit that reprinted it in place of commands.
"""

import argparse
import csv
import importlib.util
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet_lab.experiments.catalogue import COMMAND, EXPERIMENTS, ROOT

PAGES = ROOT / "docs"
DATA = PAGES / "results" / "data"
PROVENANCE = ("data", "model", "machine", "seeds", "commits")
COMMANDS, MARK = "commands", "not reprinted since"
"""What a table has beside `PROVENANCE`: its commands, or the last commit that reprinted it."""
_MARKED = re.compile(r"^<!-- (table|setup): (.*?) -->\n.*?^<!-- end -->$", re.MULTILINE | re.DOTALL)

Row = dict[str, str]


def read_rows(name: str) -> list[Row]:
    """Return the rows of a table by the names of its columns."""
    with (DATA / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_provenance() -> dict[str, dict[str, Any]]:
    """Return data, model, machine, seeds, commits and commands of each table."""
    provenance: dict[str, dict[str, Any]] = json.loads((DATA / "provenance.json").read_text(encoding="utf-8"))
    return provenance


def format_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def select_rows(rows: list[Row], condition: str) -> list[Row]:
    """Return the rows that meet `condition`.

    Raises:
        ValueError: if the condition names an unknown column or keeps no row.
    """
    for part in filter(None, condition.split(" & ")):
        column, _, values = part.partition("=")
        if column not in rows[0]:
            raise ValueError(f"Unknown column {column!r}. The columns are: {', '.join(rows[0])}.")
        rows = [row for row in rows if row[column] in values.split("|")]
        if not rows:
            raise ValueError(f"No row has {part!r}.")
    return rows


def render_table(marker: str, page: Path) -> str:
    """Return the table that a marker asks for, and a link to the whole table if rows or columns are left out."""
    name, *options = marker.split("; ")
    given = dict(option.split(": ", 1) for option in options)
    rows = read_rows(name)
    chosen = select_rows(rows, given.get("where", ""))
    columns = given["columns"].split(" | ") if "columns" in given else list(rows[0])
    table = format_table(columns, [[row[column] for column in columns] for row in chosen])
    if len(chosen) == len(rows) and len(columns) == len(rows[0]):
        return table
    link = Path(os.path.relpath(DATA, page.parent), f"{name}.csv").as_posix()
    return f"{table}\n\nThe whole table has {len(rows)} rows and {len(rows[0])} columns: [{name}.csv]({link})."


def render_setup(marker: str) -> str:
    """Return a table of where each of the tables named comes from, and their commands."""
    provenance = read_provenance()
    names = marker.split()
    rows = [[f"`{name}`", *map(_format_cell, (provenance[name][key] for key in PROVENANCE))] for name in names]
    commands = dict.fromkeys(command for name in names for command in provenance[name].get(COMMANDS, ()))
    indented = "\n".join(f"    {line}" for command in commands for line in command.splitlines())
    parts = [format_table(["table", *PROVENANCE], rows), indented, *name_last_commits(provenance, names)]
    return "\n\n".join(filter(None, parts))


def name_last_commits(provenance: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> Iterator[str]:
    """Yield a line for each commit that was the last to reprint a table. It names the tables if others differ."""
    marks = {name: provenance[name][MARK] for name in names if MARK in provenance[name]}
    for commit in dict.fromkeys(marks.values()):
        own = [f"`{name}`" for name, mark in marks.items() if mark == commit]
        whose = "" if len(own) == len(names) else f"{', '.join(own)}: "
        yield f"{whose}{MARK if whose else MARK.capitalize()} `{commit}`."


def find_faults(provenance: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield what is wrong: a table without a command and without the mark, or with both, or a command of nothing."""
    for name, told in provenance.items():
        if bool(told.get(COMMANDS)) == bool(told.get(MARK)):
            yield f"{name}: it needs commands, or {MARK!r} with a commit, and not both"
        for command in told.get(COMMANDS, ()):
            yield from (f"{name}: {missing}" for missing in find_missing(command))


def find_missing(command: str) -> Iterator[str]:
    """Yield the modules, and the parts of experiments, that a command names and that do not exist."""
    for module in re.findall(r"python -m ([\w.]+)", command):
        try:
            spec = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            spec = None
        if spec is None:
            yield f"there is no module {module}"
    for experiment, word in COMMAND.findall(command):
        if experiment not in EXPERIMENTS or word not in EXPERIMENTS[experiment].parts:
            yield f"there is no experiment {experiment} {word}".rstrip()


def _format_cell(value: str | list[str]) -> str:
    return value if isinstance(value, str) else ", ".join(f"`{one}`" for one in value)


def fill_page(page: Path) -> str:
    """Return the text of a page with its tables written anew.

    Raises:
        ValueError: if a marker has no `<!-- end -->`.
    """

    def fill(found: re.Match[str]) -> str:
        kind, marker = found.groups()
        written = render_setup(marker) if kind == "setup" else render_table(marker, page)
        return f"<!-- {kind}: {marker} -->\n\n{written}\n\n<!-- end -->"

    text = page.read_text(encoding="utf-8")
    begun, ended = len(re.findall(r"^<!-- (?:table|setup): ", text, re.MULTILINE)), text.count("<!-- end -->")
    if not len(_MARKED.findall(text)) == begun == ended:
        raise ValueError(f"{page.name} has {begun} markers that begin and {ended} that end.")
    return _MARKED.sub(fill, text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables of all pages, or return 1 if `--check` finds a page that is out of date.

    Return 1, too, if a table has neither a command that exists nor a last commit.
    """
    parser = argparse.ArgumentParser(description="Write the tables of docs/results from their CSV files.")
    parser.add_argument("--check", action="store_true", help="change nothing; end with 1 if a page is out of date")
    check = parser.parse_args(arguments).check
    pages = [page for page in sorted(PAGES.glob("**/*.md")) if "<!-- end -->" in page.read_text(encoding="utf-8")]
    faults = list(find_faults(read_provenance()))
    for fault in faults:
        print(f"provenance.json, {fault}")
    old = [page for page in pages if fill_page(page) != page.read_text(encoding="utf-8")]
    said = "out of date: run python -m discreet_lab.docs_tables" if check else "written"
    for page in old:
        if not check:
            page.write_text(fill_page(page), encoding="utf-8")
        print(f"{page.relative_to(PAGES.parent)}: {said}")
    return int(bool(faults) or (check and bool(old)))


if __name__ == "__main__":
    sys.exit(main())

"""Write the table of a benchmark: Markdown on the screen, and CSV in a file with `--csv PATH`."""

import argparse
import csv
from collections.abc import Iterable, Sequence
from pathlib import Path


def add_csv_option(parser: argparse.ArgumentParser) -> None:
    """Add the option `--csv PATH`, whose value is the attribute `csv`."""
    parser.add_argument("--csv", type=Path, metavar="PATH", help="also write the rows as CSV, as in docs/results/data")


def name_part(path: Path | None, part: str) -> Path | None:
    """Return the path of a further table of one benchmark: `reach.csv` and `corpus` are `reach-corpus.csv`."""
    return path and path.with_name(f"{path.stem}-{part}{path.suffix}")


class TableWriter:
    """A table whose rows are printed as Markdown and written as CSV as soon as they are known."""

    def __init__(self, columns: Sequence[str], path: Path | None = None) -> None:
        self.path = path
        self.width = len(columns)
        if path is not None:
            path.write_text("", encoding="utf-8")
        self.write(columns)
        print("|" + " --- |" * self.width, flush=True)

    def write(self, cells: Sequence[str]) -> None:
        """Print a row, and append it to the file.

        Raises:
            ValueError: if the row has not one cell for each column.
        """
        if len(cells) != self.width:
            raise ValueError(f"The row has {len(cells)} cells, and the table has {self.width} columns: {cells!r}.")
        print("| " + " | ".join(cells) + " |", flush=True)
        if self.path is not None:
            with self.path.open("a", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerow(cells)


def write_table(columns: Sequence[str], rows: Iterable[Sequence[str]], path: Path | None = None) -> None:
    """Write a whole table."""
    writer = TableWriter(columns, path)
    for row in rows:
        writer.write(row)

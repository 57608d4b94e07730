"""The numbers of a statistic in a file: as CSV, or as a picture."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.algorithms.common.answer import Answer, Figure
from discreet.cli.output import err
from discreet.errors import UsageError
from discreet.planning.plot import check_plot
from discreet.system.output_path import check_output_path

COLUMNS = ("name", "kind", "value", "low", "high")
_BAR, _LEAST = 0.4, 1.5
"""The height of a bar, and the least height of a picture, in inches."""


@dataclass(frozen=True)
class TableFiles:
    """The files to which the numbers of an answer are written.

    Attributes:
        csv: a file with one row for each number; None for none.
        plot: a picture: .svg, .png or .pdf; None for none.
    """

    csv: Path | None = None
    plot: Path | None = None

    def check(self, questions: int, vault: Path) -> None:
        """Check the files before anything is paid.

        Raises:
            UsageError: if there are several questions, or a file cannot be written.
            MissingPart: if a picture is wanted and matplotlib is not installed.
        """
        if (self.csv or self.plot) and questions != 1:
            raise UsageError(f"--csv and --plot are for one question, not for {questions}. Ask them one by one.")
        for path in (self.csv, self.plot):
            if path is not None:
                check_output_path(path, vault, force=True)
        if self.plot is not None:
            check_plot(self.plot)

    def write(self, answer: Answer) -> None:
        """Write the numbers. An answer without numbers leaves the files, and a note says so."""
        if (self.csv or self.plot) and not answer.table:
            err.print("[yellow]Note:[/] the answer has no numbers, so no file was written.")
            return
        if self.csv is not None:
            with self.csv.open("w", newline="", encoding="utf-8") as file:
                rows = csv.writer(file)
                rows.writerow(COLUMNS)
                rows.writerows([getattr(figure, name) for name in COLUMNS] for figure in answer.table)
        if self.plot is not None:
            draw_table(answer.table, self.plot)


def draw_table(table: tuple[Figure, ...], out: Path) -> None:
    """Draw the numbers of the kind of the first one as bars, with their intervals."""
    import matplotlib
    from matplotlib.figure import Figure as Picture

    shown = [figure for figure in table if figure.kind == table[0].kind]
    names, values = [figure.name for figure in shown], [figure.value for figure in shown]
    ends = [
        [figure.value - figure.low for figure in shown],
        [figure.high - figure.value for figure in shown],
    ]
    with matplotlib.rc_context({"svg.hashsalt": "discreet", "svg.fonttype": "none"}):
        picture: Any = Picture(figsize=(8, max(_LEAST, _BAR * len(shown) + 1)), layout="constrained")
        axes = picture.subplots()
        axes.barh(range(len(shown)), values, xerr=ends, color="teal", alpha=0.7, capsize=3)
        axes.set_yticks(range(len(shown)), names, parse_math=False)
        axes.invert_yaxis()
        axes.set_xlabel(f"{shown[0].kind}, with 95 % intervals of the noise")
        picture.savefig(out, metadata={"Date": None} if out.suffix.lower() == ".svg" else None)

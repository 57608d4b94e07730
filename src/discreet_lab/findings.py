"""The findings of the five papers beside recorded figures, with a verdict that a rule decides.

    .venv/bin/python -m discreet_lab.findings    # writes docs/results/data/findings.csv

A difference outside of its margin (of confidence 0.95) speaks for a finding or against it; one within it leaves the
finding open. "contradicted" needs a reason whose cells, or whose test, measure it: else the finding is open, too.
"""

import csv
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from operator import gt, lt
from pathlib import Path
from typing import Any

import yaml

from discreet_lab.docs_tables import DATA, MARK, read_provenance, read_rows, select_rows
from discreet_lab.experiments.catalogue import ROOT

FILE, WRITTEN = Path(__file__).with_name("findings.yaml"), "findings"
COLUMNS = tuple("paper|where|finding|paper's|ours|margin|verdict|why ours differs|command|recorded at".split("|"))
NEAR = 0.2
"""The part by which cells may differ that are to be near each other."""
_CELL = re.compile(r"([\w-]+): (.+?)(?: #(\d))? \[(.*)\]")
_NUMBER = re.compile(r"(?:(?<!\d)-)?\d+(?:,\d{3})*(?:\.\d+)?")


@dataclass(frozen=True)
class RecordedFigure:
    """A recorded figure; its margin is None if it is not known, and 0 if the figure is exact."""

    value: float
    margin: float | None


def read_figure(told: str, of: int | None = None) -> RecordedFigure:
    """Return the figure of a cell, "TABLE: COLUMN [COLUMN=VALUE; ...]", or of a number.

    Args:
        told: the cell; "#2" behind its column takes the second number in it.
        of: the number of questions, for a margin of a mean of values between 0 and 1; 0 for an exact figure.

    Raises:
        ValueError: if not exactly one row has the values, or the cell has no number.
    """
    if (named := _CELL.fullmatch(told)) is None:
        return RecordedFigure(float(told), 0.0)
    table, column, place, condition = named.groups()
    rows = read_rows(table)
    for part in condition.split("; "):
        rows = select_rows(rows, part)
    cells = {row[column] for row in rows}
    if len(cells) != 1:
        raise ValueError(f"{told} is {len(cells)} cells, not one.")
    (cell,) = cells
    numbers = [float(number.replace(",", "")) for number in _NUMBER.findall(cell)]
    value = numbers[int(place or 1) - 1]
    if "±" in cell:
        return RecordedFigure(value, numbers[1])
    if len(numbers) == 3:  # an area with its interval
        return RecordedFigure(value, max(numbers[2] - value, value - numbers[1]))
    if "margin" in rows[0]:
        return RecordedFigure(value, float(rows[0]["margin"]))
    return RecordedFigure(value, 1.96 * math.sqrt(max(0.0, value * (1 - value)) / of) if of else of)


def is_measured(finding: Mapping[str, Any]) -> bool:
    """Return whether the reason of a finding's difference is true: by its cells, or by a test that exists."""
    if "because" in finding:
        left, relation, right = finding["because"]
        one, other = read_figure(left).value, read_figure(right).value
        near = abs(one - other) <= NEAR * abs(other)
        return {"<": one < other, ">": one > other, "near": near}[relation]
    file, _, name = finding.get("test", "").partition("::")
    return bool(name) and f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


def tell_commits(finding: Mapping[str, Any]) -> str:
    """Return the commits at which the tables of a finding were recorded, and whether a command of now reprints them."""
    cells = (_CELL.fullmatch(str(finding[side])) for side in ("left", "right"))
    recorded = [read_provenance()[table] for table in dict.fromkeys(cell[1] for cell in cells if cell)]
    marks = (f", not reprinted since {one[MARK]}" if MARK in one else "" for one in recorded)
    return "; ".join(f"{', '.join(one['commits'])}{mark}" for one, mark in zip(recorded, marks, strict=True))


def judge(finding: Mapping[str, Any]) -> dict[str, str]:
    """Return the row of a finding."""
    left, right = (read_figure(str(finding[side]), finding.get("of")) for side in ("left", "right"))
    with_margins = left.margin is not None and right.margin is not None
    margin = math.hypot(left.margin or 0.0, right.margin or 0.0) + finding.get("apart", 0.0) * abs(right.value)
    apart, relation = abs(left.value - right.value) > margin, finding["is"]
    holds = not apart if relation == "=" else {">": gt, "<": lt}[relation](left.value, right.value)
    decided = with_margins and (apart or relation == "=")
    verdict = "reproduced" if holds and decided else "open"
    if decided and not holds and is_measured(finding):
        verdict = "refuted" if finding.get("refuted") else "contradicted"
    place = f"{'outside' if apart else 'within'} the margin of {margin:.2g}" if margin else "exact"
    said = (place if with_margins else "no margin recorded") + "; the direction is the paper's" * (
        holds and verdict == "open"
    )
    why = finding.get("why", "") if verdict in ("contradicted", "refuted") else ""
    ours = f"{left.value:g} {'and' if relation == '=' else 'against'} {right.value:g}"
    named = (finding["paper"], finding["where"], finding["says"], str(finding["printed"]))
    last = f"`discreet bench {finding['table']}`", tell_commits(finding)
    return dict(zip(COLUMNS, (*named, ours, said, verdict, why, *last), strict=True))


def read_findings() -> list[dict[str, Any]]:
    """Return the findings with their cells."""
    findings: list[dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return findings


def write_findings() -> None:
    """Write the table of all findings."""
    with (DATA / f"{WRITTEN}.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(map(judge, read_findings()))


if __name__ == "__main__":
    write_findings()

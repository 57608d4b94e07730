"""The benchmark of the start: medians of ways that take turns, and their ratios to the cold one."""

import csv
import time
from pathlib import Path

import pytest
from benchmarks.cold_start import COLD, COLUMNS, QUESTIONS, SERVED, check_answer, measure
from benchmarks.writing import TableWriter


def test_ways_take_turns_and_are_compared_with_the_cold_one(tmp_path: Path) -> None:
    asked = list[str]()

    def cold(question: str) -> None:
        asked.append(COLD)
        time.sleep(0.2)

    def served(question: str) -> None:
        asked.append(SERVED)

    measure({COLD: cold, SERVED: served}, list(QUESTIONS), 3, TableWriter(COLUMNS, tmp_path / "cold.csv"))
    assert asked == [COLD, SERVED] * 3 * len(QUESTIONS)
    with (tmp_path / "cold.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["question"], row["asked"]) for row in rows] == [
        (kind, way) for kind in QUESTIONS for way in (COLD, SERVED)
    ]
    for row in rows:
        ratio = float(row["cold / these"])
        assert ratio == 1 if row["asked"] == COLD else ratio > 1


def test_command_without_an_answer_ends_the_run() -> None:
    check_answer('{"stopped": "end"}')
    with pytest.raises(SystemExit, match="no answer"):
        check_answer('{"error": "no"}')

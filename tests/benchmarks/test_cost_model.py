"""The estimate of a large vault's cost: arithmetic from measured tables, for the numbers of records that they have."""

import csv
from pathlib import Path

import pytest
from benchmarks.cost_model import by_rate, main, sizes, value


def test_numbers_of_records_are_those_of_the_measured_table() -> None:
    assert "1,000,000" in sizes()
    assert "100,000" not in sizes()


def test_what_takes_a_time_for_each_record_is_the_rate_times_their_number() -> None:
    part, told, source, *hours = by_rate("a part", "100/s", 100.0, "a table")
    assert (part, told, source) == ("a part", "100/s", "a table")
    assert hours[sizes().index("1,000,000")] == "2.8 h"


def test_questions_of_a_day_are_those_of_one_thread(tmp_path: Path) -> None:
    main(["--questions", "500", "--csv", str(tmp_path / "cost.csv")])
    with (tmp_path / "cost.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["part"]: row for row in csv.DictReader(file)}
    hours = float(rows["500 questions a day, voters that read"]["1,000,000"].removesuffix(" h"))
    most = float(rows["the most questions a day, voters that read"]["1,000,000"].replace(",", ""))
    assert 500 / most * 24 == pytest.approx(hours, abs=0.06)


def test_row_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="0 rows"):
        value("read-votes", "accuracy", votes_by="no such way")

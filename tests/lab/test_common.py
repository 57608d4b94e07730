"""Experiments print their tables, and write the same rows as CSV."""

import argparse
import csv
from pathlib import Path

import pytest

from discreet.generation.loading import PACKAGED
from discreet_lab.experiments.common import (
    TableWriter,
    add_csv_option,
    add_model_option,
    model_name,
    name_part,
    write_table,
)


def test_csv_has_the_rows_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "speed.csv"
    write_table(["target", "inputs"], [["records, a.csv", "1,171"]], path)
    with path.open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [["target", "inputs"], ["records, a.csv", "1,171"]]
    assert capsys.readouterr().out == "| target | inputs |\n| --- | --- |\n| records, a.csv | 1,171 |\n"


def test_rows_are_in_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "speed.csv"
    path.write_text("old\n")
    TableWriter(["k"], path).write(["8"])
    assert path.read_text() == "k\n8\n"


def test_write_rejects_a_row_of_another_width() -> None:
    with pytest.raises(ValueError, match="1 cells, and the table has 2 columns"):
        TableWriter(["k", "quality"]).write(["8"])


def test_further_tables_have_their_own_file() -> None:
    assert name_part(Path("reach.csv"), "corpus") == Path("reach-corpus.csv")
    assert name_part(None, "corpus") is None


def test_option_gives_a_path() -> None:
    parser = argparse.ArgumentParser()
    add_csv_option(parser)
    assert parser.parse_args(["--csv", "reach.csv"]).csv == Path("reach.csv")
    assert parser.parse_args([]).csv is None


def test_model_option_is_none_unless_given() -> None:
    parser = argparse.ArgumentParser()
    add_model_option(parser)
    assert model_name(parser.parse_args([]).model) == PACKAGED
    assert model_name(parser.parse_args(["--model", "big"]).model) == "big"

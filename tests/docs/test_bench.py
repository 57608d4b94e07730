"""The bench of papers: its commands exist, and its figures are those of the results' data."""

import csv
import re
from importlib import import_module
from pathlib import Path

import pytest
from typer.main import get_command

from discreet.cli.app import app
from discreet.registry import ALGORITHMS
from discreet.synthesis.runner import METHODS
from discreet_lab import docs_tables
from discreet_lab.bench.tables import TABLES
from discreet_lab.docs_tables import find_missing
from discreet_lab.experiments.__main__ import load_part
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "results" / "bench.md"
CELLS = [cell.strip() for line in PAGE.read_text().splitlines() if line.startswith("|") for cell in line.split("|")]
COMMANDS = sorted({one for cell in CELLS for one in re.findall(r"`((?:discreet|python -m) [^`]+)`", cell)})
FIGURES = [cell for cell in CELLS if "](data/" in cell]
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+")


def numbers_of(name: str) -> set[str]:
    rows = csv.reader((docs_tables.DATA / f"{name}.csv").read_text().splitlines())
    return {number for row in rows for cell in row for number in NUMBER.findall(cell)}


@pytest.mark.parametrize("cell", FIGURES, ids=lambda cell: cell[:40])
def test_figure_is_in_its_file(cell: str) -> None:
    names = re.findall(r"\[[\w-]+\]\(data/([\w-]+)\.csv\)", cell)
    assert names
    known = set().union(*map(numbers_of, names))
    assert set(NUMBER.findall(re.sub(r"\[.*?\]\(.*?\)", "", cell))) - known - {"0.095"} == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_command_exists(command: str) -> None:
    words = re.sub(r'"[^"]*"', "TEXT", command).split()
    options = {word for word in words if word.startswith("--")}
    if words[0] == "python":
        assert list(find_missing(command)) == []
        module = import_module(load_part(words[3], words[4]).__module__)
        source = Path(str(module.__file__)).read_text() + '"--csv"'
        assert {option for option in options if f'"{option}"' not in source} == set()
        return
    found = get_command(app).get_command(None, words[1])  # type: ignore[attr-defined]
    known = {option for parameter in found.params for option in parameter.opts}
    if words[1] == "claim":
        assert words[2] in found.commands
    if words[1] == "bench":
        assert words[2] in TABLES
    assert options - known == set()


def test_each_table_of_the_bench_has_a_row() -> None:
    assert {words.split()[2] for words in COMMANDS if words.startswith("discreet bench")} == set(TABLES)


def test_systems_exist() -> None:
    named = {name for command in COMMANDS for name in re.findall(r"--algorithm (\S+)|--method (\S+)", command)}
    assert {one for pair in named for one in pair if one} <= ALGORITHMS.keys() | METHODS.keys()
    assert len(COMMANDS) > 30
    assert len(FIGURES) > 30

"""The report names tests, commands, figures and sources that exist."""

import csv
import re
from pathlib import Path

import pytest

from discreet_lab.docs_tables import find_missing

ROOT = Path(__file__).parents[2]
REPORT = (ROOT / "docs/report/report.md").read_text(encoding="utf-8")
BIBLIOGRAPHY = (ROOT / "docs/report/references.bib").read_text(encoding="utf-8")
DATA = ROOT / "docs/results/data"
FIGURE = re.compile(r"^!\[[^\]]+\]\((\S+)\)\n\*Figure (\d+): (.*?)\*$", re.MULTILINE | re.DOTALL)


def test_report_names_tests_that_exist() -> None:
    named = re.findall(r"`(tests/\S+\.py)`", REPORT)
    assert len(named) > 5
    assert all((ROOT / path).is_file() for path in named)


def test_report_names_a_test_and_its_file_has_it() -> None:
    named = re.findall(r"`(tests/\S+\.py)`: `(test_\w+)`", REPORT)
    assert len(named) == len(re.findall(r"`test_\w+`", REPORT)) == len(re.findall(r"`tests/\S+\.py`", REPORT))
    for path, name in named:
        assert re.search(rf"^ *def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), (path, name)


def test_figures_exist_and_their_captions_say_the_command() -> None:
    found = FIGURE.findall(REPORT)
    assert len(found) == REPORT.count("![") >= 2
    assert [int(number) for _, number, _ in found] == list(range(1, len(found) + 1))
    for path, number, caption in found:
        assert (ROOT / "docs/report" / path).is_file()
        commands = re.findall(r"`(python -m [^`]+)`", caption)
        assert commands or "Not reprinted since" in caption
        assert not [missing for command in commands for missing in find_missing(command)]
        assert len(re.findall(rf"Figure {number}\b", REPORT)) >= 2  # the text speaks of it


def test_report_cites_what_the_bibliography_has_and_all_of_it() -> None:
    cited = set(re.findall(r"@([a-z]+\d*)", REPORT))
    assert cited == set(re.findall(r"^@\w+\{([a-z]+\d*),", BIBLIOGRAPHY, re.MULTILINE))


def test_citation_names_the_report() -> None:
    assert "docs/report/report.md" in (ROOT / "CITATION.cff").read_text()


@pytest.mark.parametrize(
    ("name", "row", "column", "said"),
    [
        ("audit-twins", "an index trained on the vault", "shown", "a loss of at least 3.08 for a claimed 2 "),
        ("peers-pairs", "which pads the others", "measured", "scores of other records moved by 0.63"),
        ("fuzz", "all", "inputs", "Of 100,010 inputs with random damage"),
        ("fuzz", "all", "done", "30,753 are still valid"),
        ("read-votes", "readings", "accuracy", "0.90 of 48 questions"),
        ("read-votes", "readings", "median seconds", "in 0.07 s"),
        ("read-votes", "plain RAG", "accuracy", "plain RAG 0.83 in"),
        ("read-votes-nq", "voters that read", "accuracy", "voters that read 0.58"),
        ("read-votes-nq", "readings", "accuracy", "they have 0.08"),
        ("read-votes-nq", "plain RAG", "accuracy", "plain RAG 0.42"),
        ("peers-few-shot", "DP few-shot generation", "claimed epsilon", "for a claimed 9.81"),
        ("attack-votes", "sound", "advantage", "an advantage of 0.97"),
    ],
)
def test_figure_in_a_sentence_is_that_of_the_data(name: str, row: str, column: str, said: str) -> None:
    """The first row that has `row` holds a number that the sentence rounds."""
    assert said in " ".join(REPORT.split())
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        found = next(one for one in csv.DictReader(file) if any(row in value for value in one.values()))
    cell = next(value for key, value in found.items() if column in key)
    numbers = [float(one.replace(",", "")) for one in re.findall(r"\d[\d,]*(?:\.\d+)?", said)]
    stated = [float(one.replace(",", "")) for one in re.findall(r"\d[\d,]*(?:\.\d+)?", cell)]
    assert any(abs(number - one) <= 0.005 + 1e-9 for number in numbers for one in stated), (cell, said)

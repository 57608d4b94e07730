"""The report names tests, commands, figures and sources that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
REPORT = (ROOT / "docs/report/report.md").read_text(encoding="utf-8")
BIBLIOGRAPHY = (ROOT / "docs/report/references.bib").read_text(encoding="utf-8")
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
        (module,) = re.findall(r"`python -m benchmarks\.(\w+) ", caption)
        assert (ROOT / "benchmarks" / f"{module}.py").is_file()
        assert len(re.findall(rf"Figure {number}\b", REPORT)) >= 2  # the text speaks of it


def test_report_cites_what_the_bibliography_has_and_all_of_it() -> None:
    cited = set(re.findall(r"@([a-z]+\d*)", REPORT))
    assert cited == set(re.findall(r"^@\w+\{([a-z]+\d*),", BIBLIOGRAPHY, re.MULTILINE))


def test_titles_keep_their_capitals_and_numbers_of_arxiv_are_printed() -> None:
    """A title in one pair of braces is lowered by the style, and a note is not printed."""
    entries = BIBLIOGRAPHY.strip().splitlines()
    assert all(re.search(r", title=\{\{.+?\}\}", entry) for entry in entries)
    assert not re.search(r"note=", BIBLIOGRAPHY)


def test_citation_names_the_report() -> None:
    assert "docs/report/report.md" in (ROOT / "CITATION.cff").read_text()

"""The report names tests, commands and sources that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
REPORT = (ROOT / "docs/report/report.md").read_text()


def test_report_names_tests_that_exist() -> None:
    named = re.findall(r"`(tests/\S+\.py)`", REPORT)
    assert len(named) > 5
    assert all((ROOT / path).is_file() for path in named)


def test_report_cites_what_the_bibliography_has_and_all_of_it() -> None:
    cited = set(re.findall(r"@([a-z]+\d{4})", REPORT))
    assert cited == set(re.findall(r"^@\w+\{([a-z]+\d{4}),", (ROOT / "docs/report/references.bib").read_text(), re.M))


def test_citation_names_the_report() -> None:
    assert "docs/report/report.md" in (ROOT / "CITATION.cff").read_text()

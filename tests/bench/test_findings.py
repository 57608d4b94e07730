"""The findings of the papers: the recorded table is what the rule says of recorded cells, and each reason is true."""

import csv
import re
from typing import Any

import pytest

from discreet_lab.bench.tables import TABLES
from discreet_lab.docs_tables import DATA
from discreet_lab.findings import COLUMNS, WRITTEN, is_measured, judge, read_figure, read_findings

FINDINGS = read_findings()
WITH_REASON = [finding for finding in FINDINGS if "why" in finding]
VERDICTS = ("reproduced", "open", "contradicted", "refuted")


def name_of(finding: dict[str, Any]) -> str:
    return str(finding["says"])[:50]


def test_written_table_is_that_of_the_recorded_figures() -> None:
    with (DATA / f"{WRITTEN}.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.DictReader(file)) == [judge(finding) for finding in FINDINGS]
    assert len(FINDINGS) == 47


@pytest.mark.parametrize("finding", FINDINGS, ids=name_of)
def test_finding_has_a_command_and_a_verdict(finding: dict[str, Any]) -> None:
    row = judge(finding)
    assert tuple(row) == COLUMNS
    assert finding["table"] in TABLES
    assert row["verdict"] in VERDICTS
    assert bool(row["why ours differs"]) is (row["verdict"] in ("contradicted", "refuted"))


@pytest.mark.parametrize("finding", WITH_REASON, ids=name_of)
def test_printed_reason_is_true(finding: dict[str, Any]) -> None:
    """Its cells have the order that it states, or its test exists; and its numbers stand in these cells."""
    assert is_measured(finding)
    cells = {read_figure(one).value for one in finding.get("because", ())[::2]}
    for number in re.findall(r"\b\d\.\d+", finding["why"]):
        assert float(number) in cells

"""`discreet audit`: what it prints, and with which exit code it ends."""

import json

import pytest

from discreet.cli import output
from discreet_lab.audit.mechanisms import MechanismCase
from tests.cli.running import run, said

QUICK = ("--draws", 1000, "--seed", 3)


def test_sound_mechanism_shows_no_violation() -> None:
    result = run("audit", "noisy-count", "exponential", *QUICK)
    assert result.exit_code == 0
    assert "No violation found in 4 audits. This is no proof" in said(result)
    assert "confidence 0.95" in said(result)
    assert "seeded noise (3)" in said(result)


def test_same_as_one_object_and_as_a_table_for_a_page() -> None:
    told = json.loads(run("audit", "noisy-count", *QUICK, "--json").stdout)
    assert told["violations"] == 0
    assert [row["name"] for row in told["rows"]] == ["noisy-count"] * 2
    assert all(row["at_least"] <= row["claimed"] == pytest.approx(1.0) for row in told["rows"])
    assert {row["verdict"] for row in told["rows"]} == {"no violation found"}
    page = run("audit", "noisy-count", *QUICK, "--markdown").stdout
    assert page.splitlines()[1].startswith("| --- |")
    assert page == run("audit", "noisy-count", *QUICK, "--markdown").stdout  # printed again
    assert "| 2.000 |" in run("audit", "noisy-count", *QUICK, "--markdown", "--epsilon", 2).stdout


def test_without_a_seed_noise_is_the_operating_systems() -> None:
    # More than a hundred trials could find, whatever is drawn.
    result = run("audit", "noisy-count", "--draws", 200, "--epsilon", 8)
    assert result.exit_code == 0
    assert "the operating system's noise" in said(result)


def test_broken_twins_are_flagged_or_said_to_be_missed() -> None:
    result = run("audit", "noisy-count", "--twins", "--seed", 3, "--draws", 4000)
    assert (result.exit_code, "All 2 broken twins were flagged" in said(result)) == (0, True)
    missed = run("audit", "threshold-choice", "--twins", "--seed", 3, "--draws", 100, "--json")
    assert missed.exit_code == 1
    assert json.loads(missed.stdout)["rows"][0]["verdict"] == "MISSED"


def test_violation_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MechanismCase, "claim", property(lambda self: (0.1, 0.0)))
    result = run("audit", "noisy-count", *QUICK)
    assert result.exit_code == 1
    assert "VIOLATION: the privacy loss of noisy-count exceeds the claim" in said(result)


def test_narrow_terminal_cuts_no_name_and_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output.out, "_width", 80)
    shown = run("audit", "noisy-count", "threshold-choice", "--twins", "--draws", 200, "--seed", 3).stdout
    assert "\u2026" not in shown  # the mark of a cell that was cut
    assert "\nRows with the verdict flagged: noisy-count (1)\n" in shown
    assert "\nRows with the verdict MISSED: threshold-choice (1), noisy-count (1)\n" in shown
    assert "verdict no violation found" not in run("audit", "noisy-count", "--draws", 100, "--seed", 3).stdout


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        (("noisycount",), "Did you mean noisy-count"),
        (("murag", "nothing"), "Known: adaptive"),
        (("noisy-count", "--epsilon", 0), "between 0.01 and 20"),
        (("noisy-count", "--epsilon", "nan"), "between 0.01 and 20"),
        (("noisy-count", "--draws", 5), "--draws"),
    ],
)
def test_wrong_use(wrong: tuple[object, ...], hint: str) -> None:
    result = run("audit", *wrong)
    assert result.exit_code == 2
    assert hint in said(result)

"""The differencing attacker of statistics: what is paid, what is free, and what is left when nothing is left to pay."""

from dataclasses import replace
from pathlib import Path

import pytest

from discreet.privacy.accounting import Budget
from discreet.vault import Vault
from discreet_lab.experiments.attacks import DELTA, Attempt, attempts, drawn, pair_of, people_for, vault_of

PEOPLE, USES, QUIET = 8, 5, 1e-4
GRANT = Budget(3.0, DELTA, 0.5 * DELTA)
KNOWN = {attempt.label: attempt for attempt in attempts(USES)}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Vault, Vault]:
    folder = tmp_path_factory.mktemp("vaults")
    return vault_of(folder / "without", PEOPLE), vault_of(folder / "with", PEOPLE + 1)


def scores(
    pair: tuple[Vault, Vault], attempt: Attempt, folder: Path, people: int = PEOPLE
) -> tuple[tuple[float, int], ...]:
    """The score without the person and with it, nearly without noise, and the number of payments."""
    quiet = replace(attempt, part=QUIET)
    return tuple(drawn(vault, quiet, GRANT, people, 0, folder / "history.jsonl") for vault in pair)


@pytest.mark.parametrize("label", ["one count", "many counts", "complements", "shares"])
def test_person_is_in_each_number(pair: tuple[Vault, Vault], label: str, tmp_path: Path) -> None:
    (without, paid), (within, as_many) = scores(pair, KNOWN[label], tmp_path)
    assert without < 0 < within
    assert paid == as_many == len(KNOWN[label].asked)


def test_nothing_is_told_when_nothing_is_left(pair: tuple[Vault, Vault], tmp_path: Path) -> None:
    (without, _), (within, _) = scores(pair, KNOWN["those that it does not pay for"], tmp_path)
    assert without == within


def test_broken_twin_without_a_cap_pays_for_all(pair: tuple[Vault, Vault], tmp_path: Path) -> None:
    (without, paid), (within, _) = scores(pair, KNOWN["BROKEN: no cap"], tmp_path)
    assert paid == 30
    assert without < 0 < within


def test_each_statement_of_a_summary_holds_the_person(tmp_path: Path) -> None:
    asked = KNOWN["a summary"]
    people = people_for(asked, GRANT, PEOPLE)
    (without, _), (within, paid) = scores(pair_of(tmp_path, asked, people), asked, tmp_path, people)
    assert without == pytest.approx(-within)
    assert without < 0 < within
    assert paid == 1


@pytest.mark.parametrize(
    ("label", "seen"), [("what only one states", 0), ("BROKEN: no threshold for what only one states", 1)]
)
def test_what_only_one_states_is_told_without_a_threshold_alone(label: str, seen: int, tmp_path: Path) -> None:
    asked = KNOWN[label]
    (without, _), (within, _) = (
        drawn(vault, asked, GRANT, PEOPLE, 0, tmp_path / "history.jsonl") for vault in pair_of(tmp_path, asked, PEOPLE)
    )
    assert (without, within) == (0, seen)

"""What the default quantum is measured on: public numbers alone, and a statistic at the declared size."""

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discreet.models.toy import ToyModel
from discreet.store.documents import Document
from discreet.vault import Vault
from discreet_server.keeper import measuring
from discreet_server.keeper.measuring import measure_longest, what_is_not_covered

WARM = ["count", "list", "count"]
MEASURED = [*WARM, "list"]
"""The last one is the cheapest list: its noise takes as long as an answer of the model may."""


class Served:
    """As much of a served vault as is measured."""

    presets: tuple[Any, ...] = ()

    def __init__(self, vault: Vault) -> None:
        self.vault = vault


def made(path: Path, people: int, units: int = 3) -> Any:
    Vault.create(path, epsilon=20, delta=1e-6, unit_field="patient", embedder="hashing", people=people)
    vault = Vault.open(path, model=ToyModel(default="nothing"))
    vault.add_documents(Document(f"d{number}", f"p{number}", "numb thumbs") for number in range(units))
    return Served(vault)


def measured(
    served: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, load: float = 0.0
) -> tuple[int, list[str], float]:
    """Return the dummies, the statistics that were asked of them, and the seconds of such an answer."""
    dummies, asked = list[Document](), list[str]()
    add, ask = Vault.add_documents, Vault.ask

    def noted(dummy: Vault, documents: Iterable[Document], *others: Any, **named: Any) -> Any:
        dummies.extend(found := list(documents))
        return add(dummy, found, *others, **named)

    def told(dummy: Vault, question: str, statistic: Any, **how: Any) -> Any:
        asked.append(statistic.name)
        return ask(dummy, question, statistic, **how)

    with monkeypatch.context() as patch:
        patch.setattr(Vault, "add_documents", noted)
        patch.setattr(Vault, "ask", told)
        patch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
        folder.mkdir(exist_ok=True)
        longest = measure_longest(served, folder, lambda _: None)
    return len(dummies), asked, longest["records"]


def test_a_statistic_is_measured_at_the_declared_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = made(tmp_path / "v", people=150)
    units, asked, longest = measured(served, tmp_path / "run", monkeypatch)
    assert (units, asked) == (150, MEASURED)
    assert longest > 0
    assert what_is_not_covered(served.vault.settings) == ""
    assert served.vault.ledger.questions() == []


def test_what_is_measured_does_not_follow_the_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two neighbouring vaults; a measurement at the true size would tell them apart."""
    vaults = [made(tmp_path / f"v{units}", 120, units) for units in (110, 111)]
    found = [measured(one, tmp_path / f"run{n}", monkeypatch)[:2] for n, one in enumerate(vaults)]
    assert found[0] == found[1] == (120, MEASURED)


def test_serve_says_what_the_quantum_does_not_cover(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "MOST_UNITS", 110)
    undeclared, large = made(tmp_path / "v", people=0), made(tmp_path / "w", people=5000)
    assert measured(undeclared, tmp_path / "run", monkeypatch) == (100, [], 0.0)  # the time of the model's answers
    assert measured(large, tmp_path / "again", monkeypatch)[:2] == (110, MEASURED)
    assert what_is_not_covered(undeclared.vault.settings) == "the vault declares no number of people"
    assert what_is_not_covered(large.vault.settings) == "it was measured on 110 units"
    elsewhere = replace(large.vault.settings, people=50, ledger="postgresql://db/x")
    assert "this one in a database" in what_is_not_covered(elsewhere)
    assert what_is_not_covered(replace(elsewhere, payment="corpus")) == ""  # it has no statistics


def test_what_was_measured_is_kept_unless_the_machine_was_busy_or_a_setting_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served, kept = made(tmp_path / "v", people=150), (100, WARM)  # a process still warms up
    every, first = (150, MEASURED), tmp_path / "run"
    assert measured(served, first, monkeypatch, load=1e3)[:2] == every
    assert measured(served, first, monkeypatch)[:2] == every
    known = measured(served, first, monkeypatch)
    assert known[:2] == kept
    assert measured(served, first, monkeypatch) == known
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert measured(served, first, monkeypatch)[:2] == every

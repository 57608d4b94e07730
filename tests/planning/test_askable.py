"""An empty vault says so; what it says follows from the custodian's acts, never from a record."""

from pathlib import Path

import pytest

from discreet.algorithms.consensus import Consensus
from discreet.algorithms.ensemble import VoterConfig
from discreet.algorithms.murag import MuRAGAda
from discreet.errors import BadData, UsageError
from discreet.models.toy import ToyModel
from discreet.planning.prices import (
    check_askable,
    fewest_units,
    is_empty,
    too_few,
    usual_algorithm,
    vault_budget,
)
from discreet.store.documents import Document
from discreet.vault import Vault


def asked(vault: Vault, algorithm: MuRAGAda | None = None) -> None:
    check_askable(vault.path, vault.settings, algorithm or MuRAGAda(), vault.ledger.budget)


def test_empty_vault_refuses_and_charges_nothing(vault: Vault) -> None:
    with pytest.raises(UsageError, match="discreet add"):
        vault.ask("Why?")
    assert not vault.ledger.questions()
    assert not vault.components.built & {"model", "embedder"}


def test_add_that_was_refused_is_none(vault: Vault, tmp_path: Path) -> None:
    with pytest.raises((UsageError, BadData)):
        vault.add(tmp_path / "nowhere.jsonl")
    assert is_empty(vault.path)


def test_what_is_free_is_answered_all_the_same(vault: Vault) -> None:
    from discreet.baselines import NonRAG

    vault = Vault.open(vault.path, model=ToyModel())
    check_askable(vault.path, vault.settings, NonRAG(), vault.ledger.budget)


def test_fewer_people_than_any_answer_needs(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, embedder="hashing", people=6)
    vault.add_documents([])
    with pytest.raises(UsageError, match="at least 7"):
        vault.ask("Why?")
    assert not vault.ledger.questions()
    asked(vault, MuRAGAda(inner=Consensus(choices=("yes", "no"))))
    assert Vault.open(vault.path).settings.people == 6


def test_declared_number_decides_not_the_stored_units(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, embedder="hashing", people=5000)
    vault.add_documents([Document("a", "ada", "say: fever .")])
    asked(vault)
    assert "holds 1 unit." in too_few(vault.settings, 1)
    assert too_few(vault.settings, 15) == ""


@pytest.mark.parametrize("payment", ["unit", "corpus"])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 5, 20, 100])
def test_as_many_units_as_voters_are_never_too_few(payment: str, epsilon: float) -> None:
    for delta in (1e-12, 1e-6, 1e-3):
        assert fewest_units(usual_algorithm(payment), vault_budget(epsilon, delta)) <= VoterConfig.voters

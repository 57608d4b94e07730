"""By what the usual target of `discreet attack` votes: as `discreet ask` does."""

import pytest

from discreet.cli.attack import usual_votes
from discreet.generation.toy import ToyModel
from discreet.retrieval.documents import Document
from discreet.vault import Vault

WORDS = ["treatment", "is", "sand"]


@pytest.fixture
def notes(vault: Vault) -> Vault:
    vault = Vault.open(vault.path, model=ToyModel(WORDS, default="is", size=4))
    vault.add_documents([Document("a", "one", "say: treatment is sand .")])
    return vault


def test_unread_vault_is_attacked_with_a_model(notes: Vault) -> None:
    assert usual_votes(notes, None) == {}


def test_read_vault_is_attacked_by_what_was_read(notes: Vault) -> None:
    notes.read()
    assert usual_votes(notes, None) == usual_votes(notes, ["voters=10"]) == {"readings": True}


@pytest.mark.parametrize("param", ["readings=false", "prefix=It is", "document_tokens=64"])
def test_parameter_of_the_model_decides(notes: Vault, param: str) -> None:
    notes.read()
    assert usual_votes(notes, [param]) == {}

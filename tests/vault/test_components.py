"""What a vault loads, and when: a refusal and a free answer need no model."""

import subprocess
import sys
from pathlib import Path

import pytest

from discreet.errors import StoreError, UnknownName
from discreet.models.toy import ToyModel
from discreet.query.answer_cache import Released
from discreet.store.documents import Document
from discreet.store.embedding import Deferred, HashingEmbedder, deferred_embedder
from discreet.vault import Vault

HEAVY = {"torch", "transformers"}
START = "import sys; from discreet.errors import DiscreetError; from discreet.vault import Vault; "
END = f"; print(sorted({HEAVY} & set(sys.modules)))"


def loaded(code: str) -> str:
    """What of torch and transformers a program has loaded at its end, after what it printed."""
    ended = subprocess.run([sys.executable, "-c", START + code + END], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture
def default(tmp_path: Path) -> Path:
    """A vault with the default embedder and model, and one answer that was released."""
    Vault.create(tmp_path / "v", epsilon=20, delta=1e-6)
    vault = Vault.open(tmp_path / "v", embedder=HashingEmbedder())
    vault.add_documents([Document("1", "ada", "numb thumbs: winterhand")])
    vault.history.add(Released("What helps against numb thumbs?", "winterhand", "end", "murag-ada", 1))
    return vault.path


CALLS = {
    "ask('What is the treatment for Zonkitis?', make_algorithm('murag-ada', {'epsilon': 50}))": "BudgetExhausted",
    "ask('What is the treatment for Zonkitis?', make_algorithm('rag', {}))": "UsageError",
    "ask('  ')": "UsageError",
    "add('/nowhere/notes.jsonl')": "UsageError",
    "add(NOTES, text_field='tekst')": "BadData",
    "ask('What helps against numb thumbs?').text": "winterhand",  # it was released before
}


def test_a_refusal_and_a_free_answer_load_no_model(default: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.csv"
    notes.write_text("unit,note\nada,numb thumbs\n")
    program = (
        f"from discreet.registry import make_algorithm\nNOTES, vault = {str(notes)!r}, Vault.open({str(default)!r})\n"
    )
    for call in CALLS:
        program += f"try:\n    print(vault.{call})\nexcept DiscreetError as error:\n    print(type(error).__name__)\n"
    assert loaded(f"exec({program!r})").split("\n") == [*CALLS.values(), "[]", ""]


def test_an_embedder_that_does_not_fit_the_store_is_refused() -> None:
    with pytest.raises(StoreError, match="384"):
        deferred_embedder("hashing", 384)
    with pytest.raises(StoreError, match="384"):
        _ = Deferred("hashing", 384).loaded


def test_what_cannot_be_loaded_fails_before_anything_is_paid(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, embedder="hashing")
    vault.add_documents([Document("1", "ada", "numb thumbs: winterhand")])
    vault = Vault.open(vault.path, model=ToyModel(["winterhand"]), embedder=Deferred("no-such-embedder", 1024))
    with pytest.raises(UnknownName):
        vault.ask("What helps against numb thumbs?")
    assert not vault.ledger.questions()

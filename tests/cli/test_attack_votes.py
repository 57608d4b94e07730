"""By what the vault's own algorithm votes in `discreet attack` and `discreet eval`: as in `discreet ask`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.cli.kinds import reads_before
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
    assert not reads_before(notes, None)


def test_read_vault_is_attacked_by_what_was_read(notes: Vault) -> None:
    notes.read()
    assert reads_before(notes, None)
    assert reads_before(notes, ["voters=10"])
    assert reads_before(notes, None, "What is the treatment?")
    assert not reads_before(notes, None, "Who sang the song?")


@pytest.mark.parametrize("param", ["readings=false", "prefix=It is", "document_tokens=64"])
def test_parameter_of_the_model_decides(notes: Vault, param: str) -> None:
    notes.read()
    assert not reads_before(notes, [param])


def test_eval_reads_with_a_model_what_names_no_attribute(notes: Vault, tmp_path: Path) -> None:
    notes.read()
    questions, answers = tmp_path / "questions.jsonl", tmp_path / "answers.jsonl"
    asked = ("What is the treatment?", "Who sang the song?")
    questions.write_text("".join(json.dumps({"question": one, "answers": ["sand"]}) + "\n" for one in asked))
    found = CliRunner().invoke(app, ["eval", str(notes.path), str(questions), "--out", str(answers)])
    assert found.exit_code == 0, found.output
    assert "Questions that name an attribute: 1 of 2, answered by what was read" in " ".join(found.output.split())
    by_readings = [json.loads(line)["parameters"]["inner"]["readings"] for line in answers.read_text().splitlines()]
    assert by_readings == [True, False]

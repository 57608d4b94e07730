"""By what the vault's own algorithm votes in `discreet attack` and `discreet eval`: as in `discreet ask`."""

import json
from pathlib import Path

import pytest

from discreet.models.toy import ToyModel
from discreet.store.documents import Document
from discreet.vault import Vault
from tests.cli.running import run

WORDS = ["treatment", "is", "sand"]


@pytest.fixture
def notes(vault: Vault) -> Vault:
    vault = Vault.open(vault.path, model=ToyModel(WORDS, default="is", size=4))
    vault.add_documents([Document("a", "one", "say: treatment is sand .")])
    return vault


def test_eval_reads_with_a_model_what_names_no_attribute(notes: Vault, tmp_path: Path) -> None:
    notes.read()
    questions, answers = tmp_path / "questions.jsonl", tmp_path / "answers.jsonl"
    asked = ("What is the treatment?", "Who sang the song?")
    questions.write_text("".join(json.dumps({"question": one, "answers": ["sand"]}) + "\n" for one in asked))
    found = run("eval", str(notes.path), str(questions), "--out", str(answers))
    assert found.exit_code == 0, found.output
    assert "Questions that name an attribute: 1 of 2, answered by what was read" in " ".join(found.output.split())
    by_readings = [json.loads(line)["parameters"]["inner"]["readings"] for line in answers.read_text().splitlines()]
    assert by_readings == [True, False]

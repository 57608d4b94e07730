"""`--model` of `eval` and `attack`: the documents of a vault, read by another model."""

import json
from dataclasses import asdict
from pathlib import Path
from shutil import copytree

import pytest

from discreet.demo.corpus import documents
from discreet.query.known_answers import KnownQuestion
from discreet.vault import Vault
from tests.cli.running import run


@pytest.fixture
def notes(vault: Vault) -> Path:
    vault.add_documents(documents(12))
    return vault.path


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    path.write_text(
        json.dumps(asdict(KnownQuestion("1", "What is the treatment for Winter Hand?", ("ginger gloves",))))
    )
    return path


@pytest.mark.long
def test_evaluation_by_another_model(notes: Path, questions: Path, small_model: Path, tmp_path: Path) -> None:
    asked = ("eval", notes, questions, "--algorithm", "rag", "--max-tokens", 4, "--json")
    before = Vault.open(notes).budget().describe()
    texts = []
    for name, more in (("own", ()), ("other", ("--model", "smollm2-135m"))):
        file = tmp_path / f"{name}.jsonl"
        result = run(*asked, "--out", file, *more)
        assert result.exit_code == 0, result.output
        texts.append(json.loads(file.read_text())["answer"])
    assert texts[0] != texts[1]  # the vault's has random weights
    assert Vault.open(notes).budget().describe() == before
    assert Vault.open(notes).settings.model == str(small_model)


def test_attack_on_another_model_names_it(notes: Path, small_model: Path, tmp_path: Path) -> None:
    other = copytree(small_model, tmp_path / "other")
    quick = ("--target", "rag", "--members", 2, "--questions", 1, "--planted", 1, "--max-tokens", 4)
    result = run("attack", notes, *quick, "--model", other, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["settings"]["model"] == str(other)


@pytest.mark.parametrize("command", ["eval", "attack"])
def test_misspelt_model_is_noticed_at_once(command: str, notes: Path, questions: Path) -> None:
    given = [questions] if command == "eval" else []
    result = run(command, notes, *given, "--model", "smollm2-135")
    assert result.exit_code == 2
    assert "smollm2-135m" in result.output

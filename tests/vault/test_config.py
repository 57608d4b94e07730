"""What may change in a vault changes, and balances and releases stay."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.config import read_config
from discreet.registry import Count
from discreet.vault import Vault


def run(*words: object) -> tuple[int, str]:
    found = CliRunner().invoke(app, [str(word) for word in words])
    return found.exit_code, " ".join(found.output.split())


@pytest.fixture
def files(tmp_path: Path) -> Path:
    path = tmp_path / "notes.jsonl"
    notes = [{"id": f"d{n}", "patient": f"p{n}", "text": "A fever.", "ward": "north"} for n in range(40)]
    path.write_text("\n".join(map(json.dumps, notes)))
    return path


def test_field_is_declared_later_and_balances_stay(tmp_path: Path, files: Path) -> None:
    path = tmp_path / "v"
    vault = Vault.create(path, epsilon=10, delta=1e-6, embedder="hashing", unit_field="patient")
    assert run("add", path, files, "--yes")[0] == 0
    vault.ask("How many have a fever?", Count(condition="fever", epsilon=2.5))
    before = vault.ledger.unit_balances()
    code, said = run("config", path, "--field", "ward:category")
    assert (code, "fields: ward:category" in said, "Next: discreet add" in said) == (0, True, True)
    assert run("ask", path, "count: ward = north", "--plan")[0] == 0
    assert "0 added, 40 replaced" in run("add", path, files, "--yes")[1]
    again = Vault.open(path)
    assert again.ledger.unit_balances() == before
    count = again.ask("How many are in the north?", Count(where=("ward=north",), epsilon=5.0))
    assert count.table[0].value == pytest.approx(40, abs=5)


def test_what_was_promised_or_added_stays(tmp_path: Path) -> None:
    path = tmp_path / "v"
    Vault.create(path, epsilon=10, delta=1e-6, embedder="hashing", fields={"ward": "category"})
    before = read_config(path)
    code, said = run("config", path, "--field", "ward:date")
    assert code == 2
    assert "'ward' is declared as category, which stays" in said
    assert run("config", path, "--field", "unit:date")[0] == 2
    assert run("config", path, "--model", "smolm2-135m", "--force")[0] == 2  # a misspelling
    assert run("config", path, "--epsilon", 20)[0] == 2
    assert read_config(path) == before
    assert "epsilon: 10 " in run("config", path)[1]


def test_label_of_common_words_is_refused(tmp_path: Path) -> None:
    """Each question would test it."""
    given = ["--unit-field", "patient", "--epsilon", 10, "--delta", 1e-6, "--embedder", "hashing", "--field"]
    code, said = run("init", tmp_path / "v", *given, "ward:category(n=patients in, s=south)")
    assert (code, "label 'patients in'" in said, (tmp_path / "v").exists()) == (2, True, False)
    Vault.create(tmp_path / "w", epsilon=10, delta=1e-6, embedder="hashing")
    assert run("config", tmp_path / "w", "--field", "ward:category(n=in the)")[0] == 2


def test_synonyms_are_named_later_and_replaced(tmp_path: Path, files: Path) -> None:
    path, file = tmp_path / "v", tmp_path / "synonyms.txt"
    Vault.create(path, epsilon=10, delta=1e-6, embedder="hashing", unit_field="patient").add(files)
    file.write_text("fever = pyrexia\n", encoding="utf-8-sig")
    assert "synonyms: fever = pyrexia" in run("config", path, "--synonyms", file)[1]
    assert 'count: "fever" or "pyrexia"' in run("ask", path, "How many have a fever?", "--plan")[1]
    file.write_text("fever\n")
    code, said = run("config", path, "--synonyms", file)
    assert (code, "Line 1 has 1 words for a thing: 'fever'" in said) == (2, True)
    assert run("config", path, "--synonyms", tmp_path / "none.txt")[0] == 2
    assert "synonyms: fever = pyrexia" in run("config", path)[1]
    file.write_text("")
    assert "pyrexia" not in run("config", path, "--synonyms", file)[1]


def test_model_is_named_later(tmp_path: Path) -> None:
    path = tmp_path / "v"
    Vault.create(path, epsilon=10, delta=1e-6, embedder="hashing")
    code, said = run("config", path, "--model", "openai:http://localhost:1/v1", "--force")
    assert (code, "Next: discreet code --statements" in said) == (0, True)
    assert read_config(path).model == "openai:http://localhost:1/v1"

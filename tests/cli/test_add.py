"""`discreet add`: what will be added is shown; on a terminal it is asked; what was not added is grouped."""

import json
import sys
from pathlib import Path

import pytest

from discreet.errors import UsageError
from discreet.models.toy import ToyModel
from discreet.store.documents import Document
from discreet.vault import Vault
from tests.cli.running import json_of, on_a_terminal, run
from tests.files import samples


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """500 notes of 250 patients, of twenty texts, without ids."""
    path = tmp_path / "export.csv"
    rows = [f"P{n % 250},2026-01-{n % 28 + 1:02},Text {n % 20}." for n in range(500)]
    path.write_text("\n".join(("patient,seen,text", *rows)) + "\n")
    return path


def test_preview_writes_nothing(vault: Vault, export: Path) -> None:
    result = run("add", vault.path, export, "--preview")
    assert result.exit_code == 0
    assert "500 records of 250 patients; largest 2 documents; 0 patients with one document; 0 refused." in result.stdout
    assert "for example: p0, p1" in result.stdout
    seen = json.loads(run("add", vault.path, export, "--preview", "--json").stdout)["preview"]
    assert (seen["records"], seen["units"], seen["largest"], seen["single"]) == (500, 250, 2, 0)
    assert vault.inventory.batches() == []


def test_script_is_not_asked_and_is_told_all_the_same(vault: Vault, export: Path) -> None:
    result = run("add", vault.path, export)
    assert result.exit_code == 0
    assert "500 records of 250 patients" in result.stdout
    assert "500 added, 0 replaced, 0 unchanged; the vault holds 500 documents of 250 units. Batch 1." in result.stdout
    report = json.loads(run("add", vault.path, export, "--json").stdout)
    assert (report["added"], report["unchanged"], report["batch"], report["buried"]) == (0, 500, 0, 0)


def test_texts_of_several_fields_are_joined_in_order(vault: Vault, tmp_path: Path) -> None:
    table, lines = tmp_path / "notes.csv", tmp_path / "notes.jsonl"
    table.write_text("patient,plan,seen\na,Amber wraps.,A cold shin.\nb,,Damp hair.\nc,Mint rinses.,\nd,,\n")
    lines.write_text('{"patient": "e", "plan": 7, "seen": "Pale ears."}\n{"patient": "f", "x": "y"}\n')
    given = ("--unit-field", "patient", "--text-field", "seen", "--text-field", "plan")
    report = json.loads(run("add", vault.path, table, *given, "--json").stdout)
    texts = {one.unit: one.text for one in vault.store.texts()}
    assert texts == {"a": "A cold shin. Amber wraps.", "b": "Damp hair.", "c": "Mint rinses."}
    assert [bad["reason"] for bad in report["empty"]] == ["no text"]
    missing = run("add", vault.path, table, *given, "--text-field", "course", "--json")
    assert "has the field 'course'" in json.loads(missing.stdout)["message"]
    report = json.loads(run("add", vault.path, lines, *given, "--json").stdout)
    assert [bad["reason"] for bad in report["bad"]] == ["the field 'plan' is not a text", "no field 'seen'"]


def test_mail_with_an_attachment_is_added_in_part(vault: Vault, tmp_path: Path) -> None:
    for name, attached in (("a.eml", {"b.pdf": b"x"}), ("c.eml", {})):
        (tmp_path / name).write_bytes(samples.eml("A note.", attached=attached))
    result = run("add", vault.path, tmp_path / "a.eml", "--each-file-a-unit")
    assert result.exit_code == 0
    assert "Added in part: a.eml: 1 attachment is not read, but the mail is" in " ".join(result.output.split())
    assert "Not added" not in result.output
    report = json.loads(run("add", vault.path, tmp_path / "a.eml", "--each-file-a-unit", "--json").stdout)
    assert (report["bad"], [part["where"] for part in report["in_part"]]) == ([], ["a.eml"])
    assert report["unchanged"] == 1


def typed(answer: str, vault: Vault, export: Path, *words: str) -> tuple[int, str]:
    code, shown = on_a_terminal([sys.executable, "-m", "discreet", "add", str(vault.path), str(export), *words], answer)
    return code, " ".join(shown.split())


@pytest.mark.long
def test_on_a_terminal_it_asks_first(vault: Vault, export: Path) -> None:
    code, shown = typed("\n", vault, export, "--unit-field", "seen")
    assert code == 1
    assert "'seen' is not the vault's unit field 'patient'" in shown
    assert "Add them? [y/N]" in shown
    assert "Nothing was added." in shown
    assert vault.store.count_documents() == 0
    code, shown = typed("y\n", vault, export)
    assert (code, vault.store.count_documents()) == (0, 500), shown
    code, shown = typed("", vault, export, "--yes")
    assert code == 0
    assert "Add them?" not in shown


def test_folder_needs_to_say_whose_its_files_are(vault: Vault, tmp_path: Path) -> None:
    letters = tmp_path / "letters"
    letters.mkdir()
    for name in ("ada_1", "ada_2", "ben_1"):
        (letters / f"{name}.txt").write_text(name)
    result = run("add", vault.path, letters)
    assert result.exit_code == 2
    assert "--unit-from '{unit}_[0-9]*.txt'" in result.stderr
    assert run("add", vault.path, letters, "--unit-from", "{unit}_[0-9]*.txt").exit_code == 0
    assert [entry.unit for entry in vault.inventory.units()] == ["ada", "ben"]
    manifest = tmp_path / "m.csv"
    manifest.write_text("path,unit\nada_1.txt,Ada\nada_2.txt,Ada\nben_1.txt,Ben\n")
    result = run("add", vault.path, letters, "--units", manifest, "--json")
    assert json.loads(result.stdout)["unchanged"] == 3
    assert run("add", vault.path, letters, "--units", manifest, "--each-file-a-unit").exit_code == 2


def test_add_reads_what_it_adds_if_the_model_read_before(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Vault.open(vault.path, model=ToyModel(["treatment", "is", "sand"], default="is", size=4))
    monkeypatch.setattr(Vault, "open", lambda *_, **__: opened)
    note, line = tmp_path / "a.jsonl", '{{"patient": "{}", "text": "say: treatment is sand {} ."}}\n'
    opened.add_documents([Document("first", "first", "say: treatment is sand .")])
    opened.read()
    note.write_text(line.format("b", 1))
    assert "Read again" in run("add", vault.path, note, "--no-code").stderr
    assert not opened.components.readings.load().covers("b", "say: treatment is sand 1 .")
    note.write_text(line.format("c", 2))
    assert "Read again" not in run("add", vault.path, note).stderr
    for unit, text in (("b", "say: treatment is sand 1 ."), ("c", "say: treatment is sand 2 .")):
        assert opened.components.readings.load().covers(unit, text)


def test_what_was_added_is_told_though_the_model_cannot_be_asked(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Vault.open(vault.path, model=ToyModel(["treatment", "is", "sand"], default="is", size=4))
    opened.add_documents([Document("first", "first", "say: treatment is sand .")])
    opened.read()

    def fail(_: Vault) -> bool:
        raise UsageError("The model's server is gone.")

    monkeypatch.setattr(Vault, "read_by_model", property(fail))
    note = tmp_path / "a.jsonl"
    note.write_text('{"patient": "a", "text": "A visit."}\n')
    done = run("add", vault.path, note)
    assert "1 added" in done.stdout
    assert "Read again" in done.stderr
    assert (done.exit_code, "server is gone" in done.stderr) == (2, True)


def test_what_was_added_is_told_though_the_coding_fails(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (vault.path / "codebook.yaml").write_text("attributes: []\n")
    note = tmp_path / "a.jsonl"
    note.write_text('{"patient": "a", "text": "A visit."}\n')
    done = run("add", vault.path, note)
    assert "1 added" in done.stdout
    assert "codebook" in done.stderr
    assert done.exit_code == 4


def test_fields_declared_at_init_are_kept_with_each_document(tmp_path: Path) -> None:
    vault, notes = tmp_path / "vault", tmp_path / "notes.jsonl"
    init = ("init", vault, "--epsilon", 20, "--delta", 1e-6, "--embedder", "hashing", "--unit-field", "patient")
    for wrong in ("date", "date:datum", "patient:category"):
        assert run(*init, "--field", wrong).exit_code == 2
    assert not vault.exists()
    assert run(*init, "--field", "seen:date", "--field", "age:number").exit_code == 0
    records = [
        {"patient": "a", "text": "x", "seen": "2026-01-02", "age": 7},
        {"patient": "b", "text": "y", "age": "old"},
    ]
    notes.write_text("".join(json.dumps(record) + "\n" for record in records))
    added = run("add", vault, notes)
    assert added.exit_code == 4
    assert "notes.jsonl line 2: the field 'age' is not a number" in added.stderr
    (document,) = json_of("list", vault, "documents")["documents"]
    assert document["fields"] == {"age": 7.0, "seen": "2026-01-02"}

"""Files as people really send them, through `discreet add`: whose each text is, what is listed, and the exit code.

A preview of each has the counts of the addition. Each case stands for its kind: other delimiters, formats, encodings.
"""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.vault import Vault
from tests.cli.running import run
from tests.reading.real_files import CASES, Case


def write(folder: Path, files: Mapping[str, bytes | str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def vault_at(path: Path, **fields: str) -> Vault:
    return Vault.create(path, epsilon=20, delta=1e-5, unit_field="patient", embedder="hashing", fields=fields)


def texts(vault: Vault) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    if vault.inventory.batches():
        for one in vault.store.texts():
            found.setdefault(one.unit, []).append(one.text)
    return {unit: sorted(own) for unit, own in found.items()}


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_whose_each_text_is_and_what_is_listed(case: Case, tmp_path: Path) -> None:
    files = write(tmp_path / "in", case.files)
    vault = vault_at(tmp_path / "vault", **case.fields)
    options = shlex.split(case.options)
    seen = run("add", vault.path, files, *options, "--preview", "--json")
    result = run("add", vault.path, files, *options)
    shown = " ".join(result.output.split())
    assert (seen.exit_code, result.exit_code) == (case.code, case.code), shown
    assert texts(Vault.open(vault.path)) == {unit: sorted(own) for unit, own in case.units.items()}, shown
    for part in case.listed:
        assert part in shown
    for part in case.says:
        assert (part.removeprefix("!") in shown) != part.startswith("!")
    if (preview := json.loads(seen.stdout).get("preview")) is not None:
        again = json.loads(run("add", vault.path, files, *options, "--json").stdout)
        assert (preview["new"], preview["units"]) == (sum(map(len, case.units.values())), len(case.units))
        assert again["unchanged"] == preview["new"]  # the same files, added again, add nothing
        for left in ("refused", "empty", "in_part", "erased"):
            assert len(preview[left]) == len(again["bad" if left == "refused" else left])


def rows_of(*records: tuple[object, ...]) -> str:
    return "".join(",".join(map(str, record)) + "\n" for record in (("id", "patient", "text"), *records))


def test_preview_is_the_addition_without_writing(tmp_path: Path) -> None:
    """It counts what is new, replaced, unchanged, refused, and refused as erased; and who is in the vault."""
    vault, notes = vault_at(tmp_path / "vault"), tmp_path / "n.csv"
    notes.write_text(rows_of((1, "P1", "Cold"), (2, "P2", "Rash"), (3, "P3", "Pain"), (4, "P4", "Ache")))
    assert run("add", vault.path, notes).exit_code == 0
    assert run("remove", vault.path, "--unit", "P3").exit_code == 0
    changed = (
        (1, "P1", "Cold"),
        (2, "P2", "Rash, gone"),
        (3, "P3", "Pain"),
        (4, "P5", "x"),
        (6, "P6", "y"),
        (6, "P6", "z"),
    )
    notes.write_text(rows_of(*((one, who, f'"{text}"') for one, who, text in changed)))
    seen = json.loads(run("add", vault.path, notes, "--preview", "--json").stdout)["preview"]
    added = json.loads(run("add", vault.path, notes, "--json").stdout)
    assert (seen["new"], seen["replaced"], seen["unchanged"], seen["known"]) == (1, 1, 1, 2)
    assert (added["added"], added["replaced"], added["unchanged"]) == (1, 1, 1)
    assert seen["refused"] == added["bad"]
    assert [bad["where"] for bad in added["bad"]] == ["n.csv line 5", "n.csv line 7"]
    assert seen["erased"] == added["erased"]
    assert added["buried"] == 1
    shown = run("add", vault.path, notes, "--preview").stdout
    assert "0 new, 0 replaced, 3 unchanged; in the vault already: 3 of 3 patients." in shown


def test_record_with_the_id_of_another_individual_does_not_stand_in_the_way_of_the_right_one(tmp_path: Path) -> None:
    vault, notes = vault_at(tmp_path / "vault"), tmp_path / "n.csv"
    notes.write_text(rows_of((1, "P1", "a")))
    assert run("add", vault.path, notes).exit_code == 0
    notes.write_text(rows_of((1, "P2", "b"), (1, "P2", "b"), (1, "P1", "c"), (1, "P2", "b"), (1, "P1", "d")))
    seen = json.loads(run("add", vault.path, notes, "--preview", "--json").stdout)["preview"]
    added = json.loads(run("add", vault.path, notes, "--json").stdout)
    assert (seen["units"], seen["replaced"], seen["unchanged"]) == (1, 1, 0)
    assert (added["replaced"], added["unchanged"]) == (1, 0)
    assert seen["refused"] == added["bad"]
    reasons = {bad["where"].rpartition(" ")[2]: bad["reason"] for bad in added["bad"]}
    assert {line for line, reason in reasons.items() if "about another individual" in reason} == {"2", "3"}
    assert {line for line, reason in reasons.items() if "the first was kept" in reason} == {"5", "6"}
    assert texts(Vault.open(vault.path)) == {"p1": ["c"]}


def test_corrected_texts_without_ids_are_pointed_out(tmp_path: Path) -> None:
    vault, notes = vault_at(tmp_path / "vault"), tmp_path / "n.csv"
    for text in ("Cold", "Cold, gone"):
        notes.write_text(f'Fallnr.,patient,text\n1,P1,"{text}"\n2,P2,"{text}"\n')
        shown = " ".join(run("add", vault.path, notes).output.split())
    assert "2 texts of individuals who are in the vault" in shown
    assert "Is 'Fallnr.' an id? --id-field Fallnr." in shown


def test_addition_that_did_not_end_is_told_and_completed(tmp_path: Path) -> None:
    vault, notes = vault_at(tmp_path / "vault"), tmp_path / "n.csv"
    notes.write_text(rows_of(*((n, f"P{n % 100}", f"Text {n}.") for n in range(600))))

    def stop(kind: str, count: int) -> None:
        if vault.store.count_documents():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vault.add(notes, progress=stop)
    other = write(tmp_path / "b", {"n.csv": rows_of(*((f"b{n}", f"P{n}", "Text.") for n in range(3)))}) / "n.csv"
    assert run("add", vault.path, other).exit_code == 0  # another file of that name
    assert Vault.open(vault.path).components.unfinished.batches == [1]
    assert run("undo", vault.path, 2).exit_code == 0
    assert Vault.open(vault.path).components.unfinished.batches == [1]
    stored = Vault.open(vault.path).store.count_documents()
    assert 0 < stored < 600
    assert "Batch 1 did not end" in run("list", vault.path, "batches").output
    assert json.loads(run("list", vault.path, "batches", "--json").stdout)["unfinished"] == [1]
    assert "The `add` of batch 1 runs now, or did not end" in " ".join(run("doctor", vault.path).output.split())
    asked = run("ask", vault.path, "How many patients have a cold?").output
    assert "An addition to this vault did not end" in " ".join(asked.split())
    report = json.loads(run("add", vault.path, notes, "--json").stdout)
    assert (report["added"], report["unchanged"], report["batch"]) == (600 - stored, stored, 1)
    _, batch = json.loads(run("list", vault.path, "batches", "--json").stdout)["batches"]
    assert (batch["documents"], batch["files"]) == (600, 1)
    assert "did not end" not in run("list", vault.path, "batches").output


@pytest.mark.parametrize(
    ("command", "options", "is_empty"),
    [("undo", "2", False), ("undo", "2", True), ("remove", "--file n.csv", False)],
)
def test_erasure_of_a_batch_that_did_not_end_ends_it(
    command: str, options: str, is_empty: bool, tmp_path: Path
) -> None:
    vault, notes = vault_at(tmp_path / "vault"), tmp_path / "n.csv"
    assert run("add", vault.path, write(tmp_path / "in", {"kept.csv": "patient,text\nP1,Cold\n"})).exit_code == 0
    notes.write_text(rows_of(*((n, f"P{n % 100}", f"Text {n}.") for n in range(600))))

    def stop(kind: str, count: int) -> None:
        if vault.store.count_documents() > 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vault.add(notes, progress=stop)
    if is_empty:  # as if it had stopped between its mark and its first document
        vault.store.remove_batch(2)
    assert vault.components.unfinished.batches == [2]
    assert run(command, vault.path, *options.split(), "--yes").exit_code == 0
    assert vault.components.unfinished.batches == []
    assert "did not end" not in run("list", vault.path, "batches").output
    assert texts(Vault.open(vault.path)) == {"p1": ["Cold"]}


def test_many_are_erased_only_after_a_question_at_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault, notes = vault_at(tmp_path / "vault"), tmp_path / "n.csv"
    notes.write_text(rows_of(*((n, f"P{n % 2}", f"Text {n}.") for n in range(4))))
    assert run("add", vault.path, notes).exit_code == 0
    monkeypatch.setattr("discreet.cli.remove._at_a_terminal", lambda: True)
    for command in (
        ("undo", vault.path, 1),
        ("remove", vault.path, "--unit", "P1"),
        ("remove", vault.path, "--file", "n.csv"),
    ):
        refused = CliRunner().invoke(app, [*map(str, command)], input="n\n")
        assert refused.exit_code == 2
        assert "will be erased for good" in refused.output
    assert Vault.open(vault.path).store.count_documents() == 4
    assert CliRunner().invoke(app, ["remove", str(vault.path), "--unit", "P1"], input="y\n").exit_code == 0
    assert run("undo", vault.path, 1, "--yes").exit_code == 0
    assert Vault.open(vault.path).store.count_documents() == 0

"""What an addition will do is told before anything is written; who is one person is never guessed."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import BadData, UsageError
from discreet.files.fields import NO_UNIT
from discreet.files.intake import Intake
from discreet.files.records import ReadingOptions
from discreet.files.units import UnitRules
from discreet.store.documents import Document

OPTIONS = ReadingOptions(unit_field="patient")


def intake(*paths: Path, options: ReadingOptions = OPTIONS, vault_unit: str = "patient", **rules: Any) -> Intake:
    return Intake(paths, options, UnitRules(**rules), vault_unit)


def documents(found: Intake) -> list[Document]:
    return [document for document, _ in found.documents()]


def units(found: Intake) -> dict[str, str]:
    return {document.id: document.unit for document in documents(found)}


def refused(found: Intake) -> dict[str, str]:
    return {bad.where: bad.reason for bad in found.preview.refused}


def folder(path: Path, **files: str) -> Path:
    for name, content in files.items():
        place = path / name.replace("__", "/").replace("_dot_", ".")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
    return path


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    names = [f"{who}_{year}_dot_txt" for who in ("adler_ada", "adler_ben") for year in (2024, 2025)]
    return folder(tmp_path / "letters", **{name: f"A letter, {name}." for name in names})


def csv(path: Path, rows: Sequence[str], header: str = "patient,text") -> Path:
    path.write_text("\n".join((header, *rows)) + "\n")
    return path


def test_preview_says_how_much_of_whom(tmp_path: Path) -> None:
    path = csv(tmp_path / "n.csv", ["Ada,a", "ADA,b", "Ben,a", "Ben,a", " ,c", "Cy,"])
    seen = intake(path).preview
    assert (seen.files, seen.records, seen.units, seen.largest, seen.single, seen.repeated) == (1, 4, 2, 2, 0, 1)
    assert seen.summary == (
        "4 records of 2 patients; largest 2 documents; 0 patients with one document; 1 repeated; 1 refused"
    )
    assert seen.examples == ("ada", "ben")
    assert refused(intake(path)) == {"n.csv line 6": NO_UNIT.format("patient")}
    assert json.dumps(seen.describe())


@pytest.mark.parametrize("name", ["n.csv", "n.jsonl", "n.parquet"])
@pytest.mark.parametrize("field", ["patient", "unit", "patien"])
def test_records_without_units_are_refused_with_columns(name: str, field: str, tmp_path: Path) -> None:
    """Also under the usual name of the field, which was passed over in silence."""
    rows = [{"patient_id": "Ada", "text": "secret words"}, {"patient_id": "Ben", "text": "b"}]
    path = tmp_path / name
    if name == "n.csv":
        csv(path, ["Ada,secret words"], "patient_id,text")
    elif name == "n.jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(rows), path)
    with pytest.raises(BadData) as caught:
        _ = intake(path, options=ReadingOptions(unit_field=field)).preview
    said = str(caught.value)
    assert "Its fields: patient_id, text" in said
    assert "--unit-field patient_id" in said
    assert "--each-record-a-unit" in said
    assert ("not the vault's 'patient'" in said) == (field != "patient")
    assert "secret" not in said
    seen = intake(path, options=ReadingOptions(unit_field=field), each_record=True).preview
    assert seen.own_unit == seen.records > 0
    assert "--each-record-a-unit" in " ".join(seen.notes)


def test_given_delimiter_is_named_if_the_text_is_missed(tmp_path: Path) -> None:
    path, options = tmp_path / "n.csv", ReadingOptions("note", unit_field="patient", delimiter=";")
    path.write_text("patient,note\nAda,x\n")
    with pytest.raises(BadData) as caught:
        _ = Intake([path], options, UnitRules(), "patient").preview
    said = str(caught.value)
    assert "n.csv has no column 'note' with the delimiter ';'." in said
    assert "The first line has one column by this delimiter, so it may be wrong. Omit --delimiter to detect it." in said
    assert "Ada" not in said
    path.write_text("patient;letter\nAda;x\n")
    with pytest.raises(BadData, match=r"'note' with the delimiter ';'.*--text-field"):
        _ = Intake([path], options, UnitRules(), "patient").preview


def test_id_field_that_no_record_has_is_refused(tmp_path: Path) -> None:
    path = csv(tmp_path / "n.csv", ["Ada,a"])
    with pytest.raises(BadData, match="--id-field"):
        _ = intake(path, options=ReadingOptions(unit_field="patient", id_field="nr")).preview


def test_files_without_units_are_refused_with_examples(letters: Path) -> None:
    with pytest.raises(UsageError) as caught:
        _ = intake(letters).preview
    said = str(caught.value)
    assert "--unit-from 'adler_{unit}_[0-9]*.txt'   from the path: 2 units, such as 'ada' (2), 'ben' (2)" in said
    assert "--units manifest.csv" in said
    assert "patient: NAME" in said
    assert "--each-file-a-unit" in said
    assert "A letter" not in said
    with pytest.raises(UsageError, match="--each-file-a-unit"):
        _ = intake(letters / "adler_ada_2024.txt").preview
    seen = intake(letters, each_file=True).preview
    assert (seen.units, seen.own_unit) == (4, 4)
    assert "--each-file-a-unit" in seen.notes[0]


def test_units_from_names(letters: Path) -> None:
    (letters / "other.txt").write_text("x")
    found = intake(letters, pattern="{unit}_[0-9]*.txt")
    assert set(units(found).values()) == {"adler_ada", "adler_ben"}
    assert refused(found) == {"other.txt": "does not match the pattern '{unit}_[0-9]*.txt'"}
    doubtful = intake(letters, pattern="{unit}_*.txt").preview
    assert "'adler', but could be 'adler_ada'" in " ".join(doubtful.doubts)
    with pytest.raises(UsageError, match="No file matches"):
        _ = intake(letters, pattern="{unit}/**").preview


def test_units_from_a_manifest(letters: Path, tmp_path: Path) -> None:
    place = letters / "adler_ben_2024.txt"
    manifest = csv(
        tmp_path / "m.csv",
        ["adler_ada_2024.txt,P1,first", "./letters/adler_ada_2025.txt,P1,", f"{place},P2,", "none.txt,P3,"],
        "path,unit,id",
    )
    found = intake(letters, manifest=manifest)
    assert units(found) == {"first": "p1", "adler_ada_2025.txt": "p1", "adler_ben_2024.txt": "p2"}
    assert refused(found) == {
        "none.txt": "in the manifest, but there is no such file",
        "adler_ben_2025.txt": "not in the manifest",
    }


@pytest.mark.parametrize(
    ("rows", "header", "said"),
    [
        (["a.txt,P1", "./a.txt,P2"], "path,unit", "names the same file as an earlier row"),
        (["a.txt,"], "path,unit", "no value in the column 'patient'"),
        (["a.txt,P1"], "file,unit", "no column 'path'"),
        (["a.txt,P1"], "path,person", "no column 'patient'. Its columns: path, person"),
        (["none.txt,P1"], "path,patient", "has no row for these files"),
        ([], "path,patient", "no rows"),
        (['"a.txt,P1'], "path,patient", "cannot be read"),
    ],
)
def test_manifest_that_cannot_be_used(rows: list[str], header: str, said: str, tmp_path: Path) -> None:
    files = folder(tmp_path / "files", a_dot_txt="A.")
    with pytest.raises((BadData, UsageError), match=said):
        _ = intake(files, manifest=csv(tmp_path / "m.csv", rows, header)).preview
    with pytest.raises(UsageError, match="no manifest"):
        intake(files, manifest=tmp_path / "none.csv")


def test_units_from_the_files_themselves(tmp_path: Path) -> None:
    files = folder(
        tmp_path / "files",
        a_dot_md="---\npatient: P1\nseen: 2026-01-31\n---\nShe is well.",
        b_dot_txt="No front matter.",
        b_dot_txt_dot_json='{"patient": "P2", "id": "letter-b"}',
        c_dot_txt="Neither.",
        d_dot_txt="Damaged.",
        d_dot_json="{",
    )
    found = intake(files, options=ReadingOptions(unit_field="patient", declared={"seen": "date"}))
    assert [(d.id, d.unit, d.text, dict(d.fields)) for d in documents(found)] == [
        ("a.md", "p1", "She is well.", {"seen": "2026-01-31"}),
        ("letter-b", "p2", "No front matter.", {}),
    ]
    assert refused(found) == {
        "c.txt": NO_UNIT.format("patient"),
        "d.txt": "its sidecar 'd.json' is not well-formed JSON",
    }
    assert "unknown format" not in str(found.preview.refused)  # a sidecar is no document that was passed over
    assert intake(files, each_file=True).preview.own_unit == 1


def test_file_that_names_another_unit_than_the_rule_is_refused(tmp_path: Path) -> None:
    files = folder(
        tmp_path / "files",
        P1_dot_txt="---\npatient: ' p1'\n---\nThe same.",
        P2_dot_txt="---\npatient: P3\n---\nAnother one's.",
        P4_dot_txt="---\npatient:\n---\nNothing.",
    )
    found = intake(files, pattern="{unit}.txt")
    assert [document.unit for document in documents(found)] == ["p1", "p4"]
    assert refused(found) == {"P2.txt": "its label and the pattern or the manifest name two units: correct one of them"}


@pytest.mark.parametrize(
    ("rows", "doubt"),
    [
        (
            [f"{n},a" for n in range(20)],
            "'patient' has numbers one after the other, such as those of rows: 20 units in 20",
        ),
        ([f"2026-01-{n + 1:02},a" for n in range(20)], "'patient' has dates: 20 units in 20 records"),
        ([f"P{n},a" for n in range(20)], ""),
        ([f"{n},a" for n in range(19)], ""),
        ([f"P{n % 18},{n}" for n in range(20)], ""),
        ([f"P{n % 19},{n}" for n in range(100)], "'patient' has 19 values in 100 records"),
        ([f"P{n % 20},{n}" for n in range(100)], ""),
        ([f"P{n % 19},{n}" for n in range(99)], ""),
    ],
)
def test_column_that_hardly_names_individuals_is_pointed_out(rows: list[str], doubt: str, tmp_path: Path) -> None:
    doubts = " ".join(intake(csv(tmp_path / "n.csv", rows)).preview.doubts)
    assert (doubt in doubts) if doubt else not doubts


def test_declared_fields_are_read_and_absent_ones_reported(tmp_path: Path) -> None:
    options = ReadingOptions(unit_field="patient", declared={"age": "number", "ward": "category"})
    path = csv(tmp_path / "n.csv", ["Ada,a,71", "Ben,b,old"], "patient,text,age")
    found = intake(path, options=options)
    assert [dict(document.fields) for document in documents(found)] == [{"age": 71.0}]
    assert refused(found) == {"n.csv line 3": "the field 'age' is not a number such as 12 or 12.5"}
    assert "No record of n.csv has the declared field 'ward'." in found.preview.notes

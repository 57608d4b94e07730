"""A column that is missing: the one that may have been meant is named, and nothing that may be a document."""

import json
from pathlib import Path

import pytest

from discreet.errors import BadData, UsageError
from discreet.files.intake import Intake
from discreet.files.loaders import read_records
from discreet.files.records import ReadingOptions
from discreet.files.tables import suggestion
from discreet.files.units import UnitRules


@pytest.mark.parametrize(
    ("name", "columns", "option", "meant"),
    [
        ("text", ["patient", "note_date", "note"], "--text-field", "note"),
        ("text", ["id", "Free-Text", "x"], "--text-field", "Free-Text"),
        ("patient", ["Patient_ID", "note"], "--unit-field", "Patient_ID"),
        ("unit", ["patient", "note"], "--unit-field", "patient"),
        ("patien", ["ward", "patient"], "--unit-field", "patient"),
    ],
)
def test_column_that_may_have_been_meant(name: str, columns: list[str], option: str, meant: str) -> None:
    assert suggestion(name, columns, option) == f"Did you mean {option} {meant}?"
    assert suggestion(name, ["x", "y"], option) == f"Give the right column: {option} NAME."
    assert suggestion(name, [], option) == f"Give the right column: {option} NAME."


@pytest.mark.parametrize(
    ("header", "shown"),
    [
        ("patient,date,letter", True),
        ("patient_id,x", True),
        ("Ada,secret", False),
        ("Pat.-Nr.,Name,Vorname", True),
        ("1,Ada,secret", False),
    ],
)
def test_first_line_is_shown_only_if_it_looks_like_names(header: str, shown: bool, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{header}\n1,2,3\n")
    with pytest.raises(BadData) as caught:
        list(read_records([tmp_path / "a.csv"]))
    assert (header.replace(",", ", ") in str(caught.value)) == shown
    assert "secret" not in str(caught.value)


def test_parts_of_fields_are_shown_and_suggested(tmp_path: Path) -> None:
    """But those that few records have are not: they may be names of individuals."""
    records = [
        {"resource": {"subject": {"reference": f"Patient/{n}"}, "note": [{"text": "Cold"}], "by": {f"Dr{n % 3}": 1}}}
        for n in range(9)
    ]
    (tmp_path / "b.json").write_text(json.dumps({"entry": records}))
    with pytest.raises(BadData) as caught:
        _ = Intake([tmp_path / "b.json"], ReadingOptions(unit_field="patient"), UnitRules(), "patient").preview
    assert "Its fields: resource.subject.reference, resource.note.text." in str(caught.value)
    assert "Did you mean --text-field resource.note.text?" in str(caught.value)
    options = ReadingOptions("resource.note.text", unit_field="reference")
    with pytest.raises(BadData, match=r"Did you mean --unit-field resource\.subject\.reference"):
        _ = Intake([tmp_path / "b.json"], options, UnitRules(), "patient").preview


def test_nearest_path_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "my clinic.csv").write_text("text\n")
    with pytest.raises(UsageError, match=r"Did you mean '.*/my clinic\.csv'\?"):
        list(read_records([tmp_path / "my clinik.csv"]))
    with pytest.raises(UsageError, match=r"Check the path\.$"):
        list(read_records([tmp_path / "none" / "a.csv"]))

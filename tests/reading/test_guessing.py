"""A column that is missing: the one that may have been meant is named, and nothing that may be a document."""

from pathlib import Path

import pytest

from discreet.errors import BadData
from discreet.reading.files import read_records
from discreet.reading.tables import suggestion


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

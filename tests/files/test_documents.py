"""Documents of office programs: all their text, and what of them is not read."""

import gzip
import zipfile
from datetime import datetime
from pathlib import Path

import pytest

from discreet.errors import BadData
from discreet.files.documents import _number
from discreet.files.loaders import read_records
from discreet.files.records import BadRecord, ReadingOptions, Record
from tests.files import samples

TEXT = "Zoë is ill: “Schnupfen” – £5 (BP < 120 & > 80)."
MORE = "It's the 2nd one, 100%."
MADE = {
    "a.pdf": samples.pdf(TEXT, MORE),
    "a.docx": samples.docx(TEXT, MORE),
    "a.odt": samples.odt(TEXT, MORE),
    "a.pptx": samples.pptx(TEXT, MORE),
    "a.html": samples.html(TEXT, MORE),
    "a.htm": samples.html(TEXT, MORE, encoding="cp1252"),
    "a.eml": samples.eml(TEXT, MORE),
}


def read(folder: Path, name: str, data: bytes, options: ReadingOptions | None = None) -> list[Record | BadRecord]:
    (folder / name).write_bytes(data)
    return list(read_records([folder / name], options))


def text(folder: Path, name: str, data: bytes) -> str:
    (found,) = read(folder, name, data)
    assert isinstance(found, Record)
    return str(found.values["text"])


def reason(folder: Path, name: str, data: bytes) -> str:
    (found,) = read(folder, name, data)
    assert isinstance(found, BadRecord)
    return found.reason


@pytest.mark.parametrize("name", MADE)
def test_no_word_and_no_sign_is_lost(name: str, tmp_path: Path) -> None:
    (found,) = read(tmp_path, name, MADE[name])
    assert isinstance(found, Record)
    assert (found.whole, found.source, found.where) == (True, name, name)
    lines = [line for line in str(found.values["text"]).splitlines() if line]
    assert [line for line in lines if line in (TEXT, MORE)] == [TEXT, MORE]


@pytest.mark.parametrize("name", MADE)
def test_what_is_cut_off_empty_or_of_another_kind_is_named(name: str, tmp_path: Path) -> None:
    assert reason(tmp_path, name, b"") == "empty"
    if not name.endswith(("eml", "html", "htm")):
        for data in (MADE[name][:300], b"secret words", gzip.compress(b"secret words")):
            assert reason(tmp_path, name, data) == "damaged, or of another format than its suffix states"


def test_encrypted_files_are_named(tmp_path: Path) -> None:
    assert reason(tmp_path, "a.pdf", samples.pdf(TEXT, password="x")).startswith("encrypted")
    for name in ("a.docx", "a.pptx", "a.xlsx", "a.odt"):
        assert reason(tmp_path, name, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)).startswith("encrypted")
    manifest = {"content.xml": b"\x93\x11", "META-INF/manifest.xml": b"<m><manifest:encryption-data/></m>"}
    assert reason(tmp_path, "a.odt", samples.packed(manifest)).startswith("encrypted")


def test_pages_without_text_are_counted(tmp_path: Path) -> None:
    assert "scanned" in reason(tmp_path, "a.pdf", samples.pdf("", ""))
    record, bad = read(tmp_path, "a.pdf", samples.pdf(TEXT, "", MORE, ""))
    assert isinstance(record, Record)
    assert isinstance(bad, BadRecord)
    assert bad.reason.startswith("2 pages have no text")


def test_workbook_names_units_as_it_shows_them(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for row in (["unit", "text"], ["007", "as a text"], [7, "as a number"], [7.5, "a_x000D_\nb_x0009_c _x00zz_"]):
        book.active.append(row)
    for cell in ("A3", "A4"):
        book.active[cell].number_format = "000"
    book.save(tmp_path / "made.xlsx")
    found = read(tmp_path, "a.xlsx", (tmp_path / "made.xlsx").read_bytes())
    assert [record.values for record in found if isinstance(record, Record)] == [
        {"unit": "007", "text": "as a text"},
        {"unit": "007", "text": "as a number"},
        {"unit": 7.5, "text": "a\nb\tc _x00zz_"},
    ]


@pytest.mark.parametrize(
    ("number", "shown", "read_as"),
    [
        (7, "000", "007"),
        (123456789, r"000\-00\-0000", "123-45-6789"),
        (7, '"P-"0000', "P-0007"),
        (12345, '"P-"0000', "P-12345"),
        (12345, "00-00", "123-45"),
        (12.0, "00-00", "00-12"),
        (7, "0", 7),
        (7, "0.00", 7),
        (-7, "000", -7),
        (7, "General", 7),
        (7, "#,##0", 7),
    ],
)
def test_numbers_that_are_names(number: float, shown: str, read_as: object) -> None:
    assert _number(number, shown) == read_as


def test_workbook_keeps_the_kinds_of_its_values(tmp_path: Path) -> None:
    day = datetime(2026, 1, 2)
    data = samples.xlsx(["text", "unit", "day", "n"], [TEXT, 7, day, 1.5], [], ["x", None, None, None])
    found = read(tmp_path, "a.xlsx", data)
    assert [record.where for record in found] == ["a.xlsx sheet 'Notes' row 2", "a.xlsx sheet 'Notes' row 4"]
    first, second = found
    assert isinstance(first, Record)
    assert isinstance(second, Record)
    assert first.values == {"text": TEXT, "unit": 7, "day": day, "n": 1.5}
    assert second.values == {"text": "x"}


def test_each_sheet_with_a_text_is_read_and_others_are_named(tmp_path: Path) -> None:
    sheets = {"One": [["text"], ["a"]], "Legend": [["k"], ["v"]], "Two": [["unit", "text"], ["u", "b"]], "Empty": []}
    found = read(tmp_path, "a.xlsx", samples.xlsx(sheets=sheets))
    assert [record.values["text"] for record in found if isinstance(record, Record)] == ["a", "b"]
    assert [record.where for record in found if isinstance(record, BadRecord)] == ["a.xlsx sheet 'Legend'"]
    with pytest.raises(BadData, match="no column 'text'"):
        read(tmp_path, "b.xlsx", samples.xlsx(["patient_id", "note"], [1, "secret"]))
    with pytest.raises(BadData, match="two columns 'unit'"):
        read(tmp_path, "c.xlsx", samples.xlsx(["unit", "text", "unit"], [1, "secret", 2]))
    assert reason(tmp_path, "d.xlsx", samples.xlsx([])) == "empty"


def test_rows_that_cannot_be_understood_are_named(tmp_path: Path) -> None:
    rows = [["text", "unit"], ["a", "#N/A"], ["b", "Ada", "more"], ["c", "Bela"]]
    first, second, third = read(tmp_path, "a.xlsx", samples.xlsx(*rows))
    assert isinstance(first, BadRecord)
    assert "#N/A" in first.reason
    assert isinstance(second, BadRecord)
    assert isinstance(third, Record)


def test_part_that_claims_to_be_small_is_no_way_in(tmp_path: Path) -> None:
    """A ZIP file that says that its document of 50 MB has 5 bytes: it is cut off there, and damaged."""
    whole = samples.packed({"word/document.xml": b"<a>" + b"x" * 50_000_000 + b"</a>"})
    size = (50_000_007).to_bytes(4, "little")
    assert reason(tmp_path, "a.docx", whole.replace(size, (5).to_bytes(4, "little"))).startswith("damaged")
    assert zipfile.is_zipfile(tmp_path / "a.docx")

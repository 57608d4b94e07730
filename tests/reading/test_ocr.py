"""Scanned pages of PDF files, which are read as pictures if the custodian asks for it."""

import importlib.util
import io
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import MissingPart
from discreet.reading import files
from discreet.reading.intake import Intake
from discreet.reading.records import BadRecord, PartLeftOut, ReadingOptions, Record
from discreet.reading.units import Fields, UnitRules
from tests.reading import samples

LINES = (
    "Patient report of 12 May 2026",
    "Zoë has a cough and a fever of 38.4 °C.",
    "Behandlung: täglich zwei Tabletten",
)


def joined(*parts: bytes) -> bytes:
    """The pages of several PDF files in one."""
    pdfium = pytest.importorskip("pypdfium2")
    whole = pdfium.PdfDocument.new()
    for part in parts:
        whole.import_pages(pdfium.PdfDocument(part))
    made = io.BytesIO()
    whole.save(made)
    return made.getvalue()


def read(path: Path, *, ocr: bool) -> list[Record | BadRecord]:
    return list(files.read_records([path], ReadingOptions(ocr=ocr)))


def test_scanned_page_is_listed_with_the_option_that_reads_it(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(samples.pdf(""))
    assert read(tmp_path / "a.pdf", ocr=False) == [
        BadRecord("a.pdf", "no text: it may be scanned. --ocr reads scanned pages")
    ]


def test_ocr_without_its_part_is_refused_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.pdf").write_bytes(samples.pdf(""))
    found: Any = importlib.util.find_spec
    monkeypatch.setattr(files, "find_spec", lambda name: None if name == "rapidocr" else found(name))
    with pytest.raises(MissingPart, match="rapidocr"):
        files.read_records([tmp_path / "a.pdf"], ReadingOptions(ocr=True))


def test_scanned_pages_are_read_and_named_in_the_preview(tmp_path: Path) -> None:
    pytest.importorskip("rapidocr")
    (tmp_path / "P1.pdf").write_bytes(joined(samples.scanned(*LINES), samples.pdf("A page of text"), samples.pdf("")))
    record, left = read(tmp_path / "P1.pdf", ocr=True)
    assert isinstance(record, Record)
    assert str(record.values["text"]).split("\n") == [*LINES, "", "A page of text"]
    assert left == PartLeftOut("P1.pdf", "1 page has no text; the others are read")
    rules = UnitRules(pattern="{unit}.pdf")
    seen = Intake([tmp_path], Fields(), ReadingOptions(ocr=True), rules, "unit").preview
    assert (seen.records, seen.formats) == (1, ("P1.pdf: 1 scanned page read by OCR",))


def test_page_without_letters_has_no_text(tmp_path: Path) -> None:
    pytest.importorskip("rapidocr")
    (tmp_path / "a.pdf").write_bytes(samples.pdf(""))
    assert read(tmp_path / "a.pdf", ocr=True) == [BadRecord("a.pdf", "no text, and OCR found none")]

"""Scanned pages of PDF files, which are read as pictures if the custodian asks for it."""

import importlib.util
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import MissingPart
from discreet.files import loaders
from discreet.files.records import BadRecord, PartLeftOut, ReadingOptions, Record
from discreet.files.sandbox import Sandbox
from tests.files import samples

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


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """One process for all tests: it takes seconds to start."""
    pytest.importorskip("rapidocr")
    with Sandbox() as one:
        yield one


def test_scanned_page_is_listed_with_its_option(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(samples.pdf(""))
    (bad,) = loaders.read_records([tmp_path / "a.pdf"])
    assert bad == BadRecord("a.pdf", "no text: it may be scanned. --ocr reads scanned pages")


def test_ocr_without_its_part_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.pdf").write_bytes(samples.pdf(""))
    found: Any = importlib.util.find_spec
    monkeypatch.setattr(loaders, "find_spec", lambda name: None if name == "rapidocr" else found(name))
    with pytest.raises(MissingPart, match="rapidocr"):
        loaders.read_records([tmp_path / "a.pdf"], ReadingOptions(ocr=True))


def test_scanned_pages_are_read_and_named(tmp_path: Path, sandbox: Sandbox) -> None:
    """The preview has what is said of a record: how its file is written, and that it was read by OCR."""
    (tmp_path / "a.pdf").write_bytes(joined(samples.scanned(*LINES), samples.pdf("A page of text"), samples.pdf("")))
    record, left = loaders.read_records([tmp_path / "a.pdf"], ReadingOptions(ocr=True), sandbox)
    assert isinstance(record, Record)
    assert str(record.values["text"]).split("\n") == [*LINES, "", "A page of text"]
    assert record.written == "1 scanned page read by OCR"
    assert left == PartLeftOut("a.pdf", "1 page has no text; the others are read")


def test_page_without_letters_has_no_text(tmp_path: Path, sandbox: Sandbox) -> None:
    (tmp_path / "a.pdf").write_bytes(samples.pdf(""))
    found = list(loaders.read_records([tmp_path / "a.pdf"], ReadingOptions(ocr=True), sandbox))
    assert found == [BadRecord("a.pdf", "no text, and OCR found none")]

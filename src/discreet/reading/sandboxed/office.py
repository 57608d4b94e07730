"""The text of Word, OpenDocument and PowerPoint files, which are compressed XML; the rows of workbooks, by openpyxl.

All text is kept: headers, footers, notes, comments, text boxes, cells, charts, diagrams. Text that a tracked change
deleted, and placeholders such as "Choose an item.", are omitted. Fields of forms keep their state. Embedded files of
other programs are counted, not read.
"""

import io
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from discreet.reading.sandboxed import Extracted, Unreadable, Wanted
from discreet.reading.sandboxed.markup import EMPTY, TICKED

_LARGEST = 2**27
"""The largest decompressed XML, in bytes."""
_OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of encrypted files, and of formats from before 2007."""
_EMBEDDED = re.compile(r"(word|ppt)/embeddings/[^/]+|word/afchunk[^/]*|Object [0-9]+/content\.xml")
_CHART = re.compile(r"(word|ppt)/charts/chart\d*\.xml")


def read_docx(data: bytes, _: Wanted) -> Iterator[Extracted]:
    """Yield the text of a Word file."""
    order = (
        r"word/header\d*",
        r"word/document\d*",
        r"word/footnotes",
        r"word/endnotes",
        r"word/comments",
        r"word/footer\d*",
        *_drawn("word"),
    )
    yield _read(data, order, r"word/document\d*\.xml", _microsoft)


def read_pptx(data: bytes, _: Wanted) -> Iterator[Extracted]:
    """Yield the text of a presentation, with the notes of its slides."""
    order = (r"ppt/slides/slide\d+", r"ppt/notesSlides/notesSlide\d+", r"ppt/comments/\w+", *_drawn("ppt"))
    yield _read(data, order, r"ppt/presentation\.xml", _microsoft)


def read_odt(data: bytes, _: Wanted) -> Iterator[Extracted]:
    """Yield the text of an OpenDocument file."""
    yield _read(data, ("content", "styles"), r"content\.xml", _open_document_with_notes)


def _read(data: bytes, order: tuple[str, ...], main: str, text_of: Callable[[Element], Iterator[str]]) -> Extracted:
    if data.startswith(_OLD):
        raise Unreadable("encrypted_or_old")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        if not any(re.fullmatch(main, name) for name in names):
            raise Unreadable("damaged")
        if _is_encrypted(archive):
            raise Unreadable("encrypted")
        parts = [name for kind in order for name in _sorted(names) if re.fullmatch(kind + r"\.xml", name)]
        if sum(archive.getinfo(name).file_size for name in parts) > _LARGEST:
            raise Unreadable("too_large")
        texts = ["".join(text_of(ElementTree.fromstring(archive.read(name)))) for name in parts]
    # Each chart embeds a sheet whose numbers the chart already has.
    sheets = sum(bool(_CHART.fullmatch(name)) for name in names)
    embedded = max(0, sum(bool(_EMBEDDED.fullmatch(name)) for name in names) - sheets)
    # The header of the first page and that of the others are often equal.
    return Extracted("\n\n".join(dict.fromkeys(filter(None, map(_tidied, texts)))), attachments=embedded)


def _drawn(folder: str) -> tuple[str, str]:
    return rf"{folder}/charts/chart\d*", rf"{folder}/diagrams/data\d*"


def _is_encrypted(archive: zipfile.ZipFile) -> bool:
    if any(info.flag_bits & 1 for info in archive.infolist()):
        return True
    manifest = "META-INF/manifest.xml"
    return manifest in archive.namelist() and b"encryption-data" in archive.read(manifest)


def _sorted(names: list[str]) -> list[str]:
    return sorted(names, key=lambda name: (len(name), name))  # slide2 before slide10


def _tidied(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+\n", "\n", text)).strip()


def _kind(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


_MARKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "line-break": "\n"}
_ENDS = {"p": "\n", "h": "\n", "tr": "\n", "tbl": "\n", "table": "\n", "table-row": "\n", "pt": "\n"}
_SYMBOLS = {"FE": "\u2612", "FD": "\u2612", "A8": "\u2610", "6F": "\u2610", "FC": "\u2713", "FB": "\u2717"}
"""Boxes and ticks of the font Wingdings, which forms use for answers. Other symbols become an empty box."""
_LEFT_OUT = {"del", "moveFrom", "Fallback", "tracked-changes", "tabs", "placeholder"}
"""Deletions of tracked changes, second copies of text boxes for old programs, tab stops, and placeholders."""


_NOTES = {"annotation", "note"}


def _microsoft(element: Element) -> Iterator[str]:
    kind = _kind(element)
    if kind in ("t", "v"):  # a chart has its numbers and names in v
        yield element.text or ""
    elif kind == "sym":
        code = next((value for name, value in element.attrib.items() if name.endswith("}char")), "")
        yield _SYMBOLS.get(code[-2:].upper(), "\u25a1")
    elif kind in ("tc", "table-cell"):
        yield " ".join("".join(text for child in element for text in _microsoft(child)).split("\n")).strip() + "\t"
    elif kind == "checkBox":
        yield TICKED if _is_on(_child(element, "checked", _child(element, "default"))) else EMPTY
    elif kind == "ddList":
        entries = [_value(child) for child in element if _kind(child) == "listEntry"]
        chosen = int(_value(_child(element, "result", _child(element, "default"))) or 0)
        yield entries[chosen] if 0 <= chosen < len(entries) else ""
    elif kind not in _LEFT_OUT and _child(_child(element, "sdtPr"), "showingPlcHdr") is None:
        yield _MARKS.get(kind, "")
        for child in element:
            yield from _microsoft(child)
        yield _ENDS.get(kind, "")


def _child(element: Element | None, kind: str, other: Element | None = None) -> Element | None:
    return next((child for child in (() if element is None else element) if _kind(child) == kind), other)


def _value(element: Element | None, name: str = "val") -> str:
    attributes = {} if element is None else element.attrib
    return next((value for key, value in attributes.items() if key.rpartition("}")[2] == name), "")


def _is_on(element: Element | None) -> bool:
    return element is not None and _value(element) not in ("0", "false", "off")


def _open_document_with_notes(element: Element) -> Iterator[str]:
    """Yield the text, then notes and comments, whose elements lie within words."""
    yield from _open_document(element)
    for note in _notes(element):
        parts = ("".join(_open_document(child, True)).strip() for child in note)
        yield "\n" + " ".join(filter(None, parts)) + "\n"


def _notes(element: Element) -> Iterator[Element]:
    kind = _kind(element)
    if kind in _NOTES:
        yield element
    elif kind not in _LEFT_OUT:
        for child in element:
            yield from _notes(child)


def _open_document(element: Element, within: bool = False) -> Iterator[str]:
    kind = _kind(element)
    if kind in _LEFT_OUT or kind in _NOTES:
        return
    if kind == "table-cell":
        texts = (text for child in element for text in _open_document(child))
        yield " ".join("".join(texts).split("\n")).strip() + "\t"
        return
    within = within or kind in ("p", "h")
    yield _MARKS.get(kind, "")
    if ":form:" in str(element.tag):
        yield _field(element, kind)
    if kind == "s":
        count = next((value for name, value in element.attrib.items() if name.endswith("}c")), "1")
        yield " " * min(int(count), 1000)
    if within:
        yield _spaced(element.text)
    for child in element:
        yield from _open_document(child, within)
        if within:
            yield _spaced(child.tail)
    yield _ENDS.get(kind, "")


def _field(element: Element, kind: str) -> str:
    """Return what a field of a form shows."""
    if kind in ("checkbox", "radio"):
        states = (_value(element, "current-state"), _value(element, "current-selected"))
        return f"{TICKED if 'checked' in states or 'true' in states else EMPTY} {_value(element, 'label')}\n"
    if kind in ("option", "item"):
        return f"{_value(element, 'label')}\n" if _value(element, "current-selected") == "true" else ""
    shown = _value(element, "current-value")
    return f"{shown}\n" if shown else ""


def _spaced(text: str | None) -> str:
    return re.sub(r"\s+", " ", text or "")


# --- workbooks -------------------------------------------------------------------------------------------------------

_BATCH = 200
_PLACE = re.compile(r'0|\\.|"[^"]*"|[-() ]')
_PLACES = re.compile(f"(?:{_PLACE.pattern})+")
"""A number format of digits and separators, such as 00000 or 000-00-0000, for numbers that are names."""
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_EXACT = 1e15
_LARGEST_BOOK = 2**30
"""The largest decompressed XML, in bytes. It is read piece by piece."""


def read_xlsx(data: bytes, _: Wanted) -> Iterator[dict[str, object]]:
    """Read a workbook.

    Yields:
        `{"sheet": name}`, and then `{"rows": [[number, cells], ...]}`. A cell is a text, a number, a boolean or None,
        `{"date": ...}` in ISO 8601, or `{"error": 1}` for a spreadsheet error. A formula gives its saved value. A
        number that is shown with leading zeros is a text.
    """
    import openpyxl

    if data.startswith(_OLD):
        raise Unreadable("encrypted_or_old")
    warnings.simplefilter("ignore")
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    if sum(info.file_size for info in book._archive.infolist()) > _LARGEST_BOOK:
        raise Unreadable("too_large")
    for sheet in book.worksheets:
        yield {"sheet": sheet.title}
        sheet.reset_dimensions()  # the dimensions that a file states may be wrong
        rows: list[list[object]] = []
        for number, row in enumerate(sheet.iter_rows(), 1):
            cells = [_cell(cell) for cell in row]
            while cells and cells[-1] is None:
                cells.pop()
            if cells:
                rows.append([number, cells])
            if len(rows) == _BATCH:
                yield {"rows": rows}
                rows = []
        if rows:
            yield {"rows": rows}


def _cell(cell: Any) -> object:
    value = cell.value
    if value is not None and cell.data_type == "e":
        return {"error": 1}
    if isinstance(value, str):
        return _ESCAPED.sub(_character, value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(value, str(cell.number_format))
    if value is None or isinstance(value, bool):
        return value
    return {"date": value.isoformat()} if isinstance(value, datetime) else str(value)


def _number(value: float, shown: str) -> object:
    """Return a number, or the shown text if it has leading zeros: the number 7 that is shown as 007 is "007".

    A spreadsheet keeps 15 digits. A larger number is returned as it would be shown, such as 1.5e+20: it was rounded.
    """
    if abs(value) >= _EXACT:
        return f"{value:.15g}"
    places = _PLACE.findall(shown) if _PLACES.fullmatch(shown) else []
    if places.count("0") < 2 or value < 0 or not float(value).is_integer():
        return value
    digits = str(int(value)).zfill(places.count("0"))
    first = len(digits) - places.count("0") + 1  # the first 0 of the format takes all excess digits
    pieces = iter([digits[:first], *digits[first:]])
    return "".join(next(pieces) if place == "0" else place.strip('\\"') for place in places)


def _character(escaped: re.Match[str]) -> str:
    """Return the character of an escape, which stands for a character that XML cannot have. Drop "_x000D_"."""
    code = int(escaped[1], 16)
    return "" if code == 0x0D else escaped[0] if 0xD800 <= code < 0xE000 else chr(code)

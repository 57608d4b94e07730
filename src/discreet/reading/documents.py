"""Documents and workbooks of office programs, read in a separate process."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from discreet.reading.records import BadRecord, FoundFile, PartLeftOut, ReadingOptions, Record, kind_of
from discreet.reading.sandbox import LARGEST, Failed, Sandbox
from discreet.reading.tables import check_columns

_REASONS = {
    "empty": "empty",
    "damaged": "damaged, or of another format than its suffix states",
    "encrypted": "encrypted: save it without a password",
    "encrypted_or_old": "encrypted, or in a format from before 2007: save it again without a password",
    "too_large": "too large, or it needs too much memory: split it into several files",
    "too_long": "reading takes too long: split it into several files",
    "died": "the reading process ended: the file is damaged, or needs too much memory",
    "unsound": "damaged",
}
_SCANNED = "no text: it may be scanned. discreet has no OCR"
_FORM = "the values of form fields are not read, but the other text is: print the form to a new PDF"


def read_document(file: FoundFile, options: ReadingOptions, sandbox: Sandbox) -> Iterator[Record | BadRecord]:
    """Yield the text of a document, and the parts that cannot be read."""
    path, source = file
    try:
        data = _bytes(file)
        (found,) = sandbox.frames(kind_of(path), data)
        text, missing = _checked(found)
    except Failed as failure:
        yield BadRecord(source, _reason(failure))
        return
    is_there = bool(text.strip())
    if is_there:
        yield Record({"text": text}, source, source, whole=True)
    else:
        yield BadRecord(source, _SCANNED if path.suffix.lower() == ".pdf" else "empty: it has no text")
    blank, attached, forms = missing
    left_out = PartLeftOut if is_there else BadRecord
    if is_there and blank:
        pages = "1 page has" if blank == 1 else f"{blank} pages have"
        yield left_out(source, f"{pages} no text and may be scanned; the others are read. discreet has no OCR")
    if attached:
        yield left_out(source, _not_read(attached, kind_of(path)))
    if forms:
        yield left_out(source, _FORM)


def _not_read(attached: int, kind: str) -> str:
    if kind == "eml":
        things = "1 attachment is" if attached == 1 else f"{attached} attachments are"
        return f"{things} not read, but the mail is: save attachments as files"
    things = "1 object of another program is" if attached == 1 else f"{attached} objects of other programs are"
    return f"{things} not read, but the text is: save embedded objects as files"


def read_workbook(file: FoundFile, options: ReadingOptions, sandbox: Sandbox) -> Iterator[Record | BadRecord]:
    """Yield the rows of a workbook's sheets. The first row of a sheet has the names of its columns.

    Raises:
        BadData: if no sheet has a text column, or if a sheet has a needed column twice.
    """
    source = file.source
    names: list[str] | None = None
    others: list[tuple[str, list[str]]] = []
    where, fits = source, False
    try:
        for frame in sandbox.frames("xlsx", _bytes(file)):
            if "sheet" in frame:
                where, names = f"{source} sheet '{_text(frame['sheet'])}'", None
                continue
            for number, cells in _rows(frame):
                if names is None:
                    names = ["" if cell is None else str(_value(cell)) for cell in cells]
                    if options.text_field in names:
                        check_columns(where, names, options, are_names=True)
                        fits = True
                    else:
                        others.append((where, names))
                elif options.text_field in names:
                    yield _row(names, cells, f"{where} row {number}", source, options)
    except Failed as failure:
        yield BadRecord(source, _reason(failure))
        return
    if not fits and others:
        check_columns(*others[0], options, are_names=False)
    for other, _ in others:
        yield BadRecord(other, f"not read: it has no column '{options.text_field}'")
    if not fits and not others:
        yield BadRecord(source, "empty")


def _row(names: list[str], cells: list[Any], where: str, source: str, options: ReadingOptions) -> Record | BadRecord:
    if any(cell is not None for cell in cells[len(names) :]):
        return BadRecord(where, "the row has more cells than the sheet has columns: give each column a name")
    values = {name: cell for name, cell in zip(names, cells, strict=False) if options.wants(name)}
    if any(isinstance(cell, dict) and "error" in cell for cell in values.values()):
        return BadRecord(where, "a cell has a spreadsheet error, such as #N/A")
    return Record({name: _value(cell) for name, cell in values.items()}, where, source)


def _bytes(file: FoundFile) -> bytes:
    with file.path.open("rb") as opened:
        data = opened.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise Failed("too_large")
    if not data:
        raise Failed("empty")
    return data


def _reason(failure: Failed) -> str:
    return _REASONS[str(failure)]


# The functions below trust no frame: it comes from a process that has read untrusted files.


def _checked(frame: dict[str, Any]) -> tuple[str, tuple[int, int, int]]:
    blank, attached, forms = (frame.get(name) for name in ("pages_without_text", "attachments", "forms"))
    if not (isinstance(blank, int) and isinstance(attached, int) and isinstance(forms, int)):
        raise Failed("unsound")
    return _text(frame.get("text")), (blank, attached, forms)


def _rows(frame: dict[str, Any]) -> list[tuple[int, list[Any]]]:
    rows = frame.get("rows")
    try:
        found = [(int(number), list(cells)) for number, cells in rows or ()]
    except (TypeError, ValueError):
        raise Failed("unsound") from None
    return found


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Failed("unsound")
    return value


def _value(cell: Any) -> object:
    if not isinstance(cell, dict):
        return cell
    try:
        return datetime.fromisoformat(cell["date"])
    except (KeyError, TypeError, ValueError):
        return "" if "error" in cell else None

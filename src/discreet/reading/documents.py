"""Documents and workbooks of office programs, read in a process of its own."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from discreet.reading.columns import check_columns
from discreet.reading.options import ReadingOptions
from discreet.reading.records import BadRecord, FoundFile, Record, kind_of
from discreet.reading.sandbox import LARGEST, Failed, Sandbox

_REASONS = {
    "empty": "empty",
    "damaged": "damaged, or not of the kind that its name tells",
    "encrypted": "encrypted: save it without a password",
    "encrypted_or_old": "encrypted, or of an office program before 2007: save it anew, without a password",
    "too_large": "too large, or it takes too much memory: cut it into several files",
    "too_long": "takes too long to read: cut it into several files",
    "died": "ended the process that read it: it is damaged, or takes too much memory",
    "unsound": "damaged",
}
_SCANNED = "no text: scanned? OCR is off"
_FORM = "what is filled into the fields of its form is not read, the rest is: print it into a new PDF"


def read_document(file: FoundFile, options: ReadingOptions, sandbox: Sandbox) -> Iterator[Record | BadRecord]:
    """Read the text of a document, and name what of it is not read."""
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
        yield BadRecord(source, _SCANNED if path.suffix.lower() == ".pdf" else "empty: there is no text in it")
    blank, attached, forms = missing
    if is_there and blank:
        pages = "1 page has" if blank == 1 else f"{blank} pages have"
        yield BadRecord(source, f"{pages} no text, the others are read: scanned? OCR is off")
    if attached:
        yield BadRecord(source, _not_read(attached, kind_of(path)))
    if forms:
        yield BadRecord(source, _FORM)


def _not_read(attached: int, kind: str) -> str:
    if kind == "eml":
        things = "1 attachment is" if attached == 1 else f"{attached} attachments are"
        return f"{things} not read, the mail is: save what is attached as files"
    things = "1 object" if attached == 1 else f"{attached} objects"
    return f"{things} of other programs not read, the text is: save what is embedded as files"


def read_workbook(file: FoundFile, options: ReadingOptions, sandbox: Sandbox) -> Iterator[Record | BadRecord]:
    """Read the rows of a workbook's sheets, each below its first row, which names the columns.

    Raises:
        BadData: no sheet has a column for the text, or one has a column twice that is needed.
    """
    source = file.source
    names: list[str] | None = None
    others: list[tuple[str, list[str]]] = []
    place, fits = source, False
    try:
        for frame in sandbox.frames("xlsx", _bytes(file)):
            if "sheet" in frame:
                place, names = f"{source} sheet '{_text(frame['sheet'])}'", None
                continue
            for number, cells in _rows(frame):
                if names is None:
                    names = ["" if cell is None else str(_value(cell)) for cell in cells]
                    if options.text_field in names:
                        check_columns(place, names, options, are_names=True)
                        fits = True
                    else:
                        others.append((place, names))
                elif options.text_field in names:
                    yield _row(names, cells, f"{place} row {number}", source, options)
    except Failed as failure:
        yield BadRecord(source, _reason(failure))
        return
    if not fits and others:
        check_columns(*others[0], options, are_names=False)
    for other, _ in others:
        yield BadRecord(other, f"no column '{options.text_field}': not read")
    if not fits and not others:
        yield BadRecord(source, "empty")


def _row(names: list[str], cells: list[Any], where: str, source: str, options: ReadingOptions) -> Record | BadRecord:
    if any(cell is not None for cell in cells[len(names) :]):
        return BadRecord(where, "more cells than columns: give each column a name")
    values = {name: cell for name, cell in zip(names, cells, strict=False) if options.wants(name)}
    if any(isinstance(cell, dict) and "error" in cell for cell in values.values()):
        return BadRecord(where, "a cell holds an error of the spreadsheet, such as #N/A")
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


# What follows trusts no frame: it comes from a process that has read files of others.


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

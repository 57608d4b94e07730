"""Documents, mails and workbooks of other programs, read in a separate process."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from discreet.reading.encodings import told
from discreet.reading.records import BadRecord, FoundFile, NoText, PartLeftOut, ReadingOptions, Record, counted, kind_of
from discreet.reading.sandbox import LARGEST, Failed, Sandbox
from discreet.reading.sandboxed.extracted import Extracted, Wanted
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
    "doubtful": "its encoding is in doubt. Give it: --encoding NAME",
}
_SCANNED = "no text: it may be scanned. discreet has no OCR"


def read_document(file: FoundFile, options: ReadingOptions, sandbox: Sandbox) -> Iterator[Record | BadRecord]:
    """Yield the text of a document, and the parts that cannot be read."""
    path, source = file
    try:
        (frame,) = sandbox.frames(kind_of(path), _bytes(file), _wanted(options))
        found = _checked(frame)
    except Failed as failure:
        yield BadRecord(source, _reason(failure))
        return
    if found.text.strip():
        yield Record({**found.fields, "text": found.text}, source, source, whole=True, encoding=told(found.encoding))
    elif path.suffix.lower() == ".pdf":
        yield BadRecord(source, _SCANNED)
    else:
        yield NoText(source, "no text")
    yield from _left_out(found, source, kind_of(path))


def read_mails(file: FoundFile, options: ReadingOptions, sandbox: Sandbox) -> Iterator[Record | BadRecord]:
    """Yield the mails of a box, each with the fields of its header: `from` is the address of the sender."""
    source = file.source
    try:
        for number, frame in enumerate(sandbox.frames("mbox", _bytes(file), _wanted(options)), 1):
            found, where = _checked(frame), f"{source} mail {number}"
            fields = {**found.fields, "id": found.fields.get("message-id", ""), "text": found.text}
            yield Record(fields, where, source, encoding=told(found.encoding))
            yield from _left_out(found, where, "eml")
    except Failed as failure:
        yield BadRecord(source, _reason(failure))


def _wanted(options: ReadingOptions) -> Wanted:
    return Wanted(options.encoding or "", options.without_quotes)


def _left_out(found: Extracted, where: str, kind: str) -> Iterator[BadRecord]:
    """Yield the parts of a document that were not read."""
    left_out = PartLeftOut if found.text.strip() else BadRecord
    thing, whole, remedy = _THINGS.get(kind, _OBJECT)
    if found.text.strip() and found.pages:
        pages = f"{counted(found.pages, 'page')} {'has' if found.pages == 1 else 'have'} no text and may be scanned"
        yield left_out(where, f"{pages}; the others are read. discreet has no OCR")
    if found.attachments:
        are = f"{counted(found.attachments, thing)} {'is' if found.attachments == 1 else 'are'} not read"
        yield left_out(where, f"{are}{f', but {whole} is' if not found.bodiless else ''}: {remedy}")
    if found.bodiless:
        yield left_out(where, "the mail has no text of its own; its header is read")
    if found.forms:
        yield left_out(
            where, "the values of form fields are not read, but the other text is: print the form to a new PDF"
        )


_FORM = "the values of form fields are not read, but the other text is: print the form to a new PDF"
_OBJECT = "embedded object", "the text", "save embedded objects as files"
_THINGS = {
    "eml": ("attachment", "the mail", "save attachments as files"),
    "pdf": ("embedded file", "the text", "save embedded files by themselves"),
}


def read_workbook(file: FoundFile, options: ReadingOptions, sandbox: Sandbox) -> Iterator[Record | BadRecord]:
    """Yield the rows of a workbook's sheets. A row of each sheet, usually the first, has the names of its columns.

    Raises:
        BadData: if no sheet has a text column, or if a sheet has a needed column twice.
    """
    source = file.source
    sheet, fits, others = _Sheet(source), False, list[_Sheet]()
    try:
        for frame in sandbox.frames("xlsx", _bytes(file)):
            if "sheet" in frame:
                sheet = _Sheet(f"{source} sheet '{_text(frame['sheet'])}'")
                continue
            for number, cells in _rows(frame):
                if number < options.header_row:
                    continue
                if sheet.names is None:
                    sheet.names = ["" if cell is None else str(_value(cell)) for cell in cells]
                    if options.has_text(sheet.names):
                        check_columns(sheet.where, sheet.names, options, are_names=True)
                        fits = True
                    else:
                        others.append(sheet)
                elif options.has_text(sheet.names):
                    yield _row(sheet.names, cells, f"{sheet.where} row {number}", source, options)
                elif len(sheet.below) < _LOOKED_AT:
                    sheet.below.append((number, [_value(cell) for cell in cells]))
    except Failed as failure:
        yield BadRecord(source, _reason(failure))
        return
    if not fits and others:
        likely = next((one for one in others if any(options.text_field in cells for _, cells in one.below)), others[0])
        check_columns(likely.where, likely.names or (), options, are_names=False, below=likely.below)
    for other in others:
        yield BadRecord(other.where, f"not read: it has no column '{options.text_field}'")
    if not fits and not others:
        yield BadRecord(source, "empty")


_LOOKED_AT = 20


@dataclass
class _Sheet:
    """A sheet of a workbook.

    Attributes:
        where: its name, for messages.
        names: the names of its columns; None before they are read.
        below: its first rows, if it has no text.
    """

    where: str
    names: list[str] | None = None
    below: list[tuple[int, list[object]]] = field(default_factory=list)


def _row(names: list[str], cells: list[Any], where: str, source: str, options: ReadingOptions) -> Record | BadRecord:
    if any(cell is not None for cell in cells[len(names) :]):
        return BadRecord(where, "the row has more cells than the sheet has columns: give each column a name")
    given = [*cells, *[None] * (names.index(options.text_field) + 1 - len(cells) if options.text_field in names else 0)]
    values = {name: cell for name, cell in zip(names, given, strict=False) if options.wants(name)}
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


def _checked(frame: dict[str, Any]) -> Extracted:
    try:
        found = Extracted(**frame)
        fields = {_text(name): _text(value) for name, value in found.fields.items()}
    except (TypeError, AttributeError):
        raise Failed("unsound") from None
    if not all(isinstance(count, int) for count in (found.pages, found.attachments, found.forms, found.bodiless)):
        raise Failed("unsound")
    return replace(found, text=_text(found.text), encoding=_text(found.encoding), fields=fields)


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

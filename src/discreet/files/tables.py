"""Files of records: CSV and TSV with any usual delimiter, workbooks, Parquet and JSON.

A table has the text column, and no needed column twice. A row of text whose shape is odd is listed and not added, since
its fields may be those of another column or individual. Suggestions for a missing column are for messages. They are
never applied.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from datetime import datetime
from difflib import get_close_matches
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple, TextIO, TypeVar

from discreet.errors import BadData
from discreet.files.fields import is_empty, value_of
from discreet.files.records import (
    LONGEST,
    BadRecord,
    FoundFile,
    PartLeftOut,
    ReadingOptions,
    Record,
    Records,
    SheetRows,
    Unreadable,
    detect_encoding,
    kind_of,
    open_bytes,
    open_text,
    short_lines,
)
from discreet.files.sandbox import Sandbox
from discreet.store.documents import canonical_unit
from discreet.system.words import is_unicode, quoted

_Any = TypeVar("_Any", bound=Hashable)

_A_NAME = re.compile(r"[^\W\d_][\w./()#%-]{0,29}( [\w./()#%-]{1,30}){0,3}")


def check_columns(
    source: str,
    names: Sequence[str],
    options: ReadingOptions,
    *,
    are_names: bool,
    delimiter: str | None = None,
    below: Iterable[tuple[int, Sequence[object]]] = (),
) -> None:
    """Check the columns of a table.

    Args:
        source: the name of the file, for the message.
        names: the names of the columns, in order.
        options: the needed columns.
        are_names: whether `names` are certainly names. The first line of a CSV file may be a document, so the message
            shows it only if it looks like names.
        delimiter: the delimiter that was given, if one was.
        below: the next rows with their numbers; one of them may have the names.

    Raises:
        BadData: if the table has no text column, or has a needed column twice.
    """
    if not options.has_text(names):
        shown = ", ".join(names[:50]) if names and (are_names or _look_like_names(names)) else ""
        has = f" Its columns: {shown}." if shown else " Its first line does not look like names of columns."
        right = suggestion(options.text_field, names if shown else (), "--text-field")
        by = f" with the delimiter {delimiter!r}" if delimiter else ""
        if row := next((number for number, cells in below if options.text_field in cells), 0):
            right = f"Row {row} has it: --header-row {row}."
        elif delimiter and len(names) == 1:
            has = " The first line has one column by this delimiter, so it may be wrong."
            right = "Omit --delimiter to detect it."
        raise BadData(f"{source} has no column '{options.text_field}'{by}.{has} {right} Nothing was added.")
    twice = sorted({name for name in names if name and options.wants(name) and names.count(name) > 1})
    if twice:
        raise BadData(f"{source} has two columns '{twice[0]}'. Rename one of them. Nothing was added.")


def _look_like_names(names: Sequence[str]) -> bool:
    return (
        len(set(names)) == len(names)
        and all(_A_NAME.fullmatch(name) for name in names)
        and any("_" in name or is_usual(name) for name in names)
    )


_OFTEN = {
    "--text-field": (
        *("text", "note", "notes", "body", "content", "message", "comment", "letter", "report", "conclusion"),
        *("befund", "notiz", "freitext", "bemerkung", "kommentar", "nachricht"),
    ),
    "--unit-field": (
        *("unit", "_key", "patient", "person", "subject", "individual", "user", "client", "customer", "member", "from"),
        *("patientennummer", "pat.-nr.", "patnr", "personalnummer", "kunde"),
    ),
    "--id-field": ("id", "record", "document", "number", "nr", "fallnr"),
}
"""Frequent names of columns, by the option that names such a column."""


_USUAL = "date age name first last sex ward city vorname nachname datum alter geschlecht station ort title".split()


def is_usual(name: str) -> bool:
    """Return whether this is a frequent name of a column. A line with such a name has names of columns."""
    return any(name.casefold() in words for words in (*_OFTEN.values(), _USUAL))


def suggestion(name: str, columns: Sequence[str], option: str) -> str:
    """Return a sentence with the nearest column, or a request for a name."""
    folded = {column.casefold(): column for column in columns}
    near = [column for column in folded if column.endswith(f".{name.casefold()}")]
    near = near or get_close_matches(name.casefold(), folded, n=1, cutoff=0.7)
    if not near:
        words = _OFTEN[option]
        near = [word for word in words if word in folded]
        near += [column for word in words for column in folded if word in re.split("[-_.]", column)]
    return f"Did you mean {option} {quoted(folded[near[0]])}?" if near else f"Give the right column: {option} NAME."


# --- tables as text --------------------------------------------------------------------------------------------------

DELIMITERS = (",", ";", "\t", "|")
_SEPARATOR = re.compile(r"\"?sep=(.)\"?\r?\n?")
"""The first line that Excel writes to state the delimiter."""
_EMPTY = "".join(DELIMITERS) + " \r\n"
"""Of these consists a line without a cell, which is not the header."""
_AHEAD, _LOOKED_AT = 20, 1000
"""The lines below the header in which names of columns are looked for, and the rows that tell the shape of a table."""


class _Lines:
    """The lines of a table up to its damage, with those since the last record."""

    def __init__(self, opened: TextIO) -> None:
        self._opened, self.taken, self.damage = opened, list[str](), ""

    def read(self) -> Iterator[str]:
        try:
            yield from short_lines(self._opened)
        except Unreadable as error:
            self.damage = str(error)
        except UnicodeError:  # UTF-16 with a lone surrogate, or with an odd number of bytes
            self.damage = "the encoding could not be detected. Give it: --encoding NAME"

    def record(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self.taken.append(line)
            yield line


class _Row(NamedTuple):
    """A row of a table as text, with the numbers of its first and last line, and its lines if they are several."""

    first: int
    last: int
    cells: list[str]
    lines: Sequence[str]
    has_wrong_quotes: bool


def read_delimited(file: FoundFile, options: ReadingOptions, _: Sandbox | None = None) -> Records:
    """Read the records of a CSV or TSV file. The encoding depends on all bytes (`detect_encoding`).

    Raises:
        BadData: if the first line has wrong quotes, or lacks a needed column.
    """
    csv.field_size_limit(LONGEST)
    encoding = options.encoding or detect_encoding(lambda: open_bytes(file.path))
    with open_text(file.path, encoding, "") as opened:
        yield from _delimited(_Lines(opened), encoding, file, options)


def _delimited(lines: _Lines, encoding: str, file: FoundFile, options: ReadingOptions) -> Records:
    rest = lines.read()
    skipped, ahead, delimiter = _start(rest, options, "\t" if kind_of(file.path) == "tsv" else ",")
    rows = _rows(lines, chain(ahead, rest), skipped, delimiter)
    head = [*islice(rows, 1 + _LOOKED_AT)]
    names = head[0].cells if head else []
    if names or not lines.damage:
        if head and head[0].has_wrong_quotes:
            raise BadData(
                f"The first line of {file.source} has wrong quotes. It must have the names of the columns. Correct the "
                "line. Nothing was added."
            )
        marks = dict.fromkeys((delimiter, *DELIMITERS))
        below = ((skipped + n, _names([line], mark)) for n, line in enumerate(ahead[1:], 2) for mark in marks)
        given = options.delimiter if names else None
        check_columns(file.source, names, options, are_names=False, delimiter=given, below=below)
    shape = _Shape([row.cells for row in head[1:] if row.cells], names, delimiter, options)
    mark = {"\t": "a tab", " ": "a space"}.get(delimiter, f"'{delimiter}'")
    written = f"encoding {encoding}, columns separated by {mark}"
    for row in chain(head[1:], rows):
        if odd := shape.oddity(row):
            reach = f"; lines {row.first} to {row.last} are not added" if row.last > row.first else ""
            yield BadRecord(f"{file.source} line {row.first}", odd + reach)
        else:
            values = {name: value for name, value in zip(names, row.cells, strict=False) if options.wants(name)}
            yield Record(values, f"{file.source} line {row.last}", file.source, written=written)
    if lines.damage:
        yield BadRecord(file.source, lines.damage)


def _start(lines: Iterator[str], options: ReadingOptions, usual: str) -> tuple[int, list[str], str]:
    """Return the number of lines before the header, its line with some that follow, and the delimiter.

    A delimiter that yields a text column comes first; among several, the one with the most columns.
    """
    line, number = next(lines, "").removeprefix("\ufeff"), 1
    stated = _SEPARATOR.fullmatch(line)
    while line and (number < options.header_row or (stated and number == 1) or not line.strip(_EMPTY)):
        line, number = next(lines, ""), number + 1
    ahead = [line, *islice(lines, _AHEAD)]
    delimiter = options.delimiter or (stated[1] if stated else "")
    if not delimiter:
        columns = {mark: _names(ahead, mark) for mark in sorted(DELIMITERS, key=lambda mark: mark != usual)}
        delimiter = max(columns, key=lambda mark: (options.has_text(columns[mark]), len(columns[mark])))
    return number - 1, ahead, delimiter


def _names(lines: Iterable[str], delimiter: str) -> list[str]:
    try:
        return next(csv.reader(lines, strict=True, delimiter=delimiter), [])
    except csv.Error:
        return []


def _rows(lines: _Lines, rest: Iterable[str], skipped: int, delimiter: str) -> Iterator[_Row]:
    """Yield the rows that are not empty, from the header on."""
    # Strict: after an unclosed quote, the texts of other individuals would become part of one record.
    reader = csv.reader(lines.record(rest), strict=True, delimiter=delimiter)
    while True:
        first = skipped + reader.line_num + 1
        lines.taken.clear()
        try:
            cells, is_wrong = next(reader), False
        except StopIteration:
            return
        except csv.Error:
            if lines.damage:  # it ended the row
                return
            cells, is_wrong = [], True
        last = skipped + reader.line_num
        if is_wrong or any(cell.strip() for cell in cells):
            yield _Row(first, last, cells, lines.taken.copy() if last > first else (), is_wrong)


class _Shape:
    """What most of the first rows of a table have in common, to find rows whose shape is odd.

    Args:
        rows: the first rows.
        names: the names of the columns.
        delimiter: the delimiter.
        options: the reading options.
    """

    def __init__(
        self, rows: Sequence[list[str]], names: Sequence[str], delimiter: str, options: ReadingOptions
    ) -> None:
        self._names, self._delimiter, self._options = names, delimiter, options
        self._width = _usual(map(len, rows))
        self._unit = unit = names.index(options.unit_field) if options.unit_field in names else -1
        whole = [row for row in rows if len(row) > unit >= 0]
        forms = Counter(form_of(row[unit]) for row in whole)
        usual = _usual(forms.elements()) or ""
        self._form = usual if "9" in usual else ""  # of units, if it has digits
        self._others = {form for form, count in forms.items() if count > max(1, len(whole) / 20)}
        self._alike = {  # the columns behind the unit's whose values usually have its form, too
            n for n in range(unit + 1, len(names)) if _usual(form_of(row[n]) for row in rows if len(row) > n) == usual
        }
        self._is_last = _usual(not any(map(str.strip, row[unit + 1 : unit + 2])) for row in whole)

    def oddity(self, row: _Row) -> str:
        """Return why the shape of a row is odd; "" if it is not."""
        quotes, cells, unit = "put texts with commas in quotes", row.cells, self._unit
        if row.has_wrong_quotes:
            return "not well-formed CSV: a quote is not closed, or text follows a closing quote"
        if any(cells[len(self._names) :]):  # without this check, a text without quotes would be cut at its first comma
            return f"the record has more fields than the table has columns; {quotes}"
        if len(cells) > len(self._names) and len(cells) != self._width:
            return f"the record has an empty field more than other records; {quotes}"
        if 0 <= unit < len(cells) and self._is_cut(cells) and canonical_unit(cells[unit]) not in self._options.may_be:
            odd = "the unit has another form than others, and a later field has theirs"
            return f"{odd}; {quotes} (a name all the same: --unit-may-be)"
        if row.lines and _has_rows(row.lines, cells, self._delimiter):
            return "a quote is not closed, or closed too late: the record contains lines that are records themselves"
        return ""

    def _is_cut(self, cells: Sequence[str]) -> bool:
        """Return whether a unit may be a part of a text that was cut at a comma.

        Then a later field has the form of units. In a column whose fields have it anyway, that says less: the unit has
        no digit then, though units have, and it begins with the space behind a comma, or hardly another has its form.
        """
        unit, later = cells[self._unit], range(self._unit + 1, len(cells))
        form = form_of(unit)
        if not self._form:
            return bool(self._is_last and unit[:1].isspace() and later and cells[later[0]].strip())
        if form == self._form or is_empty(unit):
            return False
        rare = "9" not in form and (form[0].isspace() > self._form[0].isspace() or form not in self._others)
        return any(form_of(cells[n]) == self._form for n in later if rare or n not in self._alike)


def _usual(values: Iterable[_Any]) -> _Any | None:
    """Return the value that more than half are; None if there is none."""
    counts = Counter(values)
    return next((value for value, count in counts.most_common(1) if 2 * count > counts.total()), None)


def _has_rows(lines: Sequence[str], row: list[str], delimiter: str) -> bool:
    """Return whether a line within a record is a record itself: it has the same fields in the same forms.

    A field of one line is evidence only for the other lines, since its own line always has it. The first line has the
    fields before a quote in any case; it is looked at if the quote is in the first field.
    """
    at, own = 0, list[tuple[int, int, str]]()
    for place, field in enumerate(row):
        ends = len(_LINE_END.findall(field))
        own += [(place, at, form_of(field))] * (not ends and bool(field))
        at += ends
    for number, line in list(enumerate(lines))[not _LINE_END.search(row[0]) :]:
        cells = _names([line.replace('"', "")], delimiter)
        others = [(place, form) for place, on, form in own if on != number]
        if others and len(cells) == len(row) and all(form_of(cells[place]) == form for place, form in others):
            return True
    return False


def form_of(name: str) -> str:
    """Return the form of a value: "a" for letters, "9" for digits, and other characters unchanged."""
    return _DIGITS.sub("9", _LETTERS.sub("a", name.rstrip()))


_LINE_END = re.compile(r"\r\n?|\n")
_LETTERS, _DIGITS = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")


# --- workbooks and Parquet -------------------------------------------------------------------------------------------


def read_workbook(file: FoundFile, options: ReadingOptions, sandbox: Sandbox) -> Records:
    """Yield the rows of a workbook's sheets. A row of each sheet, usually the first, has the names of its columns.

    Raises:
        BadData: if no sheet has a text column, or if a sheet has a needed column twice.
    """
    source, others, fits = file.source, list[tuple[str, list[str], list[tuple[int, list[object]]]]](), False
    all_rows = chain.from_iterable(rows_of_sheet.rows for rows_of_sheet in sandbox.read(SheetRows, file))
    for sheet, own in groupby(all_rows, itemgetter(0)):
        rows = ((number, cells) for _, number, cells in own if number >= options.header_row)
        where = f"{source} sheet '{sheet.strip()}'"
        names = ["" if cell is None else str(_value(cell)) for _, cells in islice(rows, 1) for cell in cells]
        if not options.has_text(names):
            below = [(number, [*map(_value, cells)]) for number, cells in islice(rows, _AHEAD)]
            others += [(where, names, below)] * bool(names)
            continue
        check_columns(where, names, options, are_names=True)
        fits = True
        for number, cells in rows:
            yield _row(names, cells, f"{where} row {number}", source, options)
    if not fits and others:
        has_text = (one for one in others if any(options.text_field in cells for _, cells in one[2]))
        where, names, below = next(has_text, others[0])
        check_columns(where, names, options, are_names=False, below=below)
    for where, *_ in others:
        yield BadRecord(where, f"not read: it has no column '{options.text_field}'")
    if not fits and not others:
        yield BadRecord(source, "empty")


def _row(names: list[str], cells: list[Any], where: str, source: str, options: ReadingOptions) -> Record | BadRecord:
    if any(cell is not None for cell in cells[len(names) :]):
        return BadRecord(where, "the row has more cells than the sheet has columns: give each column a name")
    given = [*cells, *[None] * (names.index(options.text_field) + 1 - len(cells) if options.text_field in names else 0)]
    values = {name: cell for name, cell in zip(names, given, strict=False) if options.wants(name)}
    if any(isinstance(cell, dict) and "error" in cell for cell in values.values()):
        return BadRecord(where, "a cell has a spreadsheet error, such as #N/A")
    return Record({name: _value(cell) for name, cell in values.items()}, where, source)


def _value(cell: Any) -> object:
    if not isinstance(cell, dict):
        return cell
    try:
        return datetime.fromisoformat(cell["date"])
    except (KeyError, TypeError, ValueError):
        return "" if "error" in cell else None


def read_parquet(file: FoundFile, options: ReadingOptions, _: Sandbox | None = None) -> Records:
    """Yield the records of a Parquet file.

    Raises:
        BadData: if the file lacks a needed column.
    """
    import pyarrow
    import pyarrow.parquet

    source, number = file.source, 0
    try:
        table = pyarrow.parquet.ParquetFile(file.path)
        names = table.schema_arrow.names
    except (pyarrow.ArrowException, OSError, ValueError):  # a name that is not UTF-8 is a ValueError
        raise Unreadable("not a Parquet file, or damaged") from None
    check_columns(source, names, options, are_names=True)
    wanted = [name for name in dict.fromkeys(names) if options.wants(name)]
    batches = table.iter_batches(batch_size=1000, columns=wanted)
    while True:
        try:
            batch = next(batches, None)
        except (pyarrow.ArrowException, OSError, ValueError):
            raise Unreadable(f"damaged after row {number}. Replace the file, and run the command again") from None
        if batch is None:
            return
        for row in range(batch.num_rows):
            number += 1
            where = f"{source} row {number}"
            try:  # each row alone: an invalid text or date must affect only its own record
                (values,) = batch.slice(row, 1).to_pylist()
            except (ValueError, OverflowError, KeyError):
                yield BadRecord(where, "the row has a value that cannot be read")
            else:
                yield Record(values, where, source)


# --- JSON ------------------------------------------------------------------------------------------------------------

LARGEST = 2**28
"""The largest JSON file in bytes, because it is read as a whole."""
KEY = "_key"
"""The field with the key of an object, if a file has objects by their keys."""
_ILL = "not well-formed JSON"


class _Twice(dict[str, Any]):
    """An object with a repeated field. A reader of the file may not expect the value that a parser keeps."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    return record if len(record) == len(pairs) else _Twice(record)


parse_json = partial(json.loads, object_pairs_hook=_pairs)


def has_repeated_field(value: object) -> bool:
    """Return whether what `parse_json` returned contains an object with a repeated field."""
    left = [value]
    while left:
        this = left.pop()
        if isinstance(this, _Twice):
            return True
        left += this.values() if isinstance(this, dict) else this if isinstance(this, list) else ()
    return False


def _object(record: object, where: str, source: str) -> Record | BadRecord:
    if has_repeated_field(record):
        return BadRecord(where, "a field occurs twice, possibly with two values: remove one")
    return Record(record, where, source) if isinstance(record, dict) else BadRecord(where, "not a JSON object")


def _json_encoding(file: FoundFile, options: ReadingOptions) -> str:
    """Return the encoding of a JSON file: as given, or UTF-8 if no mark says UTF-16."""
    with open_bytes(file.path) as opened:
        return options.encoding or ("utf-16" if opened.read(2) in (b"\xff\xfe", b"\xfe\xff") else "utf-8")


def read_lines(file: FoundFile, options: ReadingOptions, _: Sandbox | None = None) -> Records:
    """Yield the records of a file of JSON lines."""
    encoding = _json_encoding(file, options)
    try:
        with open_text(file.path, encoding, "\n") as opened:
            for number, line in enumerate(short_lines(opened), 1):
                if line.strip("\ufeff \t\r\n"):
                    yield _line(line.removeprefix("\ufeff"), f"{file.source} line {number}", file.source)
    except UnicodeError:  # of UTF-16, which has no lines to go on with
        yield BadRecord(file.source, f"not {encoding.upper()}. Give the encoding: --encoding NAME")


def _line(line: str, where: str, source: str) -> Record | BadRecord:
    if not is_unicode(line):
        return BadRecord(where, "not UTF-8")
    try:
        return _object(parse_json(line), where, source)
    except (ValueError, RecursionError):
        return BadRecord(where, _ILL)


def read_json(file: FoundFile, options: ReadingOptions, _: Sandbox | None = None) -> Records:
    """Yield the records of a JSON file: a list of objects, an object with one such list, or one object.

    An object with the text field is one record. A file with one object a line is read as JSON lines.
    """
    encoding = _json_encoding(file, options)
    with open_bytes(file.path) as opened:
        data = opened.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise Unreadable(f"larger than {LARGEST >> 20} MiB: convert it to JSON lines (.jsonl)")
    try:
        content = parse_json(data.decode(encoding).removeprefix("\ufeff"))
    except UnicodeError:
        raise Unreadable("not UTF-8") from None
    except json.JSONDecodeError as error:
        if error.msg != "Extra data" or error.lineno == 1:
            raise Unreadable(f"{_ILL} at line {error.lineno}") from None
        yield from read_lines(file, options)
    except (ValueError, RecursionError):
        raise Unreadable(_ILL) from None
    else:
        yield from _listed(content, file.source, options)


def _listed(content: object, source: str, options: ReadingOptions) -> Records:
    if isinstance(content, dict):
        if _has_text(content, options) or isinstance(content, _Twice):
            yield _object(content, source, source)
            return
        lists = [value for value in content.values() if _holds_objects(value)]
        keyed = [*_keyed(content, lists=KEY in options.named)]
        if any(_has_text(one, options) for one in keyed):
            content = keyed
        else:
            named = [value for value in lists if any(_has_text(one, options) for one in value)] or lists
            if len(named) > 1:
                raise Unreadable(
                    f"{len(named)} lists of objects, but one is expected: write each list to a file, or --unit-field "
                    f"{KEY} if keys name individuals"
                )
            content = named[0] if named else [content]
            if len(lists) > 1:
                yield PartLeftOut(source, f"lists without the field '{options.text_field}' are not read")
    if not isinstance(content, list):
        raise Unreadable("not a list of JSON objects")
    for number, record in enumerate(content, 1):
        yield _object(record, f"{source} item {number}", source)


def _has_text(record: object, options: ReadingOptions) -> bool:
    return isinstance(record, dict) and not is_empty(value_of(record, options.text_field))


def _holds_objects(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _keyed(content: dict[str, Any], *, lists: bool) -> Iterator[Any]:
    """Yield the objects of an object of objects, or of `lists` of them, each with its key; nothing if it is another."""
    if all(isinstance(value, dict) or (lists and _holds_objects(value)) for value in content.values()):
        for key, value in content.items():
            for one in value if isinstance(value, list) else [value]:
                yield type(one)({KEY: key, **one}) if isinstance(one, dict) else one

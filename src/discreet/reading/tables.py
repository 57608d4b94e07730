"""Tables: CSV and TSV with any usual delimiter, and Parquet. A table has the text column, and no needed column twice.

A row whose shape is odd is listed and not added, since its fields may be those of another column or individual.
Suggestions for a missing column are for messages. They are never applied.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain, islice
from typing import Any, TextIO, TypeVar

from discreet.errors import BadData, MissingPart
from discreet.reading.encodings import Doubtful, detect_encoding, doubtful, told
from discreet.reading.records import (
    DAMAGE,
    DAMAGED,
    LONGEST,
    BadRecord,
    FoundFile,
    ReadingOptions,
    Record,
    TooLong,
    open_bytes,
    short_lines,
)
from discreet.system.words import quoted

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


DELIMITERS = (",", ";", "\t", "|")
_SEPARATOR = re.compile(r"\"?sep=(.)\"?\r?\n?")
"""The first line that Excel writes to state the delimiter."""
_EMPTY = "".join(DELIMITERS) + " \r\n"
"""Of these consists a line without a cell, which is not the header."""


@dataclass(frozen=True)
class Shape:
    """What most of the first rows of a table have in common.

    Attributes:
        width: the number of fields; 0 if they differ.
        unit: the place of the unit's column; -1 if there is none.
        form: the form of the units, if it has digits; "" if not.
        alike: the places of the columns behind it whose values usually have that form, too.
        is_last: whether the next column is empty.
    """

    width: int = 0
    unit: int = -1
    form: str = ""
    alike: frozenset[int] = frozenset()
    is_last: bool = False


@dataclass(frozen=True)
class Dialect:
    """The encoding, the delimiter and the shape of a table as text.

    Attributes:
        encoding: the encoding of the file.
        delimiter: the character between two columns.
        shape: what most of its rows have in common.
    """

    encoding: str
    delimiter: str
    shape: Shape = Shape()


def detect_dialect(file: FoundFile, options: ReadingOptions) -> Dialect:
    """Return the dialect of a CSV or TSV file. Values in `options` take precedence.

    The encoding depends on all bytes (`detect_encoding`), the delimiter only on the line of the header. A delimiter
    that yields a text column comes first; among several, the one with the most columns.

    Raises:
        OSError: if the file cannot be opened.
        EOFError, zlib.error: if a compressed file is damaged.
        Doubtful: if two encodings are likely.
    """
    encoding = options.encoding or detect_encoding(lambda: open_bytes(file.path))
    with _opened(file, encoding) as opened:
        skipped, line, stated = _first_line(opened, options)
        delimiter = options.delimiter or stated
        if not delimiter:
            marks = DELIMITERS if line else ()
            starts = {mark: _names(chain([line], short_lines(opened)), mark) for mark in marks}
            usual = "\t" if file.path.name.lower().endswith((".tsv", ".tsv.gz")) else ","
            known = sorted(DELIMITERS, key=lambda mark: mark != usual)
            delimiter = max(known, key=lambda mark: (options.has_text(starts.get(mark, ())), len(starts.get(mark, ()))))
    with _opened(file, encoding) as opened:
        return Dialect(encoding, delimiter, _shape(opened, delimiter, skipped, options.unit_field))


def _first_line(opened: TextIO, options: ReadingOptions) -> tuple[int, str, str]:
    """Return the number of lines before the header, its line, and the delimiter that the first line states or ""."""
    line, number = opened.readline(LONGEST).removeprefix("\ufeff"), 1
    stated = _SEPARATOR.fullmatch(line)
    while line and (number < options.header_row or (stated and number == 1) or not line.strip(_EMPTY)):
        line, number = opened.readline(LONGEST), number + 1
    return number - 1, line, stated[1] if stated else ""


def _shape(opened: TextIO, delimiter: str, skipped: int, unit_field: str) -> Shape:
    """Return what more than half of the first rows below the header have in common."""
    rows = list[list[str]]()
    reader = csv.reader(islice(opened, skipped, None), strict=True, delimiter=delimiter)
    try:
        rows += (row for row in islice(reader, _LOOKED_AT) if any(row))
    except (csv.Error, *DAMAGE, UnicodeError):
        pass  # the rows before are enough, and the row itself is listed when it is read
    names, rows = (rows[0], rows[1:]) if rows else ([], [])
    unit = names.index(unit_field) if unit_field in names else -1
    whole = [row for row in rows if len(row) > unit]
    form = _usual(form_of(row[unit]) for row in whole) if unit >= 0 else ""
    return Shape(
        _usual(map(len, rows)) or 0,
        unit,
        form if form and "9" in form else "",
        frozenset(
            n
            for n in range(unit + 1, len(names))
            if _usual(form_of(cell) for row in rows for cell in row[n : n + 1]) == form
        ),
        unit >= 0 and _usual(not any(map(str.strip, row[unit + 1 : unit + 2])) for row in whole) is True,
    )


def _usual(values: Iterable[_Any]) -> _Any | None:
    """Return the value that more than half are; None if there is none."""
    counts = Counter(values)
    ((value, count),) = counts.most_common(1) or ((None, 0),)
    return value if 2 * count > counts.total() else None


_LOOKED_AT = 1000


def read_delimited(file: FoundFile, options: ReadingOptions) -> Iterator[Record | BadRecord]:
    """Read the records of a CSV or TSV file.

    Raises:
        BadData: if the first line has wrong quotes, or lacks a needed column.
    """
    csv.field_size_limit(LONGEST)
    try:
        dialect = detect_dialect(file, options)
        with _opened(file, dialect.encoding) as opened:
            yield from _records(opened, dialect, file.source, options)
    except (*DAMAGE, TooLong):
        yield BadRecord(file.source, DAMAGED)
    except Doubtful as error:
        yield BadRecord(file.source, doubtful(error))
    except UnicodeError:  # UTF-16 with a lone surrogate, or with an odd number of bytes
        yield BadRecord(file.source, "the encoding could not be detected. Give it: --encoding NAME")


def _opened(file: FoundFile, encoding: str) -> TextIO:
    # Invalid bytes become surrogates, so that one bad record does not stop the whole file.
    return io.TextIOWrapper(open_bytes(file.path), encoding=encoding, errors="surrogateescape", newline="")


def _names(lines: Iterator[str], delimiter: str) -> list[str]:
    try:
        return next(csv.reader(lines, strict=True, delimiter=delimiter), [])
    except csv.Error:
        return []


class _Lines:
    """The lines of a table, with those that were read since the last record."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines, self.taken = lines, list[str]()

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.taken.append(line)
            yield line


def _records(opened: TextIO, dialect: Dialect, source: str, options: ReadingOptions) -> Iterator[Record | BadRecord]:
    skipped, line, _ = _first_line(opened, options)
    rest = short_lines(opened)
    lines = _Lines(chain([line], rest))
    # Strict: after an unclosed quote, the texts of other individuals would become part of one record.
    reader = csv.reader(lines, strict=True, delimiter=dialect.delimiter)
    try:
        names = next((row for row in reader if row), [])
    except csv.Error as error:
        raise BadData(
            f"The first line of {source} has wrong quotes. It must have the names of the columns. Correct the line. "
            "Nothing was added."
        ) from error
    below = _below(rest, skipped + reader.line_num, dialect.delimiter) if not options.has_text(names) else ()
    check_columns(source, names, options, are_names=False, delimiter=options.delimiter, below=below)
    while True:
        first = skipped + reader.line_num + 1
        lines.taken.clear()
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield BadRecord(f"{source} line {first}", _misquoted(first, skipped + reader.line_num))
            continue
        last = skipped + reader.line_num
        if not any(cell.strip() for cell in row):
            continue
        if odd := _oddity(row, names, dialect, lines.taken):
            reach = f"; lines {first} to {last} are not added" if last > first else ""
            yield BadRecord(f"{source} line {first if reach else last}", odd + reach)
        else:
            values = {name: value for name, value in zip(names, row, strict=False) if options.wants(name)}
            yield Record(values, f"{source} line {last}", source, encoding=told(dialect.encoding))


def _below(rest: Iterator[str], number: int, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield some lines below the first one with their numbers, cut at each usual delimiter."""
    for line in islice(rest, 20):
        number += 1
        yield from ((number, _names(iter([line]), mark)) for mark in dict.fromkeys((delimiter, *DELIMITERS)))


def _oddity(row: list[str], names: list[str], dialect: Dialect, lines: Sequence[str]) -> str:
    """Return why the shape of a row is odd; "" if it is not."""
    if any(row[len(names) :]):  # without this check, a text without quotes would be cut at its first comma
        return "the record has more fields than the table has columns; put texts with commas in quotes"
    shape = dialect.shape
    if len(row) > len(names) and len(row) != shape.width:
        return "the record has an empty field more than other records; put texts with commas in quotes"
    if 0 <= shape.unit < len(row) - 1 and _is_shifted(row, shape):
        return "the unit has another form than others, and a later field has theirs; put texts with commas in quotes"
    if len(lines) > 1 and _has_rows(lines, row, dialect.delimiter):
        return "a quote is not closed, or closed too late: the record contains lines that are records themselves"
    return ""


def _is_shifted(row: Sequence[str], shape: Shape) -> bool:
    """Return whether a field that looks like a unit, in a column of others, is behind one that does not.

    Then a text was cut at a comma.
    """
    form, unit, later = shape.form, row[shape.unit], range(shape.unit + 1, len(row))
    if form:
        return form_of(unit) != form and any(form_of(row[n]) == form for n in later if n not in shape.alike)
    return shape.is_last and unit[:1].isspace() and bool(row[later[0]].strip())


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
        cells = _names(iter([line.replace('"', "")]), delimiter)
        others = [(place, form) for place, on, form in own if on != number]
        if others and len(cells) == len(row) and all(form_of(cells[place]) == form for place, form in others):
            return True
    return False


def form_of(name: str) -> str:
    """Return the form of a value: "a" for letters, "9" for digits, and other characters unchanged."""
    return _DIGITS.sub("9", _LETTERS.sub("a", name.rstrip()))


_LINE_END = re.compile(r"\r\n?|\n")
_LETTERS, _DIGITS = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")


def _misquoted(first: int, last: int) -> str:
    lines = f"; lines {first} to {last} are not added" if last > first else ""
    return f"not well-formed CSV: a quote is not closed, or text follows a closing quote{lines}"


_OFTEN = {
    "--text-field": ("text", "note", "notes", "body", "content", "message", "comment", "letter", "report", "befund"),
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
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.7)
    if not near:
        words = _OFTEN[option]
        near = [word for word in words if word in folded]
        near += [column for word in words for column in folded if word in column.replace("-", "_").split("_")]
    return f"Did you mean {option} {quoted(folded[near[0]])}?" if near else f"Give the right column: {option} NAME."


_BATCH = 1000


def read_parquet(file: FoundFile, options: ReadingOptions) -> Iterator[Record | BadRecord]:
    """Yield the records of a Parquet file.

    Raises:
        BadData: if the file lacks a needed column.
        MissingPart: if pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingPart("Parquet files need pyarrow", "parquet") from error
    path, source = file
    try:
        table = pyarrow.parquet.ParquetFile(path)
        names = table.schema_arrow.names
    except (pyarrow.ArrowException, OSError, ValueError):  # a name that is not UTF-8 is a ValueError
        yield BadRecord(source, "not a Parquet file, or damaged")
        return
    check_columns(source, names, options, are_names=True)
    wanted = [name for name in dict.fromkeys(names) if options.wants(name)]
    number = 0
    batches = table.iter_batches(batch_size=_BATCH, columns=wanted)
    while True:
        try:
            batch = next(batches, None)
        except (pyarrow.ArrowException, OSError, ValueError):
            yield BadRecord(source, f"damaged after row {number}. Replace the file, and run the command again")
            return
        if batch is None:
            return
        for row in range(batch.num_rows):
            number += 1
            yield _row(batch.slice(row, 1), f"{source} row {number}", source)


def _row(row: Any, where: str, source: str) -> Record | BadRecord:
    # Each row is converted alone: an invalid text or date must affect only its own record.
    try:
        (values,) = row.to_pylist()
    except (ValueError, OverflowError, KeyError):
        return BadRecord(where, "the row has a value that cannot be read")
    return Record(values, where, source)

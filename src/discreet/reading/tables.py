"""Tables: CSV and TSV with any usual delimiter, and Parquet. A table has the text column, and no needed column twice.

Suggestions for a missing column are for messages. They are never applied.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from typing import Any, TextIO

from discreet.errors import BadData, MissingPart
from discreet.reading.records import (
    DAMAGE,
    DAMAGED,
    LONGEST,
    BadRecord,
    FoundFile,
    ReadingOptions,
    Record,
    TooLong,
    detect_encoding,
    open_bytes,
    short_lines,
)
from discreet.system.words import quoted

_A_NAME = re.compile(r"[^\W\d]\w{0,29}([ -]\w{1,30}){0,2}")


def check_columns(
    source: str, names: Sequence[str], options: ReadingOptions, *, are_names: bool, delimiter: str | None = None
) -> None:
    """Check the columns of a table.

    Args:
        source: the name of the file, for the message.
        names: the names of the columns, in order.
        options: the needed columns.
        are_names: whether `names` are certainly names. The first line of a CSV file may be a document, so the message
            shows it only if it looks like names.
        delimiter: the delimiter that was given, if one was.

    Raises:
        BadData: if the table has no text column, or has a needed column twice.
    """
    if options.text_field not in names:
        shown = ", ".join(names[:50]) if names and (are_names or _look_like_names(names)) else ""
        has = f" Its columns: {shown}." if shown else " Its first line does not look like names of columns."
        right = suggestion(options.text_field, names if shown else (), "--text-field")
        by = f" with the delimiter {delimiter!r}" if delimiter else ""
        if delimiter and len(names) == 1:
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


@dataclass(frozen=True)
class Dialect:
    """The encoding and delimiter of a table as text.

    Attributes:
        encoding: the encoding of the file.
        delimiter: the character between two columns.
    """

    encoding: str
    delimiter: str


def detect_dialect(file: FoundFile, options: ReadingOptions) -> Dialect:
    """Return the dialect of a CSV or TSV file. Values in `options` take precedence.

    The encoding depends on all bytes (`detect_encoding`), the delimiter only on the first line. A delimiter that
    yields a text column comes first; among several, the one with the most columns.

    Raises:
        OSError: if the file cannot be opened.
        EOFError, zlib.error: if a compressed file is damaged.
    """
    encoding = options.encoding or detect_encoding(lambda: open_bytes(file.path))
    if options.delimiter:
        return Dialect(encoding, options.delimiter)
    with _opened(file, encoding) as opened:
        line = opened.readline(LONGEST).removeprefix("\ufeff")
        named = _SEPARATOR.fullmatch(line)
        if named:
            return Dialect(encoding, named[1])
        starts = {mark: _names(chain([line], short_lines(opened)), mark) for mark in (DELIMITERS if line else ())}
    usual = "\t" if file.path.name.lower().endswith((".tsv", ".tsv.gz")) else ","
    known = sorted(DELIMITERS, key=lambda mark: mark != usual)
    return Dialect(
        encoding, max(known, key=lambda mark: (options.text_field in starts.get(mark, ()), len(starts.get(mark, ()))))
    )


def read_delimited(file: FoundFile, options: ReadingOptions) -> Iterator[Record | BadRecord]:
    """Read the records of a CSV or TSV file.

    Raises:
        BadData: if the first line has wrong quotes, or lacks a needed column.
    """
    dialect = Dialect(options.encoding or "UTF-16", ",")  # UTF-16 is the only one whose bytes may be invalid
    try:
        dialect = detect_dialect(file, options)
        with _opened(file, dialect.encoding) as opened:
            yield from _records(opened, dialect.delimiter, file.source, options)
    except (*DAMAGE, TooLong):
        yield BadRecord(file.source, DAMAGED)
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


def _records(opened: TextIO, delimiter: str, source: str, options: ReadingOptions) -> Iterator[Record | BadRecord]:
    csv.field_size_limit(LONGEST)
    lines = short_lines(opened)
    first_line = next(lines, "").removeprefix("\ufeff")
    skipped = int(bool(_SEPARATOR.fullmatch(first_line)))
    # Strict: after an unclosed quote, the texts of other individuals would become part of one record.
    reader = csv.reader(lines if skipped else chain([first_line], lines), strict=True, delimiter=delimiter)
    try:
        names = next((row for row in reader if row), [])
    except csv.Error as error:
        raise BadData(
            f"The first line of {source} has wrong quotes. It must have the names of the columns. Correct the line. "
            "Nothing was added."
        ) from error
    check_columns(source, names, options, are_names=False, delimiter=options.delimiter)
    while True:
        first = skipped + reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield BadRecord(f"{source} line {first}", _misquoted(first, skipped + reader.line_num))
            continue
        where = f"{source} line {skipped + reader.line_num}"
        if any(row[len(names) :]):  # without this check, a text without quotes would be cut at its first comma
            yield BadRecord(
                where, "the record has more fields than the table has columns; put texts with commas in quotes"
            )
        elif row:
            values = {name: value for name, value in zip(names, row, strict=False) if options.wants(name)}
            yield Record(values, where, source)


def _misquoted(first: int, last: int) -> str:
    lines = f"; lines {first} to {last} are not added" if last > first else ""
    return f"not well-formed CSV: a quote is not closed, or text follows a closing quote{lines}"


_OFTEN = {
    "--text-field": ("text", "note", "notes", "body", "content", "message", "comment", "letter", "report"),
    "--unit-field": ("unit", "patient", "person", "subject", "individual", "user", "client", "customer", "member"),
    "--id-field": ("id", "record", "document", "number"),
}
"""Frequent names of columns, by the option that names such a column."""


def is_usual(name: str) -> bool:
    """Return whether this is a frequent name of a column. A line with such a name has names of columns."""
    return any(name.casefold() in words for words in _OFTEN.values()) or name.casefold() in ("date", "age", "name")


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

"""Tables as text: CSV and TSV with any usual delimiter."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TextIO

from discreet.errors import BadData
from discreet.reading.characters import detect_encoding
from discreet.reading.columns import check_columns
from discreet.reading.opening import DAMAGE, DAMAGED, LONGEST, TooLong, open_bytes, text_lines
from discreet.reading.options import ReadingOptions
from discreet.reading.records import BadRecord, FoundFile, Record

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
        starts = {mark: _names(chain([line], text_lines(opened)), mark) for mark in (DELIMITERS if line else ())}
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
    lines = text_lines(opened)
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

"""Tables as text: CSV and TSV, whatever stands between the columns."""

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
"""Excel's own first line, which names the delimiter."""


@dataclass(frozen=True)
class Dialect:
    """How a table is written as text.

    Attributes:
        encoding: of its characters.
        delimiter: between its columns.
    """

    encoding: str
    delimiter: str


def detect_dialect(file: FoundFile, options: ReadingOptions) -> Dialect:
    """Detect how a CSV or TSV file is written; what `options` name is taken from there.

    The encoding follows from all bytes (`detect_encoding`), the delimiter from the first line alone: it is the one that
    gives a column for the text, and of several the one that gives the most columns.

    Raises:
        OSError: the file cannot be opened.
        EOFError, zlib.error: it is packed, and damaged.
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
        BadData: its first line is misquoted, or has not the columns that are needed.
    """
    dialect = Dialect(options.encoding or "UTF-16", ",")  # the one whose bytes may be none of its characters
    try:
        dialect = detect_dialect(file, options)
        with _opened(file, dialect.encoding) as opened:
            yield from _records(opened, dialect.delimiter, file.source, options)
    except (*DAMAGE, TooLong):
        yield BadRecord(file.source, DAMAGED)
    except UnicodeError:  # of UTF-16: half a pair, or an odd number of bytes
        yield BadRecord(file.source, "its bytes are not of one encoding. Name it: --encoding NAME")


def _opened(file: FoundFile, encoding: str) -> TextIO:
    # Bytes that are none of its characters are marked rather than stopping the whole file.
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
    # Strict: a quote that is never closed would make one individual's text of all that follow.
    reader = csv.reader(lines if skipped else chain([first_line], lines), strict=True, delimiter=delimiter)
    try:
        names = next((row for row in reader if row), [])
    except csv.Error as error:
        raise BadData(f"The first line of {source}, with the names of the columns, is misquoted.") from error
    check_columns(source, names, options, are_names=False)
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
        if any(row[len(names) :]):  # what is beyond the columns: a text would be cut at its first comma
            yield BadRecord(where, "more fields than columns; a text with commas stands in quotes")
        elif row:
            values = {name: value for name, value in zip(names, row, strict=False) if options.wants(name)}
            yield Record(values, where, source)


def _misquoted(first: int, last: int) -> str:
    lines = f"; it and all up to line {last} are not added" if last > first else ""
    return f"not well-formed CSV: a quote is not closed, or something follows one that is{lines}"

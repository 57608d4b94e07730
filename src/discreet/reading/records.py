"""A file before its units are known: how it is read, its bytes and lines, and its records."""

import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, AnyStr, BinaryIO, NamedTuple, cast


class FoundFile(NamedTuple):
    """A file, and its name in the vault."""

    path: Path
    source: str


@dataclass(frozen=True)
class Record:
    """One record of a table, or one file of text.

    Attributes:
        values: the fields by name, unchanged. A file of text has its text in the field `text`.
        where: the position, for messages: "notes.csv line 7", "letters/ada.pdf".
        source: the name of the file in the vault: its path relative to the given folder, or its file name.
        whole: whether the record is a whole file, which has no unit field.
        encoding: the encoding of a text that is not UTF-8; "" for UTF-8, and for files of other kinds.
    """

    values: Mapping[str, object] = field(repr=False)
    where: str
    source: str
    whole: bool = False
    encoding: str = ""


@dataclass(frozen=True)
class BadRecord:
    """A part of a file that could not be read.

    Attributes:
        where: the file and the place in it.
        reason: why it was left out. It never contains text of the file.
    """

    where: str
    reason: str


class PartLeftOut(BadRecord):
    """A part of a file that was left out, such as an attachment, though the rest of the file was read."""


class NoText(BadRecord):
    """A record or a file without a text. There is nothing to add, and it is no fault."""


class Erased(BadRecord):
    """Documents of an individual who was erased. They are refused, as the custodian wished, and it is no fault."""


def counted(number: int, what: str) -> str:
    """Return a number with its noun, in the plural if the number is not 1."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def kind_of(path: Path) -> str:
    """Return the format of a file by its suffix: "csv" for "a.CSV.gz", "html" for "a.htm", "jsonl" for "a.ndjson"."""
    name = path.name.lower()
    kind = name.removesuffix(".gz").rpartition(".")[2]
    return {"htm": "html", "ndjson": "jsonl"}.get(kind, kind)


@dataclass(frozen=True)
class ReadingOptions:
    """The options for reading files.

    Attributes:
        text_field: the column or field with the text. A table without it is refused.
        encoding: the encoding of texts, tables, pages and mails; None: it is detected for each file.
        delimiter: the delimiter of a CSV or TSV file, one character; None: it is detected for each file.
        header_row: the line of a table, or the row of each sheet, that has the names of the columns.
        without_quotes: whether the words of others that a mail quotes are left out.
        unit_field: the column with the individual, whose form shows shifted rows of a table as text.
        needed: the other needed columns (units, ids, fields). A table may have each of them once. None: all columns.
    """

    text_field: str = "text"
    encoding: str | None = None
    delimiter: str | None = None
    needed: frozenset[str] | None = None
    header_row: int = 1
    without_quotes: bool = False
    unit_field: str = ""

    def wants(self, name: str) -> bool:
        """Return whether a column is needed, or a part of it: `subject.reference` is a part of `subject`."""
        return self.needed is None or any(_has(name, one) for one in (self.text_field, *self.needed))

    def has_text(self, names: Sequence[str]) -> bool:
        """Return whether a table with these columns has the text."""
        return any(_has(name, self.text_field) for name in names)


def _has(column: str, wanted: str) -> bool:
    return bool(column) and (column == wanted or wanted.startswith(f"{column}."))


DAMAGE = (gzip.BadGzipFile, EOFError, zlib.error)
"""The errors that a damaged compressed file raises."""
DAMAGED = "damaged: the rest cannot be read. Replace the file, and run the command again"
LONGEST = 2**27
"""The longest line, in bytes or characters. A longer line counts as damage, because it could fill the memory."""


class TooLong(ValueError):  # noqa: N818 - it is a fact, and caught where it is met
    """A line that is longer than `LONGEST`."""


def open_bytes(path: Path) -> BinaryIO:
    """Open a file for reading. A file with the suffix `.gz` is decompressed."""
    return cast(BinaryIO, gzip.open(path, "rb")) if path.name.lower().endswith(".gz") else path.open("rb")


def short_lines(file: IO[AnyStr]) -> Iterator[AnyStr]:
    """Yield the lines of a file, of bytes or of text.

    Raises:
        TooLong: if a line has more than `LONGEST` bytes or characters.
    """
    while line := file.readline(LONGEST):
        if len(line) == LONGEST:
            raise TooLong
        yield line

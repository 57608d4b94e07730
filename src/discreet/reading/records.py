"""A file before its units are known: how it is read, its bytes, lines and characters, and its records."""

import codecs
import gzip
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, AnyStr, BinaryIO, NamedTuple, cast

from discreet.errors import UsageError


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
    """

    values: Mapping[str, object] = field(repr=False)
    where: str
    source: str
    whole: bool = False


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
        encoding: the encoding of texts and tables; None: it is detected for each file.
        delimiter: the delimiter of a CSV or TSV file, one character; None: it is detected for each file.
        needed: the other needed columns (units, ids, fields). A table may have each of them once. None: all columns.
    """

    text_field: str = "text"
    encoding: str | None = None
    delimiter: str | None = None
    needed: frozenset[str] | None = None

    def wants(self, name: str) -> bool:
        """Return whether a column is needed."""
        return self.needed is None or name == self.text_field or name in self.needed


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


_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_STRAY = re.compile("[\udc80-\udcff]")
_BEYOND_ASCII = re.compile("[^\0-\x7f\udc80-\udcff]")
_IN_NO_WINDOWS_TEXT = re.compile("[\udc81\udc8d\udc8f\udc90\udc9d]")
_PIECE = 2**20


def known_encoding(name: str) -> str:
    """Check the name of an encoding. Return the name.

    Raises:
        UsageError: if Python has no such text encoding.
    """
    try:
        "".encode(name).decode(name)
    except (LookupError, UnicodeError, ValueError) as error:
        raise UsageError(
            f"There is no encoding '{name}'. Give one such as utf-8, utf-16, cp1252, latin-1 or cp1250."
        ) from error
    return name


def detect_encoding(opened: Callable[[], BinaryIO]) -> str:
    """Return the encoding of a text file.

    A byte order mark decides. Without one, the encoding is UTF-16 if many of every second byte are zero, otherwise
    UTF-8. If the bytes that are invalid in UTF-8 outnumber the valid characters beyond ASCII, the encoding is cp1252,
    which includes Latin-1. So a UTF-8 file with some damaged lines remains UTF-8.

    Args:
        opened: a function that opens the file again.
    """
    with opened() as file:
        piece = file.read(_PIECE)
        for mark, name in _MARKS:
            if piece.startswith(mark):
                return name
        start = piece[:4096]
        if start[1::2].count(0) > len(start) / 5:
            return "utf-16-le"
        if start[::2].count(0) > len(start) / 5:
            return "utf-16-be"
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        stray, sound, windows = 0, 0, True
        while piece:
            if not piece.isascii() or stray or sound:
                text = decoder.decode(piece)
                stray += len(_STRAY.findall(text))
                sound += len(_BEYOND_ASCII.findall(text))
                windows = windows and not _IN_NO_WINDOWS_TEXT.search(text)
            try:
                piece = file.read(_PIECE)
            except DAMAGE:  # the part before the damage is still read
                break
        stray += len(_STRAY.findall(decoder.decode(b"", final=True)))
    return "cp1252" if stray > sound and windows else "utf-8"

"""A file before its units are known: how it is read, its bytes, its encoding and its lines, and its records.

The encoding of a text is as a mark, its bytes or its label tell. A doubtful one is refused, never guessed: a wrong
encoding would give an individual a second name. Labels mean what browsers take them for (WHATWG, Encoding).
"""

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any, AnyStr, BinaryIO, NamedTuple, TextIO, cast

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
        written: how its file is written, for the preview: its encoding, its delimiter; "" if there is nothing to say.
    """

    values: Mapping[str, object] = field(repr=False)
    where: str
    source: str
    whole: bool = False
    written: str = ""


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


Records = Iterator[Record | BadRecord]


class Unreadable(Exception):  # noqa: N818 - it is a fact about a file, and becomes a `BadRecord`
    """A file, a record, a label or a field that cannot be read. The message is the reason, without any content."""


def kind_of(path: Path) -> str:
    """Return the format of a file by its suffix: "csv" for "a.CSV.gz", "html" for "a.htm", "jsonl" for "a.ndjson"."""
    kind = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    return {"htm": "html", "ndjson": "jsonl"}.get(kind, kind)


@dataclass(frozen=True)
class ReadingOptions:
    """How files are read. A field's name such as `subject.reference` is a part of a field.

    Attributes:
        text_field: the field with the text. A table without it is refused.
        more_text: further fields with text, which follow the first one's after an empty line.
        unit_field: the field with the individual, whose form shows shifted rows of a table as text.
        id_field: the field with the document's id; "" for none.
        declared: the vault's declared fields, with their types.
        all_fields: whether records have all fields of a table; otherwise only those that are named here.
        encoding: the encoding of texts, tables, pages and mails; None: it is detected for each file.
        delimiter: the delimiter of a CSV or TSV file, one character; None: it is detected for each file.
        header_row: the line of a table, or the row of each sheet, that has the names of the columns.
        date_format: the form of dates, as of `strptime`; "" for all forms with one meaning.
        drop_bad_fields: whether a declared field with a wrong value is left out, and not its record.
        without_quotes: whether the words of others that a mail quotes are left out.
        ocr: whether pages of a PDF without text are read as pictures.
        may_be: names of individuals, in their canonical spelling, that are names although they look like none.
    """

    text_field: str = "text"
    more_text: tuple[str, ...] = ()
    unit_field: str = "unit"
    id_field: str = "id"
    declared: Mapping[str, str] = field(default_factory=dict)
    all_fields: bool = True
    encoding: str | None = None
    delimiter: str | None = None
    header_row: int = 1
    date_format: str = ""
    drop_bad_fields: bool = False
    without_quotes: bool = False
    ocr: bool = False
    may_be: frozenset[str] = frozenset()

    @cached_property
    def named(self) -> tuple[str, ...]:
        """The fields that are named here. A table may have each of them once."""
        return (self.text_field, *self.more_text, self.unit_field, self.id_field, *self.declared)

    def wants(self, name: str) -> bool:
        """Return whether a column is needed, or a part of it: `subject.reference` is a part of `subject`."""
        return self.all_fields or any(_has(name, one) for one in self.named)

    def has_text(self, names: Sequence[str]) -> bool:
        """Return whether a table with these columns has the text."""
        return any(_has(name, self.text_field) for name in names)


def _has(column: str, wanted: str) -> bool:
    return bool(column) and (column == wanted or wanted.startswith(f"{column}."))


@dataclass(frozen=True)
class ExtractedText:
    """A document's text, with counts of the parts that were not read.

    Attributes:
        text: the text.
        encoding: the encoding of a text without a mark; "" for files that state theirs.
        fields: what a mail's header states: from (an address), to, cc, date, subject, message-id.
        pages: the number of pages of a PDF without text.
        recognized: the number of pages of a PDF whose text was read from a picture.
        attachments: the number of attachments of a mail, or of embedded files in a document.
        forms: 1 if a document has form fields whose values are not read; otherwise 0.
        bodiless: 1 if a mail has no text; otherwise 0.
    """

    text: str
    encoding: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    pages: int = 0
    recognized: int = 0
    attachments: int = 0
    forms: int = 0
    bodiless: int = 0


@dataclass(frozen=True)
class SheetRows:
    """Some rows of a workbook.

    Attributes:
        rows: the title of the sheet of each row, its number and its cells. A cell is a text, a number, a boolean or
            None, `{"date": ...}` in ISO 8601, or `{"error": 1}` for an error of the spreadsheet.
    """

    rows: list[tuple[str, int, list[Any]]]


DAMAGE = (gzip.BadGzipFile, EOFError, zlib.error)
"""The errors that a damaged compressed file raises."""
DAMAGED = "damaged: the rest cannot be read. Replace the file, and run the command again"
LONGEST = 2**27
"""The longest line, in bytes or characters. A longer line counts as damage, because it could fill the memory."""


def open_bytes(path: Path) -> BinaryIO:
    """Open a file for reading. A file with the suffix `.gz` is decompressed."""
    return cast(BinaryIO, gzip.open(path, "rb")) if path.name.lower().endswith(".gz") else path.open("rb")


def open_text(path: Path, encoding: str, newline: str) -> TextIO:
    """Open a text. Invalid bytes become surrogates, so that one bad record does not stop the whole file."""
    return io.TextIOWrapper(open_bytes(path), encoding=encoding, errors="surrogateescape", newline=newline)


def short_lines(file: IO[AnyStr]) -> Iterator[AnyStr]:
    """Yield the lines of a file, of bytes or of text.

    Raises:
        Unreadable: if a line has more than `LONGEST` bytes or characters, or if a compressed file is damaged.
    """
    try:
        while line := file.readline(LONGEST):
            if len(line) == LONGEST:
                raise Unreadable(DAMAGED)
            yield line
    except DAMAGE:
        raise Unreadable(DAMAGED) from None


# --- encodings ---------------------------------------------------------------------------------------------------

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_AS_BROWSERS = {
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
"""What browsers read for an encoding: a larger one, whose characters occur under its name."""
_LABELS = {"x-sjis": "cp932", "x-gbk": "gb18030", "x-x-big5": "big5hkscs", "iso-8859-8-i": "iso8859-8"}
_STRAY = re.compile("[\udc80-\udcff]")
_BEYOND_ASCII = re.compile("[^\0-\x7f\udc80-\udcff]")
_FOREIGN_WORD = re.compile(r"[^\W\d_\0-\x7f]{3}")
_ALPHABETS = {"cp866", "cp874", "cp1251", "cp1253", "cp1255", "cp1256", "koi8-r", "koi8-u"} | {
    f"iso8859-{number}" for number in (5, 6, 7, 8)
}
"""Encodings of one byte a letter, of other alphabets than the Latin one."""
_FEW = 6
_PIECE = 2**20


class Doubtful(Unreadable):
    """A text of which two encodings are likely. The message names them."""

    def __init__(self, likely: str) -> None:
        super().__init__(f"its encoding is in doubt ({likely}). Give it: --encoding NAME")


def labelled(name: str) -> str:
    """Return the encoding that browsers read under a label; "" if there is none, or if it is of no text."""
    try:
        codec = codecs.lookup(_LABELS.get(name.lower(), name)).name
        "".encode(codec).decode(codec)
    except (LookupError, UnicodeError, ValueError):
        return ""
    return _AS_BROWSERS.get(codec, codec)


def check_encoding(name: str) -> None:
    """Check the name of an encoding.

    Raises:
        UsageError: if there is no such text encoding.
    """
    if not labelled(name):
        raise UsageError(f"There is no encoding '{name}'. Give one such as utf-8, utf-16, cp1252, latin-1 or cp1250.")


def detect_encoding(opened: Callable[[], BinaryIO]) -> str:
    """Return the encoding of a text file.

    A byte order mark decides. Without one, the encoding is UTF-16 if many of every second byte are zero, otherwise
    UTF-8, unless the bytes that are invalid in UTF-8 outnumber the valid characters beyond ASCII. So a UTF-8 file with
    some damaged lines remains UTF-8. The lines of other files that are not ASCII tell the encoding (`_legacy`).

    Args:
        opened: a function that opens the file again.

    Raises:
        Doubtful: if two encodings are likely.
    """
    with opened() as file:
        piece = file.read(_PIECE)
        for mark, name in _MARKS:
            if piece.startswith(mark):
                return name
        start = piece[:4096]
        for first, name in ((1, "utf-16-le"), (0, "utf-16-be")):
            if start[first::2].count(0) > len(start) / 5:
                return name
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        stray, sound, telling = 0, 0, bytearray()
        while piece:
            if not piece.isascii() or stray or sound:
                text = decoder.decode(piece)
                stray += len(_STRAY.findall(text))
                sound += len(_BEYOND_ASCII.findall(text))
                if len(telling) < _PIECE:
                    telling += b"\n".join(line for line in piece.splitlines() if not line.isascii())
            try:
                piece = file.read(_PIECE)
            except DAMAGE:  # the part before the damage is still read
                break
        stray += len(_STRAY.findall(decoder.decode(b"", final=True)))
    return _legacy(bytes(telling)) if stray > sound else "utf-8"


def decode(data: bytes, declared: str | None) -> tuple[str, str]:
    """Return a text and its encoding: as its mark or its label tells, or else as its bytes do.

    Raises:
        Doubtful: if two encodings are likely.
    """
    named = labelled(declared) if declared else ""
    if named and named != "ascii":
        try:
            return data.decode(named).removeprefix("\ufeff"), named
        except UnicodeError:
            pass
    encoding = detect_encoding(lambda: io.BytesIO(data))
    return data.decode(encoding, "replace").removeprefix("\ufeff"), encoding


def _legacy(data: bytes) -> str:
    """Return the encoding of lines that are not UTF-8.

    Raises:
        Doubtful: if the letters fit two encodings.
    """
    from chardetng_py import EncodingDetector  # later: most texts are UTF-8

    detector = EncodingDetector()
    detector.feed(data, last=True)
    encoding = labelled(detector.guess(tld=None, allow_utf8=False))
    text = data.decode(encoding, "replace")
    if encoding == "cp1252" and _FOREIGN_WORD.search(text):  # no Western word has three such letters in a row
        raise Doubtful("cp1252, cp1251 or another alphabet")
    if encoding in _ALPHABETS and sum(char.isalpha() and not char.isascii() for char in text) < _FEW:
        raise Doubtful(f"{encoding} or another alphabet")
    pair = ("cp1250", "iso8859-2")
    if encoding in pair:
        other = data.decode(pair[encoding == pair[0]], "replace")
        differ = {two for one, two in zip(text, other, strict=False) if one != two}
        if differ and all(char.isalpha() for char in differ):
            raise Doubtful("cp1250 or iso-8859-2")
    return encoding


def told(encoding: str) -> str:
    """Return an encoding as a custodian reads it; "" for UTF-8 and ASCII, which need no word."""
    return "" if encoding.startswith("utf-8") or encoding in ("", "ascii") else f"encoding {encoding}"

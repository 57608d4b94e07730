"""Records from the standard input."""

import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO

from discreet.errors import UnknownName, UsageError
from discreet.reading.files import DOCUMENTS, KINDS, read_records
from discreet.reading.options import ReadingOptions
from discreet.reading.records import BadRecord, FoundFile, Record

SOURCE = "standard input"
FORMATS = tuple(kind.strip(".") for kind in KINDS if kind not in DOCUMENTS)
"""What can be named for the standard input: the kinds of files, but those that are always files of their own."""
_PIECE = 2**20


def kept_stdin(stream: BinaryIO, kind: str | None = None) -> AbstractContextManager[FoundFile]:
    """Keep the standard input in a temporary file, which only this user can read, until the `with` block ends.

    It is read several times: how a table is written is detected, and units are looked through, before it is added.

    Args:
        stream: of bytes.
        kind: one of `FORMATS`. None: JSON, as a list or an object a line, told by its first line.

    Raises:
        UnknownName: there is no such format.
        UsageError: no format was named, and it is no JSON.
    """
    if kind is not None and kind not in FORMATS:
        raise UnknownName("format", kind, FORMATS)
    start = stream.read(_PIECE)
    return _kept(stream, start, kind or _json_kind(start))


def read_stdin(
    stream: BinaryIO, kind: str | None = None, options: ReadingOptions | None = None
) -> Iterator[Record | BadRecord]:
    """Read the records of the standard input, named and kept as by `kept_stdin`.

    Raises:
        UnknownName, UsageError: as `kept_stdin`.
        BadData: a table has no column for the text, or one that is needed twice.
    """
    return _read(kept_stdin(stream, kind), options)


def _json_kind(start: bytes) -> str:
    first = start.lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n")
    if first[:1] not in (b"{", b"["):
        raise UsageError("The standard input is no JSON. Say what it is: --format csv (or tsv, xlsx, parquet, txt).")
    line = first.partition(b"\n")[0].rstrip(b"\0 \t\r")
    return "jsonl" if first.startswith(b"{") and line.endswith(b"}") else "json"


def _read(kept: AbstractContextManager[FoundFile], options: ReadingOptions | None) -> Iterator[Record | BadRecord]:
    with kept as file:
        yield from read_records([file], options)


@contextmanager
def _kept(stream: BinaryIO, start: bytes, kind: str) -> Iterator[FoundFile]:
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        path = Path(folder, f"input.{kind}")
        with path.open("wb") as file:
            piece = start
            while piece:
                file.write(piece)
                piece = stream.read(_PIECE)
        yield FoundFile(path, SOURCE)

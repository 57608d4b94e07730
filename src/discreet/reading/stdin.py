"""Reading of records from the standard input."""

import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO

from discreet.errors import UnknownName, UsageError
from discreet.reading.loaders import DOCUMENTS, KINDS
from discreet.reading.records import FoundFile

SOURCE = "standard input"
FORMATS = tuple(kind.strip(".") for kind in KINDS if kind not in DOCUMENTS)
"""The formats of the standard input: all but the documents of office programs."""
_PIECE = 2**20


def kept_stdin(stream: BinaryIO, kind: str | None = None) -> AbstractContextManager[FoundFile]:
    """Keep the standard input in a temporary file that only this user can read, until the `with` block ends.

    The file is read several times: to detect its dialect, to check its units, and to add its records.

    Args:
        stream: the stream of bytes.
        kind: one of `FORMATS`. None: JSON, as a list or as one object a line; the first line decides.

    Raises:
        UnknownName: if there is no such format.
        UsageError: if no format was given, and the input is not JSON.
    """
    if kind is not None and kind not in FORMATS:
        raise UnknownName("format", kind, FORMATS)
    start = stream.read(_PIECE)
    return _kept(stream, start, kind or _json_kind(start))


def _json_kind(start: bytes) -> str:
    first = start.lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n")
    if first[:1] not in (b"{", b"["):
        raise UsageError("The standard input is not JSON. Give its format: --format csv (or tsv, xlsx, parquet, txt).")
    line = first.partition(b"\n")[0].rstrip(b"\0 \t\r")
    return "jsonl" if first.startswith(b"{") and line.endswith(b"}") else "json"


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

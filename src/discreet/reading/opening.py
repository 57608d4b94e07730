"""Opening of files for reading, also of compressed files."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO, cast

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


def byte_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file.

    Raises:
        TooLong: if a line has more than `LONGEST` bytes.
    """
    while line := file.readline(LONGEST):
        if len(line) == LONGEST:
            raise TooLong
        yield line


def text_lines(file: TextIO) -> Iterator[str]:
    """Yield the lines of a text file.

    Raises:
        TooLong: if a line has more than `LONGEST` characters.
    """
    while line := file.readline(LONGEST):
        if len(line) == LONGEST:
            raise TooLong
        yield line

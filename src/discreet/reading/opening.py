"""Files opened to be read, packed ones too."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO, cast

DAMAGE = (gzip.BadGzipFile, EOFError, zlib.error)
"""What a damaged packed file raises."""
DAMAGED = "damaged, and cannot be read further. Replace it, and run the command again"
LONGEST = 2**27
"""Bytes or characters; a line beyond is taken for damage, lest it fill the memory."""


class TooLong(ValueError):  # noqa: N818 - it is a fact, and caught where it is met
    """A line has no end."""


def open_bytes(path: Path) -> BinaryIO:
    """Open a file; if its name ends in `.gz`, what is packed in it."""
    return cast(BinaryIO, gzip.open(path, "rb")) if path.name.lower().endswith(".gz") else path.open("rb")


def byte_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file.

    Raises:
        TooLong: one has more than `LONGEST` bytes.
    """
    while line := file.readline(LONGEST):
        if len(line) == LONGEST:
            raise TooLong
        yield line


def text_lines(file: TextIO) -> Iterator[str]:
    """The lines of a file of text.

    Raises:
        TooLong: one has more than `LONGEST` characters.
    """
    while line := file.readline(LONGEST):
        if len(line) == LONGEST:
            raise TooLong
        yield line

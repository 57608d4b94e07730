"""Detection of a file's encoding: from its byte order mark, or from its bytes."""

import codecs
import re
from collections.abc import Callable
from typing import BinaryIO

from discreet.errors import UsageError
from discreet.reading.opening import DAMAGE

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

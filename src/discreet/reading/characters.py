"""In which characters a file is written: what it says itself, or else the only likely reading of its bytes."""

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
    """Check the name of an encoding.

    Raises:
        UsageError: Python knows none of this name that makes text of bytes.
    """
    try:
        "".encode(name).decode(name)
    except (LookupError, UnicodeError, ValueError) as error:
        raise UsageError(f"There is no encoding '{name}'. Usual: utf-8, utf-16, cp1252, latin-1, cp1250.") from error
    return name


def detect_encoding(opened: Callable[[], BinaryIO]) -> str:
    """Detect the encoding of a file of text.

    A byte order mark decides. Without one it is UTF-16 if every second byte is zero; else UTF-8, unless more bytes are
    no UTF-8 than characters beyond ASCII are: then it is cp1252, of which Latin-1 is a part. A file of UTF-8 with some
    damaged lines stays UTF-8.

    Args:
        opened: opens the file anew.
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
            except DAMAGE:  # what comes before is read all the same
                break
        stray += len(_STRAY.findall(decoder.decode(b"", final=True)))
    return "cp1252" if stray > sound and windows else "utf-8"

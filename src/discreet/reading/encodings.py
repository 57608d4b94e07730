"""The encoding of a text: as a mark, its bytes or its label tell. A doubtful one is refused, never guessed.

A wrong encoding would give an individual a second name. Labels mean what browsers take them for (WHATWG, Encoding).
"""

import codecs
import io
import re
from collections.abc import Callable
from typing import BinaryIO

from discreet.errors import UsageError
from discreet.reading.records import DAMAGE

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
_PIECE, _MOST = 2**20, 2**20


class Doubtful(ValueError):  # noqa: N818 - it is a fact about a file
    """A text of which two encodings are likely. The message names them."""


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


def labelled(name: str) -> str:
    """Return the encoding that browsers read under a label; "" if there is none, or if it is of no text."""
    try:
        found = codecs.lookup(_LABELS.get(name.lower(), name)).name
        "".encode(found).decode(found)
    except (LookupError, UnicodeError, ValueError):
        return ""
    return _AS_BROWSERS.get(found, found)


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
        if start[1::2].count(0) > len(start) / 5:
            return "utf-16-le"
        if start[::2].count(0) > len(start) / 5:
            return "utf-16-be"
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        stray, sound, telling = 0, 0, bytearray()
        while piece:
            if not piece.isascii() or stray or sound:
                text = decoder.decode(piece)
                stray += len(_STRAY.findall(text))
                sound += len(_BEYOND_ASCII.findall(text))
                if len(telling) < _MOST:
                    telling += b"\n".join(line for line in piece.splitlines() if not line.isascii())
            try:
                piece = file.read(_PIECE)
            except DAMAGE:  # the part before the damage is still read
                break
        stray += len(_STRAY.findall(decoder.decode(b"", final=True)))
    return _legacy(bytes(telling)) if stray > sound else "utf-8"


def decode(data: bytes, declared: str = "") -> tuple[str, str]:
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
    found = detect_encoding(lambda: io.BytesIO(data))
    return data.decode(found, "replace").removeprefix("\ufeff"), found


def _legacy(data: bytes) -> str:
    """Return the encoding of lines that are not UTF-8.

    Raises:
        Doubtful: if the letters fit two encodings.
    """
    try:
        from chardetng_py import EncodingDetector  # later: most texts are UTF-8
    except ImportError:
        raise Doubtful("it is not UTF-8, and chardetng-py, which tells others apart, is not installed") from None
    detector = EncodingDetector()
    detector.feed(data, last=True)
    found = labelled(detector.guess(tld=None, allow_utf8=False))
    text = data.decode(found, "replace")
    if found == "cp1252" and _FOREIGN_WORD.search(text):  # no Western word has three such letters in a row
        raise Doubtful("cp1252, cp1251 or another alphabet")
    if found in _ALPHABETS and sum(char.isalpha() and not char.isascii() for char in text) < _FEW:
        raise Doubtful(f"{found} or another alphabet")
    pair = ("cp1250", "iso8859-2")
    if found in pair:
        other = data.decode(pair[found == pair[0]], "replace")
        differ = {two for one, two in zip(text, other, strict=False) if one != two}
        if differ and all(char.isalpha() for char in differ):
            raise Doubtful("cp1250 or iso-8859-2")
    return found


def told(encoding: str) -> str:
    """Return an encoding as a custodian reads it; "" for UTF-8 and ASCII, which need no word."""
    return "" if encoding.startswith("utf-8") or encoding == "ascii" else encoding


def doubtful(error: Doubtful) -> str:
    """Return the reason to refuse a file of a doubtful encoding."""
    return f"its encoding is in doubt ({error}). Give it: --encoding NAME"

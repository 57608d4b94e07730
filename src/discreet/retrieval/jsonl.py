"""Files of JSON lines that others wrote: what is wrong with them is one kind of error."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from discreet.system.unicode import is_unicode


def read_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """The value on each line of a file that is not blank, with the line's number. See `lines_of`."""
    return lines_of(path.read_bytes())


def lines_of(content: bytes) -> Iterator[tuple[int, Any]]:
    """The value on each line that is not blank, with the line's number.

    Raises:
        ValueError: it is not UTF-8, not well-formed, nested too deeply, or holds half a character.
    """
    for number, line in numbered(content):
        yield number, value_of(line)


def numbered(content: bytes) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers.

    Raises:
        UnicodeDecodeError: it is not UTF-8.
    """
    # Not `splitlines`, which also ends a line within a text, at U+2028 for one.
    for number, line in enumerate(content.decode("utf-8-sig").split("\n"), 1):
        if line.strip():
            yield number, line


def value_of(line: str) -> Any:
    """The value that a line spells.

    Raises:
        ValueError: it is not well-formed, nested too deeply, or holds half a character.
    """
    try:
        value = json.loads(line)
        # Spelled as \ud800, JSON lets half a character pass, which no file, model or terminal takes.
        if "\\u" in line and not is_unicode(json.dumps(value, ensure_ascii=False)):
            raise ValueError("half a character")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value

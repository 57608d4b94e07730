"""Parse untrusted files of JSON lines. Every defect is raised as a ValueError."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from discreet.system.words import is_unicode


def read_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the number and the value of each line of a file that is not blank. See `lines_of`."""
    return lines_of(path.read_bytes())


def lines_of(content: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the number and the value of each line that is not blank.

    Raises:
        ValueError: if the content is not UTF-8, or a line is malformed, nested too deeply, or holds half a character.
    """
    for number, line in numbered(content):
        yield number, value_of(line)


def numbered(content: bytes) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not blank.

    Raises:
        UnicodeDecodeError: if the content is not UTF-8.
    """
    # Not `splitlines`: it also splits within a text, for example at U+2028.
    for number, line in enumerate(content.decode("utf-8-sig").split("\n"), 1):
        if line.strip():
            yield number, line


def value_of(line: str) -> Any:
    """Return the value of a line.

    Raises:
        ValueError: if the line is malformed, nested too deeply, or holds half a character.
    """
    try:
        value = json.loads(line)
        # JSON accepts half a character in the form \ud800. Files, models and terminals do not.
        if "\\u" in line and not is_unicode(json.dumps(value, ensure_ascii=False)):
            raise ValueError("half a character")
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value

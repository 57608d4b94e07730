"""The chain of an audit log: the canonical form of a line, its hash, and the check of all lines."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GENESIS = "0" * 64
"""What the first line has as the hash of the line before it."""
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "seq": int,
    "time": (int, float),
    "actor": str,
    "act": str,
    "of": str,
    "details": dict,
    "prev": str,
}
_HEX = frozenset("0123456789abcdef")


class Broken(Exception):  # noqa: N818 - not an error of the caller's
    """A chain that is not whole."""


@dataclass(frozen=True)
class Verified:
    """A chain that is whole.

    Attributes:
        count: how many lines it has.
        head: the hash of the last line; keep it elsewhere.
        first: the number of the first line; more than 1 if older files were taken away.
        last: the number of the last line.
    """

    count: int
    head: str
    first: int
    last: int


def spelled(content: dict[str, Any]) -> str:
    """Return an object in canonical form."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def hash_of(content: dict[str, Any]) -> str:
    """Return the hash of a line: of its content without the field `hash`."""
    unhashed = {name: value for name, value in content.items() if name != "hash"}
    return hashlib.sha256(spelled(unhashed).encode("ascii")).hexdigest()


def parse_line(line: bytes) -> dict[str, Any]:
    """Return the content of a line that matches its own hash.

    Raises:
        Broken: if it does not match, or is no line.
    """
    try:
        found = json.loads(line)
        if spelled(found).encode() != line:
            raise Broken("it is not in canonical form")
    except (ValueError, RecursionError):
        raise Broken("it is no JSON") from None
    if not isinstance(found, dict) or found.keys() != {*_FIELDS, "hash"}:
        raise Broken("its fields are not those of a line")
    if not all(isinstance(found[name], kind) for name, kind in _FIELDS.items()) or isinstance(found["seq"], bool):
        raise Broken("a field has another type")
    if not (isinstance(found["hash"], str) and len(found["hash"]) == len(GENESIS) and set(found["hash"]) <= _HEX):
        raise Broken("its hash is no SHA-256")
    if found["hash"] != hash_of(found):
        raise Broken("its content does not match its hash")
    return found


def verify_files(files: Sequence[Path], head: str | None = None) -> Verified:
    """Check the lines of files that follow one another.

    Raises:
        Broken: if a line is wrong; the message names the first one. Or if `head` is the hash of none.
    """
    before: dict[str, Any] | None = None
    count, first, seen = 0, 1, head is None
    for path, number, line in _lines(files):
        try:
            found = _follows(before, line)
        except Broken as broken:
            raise Broken(
                f"Line {number} of {path} is wrong: {broken}. The lines before it are whole. Compare the log with a "
                "copy."
            ) from None
        if before is None:
            first = found["seq"]
        seen |= found["hash"] == head
        before, count = found, count + 1
    last = GENESIS if before is None else before["hash"]
    if not seen and head != last:
        raise Broken(
            f"The head {head} is not in the chain, which ends with {last}. Lines at the end were cut off, or the log "
            "was written anew. Compare it with a copy."
        )
    return Verified(count, last, first, 0 if before is None else before["seq"])


def _follows(before: dict[str, Any] | None, line: bytes) -> dict[str, Any]:
    if not line.endswith(b"\n"):
        raise Broken("it does not end")
    found = parse_line(line[:-1])
    if before is None:
        # Of a log whose older files were taken away, the first line is trusted.
        if (found["seq"] == 1) != (found["prev"] == GENESIS) or found["seq"] < 1:
            raise Broken("it is no first line")
    elif found["seq"] != before["seq"] + 1:
        raise Broken(f"its number is {found['seq']}, and {before['seq'] + 1} was expected")
    elif found["prev"] != before["hash"]:
        raise Broken("it does not follow the line before it")
    return found


def _lines(files: Sequence[Path]) -> Iterator[tuple[Path, int, bytes]]:
    for path in files:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                yield path, number, line

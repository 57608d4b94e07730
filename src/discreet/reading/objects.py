"""JSON files: one object a line, one list of objects, or objects by their keys."""

import codecs
import json
from collections.abc import Iterator
from typing import Any

from discreet.reading.fields import is_empty, value_of
from discreet.reading.records import (
    DAMAGE,
    DAMAGED,
    BadRecord,
    FoundFile,
    PartLeftOut,
    ReadingOptions,
    Record,
    TooLong,
    open_bytes,
    short_lines,
)

LARGEST = 2**28
"""The largest JSON file in bytes, because it is read as a whole."""
_TWICE = "a field occurs twice, possibly with two values: remove one"
_MARKS = (b"\xff\xfe", b"\xfe\xff")
KEY = "_key"
"""The field with the key of an object, if a file has objects by their keys."""


def read_lines(file: FoundFile, options: ReadingOptions) -> Iterator[Record | BadRecord]:
    """Yield the records of a file of JSON lines."""
    path, source = file
    try:
        with open_bytes(path) as opened:
            encoding = _marked(opened.read(2))
        if options.encoding and codecs.lookup(options.encoding).name not in ("utf-8", "utf-8-sig"):
            encoding = options.encoding
        with open_bytes(path) as opened:
            if encoding:
                yield from _whole_lines(opened.read(LARGEST + 1), encoding, source)
                return
            for number, line in enumerate(short_lines(opened), 1):
                if line.strip():
                    yield _record(line, "utf-8-sig", f"{source} line {number}", source)
    except (*DAMAGE, TooLong):
        yield BadRecord(source, DAMAGED)


def _marked(start: bytes) -> str:
    return "utf-16" if start in _MARKS else ""


def _whole_lines(data: bytes, encoding: str, source: str) -> Iterator[Record | BadRecord]:
    """Yield the records of lines in an encoding where a newline byte may be a part of another character."""
    if len(data) > LARGEST:
        yield BadRecord(source, f"larger than {LARGEST >> 20} MiB, and not UTF-8: convert it to UTF-8")
        return
    try:
        text = data.decode(encoding)
    except UnicodeError:
        yield BadRecord(source, f"not {encoding.upper()}. Give the encoding: --encoding NAME")
        return
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if line.strip():
            yield _record(line.encode("utf-8", "surrogatepass"), "utf-8", f"{source} line {number}", source)


def _record(line: bytes, encoding: str, where: str, source: str) -> Record | BadRecord:
    twice = _Twice()
    try:
        record = json.loads(line.decode(encoding), object_pairs_hook=twice)
    except UnicodeDecodeError:
        return BadRecord(where, "not UTF-8")
    except (ValueError, RecursionError):
        return BadRecord(where, "not well-formed JSON")
    return _object(record, bool(twice.met), where, source)


def _object(record: object, twice: bool, where: str, source: str) -> Record | BadRecord:
    if twice:
        return BadRecord(where, _TWICE)
    if not isinstance(record, dict):
        return BadRecord(where, "not a JSON object")
    return Record(record, where, source)


class _Twice:
    """A hook of the JSON parser that records objects with a repeated field.

    The parser would keep only the last value, which a reader of the file may not expect, such as another individual.
    """

    def __init__(self) -> None:
        self.met: list[dict[str, Any]] = []

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            self.met.append(record)
        return record

    def within(self, value: object) -> bool:
        """Return whether a value contains an object with a repeated field."""
        left = [value] if self.met else []
        while left:
            this = left.pop()
            if any(this is other for other in self.met):
                return True
            left += this.values() if isinstance(this, dict) else this if isinstance(this, list) else ()
        return False


def read_json(file: FoundFile, options: ReadingOptions) -> Iterator[Record | BadRecord]:
    """Yield the records of a JSON file: a list of objects, an object with one such list, or one object.

    An object with the text field is one record. A file with one object a line is read as JSON lines.
    """
    path, source = file
    try:
        with open_bytes(path) as opened:
            data = opened.read(LARGEST + 1)
    except DAMAGE:
        yield BadRecord(source, DAMAGED)
        return
    if len(data) > LARGEST:
        yield BadRecord(source, f"larger than {LARGEST >> 20} MiB: convert it to JSON lines (.jsonl)")
        return
    twice = _Twice()
    try:
        encoding = options.encoding or _marked(data[:2]) or "utf-8-sig"
        content = json.loads(data.decode(encoding), object_pairs_hook=twice)
    except UnicodeError:
        yield BadRecord(source, "not UTF-8")
        return
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and error.lineno > 1:
            yield from read_lines(file, options)
        else:
            yield BadRecord(source, f"not well-formed JSON at line {error.lineno}")
        return
    except (ValueError, RecursionError):
        yield BadRecord(source, "not well-formed JSON")
        return
    yield from _listed(content, twice, source, options)


def _listed(content: object, twice: _Twice, source: str, options: ReadingOptions) -> Iterator[Record | BadRecord]:
    if isinstance(content, dict):
        if _has_text(content, options):
            yield _object(content, twice.within(content), source, source)
            return
        if any(content is other for other in twice.met):
            yield BadRecord(source, _TWICE)
            return
        lists = [value for value in content.values() if _holds_objects(value)]
        keyed = [*_keyed(content, lists=KEY in (options.needed or ()))]
        if keyed and any(_has_text(one, options) for one in keyed):
            content = keyed
        else:
            named = [value for value in lists if any(_has_text(one, options) for one in value)] or lists
            if len(named) > 1:
                lead = f"{len(named)} lists of objects, but one is expected"
                yield BadRecord(
                    source, f"{lead}: write each list to a file, or --unit-field {KEY} if keys name individuals"
                )
                return
            content = named[0] if named else [content]
            if len(lists) > 1:
                yield PartLeftOut(source, f"lists without the field '{options.text_field}' are not read")
    if not isinstance(content, list):
        yield BadRecord(source, "not a list of JSON objects")
        return
    for number, record in enumerate(content, 1):
        yield _object(record, twice.within(record), f"{source} item {number}", source)


def _has_text(record: object, options: ReadingOptions) -> bool:
    return isinstance(record, dict) and not is_empty(value_of(record, options.text_field))


def _holds_objects(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _keyed(content: dict[str, Any], *, lists: bool) -> Iterator[dict[str, Any]]:
    """Yield the objects of an object of objects, or of `lists` of them, each with its key; nothing if it is another."""
    if all(isinstance(value, dict) or (lists and _holds_objects(value)) for value in content.values()):
        for key, value in content.items():
            for one in value if isinstance(value, list) else [value]:
                yield {KEY: key, **one} if isinstance(one, dict) else one

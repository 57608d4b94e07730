"""From files and folders to documents. What cannot be read is reported by its place, and reading goes on."""

import csv
import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import BadData, MissingPart, UsageError
from discreet.retrieval.documents import Document, canonical_name, is_unicode

RECORDS = (".jsonl", ".jsonl.gz", ".csv", ".parquet")
_TEXTS = (".txt", ".md")
KINDS = (*RECORDS, *_TEXTS)


@dataclass(frozen=True)
class Fields:
    """The names of a record's fields: its text, the individual it is about, its id."""

    text: str = "text"
    unit: str = "unit"
    id: str = "id"


@dataclass(frozen=True)
class BadRecord:
    """What could not be read: where, and why. Never what it says."""

    where: str
    reason: str


def read_documents(path: Path, fields: Fields | None = None) -> Iterator[Document | BadRecord]:
    """The documents of a file or folder, one at a time.

    Raises:
        UsageError: there is nothing at `path`, or it is of no known kind.
        BadData: the file as a whole cannot be read.
    """
    fields = fields or Fields()
    try:
        if path.is_dir():
            return _readable(path, _folder(path))
        if not path.is_file():
            raise UsageError(f"There is no file or folder at {path}. Check the path.")
    except OSError as error:  # a name that is too long, or a folder that may not be looked into
        raise UsageError(f"Nothing can be found at {path}: {error.strerror}. Check the path.") from error
    name = path.name.lower()
    if name.endswith((".jsonl", ".jsonl.gz")):
        return _readable(path, _jsonl(path, fields))
    if name.endswith(".csv"):
        return _readable(path, _csv(path, fields))
    if name.endswith(".parquet"):
        return _readable(path, _parquet(path, fields))
    if name.endswith((".txt", ".md")):
        return (_text_file(file, file.name) for file in (path,))
    raise UsageError(f"{path.name} is of no known kind. Known: {', '.join(KINDS)}, and folders of .txt and .md.")


def check_fields(path: Path, fields: Fields) -> None:
    """Nothing, unless a field that somebody named for individuals or ids is in no record of a file.

    Without it every record would be taken for an individual of its own, who has a whole budget: a misspelt name would
    give those who have spent theirs another one.

    Raises:
        BadData: it is in none.
    """
    named = {
        option: has
        for option, name, usual, has in (
            ("--unit-field", fields.unit, Fields.unit, lambda found: not found.own_unit),
            ("--id-field", fields.id, Fields.id, lambda found: found.id != _own_id(found.text)),
        )
        if name != usual
    }
    if not named or not path.name.lower().endswith(RECORDS):
        return
    some = False
    for record in read_documents(path, fields):
        if isinstance(record, Document):
            some, named = True, {option: has for option, has in named.items() if not has(record)}
            if not named:
                return
    if some:
        option = min(named)
        name = fields.id if option == "--id-field" else fields.unit
        raise BadData(
            f"No record of {path.name} has a field '{name}', so each would be taken for something of its own. Name the "
            f"field that it has: {option} NAME. (If each is about somebody else: --unit-field with the field of their "
            "ids.) Nothing was added."
        )


def _readable(path: Path, records: Iterator[Document | BadRecord]) -> Iterator[Document | BadRecord]:
    """The same records; what the operating system says against reading them is explained."""
    try:
        yield from records
    except OSError as error:
        raise BadData(
            f"{path.name} cannot be read ({error.strerror}). Allow reading it, and run the command again."
        ) from error


def _jsonl(path: Path, fields: Fields) -> Iterator[Document | BadRecord]:
    with gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb") as file:
        lines = enumerate(file, 1)
        while True:
            try:
                number, line = next(lines)
            except StopIteration:
                return
            except (OSError, EOFError, zlib.error) as error:
                raise BadData(
                    f"{path.name} is damaged and cannot be read further. Replace it and run the command again."
                ) from error
            if line.strip():
                yield _json_line(line, f"{path.name} line {number}", fields)


def _json_line(line: bytes, where: str, fields: Fields) -> Document | BadRecord:
    try:
        record = json.loads(line.decode("utf-8-sig"), object_pairs_hook=_once)
    except UnicodeDecodeError:
        return BadRecord(where, "not UTF-8")
    except _TwiceError:
        return BadRecord(where, "a field stands in it twice, and may say two things")
    except (ValueError, RecursionError):
        return BadRecord(where, "not well-formed JSON")
    if not isinstance(record, dict):
        return BadRecord(where, "not a JSON object")
    return _document(record, where, fields)


class _TwiceError(ValueError):
    """A field stands twice in one record."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Of two the last would count: an individual's name, say, that is not the one a reader sees.
    record = dict(pairs)
    if len(record) < len(pairs):
        raise _TwiceError
    return record


def _check_columns(path: Path, names: Sequence[str], fields: Fields) -> None:
    twice = [name for name in (fields.text, fields.unit, fields.id) if names.count(name) > 1]
    if twice:
        raise BadData(f"{path.name} has two columns '{twice[0]}'. Give each a name of its own. Nothing was added.")


def _csv(path: Path, fields: Fields) -> Iterator[Document | BadRecord]:
    csv.field_size_limit(2**31 - 1)
    # Bytes that are not UTF-8 are marked rather than stopping the whole file.
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        # Strict: a quote that is never closed would make one individual's text of all that follow.
        reader = csv.DictReader(file, strict=True)
        try:
            names = reader.fieldnames or ()
        except csv.Error as error:
            raise BadData(f"The first line of {path.name}, with the names of the columns, is misquoted.") from error
        if fields.text not in names:
            # What its first line does say is not shown: a file without a header begins with a document.
            raise BadData(
                f"{path.name} has no column '{fields.text}' in its first line. Name the right one with --text-field."
            )
        _check_columns(path, names, fields)
        while True:
            first = reader.reader.line_num + 1
            try:
                record = next(reader)
            except StopIteration:
                return
            except csv.Error:
                yield BadRecord(f"{path.name} line {first}", _misquoted(first, reader.reader.line_num))
                continue
            where = f"{path.name} line {reader.line_num}"
            if any(record.get(None) or ()):  # what is beyond the columns: a text would be cut at its first comma
                yield BadRecord(where, "more fields than columns; a text with commas stands in quotes")
            else:
                yield _document(record, where, fields)


def _misquoted(first: int, last: int) -> str:
    lines = f"; it and all up to line {last} are not added" if last > first else ""
    return f"not well-formed CSV: a quote is not closed, or something follows one that is{lines}"


def _parquet(path: Path, fields: Fields) -> Iterator[Document | BadRecord]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingPart("Parquet files need pyarrow", "parquet") from error
    try:
        file = pyarrow.parquet.ParquetFile(path)
        names = file.schema_arrow.names
    except (pyarrow.ArrowException, OSError, ValueError) as error:  # a name that is not UTF-8 is a ValueError
        raise BadData(f"{path.name} is no Parquet file, or a damaged one.") from error
    if fields.text not in names:
        raise BadData(f"{path.name} has no column '{fields.text}'. It has: {', '.join(names)}. Use --text-field.")
    _check_columns(path, names, fields)
    wanted = [name for name in (fields.text, fields.unit, fields.id) if name in names]
    number = 0
    batches = file.iter_batches(batch_size=1000, columns=wanted)
    while True:
        try:
            batch = next(batches, None)
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise BadData(
                f"{path.name} is damaged after row {number}. Replace it and run the command again."
            ) from error
        if batch is None:
            return
        for row in range(batch.num_rows):
            number += 1
            yield _row(batch.slice(row, 1), f"{path.name} row {number}", fields)


def _row(row: Any, where: str, fields: Fields) -> Document | BadRecord:
    # One by one: a text that is no UTF-8, or a date that no calendar has, is one record's fault.
    try:
        (record,) = row.to_pylist()
    except (ValueError, OverflowError, KeyError):
        return BadRecord(where, "holds a value that cannot be read")
    return _document(record, where, fields)


def _folder(path: Path) -> Iterator[Document | BadRecord]:
    closed: list[OSError] = []
    files = sorted(Path(root, name) for root, _, names in os.walk(path, onerror=closed.append) for name in names)
    if not closed and not any(file.suffix.lower() in _TEXTS for file in files):
        raise UsageError(f"The folder {path} holds no .txt or .md file. Other kinds are named one by one.")
    for error in closed:
        yield BadRecord(_within(path, Path(error.filename)), f"cannot be looked into ({error.strerror})")
    for file in files:
        if file.suffix.lower() in _TEXTS and file.is_file():
            yield _text_file(file, file.relative_to(path).as_posix())
        elif file.name.lower().endswith(RECORDS):
            yield BadRecord(_within(path, file), "a file of records: name it by itself, beside the folder")


def _within(folder: Path, path: Path) -> str:
    name = path.relative_to(folder).as_posix()
    return name if is_unicode(name) else ascii(name)


def _text_file(path: Path, name: str) -> Document | BadRecord:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        return BadRecord(name, "not UTF-8")
    except OSError as error:
        return BadRecord(name, f"cannot be read ({error.strerror})")
    if not is_unicode(name):
        return BadRecord(ascii(name), "the name of the file is not UTF-8")
    return _document({"text": text, "id": name}, name, Fields())


def _document(record: dict[Any, Any], where: str, fields: Fields) -> Document | BadRecord:
    text = record.get(fields.text)
    if text is None:
        return BadRecord(where, f"no field '{fields.text}'")
    if not isinstance(text, str):
        return BadRecord(where, f"the field '{fields.text}' is not a text")
    if not text.strip():
        return BadRecord(where, "empty")
    names = [record.get(name) for name in (fields.id, fields.unit)]
    for field, name in zip((fields.id, fields.unit), names, strict=True):
        if isinstance(name, (list, dict, bytes)):
            return BadRecord(where, f"the field '{field}' is neither a text nor a number")
    identity, unit = map(_name, names)
    if not all(map(is_unicode, (text, identity, unit))):
        return BadRecord(where, "not UTF-8")
    # Without an id, the text names itself, so that adding a file twice adds nothing.
    identity = identity or _own_id(text)
    return Document(identity, unit or identity, text, own_unit=not unit)


def _own_id(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _name(value: object) -> str:
    """A value as a name: two spellings of the same characters, or of one number, are one individual."""
    if value is None or value != value:  # NaN, as a table has it for nothing
        return ""
    if isinstance(value, float) and value.is_integer():  # a table with gaps has 7 as 7.0
        value = int(value)
    return canonical_name(str(value))

"""Records from the standard input."""

import io

import pytest

from discreet.errors import BadData, UnknownName, UsageError
from discreet.files.loaders import SOURCE, kept_stdin, read_records
from discreet.files.records import BadRecord, ReadingOptions, Record
from tests.files import samples


def read(data: bytes, kind: str | None = None, options: ReadingOptions | None = None) -> list[Record | BadRecord]:
    with kept_stdin(io.BytesIO(data), kind) as file:
        return list(read_records([file], options))


def texts(data: bytes, kind: str | None = None, options: ReadingOptions | None = None) -> list[object]:
    return [record.values["text"] for record in read(data, kind, options) if isinstance(record, Record)]


@pytest.mark.parametrize(
    "data",
    [
        b'{"text": "a"}\n{"text": "b"}\n',
        b'\xef\xbb\xbf{"text": "a"}\r\n{"text": "b"}',
        b'[{"text": "a"}, {"text": "b"}]',
        b'{\n "notes": [\n  {"text": "a"}, {"text": "b"}\n ]\n}\n',
        '{"text": "a"}\n{"text": "b"}\n'.encode("utf-16"),
    ],
)
def test_json_is_told_by_its_first_line(data: bytes) -> None:
    assert texts(data) == ["a", "b"]
    assert all(record.source == SOURCE for record in read(data) if isinstance(record, Record))


def test_what_is_no_json_is_named() -> None:
    assert texts(b"text;unit\na;Ada\n", "csv") == ["a"]
    assert texts(b"text\tunit\na\tAda\n", "tsv") == ["a"]
    assert texts(b"A text.", "txt") == ["A text."]
    assert texts(samples.xlsx(["text"], ["a"]), "xlsx") == ["a"]
    with pytest.raises(UsageError, match="--format csv"):
        read(b"text;unit\na;Ada\n")
    with pytest.raises(UsageError):
        read(b"")
    with pytest.raises(UnknownName, match="csv"):
        read(b"text", "cvs")
    with pytest.raises(BadData, match="--text-field"):
        read(b"patient_id,note\n1,x\n", "csv")

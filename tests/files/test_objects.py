"""JSON, a record a line or a file of records."""

import gzip
import json
from pathlib import Path

import pytest

from discreet.files.loaders import read_records
from discreet.files.records import BadRecord, ReadingOptions, Record

A, B = {"text": "a", "unit": 7}, {"text": "b \u2028 \x85", "unit": 7.5}


def read(path: Path, content: object, options: ReadingOptions | None = None) -> list[Record | BadRecord]:
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return list(read_records([path], options))


def values(path: Path, content: object) -> list[object]:
    return [record.values for record in read(path, content) if isinstance(record, Record)]


@pytest.mark.parametrize("content", [[A, B], {"notes": [A, B]}, {"made": "2026", "of": ["x"], "notes": [A, B]}])
def test_list_of_objects_is_found(content: object, tmp_path: Path) -> None:
    assert values(tmp_path / "a.json", content) == [A, B]
    assert values(tmp_path / "b.json", json.dumps(content, indent=1, ensure_ascii=False).encode("utf-16")) == [A, B]
    assert values(tmp_path / "a.json.gz", gzip.compress(json.dumps(content).encode())) == [A, B]


def test_one_object_is_one_record(tmp_path: Path) -> None:
    assert values(tmp_path / "a.json", {**A, "visits": [{"ward": 1}]}) == [{**A, "visits": [{"ward": 1}]}]
    assert values(tmp_path / "a.json", {"note": "x"}) == [{"note": "x"}]


def test_json_file_with_an_object_a_line_is_read_as_such(tmp_path: Path) -> None:
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in (A, B)).encode()
    for name in ("a.json", "a.jsonl", "a.ndjson"):
        assert values(tmp_path / name, lines) == [A, B]
    assert values(tmp_path / "b.jsonl", lines.decode().encode("utf-16")) == [A, B]
    (tmp_path / "c.jsonl").write_bytes('{"text": "café"}\n'.encode("latin-1"))
    assert isinstance(next(read_records([tmp_path / "c.jsonl"])), BadRecord)
    (found,) = read_records([tmp_path / "c.jsonl"], ReadingOptions(encoding="latin-1"))
    assert isinstance(found, Record)


@pytest.mark.parametrize(
    "content", [b"", b"[", b"7", b"[" * 100_000, b"\xff", {"a": [A], "b": [B]}, b'[{"n": ' + b"9" * 10_000 + b"}]"]
)
def test_what_holds_no_list_of_objects_is_one_bad_record(content: object, tmp_path: Path) -> None:
    (bad,) = read(tmp_path / "a.json", content)
    assert isinstance(bad, BadRecord)


def test_what_stands_twice_costs_one_record(tmp_path: Path) -> None:
    content = b'[{"unit": "A", "text": "a", "unit": "B"}, 5, {"text": "b", "x": [{"y": 1, "y": 2}]}, {"text": "c"}]'
    found = read(tmp_path / "a.json", content)
    assert [type(record) for record in found] == [BadRecord, BadRecord, BadRecord, Record]
    assert [record.where for record in found][:3] == ["a.json item 1", "a.json item 2", "a.json item 3"]
    (twice,) = read(tmp_path / "b.json", b'{"notes": [{"text": "a"}], "notes": [{"text": "b"}]}')
    assert isinstance(twice, BadRecord)
    assert "twice" in twice.reason
    assert isinstance(read(tmp_path / "c.jsonl", b'{"text": "a", "text": "b"}')[0], BadRecord)

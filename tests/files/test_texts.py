"""Files of one text each, and their characters."""

from pathlib import Path

import pytest

from discreet.files.loaders import read_records
from discreet.files.records import BadRecord, ReadingOptions, Record


def read(path: Path, data: bytes, options: ReadingOptions | None = None) -> Record | BadRecord:
    path.write_bytes(data)
    (found,) = read_records([path], options)
    return found


@pytest.mark.parametrize("encoding", ["ascii", "utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252", "latin-1"])
def test_encodings_are_detected(encoding: str, tmp_path: Path) -> None:
    text = "A text of some length, " + ("" if encoding == "ascii" else "élan, Zoë.")
    found = read(tmp_path / "a.txt", text.encode(encoding))
    assert isinstance(found, Record)
    assert found.values == {"text": text}
    assert found.whole


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no text"),
        (b" \n", "no text"),
        (b"\x89PNG\0\0\0\0\0\x81", "it is a file of another program"),
        ("Zoë, Noël, ".encode() + b"caf\xe9", "not UTF-8"),
        (b"\x81\x8d", "its encoding is in doubt"),
        (b"\xff\xfea", "not UTF-16"),
    ],
)
def test_what_is_no_text_is_named(data: bytes, reason: str, tmp_path: Path) -> None:
    found = read(tmp_path / "a.txt", data)
    assert isinstance(found, BadRecord)
    assert found.reason.startswith(reason)


def test_encoding_that_is_named_is_used(tmp_path: Path) -> None:
    found = read(tmp_path / "a.md", "Łukasz".encode("cp1250"), ReadingOptions(encoding="cp1250"))
    assert isinstance(found, Record)
    assert found.values["text"] == "Łukasz"
    assert isinstance(read(tmp_path / "a.md", b"\xff", ReadingOptions(encoding="utf-8")), BadRecord)

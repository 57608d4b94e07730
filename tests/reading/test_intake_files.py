"""Files and folders to documents; what cannot be read is named and skipped."""

import gzip
import json
import math
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadData, UsageError
from discreet.reading.records import BadRecord, ReadingOptions
from discreet.retrieval.documents import Document, chunk
from tests.reading.documents import read_documents

ADA = {"id": "1", "unit": "Ada", "text": "Ada is well."}


def documents(path: Path, options: ReadingOptions | None = None) -> list[Document]:
    return [record for record in read_documents(path, options) if isinstance(record, Document)]


def bad(path: Path) -> list[BadRecord]:
    return [record for record in read_documents(path) if isinstance(record, BadRecord)]


def test_every_kind_of_file_gives_the_same_documents(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    bela = {"id": "2", "unit": "Bela", "text": 'Bela says: "no",\nand leaves.'}
    lines = "".join(json.dumps(record) + "\n" for record in (ADA, bela))
    (tmp_path / "a.jsonl").write_text(lines)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    quoted = bela["text"].replace('"', '""')
    (tmp_path / "a.csv").write_text(f'id,unit,text\n1,Ada,Ada is well.\n2,Bela,"{quoted}"\n')
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([ADA, bela]), tmp_path / "a.parquet")
    expected = [Document(record["id"], record["unit"], record["text"]) for record in (ADA, bela)]
    for name in ("a.jsonl", "a.jsonl.gz", "a.csv", "a.parquet"):
        assert documents(tmp_path / name) == expected, name


def test_folders_of_texts(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "one.txt").write_text("One.")
    (tmp_path / "sub" / "two.md").write_text("# Two")
    (tmp_path / "sub" / "three.txt").write_bytes(b"zero\0")
    (tmp_path / "other.png").write_text("not read")
    (tmp_path / "sub" / "notes.jsonl").write_text('{"text": "of records"}')
    found = list(read_documents(tmp_path))
    texts = [record for record in found if isinstance(record, Document) and "." in record.id]
    assert [record.id for record in texts] == ["one.txt", "sub/two.md"]
    assert [record.source for record in found if isinstance(record, Document)] == [
        *("sub/notes.jsonl", "one.txt", "sub/two.md")
    ]
    assert [record.where for record in found if isinstance(record, BadRecord)] == ["other.png", "sub/three.txt"]
    assert all(record.own_unit for record in texts)


def test_other_names_of_fields(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"nr": 7, "person": 12, "body": "Text."}))
    (found,) = documents(tmp_path / "a.jsonl", ReadingOptions("body", unit_field="person", id_field="nr"))
    assert (found.id, found.unit, found.own_unit) == ("7", "12", False)


def test_one_person_is_one_unit_however_it_is_spelled_in_bytes(tmp_path: Path) -> None:
    names = ["Zo\u00eb", " Zoe\u0308 "]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"unit": name, "text": name}) + "\n" for name in names))
    assert len({document.unit for document in documents(tmp_path / "a.jsonl")}) == 1


def test_document_without_unit_or_id_is_named_by_its_text(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "One."}\n{"text": "Two.", "unit": " "}\n{"text": "One."}\n')
    first, second, third = documents(tmp_path / "a.jsonl")
    assert first.own_unit
    assert second.own_unit
    assert first.unit != second.unit
    assert first.text == third.text
    assert first.unit != third.unit  # each is a unit of its own
    assert [first, second, third] == documents(tmp_path / "a.jsonl")


def test_unreadable_lines_are_reported_without_content(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(
        b'{"text": "Secret\n[1]\n{"unit": "x"}\n{"text": 5}\n{"text": " "}\n{"text": "caf\xe9"}\n\n'
        + json.dumps(ADA).encode()
    )
    found = bad(tmp_path / "a.jsonl")
    assert [record.where for record in found] == [f"a.jsonl line {n}" for n in range(1, 7)]
    assert "Secret" not in repr(found)
    assert len(documents(tmp_path / "a.jsonl")) == 1


def test_files_that_cannot_be_read_at_all(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "a.parquet").write_bytes(b"nothing")
    (tmp_path / "a.png").write_bytes(b"x")
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"text": "x"}\n' * 1000)[:40])
    (tmp_path / "empty").mkdir()
    for name in ("a.parquet", "a.jsonl.gz"):
        assert isinstance(list(read_documents(tmp_path / name))[-1], BadRecord)
    for name, error in (("a.csv", BadData), ("a.png", UsageError)):
        with pytest.raises(error):
            list(read_documents(tmp_path / name))
    for missing in (tmp_path / "empty", tmp_path / "nowhere.txt"):
        with pytest.raises(UsageError):
            list(read_documents(missing))


@given(st.text(alphabet="ab .\n!", max_size=400), st.integers(1, 20))
def test_chunks_lose_no_words_and_keep_their_size(text: str, size: int) -> None:
    chunks = chunk(text, size)
    assert " ".join(chunks).split() == text.split()
    assert all(0 < len(piece.split()) <= size for piece in chunks)


def test_fifty_megabytes_are_cut_in_linear_time() -> None:
    def seconds(text: str) -> float:
        start = time.process_time()  # whatever else the machine does
        chunk(text)
        return time.process_time() - start

    small, large = "Some words here. " * 60_000, "Some words here. " * 600_000
    assert seconds(large) < 40 * max(seconds(small), 0.01)
    assert sum(len(piece.replace(" ", "")) for piece in chunk("x" * 5_000_000)) == 5_000_000


def test_not_a_number_is_no_name(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "x", "unit": math.nan}))
    assert documents(tmp_path / "a.jsonl")[0].own_unit

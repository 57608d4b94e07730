"""Files and folders to records; what cannot be read is named and passed over."""

import gzip
import json
from pathlib import Path

import pytest

from discreet.errors import UsageError
from discreet.files.loaders import find_files, read_records
from discreet.files.records import BadRecord, FoundFile, ReadingOptions, Record

ADA = {"id": "1", "unit": "Ada", "text": "Ada is well."}
BELA = {"id": "2", "unit": "Bela", "text": 'Bela says: "no",\nand leaves.'}


def read(*paths: Path, options: ReadingOptions | None = None) -> list[Record | BadRecord]:
    return list(read_records(paths, options))


def good(*paths: Path, options: ReadingOptions | None = None) -> list[Record]:
    return [record for record in read(*paths, options=options) if isinstance(record, Record)]


def bad(*paths: Path, options: ReadingOptions | None = None) -> list[BadRecord]:
    return [record for record in read(*paths, options=options) if isinstance(record, BadRecord)]


def test_every_kind_of_table_gives_the_same_records(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    lines = "".join(json.dumps(record) + "\n" for record in (ADA, BELA))
    (tmp_path / "a.jsonl").write_text(lines)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    quoted = BELA["text"].replace('"', '""')
    (tmp_path / "a.csv").write_text(f'id,unit,text\n1,Ada,Ada is well.\n2,Bela,"{quoted}"\n')
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([ADA, BELA]), tmp_path / "a.parquet")
    for name in ("a.jsonl", "a.jsonl.gz", "a.csv", "a.parquet"):
        assert [record.values for record in good(tmp_path / name)] == [ADA, BELA], name
        assert all(record.source == name and not record.whole for record in good(tmp_path / name))


def test_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A.")
    assert find_files([tmp_path, tmp_path / "a.txt"]).files == (FoundFile(tmp_path / "a.txt", "a.txt"),)


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "note.txt").write_text(folder)
    with pytest.raises(UsageError, match="Give a folder that contains both"):
        find_files([tmp_path / "a", tmp_path / "b"])
    assert len(find_files([tmp_path]).files) == 2


def test_damaged_file_costs_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"text": "x"}\n' * 1000)[:40])
    (tmp_path / "c.txt").write_text("fine")
    assert [record.where for record in bad(tmp_path)] == ["a.parquet", "b.jsonl.gz"]
    assert [record.values["text"] for record in good(tmp_path)] == ["fine"]

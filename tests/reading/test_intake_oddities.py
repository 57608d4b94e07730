"""What real files do: damage, odd names, odd types. Nothing is guessed at, shown or lost in silence."""

import gzip
import json
from decimal import Decimal
from pathlib import Path

import pytest

from discreet.errors import BadData, UsageError
from discreet.reading.records import BadRecord, NoText, ReadingOptions
from discreet.retrieval.documents import Document
from tests.reading.documents import read_documents


def read(path: Path, options: ReadingOptions | None = None) -> list[Document | BadRecord]:
    return list(read_documents(path, options))


def lines(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_numbers_are_names_and_one_number_is_one_unit(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", {"id": 1, "unit": 7, "text": "a"}, {"id": 2, "unit": 7.0, "text": "b"})
    assert [(d.id, d.unit) for d in read(path) if isinstance(d, Document)] == [("1", "7"), ("2", "7")]


def test_table_with_gaps_names_units_as_one_without(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    table = pyarrow.table({"text": ["a", "b", "c"], "unit": [7.0, None, float("nan")], "id": [Decimal(1), 2, 3]})
    parquet.write_table(table, tmp_path / "a.parquet")
    found = [d for d in read(tmp_path / "a.parquet") if isinstance(d, Document)]
    assert [(d.unit, d.own_unit) for d in found] == [("7", False), ("2", True), ("3", True)]


def test_document_without_unit_is_its_own(tmp_path: Path) -> None:
    (found,) = read(lines(tmp_path / "a.jsonl", {"id": "n1", "text": "a"}))
    assert isinstance(found, Document)
    assert (found.unit, found.own_unit) == ("n1", True)


@pytest.mark.parametrize("field", ["id", "unit"])
@pytest.mark.parametrize("value", [[{"name": "Ada"}, "Ada"], {"name": "Ada"}, True])
def test_name_that_is_no_name_is_reported(tmp_path: Path, field: str, value: object) -> None:
    (found,) = read(lines(tmp_path / "a.jsonl", {"text": "a", field: value}))
    assert found == BadRecord("a.jsonl line 1", f"the field '{field}' is neither a text nor a number")


def test_half_a_character_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "x \\ud800"}\n{"text": "x", "unit": "\\udfff"}\n{"text": "x \\ud83d\\ude00"}\n')
    assert [type(record) for record in read(path)] == [BadRecord, BadRecord, Document]


def test_deep_and_huge_json_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("[" * 100_000 + '\n{"text": "a", "id": ' + "9" * 10_000 + '}\n{"text": "b"}\n')
    assert [type(record) for record in read(path)] == [BadRecord, BadRecord, Document]


def test_damaged_packing_keeps_what_came_before(tmp_path: Path) -> None:
    whole = gzip.compress("".join(json.dumps({"text": f"{n:x}" * 40}) + "\n" for n in range(20_000)).encode())
    for name, content in (("cut", whole[: len(whole) // 2]), ("bent", whole[:90_000] + b"\xff" * 99 + whole[90_099:])):
        (tmp_path / f"{name}.jsonl.gz").write_bytes(content)
        met = list(read_documents(tmp_path / f"{name}.jsonl.gz"))
        assert len(met) > 1000
        assert isinstance(met[-1], BadRecord)
        assert "damaged" in met[-1].reason


def test_csv_lines_that_are_not_utf8_or_too_short_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(
        b'id,unit,text\r\n1,Ada,fin\xc3\xa9\r\n2,Bela,caf\xe9\r\n3\r\n4,Caro,"two\r\nlines"\r\n'
    )
    found = read(tmp_path / "a.csv")
    assert [r.where for r in found if isinstance(r, BadRecord)] == ["a.csv line 3", "a.csv line 4"]
    assert [r.text for r in found if isinstance(r, Document)] == ["fin\u00e9", "two\r\nlines"]


@pytest.mark.parametrize(
    ("lines", "where", "read_on"),
    [
        ('B,"not closed\nC,third\nD,fourth\n', 3, []),
        ('B,"not closed\nC,third\nD,"fourth"\nE,fifth\n', 3, ["fifth"]),
        ('B,"closed" and more\nC,third\n', 3, ["third"]),
        ("B,fever, cough, and chills\nC,third\n", 3, ["third"]),
        ("C,third\nD,fourth,\n", 4, ["third"]),  # an empty field more than others may be a text cut in two
    ],
)
def test_misquoted_line_of_csv_makes_nobodys_text_another_ones(
    lines: str, where: int, read_on: list[str], tmp_path: Path
) -> None:
    """Nor is a text cut at its first comma: what is not understood is named, and not added."""
    (tmp_path / "a.csv").write_text("unit,text\nA,fine\n" + lines)
    found = read(tmp_path / "a.csv")
    assert [r.where for r in found if isinstance(r, BadRecord)] == [f"a.csv line {where}"]
    assert [r.text for r in found if isinstance(r, Document)] == ["fine", *read_on]


def test_how_far_a_quote_that_is_not_closed_reaches_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('unit,text\nB,"not closed\nC,third\n')
    (bad,) = read(tmp_path / "a.csv")
    assert isinstance(bad, BadRecord)
    assert "lines 2 to 3 are not added" in bad.reason
    (tmp_path / "a.csv").write_text('"unit,text\nB,fine\n')
    with pytest.raises(BadData, match="first line"):
        read(tmp_path / "a.csv")


def test_what_stands_twice_in_a_record_names_nobody(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"unit": "Ada", "text": "a", "unit": "Bela"}\n{"unit": "Caro", "text": "c"}\n')
    twice, fine = read(tmp_path / "a.jsonl")
    assert isinstance(twice, BadRecord)
    assert "twice" in twice.reason
    assert isinstance(fine, Document)
    (tmp_path / "a.csv").write_text("unit,text,unit\nAda,a,Bela\n")
    with pytest.raises(BadData, match="two columns 'unit'"):
        read(tmp_path / "a.csv")


def test_csv_without_header_is_refused_without_its_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,Ada,secret\n2,Bela,secret\n")
    with pytest.raises(BadData, match="no column 'text'") as caught:
        read(tmp_path / "a.csv")
    assert "secret" not in str(caught.value)
    assert "Ada" not in str(caught.value)


def test_old_line_ends_and_byte_order_marks(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("\ufefftext,unit\rOne,Ada\rTwo,Bela\r".encode())
    (tmp_path / "a.jsonl").write_bytes(b'\xef\xbb\xbf{"text": "One"}\r\n')
    assert len(read(tmp_path / "a.csv")) == 2
    assert isinstance(read(tmp_path / "a.jsonl")[0], Document)


def test_damaged_parquet_file(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"text": [f"text {n}" for n in range(5000)]}), path)
    content = bytearray(path.read_bytes())
    content[200:6000] = bytes(5800)
    path.write_bytes(content)
    assert isinstance(read(path)[-1], BadRecord)
    path.write_bytes(b"PAR1 no")
    (bad,) = read(path)
    assert isinstance(bad, BadRecord)
    assert "Parquet" in bad.reason


def test_what_is_not_there_is_said_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    for path in (tmp_path / "none.jsonl", tmp_path / "a.png"):
        with pytest.raises(UsageError):
            read_documents(path)
    with pytest.raises(UsageError, match=r"\.parquet"):
        read_documents(tmp_path / "a.png")


def test_single_text_file(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("# Note")
    assert read(tmp_path / "note.md") == [Document("note.md", "note.md", "# Note", own_unit=True)]
    (tmp_path / "empty.txt").write_text(" \n")
    assert read(tmp_path / "empty.txt") == [NoText("empty.txt", "no text")]


@pytest.mark.long
def test_reading_streams(tmp_path: Path) -> None:
    """The first documents come before the damage further on is met."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "a"}\n' * 3 + b"\xff\n")
    records = read_documents(path)
    with path.open("ab") as file:
        file.write(b'{"text": "later"}\n' * 100_000)
    assert [type(next(records)) for _ in range(4)] == [Document, Document, Document, BadRecord]
    assert sum(1 for _ in records) == 100_000

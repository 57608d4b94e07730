"""Tables as text: delimiters, encodings, quotes, packing."""

import gzip
from pathlib import Path

import pytest

from discreet.errors import BadData, UsageError
from discreet.files.loaders import read_records
from discreet.files.records import BadRecord, ReadingOptions, Record

ROWS = [["unit", "text"], ["Zoë", "Schnupfen, stark; „schlimm“"], ["Ada", "fine"]]
RECORDS = [dict(zip(ROWS[0], row, strict=True)) for row in ROWS[1:]]


def written(delimiter: str = ",") -> str:
    return "".join(delimiter.join(f'"{cell}"' for cell in row) + "\r\n" for row in ROWS)


def read(path: Path, options: ReadingOptions | None = None) -> list[Record | BadRecord]:
    return list(read_records([path], options))


def values(path: Path, options: ReadingOptions | None = None) -> list[object]:
    return [record.values for record in read(path, options) if isinstance(record, Record)]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("ending", ["csv", "tsv"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_delimiters_and_encodings_are_detected(
    encoding: str, delimiter: str, ending: str, packed: bool, tmp_path: Path
) -> None:
    data = written(delimiter).encode(encoding)
    path = tmp_path / f"a.{ending}{'.gz' * packed}"
    path.write_bytes(gzip.compress(data) if packed else data)
    assert values(path) == RECORDS
    mark = "a tab" if delimiter == "\t" else f"'{delimiter}'"
    told = {record.written for record in read(path) if isinstance(record, Record)}
    assert told == {f"encoding {encoding}, columns separated by {mark}"}


def test_what_is_detected_can_be_overridden(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("unit^text;x\nŁukasz^a;b\n".encode("cp1250"))
    assert values(path, ReadingOptions("text;x", encoding="cp1250", delimiter="^")) == [
        {"unit": "Łukasz", "text;x": "a;b"}
    ]
    for options in (
        ReadingOptions(encoding="klingon"),
        ReadingOptions(encoding="zlib"),
        ReadingOptions(delimiter=";;"),
    ):
        with pytest.raises(UsageError):
            read(path, options)


def test_delimiter_with_a_text_column_is_chosen(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('text;"a,b,c,d"\nx;y\n')
    assert values(tmp_path / "a.csv") == [{"text": "x", "a,b,c,d": "y"}]
    (tmp_path / "b.csv").write_text("text\nwell; or not\n")
    assert values(tmp_path / "b.csv") == [{"text": "well; or not"}]


def test_delimiter_line_of_a_spreadsheet_is_no_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfsep=;\r\nunit;text\r\nAda;x\r\nBela;y;z\r\n")
    good, bad = read(tmp_path / "a.csv")
    assert isinstance(good, Record)
    assert good.values == {"unit": "Ada", "text": "x"}
    assert (good.where, bad.where) == ("a.csv line 3", "a.csv line 4")


def test_damaged_line_of_utf8_is_one_lines_fault(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("unit,text\nZoë,été\nBela,caf".encode() + b"\xe9\nAda,fine\n")
    texts = [record.values["text"] for record in read(tmp_path / "a.csv") if isinstance(record, Record)]
    assert texts == ["été", "caf\udce9", "fine"]  # half a character, which is refused on the way to a document


def test_half_a_file_of_utf16_is_named(tmp_path: Path) -> None:
    for size in (-1, 7):
        (tmp_path / "a.csv").write_bytes(written().encode("utf-16")[:size])
        assert isinstance(read(tmp_path / "a.csv")[-1], BadRecord)


@pytest.mark.parametrize(
    ("lines", "where", "read_on"),
    [
        ('B,"not closed\nC,third\nD,fourth\n', 3, []),
        ('B,"not closed\nC,third\nD,"fourth"\nE,fifth\n', 3, ["fifth"]),
        ('B,"closed" and more\nC,third\n', 3, ["third"]),
        ("B,fever, cough, and chills\nC,third\n", 3, ["third"]),
        ("C,third\nD,fourth,\n", 4, ["third"]),
        ('B,"two\nlines"\n\nC,x,y\n', 6, ["two\nlines"]),
    ],
)
def test_misquoted_line_makes_no_text_another_ones(lines: str, where: int, read_on: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("unit,text\nA,fine\n" + lines)
    found = read(tmp_path / "a.csv")
    assert [r.where for r in found if isinstance(r, BadRecord)] == [f"a.csv line {where}"]
    assert [r.values["text"] for r in found if isinstance(r, Record)] == ["fine", *read_on]


def test_how_far_a_quote_that_is_not_closed_reaches_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('unit,text\nB,"not closed\nC,third\n')
    (bad,) = read(tmp_path / "a.csv")
    assert isinstance(bad, BadRecord)
    assert "lines 2 to 3 are not added" in bad.reason
    (tmp_path / "a.csv").write_text('"unit,text\nB,fine\n')
    with pytest.raises(BadData, match="first line"):
        read(tmp_path / "a.csv")


def test_old_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("\ufefftext,unit\rOne,Ada\rTwo,Bela\r".encode())
    assert len(values(tmp_path / "a.csv")) == 2


def test_packed_table_that_is_cut_off_keeps_what_came_before(tmp_path: Path) -> None:
    whole = gzip.compress(b"text\n" + "".join(f"{n:x}" * 40 + "\n" for n in range(20_000)).encode())
    (tmp_path / "a.csv.gz").write_bytes(whole[: len(whole) // 2])
    found = read(tmp_path / "a.csv.gz")
    assert isinstance(found[-1], BadRecord)
    assert "damaged" in found[-1].reason
    assert not any(isinstance(record, BadRecord) for record in found[:-1])
    assert len(found) > 1000


def test_line_without_end_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("tables", "records"):
        monkeypatch.setattr(f"discreet.files.{module}.LONGEST", 1000)
    (tmp_path / "a.csv").write_text("text\nfine\n" + "x" * 5000 + "\n")
    assert [type(record) for record in read(tmp_path / "a.csv")] == [Record, BadRecord]
    (tmp_path / "a.jsonl").write_text('{"text": "fine"}\n' + "x" * 5000 + "\n")
    assert [type(record) for record in read(tmp_path / "a.jsonl")] == [Record, BadRecord]

"""Records become documents: named by what they hold, and by nothing that others hold."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime

from hypothesis import given
from hypothesis import strategies as st

from discreet.files.fields import NO_UNIT, Read, Reader, made_id
from discreet.files.records import BadRecord, ReadingOptions, Record
from discreet.store.documents import Document

Rows = Sequence[Mapping[str, object]]


def read(rows: Rows, options: ReadingOptions | None = None, *, own_units: bool = False) -> list[Read | BadRecord]:
    reader = Reader(options or ReadingOptions(), own_units=own_units)
    return [reader.read(Record(row, f"n.csv line {number}", "n.csv")) for number, row in enumerate(rows, 2)]


def found(rows: Rows, options: ReadingOptions | None = None) -> list[Read]:
    return [one for one in read(rows, options) if isinstance(one, Read)]


def ids(rows: Rows, options: ReadingOptions | None = None, *, own_units: bool = False) -> list[str]:
    some = read(rows, options, own_units=own_units)
    return [one.document.id for one in some if isinstance(one, Read)]


def test_repeated_record_of_a_unit_is_kept_with_a_stable_id() -> None:
    rows = [{"unit": "Ada", "text": "Stable."}] * 3
    assert [one.repeated for one in found(rows)] == [False, True, True]
    assert len(set(ids(rows))) == 3
    assert ids(rows) == ids(rows)
    assert set(ids(rows[:2])) < set(ids(rows))


def test_declared_fields_tell_two_records_apart() -> None:
    options = ReadingOptions(declared={"seen": "date"})
    rows = [{"unit": "Ada", "text": "Stable.", "seen": f"2026-01-0{day}"} for day in (1, 2)]
    assert [one.repeated for one in found(rows, options)] == [False, False]
    assert set(ids(rows[1:], options)) < set(ids(rows, options))  # next week's export holds the second alone


ROWS = st.lists(
    st.fixed_dictionaries({"unit": st.sampled_from("abc"), "text": st.sampled_from(["x", "y"])}), max_size=12
)


@given(ROWS, st.sampled_from("abc"))
def test_documents_of_a_unit_change_no_ids_of_other_units(rows: Rows, gone: str) -> None:
    """Neighbouring files: without one unit, the documents of all others are the same, under the same names."""
    whole = [one.document for one in found(rows)]
    without = [one.document for one in found([row for row in rows if row["unit"] != gone])]
    assert [document for document in whole if document.unit != gone] == without


def test_record_without_unit_is_refused_unless_each_is_a_unit() -> None:
    rows: Rows = [{"unit": " ", "text": "a"}, {"text": "b"}, {"unit": "Ada", "text": "c"}, {"id": 1.0, "text": "a"}]
    assert [type(one) for one in read(rows)] == [BadRecord, BadRecord, Read, BadRecord]
    assert read(rows)[0] == BadRecord("n.csv line 2", NO_UNIT.format("unit"))
    documents = [one.document for one in read(rows, own_units=True) if isinstance(one, Read)]
    assert [document.own_unit for document in documents] == [True, True, False, True]
    assert len({document.unit for document in documents}) == 4
    assert documents[3].unit == "1"


def test_file_of_text_is_named_by_its_path() -> None:
    record = Record({"text": "She is well.", "patient": "P7", "body": "x"}, "a/b.md", "a/b.md", whole=True)
    one = Reader(ReadingOptions("body", unit_field="patient")).read(record)
    assert isinstance(one, Read)
    assert one.document == Document("a/b.md", "P7", "She is well.")
    assert one.document.source == "a/b.md"


def test_ids_do_not_change_between_versions() -> None:
    """Documents would come twice."""
    assert made_id("ada", "Stable.", {}) == "e8717c44aa7d661d1649c3f5519212d4"
    assert made_id("ada", "Stable.", {"age": 71.0, "ward": "north"}, 2) == "ab3546987e8a8f2742a9c8450a911773"


def test_day_has_one_name_in_a_workbook_and_in_a_table_as_text() -> None:
    reader = Reader(ReadingOptions())
    for about in (datetime(2020, 1, 2), "2020-01-02", date(2020, 1, 2)):
        found = reader.read(Record({"text": "x", "unit": about}, "w", "s"))
        assert isinstance(found, Read)
        assert found.document.unit == "2020-01-02"
    found = reader.read(Record({"text": "x", "unit": datetime(2020, 1, 2, 3)}, "w", "s"))
    assert isinstance(found, Read)
    assert found.document.unit == "2020-01-02 03:00:00"

"""Declared fields: typed, in one spelling, and a wrong value is named by its field alone."""

from datetime import date, datetime
from decimal import Decimal

import pytest

from discreet.errors import UnknownName, UsageError
from discreet.files.fields import check_types, read_fields
from discreet.files.records import Unreadable

DECLARED = {"seen": "date", "ward": "category", "age": "number"}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"seen": "2026-01-31", "ward": " North  Wing ", "age": "71"}, ("2026-01-31", "north wing", 71.0)),
        ({"seen": "2026-01-31T10:20:00Z", "ward": "NORTH WING", "age": 71}, ("2026-01-31", "north wing", 71.0)),
        ({"seen": "31 Jan 2026", "ward": "north wing", "age": "71"}, ("2026-01-31", "north wing", 71.0)),
        *(
            ({"seen": seen, "ward": "north wing", "age": "71"}, ("2026-01-31", "north wing", 71.0))
            for seen in ("31.01.2026", "31/01/2026", "01/31/2026", "31-1-2026 14:05", "20260131", "31. Januar 2026")
        ),
        ({"seen": "January 31st, 2026", "ward": "north wing", "age": "71"}, ("2026-01-31", "north wing", 71.0)),
        ({"seen": date(2026, 1, 31), "ward": "north wing", "age": 71.0}, ("2026-01-31", "north wing", 71.0)),
        (
            {"seen": datetime(2026, 1, 31, 10), "ward": "North wing", "age": Decimal(71)},
            ("2026-01-31", "north wing", 71),
        ),
    ],
)
def test_one_value_has_one_spelling(values: dict[str, object], expected: tuple[object, ...]) -> None:
    assert tuple(read_fields(values, DECLARED).values()) == expected


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(
            ("seen", wrong)
            for wrong in (
                "2026-02-30",
                "31.02.2026",
                "31.01.26",
                "00260131",
                "2026-W01-1",
                "03/01/2026",
                "31 Feb 2026",
                "31 Jan 26",
                "today",
                20260131,
                True,
            )
        ),
        *(("age", wrong) for wrong in ("12,5", "1_000", "old", "inf", float("inf"), True, "0x10", "9" * 400, [1])),
        *(("ward", wrong) for wrong in ("x" * 101, ["north"], {"a": 1}, b"north", "half \ud800")),
    ],
)
def test_value_of_wrong_type_is_reported_without_its_content(field: str, value: object) -> None:
    with pytest.raises(Unreadable) as caught:
        read_fields({field: value}, DECLARED)
    assert f"'{field}'" in str(caught.value)
    assert str(value) not in str(caught.value)


@pytest.mark.parametrize("nothing", [None, "", "  ", float("nan")])
def test_field_without_a_value_is_left_out(nothing: object) -> None:
    assert read_fields(dict.fromkeys(DECLARED, nothing), DECLARED) == read_fields({}, DECLARED) == {}


def test_what_may_be_declared() -> None:
    assert check_types({" ward ": "category"}, "patient") == {"ward": "category"}
    with pytest.raises(UnknownName, match="Did you mean number"):
        check_types({"age": "numbr"}, "patient")
    for name in ("", " ", "patient", "half \ud800"):
        with pytest.raises(UsageError):
            check_types({name: "date"}, "patient")


def test_declared_values_are_read_without_case_and_others_are_refused() -> None:
    declared = {"sex": "category(w=women, m=men, d)"}
    assert read_fields({"sex": " W "}, declared) == {"sex": "w"}
    assert read_fields({"sex": ""}, declared) == {}
    with pytest.raises(Unreadable, match="none of its declared values: w, m, d") as refused:
        read_fields({"sex": "secret"}, declared)
    assert "secret" not in str(refused.value)
    assert check_types(declared, "unit") == declared


@pytest.mark.parametrize(
    "kind", ["category(w=women, w=men)", "category(w=men, m=men)", "category(,)", "category()", "date(2026)"]
)
def test_declared_values_that_are_not_told_apart_are_refused(kind: str) -> None:
    with pytest.raises(UsageError):
        check_types({"sex": kind}, "unit")

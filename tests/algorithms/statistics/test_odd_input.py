"""Statistics of odd input: what is refused, what is left out, and what takes no longer than it should."""

import math
import time
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import UnknownName, UsageError
from discreet.privacy.accounting import Budget
from discreet.questions.request import check_known
from discreet.registry import Compare, Count, Share, Trend, Typical
from discreet.statistics.conditions import parse, says, where
from discreet.statistics.statistic import Statistic
from discreet.store.documents import Document
from discreet.store.unit_records import UnitRecord
from discreet.vault import Vault
from tests.guarantee.algorithms.test_statistics import BUDGET, answer, corpus_of, notes, record

LONG = 1_000_000


@pytest.mark.parametrize(
    "text",
    [
        "." * LONG + "fever",
        " " * LONG,
        ",;" * (LONG // 2),
        "fever " * (LONG // 6),
        "(" * LONG,
        "no fever. " * (LONG // 10),
        "fever-" + "\n" * LONG + ".",
        "fever" + " ." * (LONG // 2),
    ],
    ids=["dots", "spaces", "marks", "words", "brackets", "denials", "lines", "dots apart"],
)
def test_long_text_takes_linear_time(text: str) -> None:
    started = time.process_time()
    says("fever").holds(record(text))
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    ("low", "high"), [(-1e308, 1e308), (0.0, 5e-324), (1e17, 1e17 + 1), (math.nan, 1.0), (0.0, math.inf), (2.0, 1.0)]
)
def test_range_without_bins_is_refused(low: float, high: float) -> None:
    with pytest.raises(UsageError, match="smaller to a larger"):
        Typical(attribute="fee", low=low, high=high)


@pytest.mark.parametrize(
    "groups",
    [(), ("rash",), ("Rash", "rash"), ("rash", "a rash"), ("rash", ""), "rash", tuple(f"g{n}" for n in range(1000))],
)
def test_groups_of_no_use_are_refused(groups: Any) -> None:
    with pytest.raises(UsageError, match="2 to 6 different groups"):
        Compare(groups=groups, condition="fever")


def test_comparison_with_an_empty_group_may_be_anything(tmp_path: Path) -> None:
    found, _ = answer(
        corpus_of(tmp_path, notes(*["Rash."] * 50)), Compare(groups=("rash", "chills"), condition="fever")
    )
    assert [(one.low, one.high) for one in found.table] == [(0, 0), (0, 1), (-1, 0)]
    assert "does not tell" in found.text
    none, _ = answer(corpus_of(tmp_path / "none", []), Compare(groups=("a b", "c d"), condition="fever"))
    assert [(one.low, one.high) for one in none.table] == [(0, 1), (0, 1), (-1, 1)]


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 1e-9, 1e-5])
def test_epsilon_of_no_use_is_refused(epsilon: float) -> None:
    with pytest.raises(UsageError):
        Count(epsilon=epsilon)


def test_epsilon_above_the_grant_is_refused() -> None:
    with pytest.raises(UsageError, match="above the grant of 20"):
        Count(epsilon=21.0).plan(BUDGET, 0)
    assert Count(epsilon=20.0).plan(BUDGET, 0).price(BUDGET) <= 20


@pytest.mark.parametrize("uses", [0, -1])
def test_no_uses_are_refused(uses: int) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        Count(uses=uses)


@pytest.mark.parametrize(
    "day",
    ["2026-02-31", "2026-01-xx", "2026-1-5", " 2026-01 ", "31.01.2026", "Jan 2026", "01/31/2026", "20260131T"],
)
def test_day_in_another_form_is_refused(day: str) -> None:
    with pytest.raises(UsageError, match="no day"):
        Trend(since=day, until="2026-12")
    assert Trend(since="2026", until="2026-12-31").cells == 12


@pytest.mark.parametrize("test", ["age==5", "age>=>5", "age=<5", "age=", "=5", "age", "age=''"])
def test_test_of_a_field_that_is_misspelled_is_refused(test: str) -> None:
    with pytest.raises(UsageError, match="FIELD=VALUE"):
        Count(where=(test,))


def test_quotes_around_a_value_are_left_out() -> None:
    assert parse("ward='North wing'") == where("ward", "=", "North wing")


@pytest.mark.parametrize(
    ("statistic", "error"),
    [
        (Count(where=("age>=old",)), UsageError),
        (Count(where=("age>=nan",)), UsageError),
        (Count(where=("age>=1e400",)), UsageError),
        (Count(where=("aeg>=3",)), UnknownName),
        (Trend(date_field="ward"), UsageError),
        (Trend(date_field="when"), UnknownName),
    ],
)
def test_field_of_another_type_is_refused(tmp_path: Path, statistic: Statistic, error: type[Exception]) -> None:
    fields = {"age": "number", "ward": "category", "day": "date"}
    settings = Vault.create(tmp_path / "v", epsilon=20.0, delta=1e-6, embedder="hashing", fields=fields).settings
    with pytest.raises(error):
        check_known(statistic, settings, read=True)
    check_known(Trend(date_field="day", where=("age>=3", "ward=north")), settings, read=True)


def test_contradictory_documents_of_one_unit_count_once(tmp_path: Path) -> None:
    """A fever is in one of its documents and denied in the other: the condition holds of the unit."""
    documents = [
        Document("a", "one", "Fever was seen.", fields={"age": 30.0, "day": "2026-01-05"}),
        Document("b", "one", "No fever was seen.", fields={"age": 90.0, "day": "2026-03-05"}),
    ]
    corpus = corpus_of(tmp_path, documents)
    assert round(answer(corpus, Count(condition="fever"))[0].table[0].value) == 1
    assert round(answer(corpus, Share(condition="fever"))[0].table[2].value) == 1
    trend = Trend(condition="fever", date_field="day", since="2026-01", until="2026-03")
    assert [round(figure.value) for figure in answer(corpus, trend)[0].table] == [1, 0, 0]


def test_field_that_changed_its_type_is_left_out() -> None:
    mixed = UnitRecord(("x",), ({"age": 30.0}, {"age": "unknown"}))
    assert parse("age>=20").holds(mixed)
    assert Typical(attribute="age").cell(mixed) == 7
    assert Typical(attribute="age").cell(UnitRecord(("x",), ({"age": "unknown"},))) == -1


def test_unit_with_ten_thousand_documents_is_one(tmp_path: Path) -> None:
    many = UnitRecord(tuple(f"Fever on day {n}." for n in range(10_000)))
    started = time.process_time()
    assert says("fever").holds(many)
    assert not says("chills").holds(many)
    assert time.process_time() - started < 5


def test_numbers_of_an_answer_are_finite(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, notes(*["age: " + "9" * 400, "age: 1e400", "age: -5", "age: x"] * 20))
    for statistic in (Typical(attribute="age"), Typical(attribute="age", what="mean"), Count(), Share(condition="age")):
        for figure in answer(corpus, statistic, Budget(1.0, 1e-6, 5e-7))[0].table:
            assert all(math.isfinite(one) for one in (figure.value, figure.low, figure.high))


def test_whole_number_beyond_floating_point_is_refused_as_a_field() -> None:
    with pytest.raises(UsageError, match="finite number"):
        Document("a", "b", "c", fields={"age": 10**400})

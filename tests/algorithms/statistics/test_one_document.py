"""Tests of fields and what is said under them hold of one document, and not of different ones of a unit."""

import pytest

from discreet.errors import UsageError
from discreet.registry import Count, Difference, ListValues, Share, Trend
from discreet.statistics.statistic import Statistic
from discreet.store.documents import Document
from discreet.store.sealed_corpus import SealedCorpus
from discreet.store.unit_records import UnitRecords
from tests.guarantee.algorithms.test_statistics import answer, corpus_of

MARCH = ("day>=2026-03-01", "day<=2026-03-31")
JUNE = ("day>=2026-06-01", "day<=2026-06-30")
JANUARY = ("day>=2026-01-01", "day<=2026-01-31")


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> SealedCorpus:
    """100 patients with a fever in January and a rash in June."""
    found = []
    for number in range(100):
        unit, ward = f"u{number}", "north" if number < 40 else "south"
        first = {"day": "2026-01-10", "ward": ward, "drug": "tea"}
        found += [
            Document(f"a{number}", unit, "The patient has a fever.", fields=first),
            Document(f"b{number}", unit, "The patient has a rash.", fields={"day": "2026-06-10", "drug": "oil"}),
        ]
    return corpus_of(tmp_path_factory.mktemp("patients"), found)


def numbers(corpus: SealedCorpus, statistic: Statistic) -> list[int]:
    return [round(one.value) for one in answer(corpus, statistic)[0].table if one.kind in ("count", "difference")]


@pytest.mark.parametrize(
    ("statistic", "counts"),
    [
        (Count(where=MARCH), [0]),
        (Count(where=JUNE), [100]),
        (Count(condition="fever", where=MARCH), [0]),
        (Count(condition="fever", where=JUNE), [0]),
        (Count(condition="fever", where=JANUARY), [100]),
        (Count(condition='not "fever"', where=JUNE), [100]),
        (Count(condition="fever", where=("ward=north",)), [40]),
        (Count(condition="rash", where=("ward=north",)), [0]),
        (Count(where=("ward=north", *JUNE)), [0]),
        (Count(where=("ward=north", *JANUARY)), [40]),
        (Count(population="fever", condition="rash"), [100]),
        (Share(condition="fever", where=JUNE), [0, 100]),
        (Difference(groups=("fever", "rash"), where=JUNE), [0, 100, -100]),
        (ListValues(attribute="drug", where=JUNE), [100, 100]),
        (Trend(condition="rash", date_field="day", since="2026-01", until="2026-06"), [0, 0, 0, 0, 0, 100]),
        (Trend(condition="fever", date_field="day", since="2026-01", until="2026-06"), [100, 0, 0, 0, 0, 0]),
        (Trend(population="rash", date_field="day", since="2026-01", until="2026-06"), [0, 0, 0, 0, 0, 100]),
        (Trend(date_field="day", since="2026-01", until="2026-06"), [100, 0, 0, 0, 0, 0]),
    ],
)
def test_tests_hold_of_one_document(patients: SealedCorpus, statistic: Statistic, counts: list[int]) -> None:
    assert numbers(patients, statistic) == counts


def test_store_that_names_no_documents_is_refused_unpaid(
    patients: SealedCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(UnitRecords, "tells_documents", False)
    for statistic in (Count(where=JUNE), Trend(date_field="day", since="2026-01", until="2026-06")):
        with pytest.raises(UsageError, match="Nothing was charged"):
            answer(patients, statistic)
    assert numbers(patients, Count(condition="fever")) == [100]

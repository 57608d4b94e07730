"""Tables of streams: one's own algorithm by the way it pays, and the nearest units released without privacy."""

from typing import Any

import pytest

from discreet.generation.toy import ToyModel
from discreet.vault import Vault
from discreet_lab.bench.demo_data import hospital, hospital_questions
from discreet_lab.bench.experiments import corpora, streams
from discreet_lab.bench.experiments.streams import precision_of_release
from discreet_lab.bench.run import BenchRun
from discreet_lab.bench.table import PRECISION, TOP_K_RELEASE, Data, Row
from discreet_lab.bench.tables import find_table
from discreet_lab.evaluation.stream import precisions

SIZES = (12, 12)
WORDS = "salt steam amber wraps copper lung glass knee the treatment is".split()


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    path = tmp_path_factory.mktemp("ward") / "v"
    Vault.create(path, epsilon=20, delta=1e-5, embedder="hashing").add_documents(hospital(SIZES))
    return Vault.open(path, model=ToyModel(WORDS, default="nothing known", size=4096))


def given(ward: Vault, table: str, **more: Any) -> BenchRun:
    wanted = find_table(table)
    return BenchRun(
        wanted, wanted.values(quick=True, given={}), Data.PATIENTS, 4, opened=ward, quick=True,
        questions=hospital_questions(SIZES), **more,
    )  # fmt: skip


def rows_of(ward: Vault, name: str, table: str = "murag-uses") -> list[Row]:
    return [row for row in streams.run(given(ward, table, plugins=(name,))) if row["algorithm"] == name]


def test_own_algorithm_of_which_units_pay_has_precision_and_all_parameters(ward: Vault) -> None:
    own = rows_of(ward, "naive-multi-rag")
    assert [(row["uses"], row["epsilon"]) for row in own] == [(1, 10), (5, 10)]
    assert all(0 <= row["precision"] <= 1 for row in own)


@pytest.mark.parametrize("name", ["dp-sparse-vote-rag", "consensus"])
def test_own_algorithm_for_which_all_units_pay_stands_once_an_epsilon(ward: Vault, name: str) -> None:
    (row,) = rows_of(ward, name)
    assert row["epsilon"] == 10
    assert row["precision"] is None
    assert 0 <= row["accuracy"] <= 1


def test_own_algorithm_without_a_guarantee_stands_once(ward: Vault) -> None:
    (row,) = rows_of(ward, "ksa")
    assert row["epsilon"] is None


def test_own_algorithm_that_the_budget_does_not_pay_is_left_out(ward: Vault) -> None:
    run = given(ward, "murag-uses", plugins=("consensus",))
    run.values["epsilon"] = (0.02,)
    assert "consensus" not in [row["algorithm"] for row in streams.run(run)]
    assert any("consensus, epsilon 0.02" in note for note in run.notes)


def test_release_of_the_nearest_uses_each_unit_so_often(ward: Vault) -> None:
    question = hospital_questions(SIZES)[0].question
    assert precision_of_release(ward, [question], 8, 1) == 1
    assert precision_of_release(ward, [question, question], 8, 1) == 0.5
    assert precision_of_release(ward, [question, question], 8, 2) == 1
    assert precision_of_release(ward, [question] * 4, 24, 1) == 0.25
    rows = streams.run(given(ward, "murag-precision"))
    assert [row["algorithm"] for row in rows][-1] == TOP_K_RELEASE
    assert all(row[PRECISION] is None or 0 <= row[PRECISION] <= 1 for row in rows)
    assert rows[-1][PRECISION] == rows[-1]["precision"]


def test_precision_of_those_read_is_that_of_the_paper() -> None:
    """Of ten units that take part, four are among the eight nearest."""
    ranked = [bytes([number]) for number in range(20)]
    assert precisions(ranked[4:14], ranked[:8], all_read=True) == (4 / 8, 4 / 10)
    assert precisions(ranked[4:14], ranked[:8], all_read=False) == (4 / 8, 4 / 8)
    assert precisions([], ranked[:8], all_read=True) == (0, None)


def test_self_filter_keeps_texts_of_use_for_such_questions(ward: Vault) -> None:
    run = given(ward, "synrag-ablation")
    texts = ["Salt steam is the treatment.", "The meeting moves to Thursday."]
    assert set(corpora.keep_useful(run, texts)) <= set(texts)
    assert corpora.keep_useful(run, []) == []

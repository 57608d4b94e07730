"""The benchmark of the number of records: whole questions are answered, and exponents are those of powers."""

from pathlib import Path

import pytest
from benchmarks.scale import cells, exponent
from benchmarks.scale_postgres import of_postgres
from benchmarks.scale_vault import KINDS, ask_in_turn, asked, make_vault, remove_unit, toy

from discreet.algorithms.statistics.share import Share
from discreet.vault import Vault

COUNT = 3000


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scale") / "vault"
    make_vault(path, COUNT)
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_question_of_each_kind_has_times_and_memory(vault: Path, kind: str) -> None:
    found = ask_in_turn(vault, kind)
    asked_in = ("the first of a process, ms", "the next one, ms", "after a commit, ms", "peak memory, MiB")
    names = [f"ask: {kind}, {what}" for what in asked_in]
    assert set(names) == set(found) - {"vault: open, ms"}
    assert all(value > 0 for value in found.values())


def test_questions_are_of_the_kinds_that_the_rows_name(vault: Path) -> None:
    opened = Vault.open(vault, model=toy())
    question, chosen = asked("share", 7)
    assert chosen is None
    assert isinstance(opened.algorithm_for(question), Share)
    for kind in ("search", "votes by readings"):
        _, chosen = asked(kind, 7)
        assert chosen is not None
        assert chosen.needs_readings == (kind == "votes by readings")
        assert chosen.needs_model == (kind == "search")


def test_removed_unit_is_gone(tmp_path: Path) -> None:
    make_vault(tmp_path / "vault", 200)
    assert set(remove_unit(tmp_path / "vault", 200)) == {
        "vault: remove a unit, ms",
        "vault: remove a unit, peak memory, MiB",
    }
    assert Vault.open(tmp_path / "vault", model=toy()).inventory.erased("unit 100") is not None


def test_store_in_postgresql_has_times_and_its_size() -> None:
    found = of_postgres(500)
    assert all(name.startswith("pgvector: ") for name in found)
    assert found["pgvector: search, 80 units, ms"] >= 0
    assert found["pgvector: on disk, MiB"] > 500 * 384 * 2 / 2**20


def test_exponent_is_that_of_a_power_over_all_sizes() -> None:
    sizes = (10, 100, 10_000)
    assert exponent(sizes, [3 * size**1.5 for size in sizes]) == pytest.approx(1.5)
    assert exponent(sizes, [7.0, 7.0, 7.0]) == pytest.approx(0)
    assert exponent(sizes, [0.0, 1.0, 2.0]) is None
    assert exponent((10,), [1.0]) is None


def test_row_has_growth_and_exponent() -> None:
    assert cells("a step, ms", (10, 100), (2.0, 20.0)) == ["a step, ms", "2.00", "20", "10.0", "1.00"]
    assert cells("a step, ms", (10,), (2.0,)) == ["a step, ms", "2.00", "", ""]
    assert cells("ledger: is checked beside", (10, 100), (0.0, 1.0)) == [
        "ledger: is checked beside",
        "no",
        "yes",
        "",
        "",
    ]

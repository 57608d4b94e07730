"""Exact search, in which a unit's place depends on that unit alone; and removal that erases."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.errors import StoreError, VaultVersionError
from discreet.retrieval.documents import Document
from discreet.retrieval.embedded_store import EmbeddedStore
from discreet.retrieval.store import Piece, Vector

SIZE = 12


def vector(seed: int) -> Vector:
    made = np.random.default_rng(seed).normal(size=SIZE)
    return np.asarray(made / np.linalg.norm(made), dtype=np.float32)


def fill(store: EmbeddedStore, units: dict[str, list[int]]) -> None:
    with store.batch():
        for unit, seeds in units.items():
            for number, seed in enumerate(seeds):
                document = Document(f"{unit}/{number}", unit, f"text {unit} {seed}")
                store.put(document, [Piece(document.text, vector(seed))])


def found(store: EmbeddedStore, query: Vector, count: int) -> list[str]:
    return [passage.unit for passage in store.nearest_units(query, count)]


units = st.dictionaries(
    st.sampled_from("abcdefghij"), st.lists(st.integers(0, 8), min_size=1, max_size=3), min_size=1, max_size=10
)
quiet = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], EmbeddedStore]:
    return lambda: EmbeddedStore(tmp_path_factory.mktemp("store"), SIZE)


@quiet
@given(units, st.integers(100, 105), st.integers(1, 12))
def test_search_is_that_of_brute_force(
    fresh: Callable[[], EmbeddedStore], held: dict[str, list[int]], query: int, count: int
) -> None:
    store = fresh()
    fill(store, held)
    best = {unit: max(float(vector(seed) @ vector(query)) for seed in seeds) for unit, seeds in held.items()}
    got = found(store, vector(query), count)
    assert len(got) == len(set(got)) == min(count, len(held))
    worst_taken = min(best[unit] for unit in got)
    assert all(best[unit] <= worst_taken + 1e-3 for unit in held if unit not in got)


@quiet
@given(units, st.integers(100, 105), st.integers(1, 6), st.data())
def test_removing_one_unit_replaces_at_most_one(
    fresh: Callable[[], EmbeddedStore],
    held: dict[str, list[int]],
    query: int,
    count: int,
    data: st.DataObject,
) -> None:
    """Vectors repeat, so that ties are common: the tie must not go by place or by what else there is."""
    gone = data.draw(st.sampled_from(sorted(held)))
    store = fresh()
    fill(store, held)
    before = found(store, vector(query), count)
    store.remove_unit(gone)
    after = found(store, vector(query), count)
    assert set(before) - set(after) <= {gone}
    assert len(set(after) - set(before)) <= (gone in before)
    # The others keep their order: shares can be coupled.
    assert [unit for unit in before if unit != gone] == [unit for unit in after if unit in before]


def test_exact_scores_do_not_depend_on_place_or_number(tmp_path: Path) -> None:
    """The same vector scores the same bits at every row of stores of every size."""
    seen = set()
    for rows in (1, 2, 3, 7, 8, 9, 31, 33, 100):
        store = EmbeddedStore(tmp_path / str(rows), 384)
        made = np.random.default_rng(1).normal(size=(2, 384))
        one, query = (np.asarray(row / np.linalg.norm(row), dtype=np.float32) for row in made)
        with store.batch():
            for row in range(rows):
                store.put(Document(str(row), str(row), "x"), [Piece("x", one)])
        seen |= {score.tobytes() for score in store.scored(query)._found.scores}
    assert len(seen) == 1


def test_a_broken_twin_that_ranks_by_rounded_products_is_caught() -> None:
    """Plain float32 products of the same vector differ with its place; whole numbers do not."""
    made = np.random.default_rng(2).normal(size=(2, 384)).astype(np.float32)
    one, query = (row / np.linalg.norm(row) for row in made)
    plain = {np.float32(np.dot(one[order], query[order])).tobytes() for order in _orders(384)}
    scale = 4085
    whole = {
        np.float32(np.dot(np.rint(one * scale)[order], np.rint(query * scale)[order])).tobytes()
        for order in _orders(384)
    }
    assert len(plain) > 1
    assert len(whole) == 1


def _orders(size: int) -> list[NDArray[np.int64]]:
    return [np.random.default_rng(seed).permutation(size) for seed in range(20)]


def test_the_order_of_arrival_does_not_matter(tmp_path: Path) -> None:
    """Same key, same content, another history: the same answers."""
    first = EmbeddedStore(tmp_path / "a", SIZE)
    fill(first, {"a": [1], "b": [1], "c": [1], "d": [2, 1]})
    before = found(first, vector(1), 3)
    first.remove_unit("b")
    first.remove_unit("a")
    fill(first, {"b": [5], "a": [1]})
    fill(first, {"b": [1]})
    assert found(first, vector(1), 3) == before


def test_a_unit_is_as_near_as_its_best_chunk(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path, SIZE)
    fill(store, {"a": [1, 2, 3], "b": [4]})
    (passage,) = store.nearest_units(vector(3), 1)
    assert (passage.unit, passage.text) == ("a", "text a 3")
    assert "text" not in repr(passage)
    assert [p.unit for p in store.units_above(vector(3), 0.99)] == ["a"]


def test_removal_erases_the_bytes(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path, SIZE)
    with store.batch():
        for name, seed in (("Ada Lind", 1), ("Bela Voss", 2)):
            store.put(
                Document(f"note of {name}", name, f"secret of {name}"), [Piece(f"secret of {name}", vector(seed))]
            )
    coded = np.rint(vector(1).astype(np.float64) * store.scale).astype(np.int16).tobytes()
    assert any(coded in file.read_bytes() for file in tmp_path.iterdir())
    assert store.remove_unit("Ada Lind") == 1
    everything = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"ada lind" not in everything.lower()
    assert coded not in everything
    assert b"bela voss" in everything
    assert found(store, vector(1), 5) == ["bela voss"]


def test_a_batch_that_fails_leaves_nothing(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path, SIZE)
    fill(store, {"a": [1]})

    def interrupted() -> None:
        with store.batch():
            store.put(Document("b", "b", "b"), [Piece("b", vector(2))])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert found(EmbeddedStore(tmp_path, SIZE), vector(2), 5) == ["a"]


def test_another_process_sees_what_was_added(tmp_path: Path) -> None:
    reader, writer = EmbeddedStore(tmp_path, SIZE), EmbeddedStore(tmp_path, SIZE)
    assert found(reader, vector(1), 5) == []
    fill(writer, {"a": [1]})
    assert found(reader, vector(1), 5) == ["a"]


def test_another_embedder_or_version_or_damage_is_explained(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path / "v", SIZE)
    with pytest.raises(StoreError, match="embedder"):
        EmbeddedStore(tmp_path / "v", SIZE + 1)
    for other in (4, 99):
        store._database.rows("update store set version = ?", [other])
        with pytest.raises(VaultVersionError, match=f"format {other}; .*discreet init"):
            EmbeddedStore(tmp_path / "v", SIZE)
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "store.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError):
        EmbeddedStore(tmp_path / "d", SIZE)

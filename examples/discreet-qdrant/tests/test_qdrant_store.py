"""The store in Qdrant, on Qdrant's own engine: exact as the embedded store, of one moment, and whole."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from discreet_qdrant.engine import Found, Shape
from discreet_qdrant.store import QdrantStore
from hypothesis import example, given
from hypothesis import strategies as st
from qdrant_engine import EdgeEngine

from discreet.errors import BadData, StoreError
from discreet.store.documents import Document
from discreet.store.embedded_store import EmbeddedStore, replace_key
from discreet.store.protocol import Piece, Vector
from discreet.store.vectors import whole_numbers
from discreet.testing.broken_stores import SIZE, direction, entry, fill
from discreet.testing.settings import QUICK

KEY = b"k" * 32
PREFIX = "store_1-"
NEAR = direction(1)


@pytest.fixture
def engine(tmp_path: Path) -> EdgeEngine:
    return EdgeEngine(tmp_path / "qdrant")


def open_store(engine: EdgeEngine, folder: Path, cap: int = 0, size: int = SIZE) -> QdrantStore:
    engine.dimension = size
    return QdrantStore(folder, size, engine, PREFIX, cap)


def of_known_key(engine: EdgeEngine, folder: Path, cap: int = 0, size: int = SIZE) -> QdrantStore:
    open_store(engine, folder, cap, size).close()
    replace_key(folder, KEY)
    return open_store(engine, folder, cap, size)


def reference(folder: Path, size: int = SIZE) -> EmbeddedStore:
    EmbeddedStore(folder, size).close()
    replace_key(folder, KEY)
    return EmbeddedStore(folder, size)


# -- exact -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cap", [0, 3])
@pytest.mark.parametrize("size", [SIZE, 384, 1000])
def test_scores_and_ranks_are_those_of_the_embedded_store(
    engine: EdgeEngine, tmp_path: Path, cap: int, size: int
) -> None:
    """Equality, not closeness: of scores to the last bit, ranks, ties, and the best text of each unit."""
    random = np.random.default_rng(size)
    vectors = random.standard_normal((600, size))
    vectors[:20, 1:] = 0  # the longest products that there are
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ours, theirs = of_known_key(engine, tmp_path / "ours", cap, size), reference(tmp_path / "theirs", size)
    for store in (ours, theirs):
        with store.batch():
            for row, vector in enumerate(vectors):
                document = Document(f"d{row}", f"u{row // 3}", f"text {row}")
                store.put(document, [Piece(f"text {row}", vector.astype(np.float32))])
    for question in (*vectors[:3], *(-vectors[30:32])):
        seen, wanted = ours.scored(question), theirs.scored(question)
        assert [hit.unit for hit in seen.nearest(40)] == [hit.unit for hit in wanted.nearest(40)]
        assert ours.nearest_units(question, 500) == theirs.nearest_units(question, 500)
        assert [hit.unit for hit in seen.between(-0.1, 0.1)] == [hit.unit for hit in wanted.between(-0.1, 0.1)]
        read = seen._looked(0)
        assert np.array_equal(np.sort(read._found.scores), np.sort(wanted._found.scores))
    assert [stored.vector.tolist() for stored in ours.texts()] == [stored.vector.tolist() for stored in theirs.texts()]


UNITS = st.lists(st.tuples(st.sampled_from("abcdefg"), st.lists(st.integers(0, 2), min_size=1, max_size=3)), max_size=7)


# `a` has three chunks nearer than each of `b`, as near as two other units; the cut of three goes through a tie.
@example([("a", [1, 1, 1]), ("b", [2]), ("c", [2]), ("d", [2, 2, 2])], 1, 2, 3)
@example([("a", [1]), ("b", [1]), ("c", [1]), ("d", [1])], 1, 1, 1)
@QUICK
@given(UNITS, st.integers(0, 3), st.integers(1, 3), st.integers(1, 3))
def test_a_cap_finds_the_nearest_units(
    capped: Callable[[int], tuple[QdrantStore, EmbeddedStore, EdgeEngine]],
    units: list[tuple[str, list[int]]],
    query: int,
    count: int,
    cap: int,
) -> None:
    """Check the nearest units for many ties, with and without each unit: one request of a public size decides."""
    ours, theirs, engine = capped(cap)
    check_all_neighbours(
        ours, theirs, engine, [(unit, seeds[:cap]) for unit, seeds in dict(units).items()], query, count
    )


def check_all_neighbours(
    ours: QdrantStore,
    theirs: EmbeddedStore,
    engine: EdgeEngine,
    units: Sequence[tuple[str, list[int]]],
    query: int,
    count: int,
) -> None:
    """Compare with the embedded store of the same key, for the units and for those without each one."""
    for store in (ours, theirs):
        with store.batch():
            for number, (unit, seeds) in enumerate(units):
                store.put(*entry(number, unit, seeds))
    for gone in (None, *(unit for unit, _ in units)):
        if gone is not None:
            for store in (ours, theirs):
                store.remove_unit(gone)
        engine.searches.clear()
        assert ours.nearest_units(direction(query), count) == theirs.nearest_units(direction(query), count)
        assert engine.searches[:1] in ([count * ours._cap], [])
        for store in (ours, theirs) if gone is not None else ():
            fill(store, [(number, *one) for number, one in enumerate(units) if one[0] == gone])


@pytest.fixture
def capped(tmp_path: Path) -> Iterator[Callable[[int], tuple[QdrantStore, EmbeddedStore, EdgeEngine]]]:
    """Makes a store with a cap, and an embedded store of the same key."""
    made = list[tuple[QdrantStore, EmbeddedStore, EdgeEngine]]()

    def forget() -> None:
        ours, theirs, engine = made.pop()
        ours.close()
        theirs.close()
        for name in engine.names(""):
            engine.drop(name)

    def make(cap: int) -> tuple[QdrantStore, EmbeddedStore, EdgeEngine]:
        if made:
            forget()
            shutil.rmtree(tmp_path / "case")
        engine, folder = EdgeEngine(tmp_path / "case" / "qdrant"), tmp_path / "case"
        made.append((of_known_key(engine, folder / "ours", cap), reference(folder / "theirs"), engine))
        return made[0]

    yield make
    if made:
        forget()


def test_points_of_an_unfinished_batch_take_no_rank(engine: EdgeEngine, tmp_path: Path) -> None:
    """Another writer's points are in the collection before its commit, or after its end by a crash."""
    store, theirs = of_known_key(engine, tmp_path / "ours", 1), reference(tmp_path / "theirs")
    for one in (store, theirs):
        fill(one, [(1, "a", [2]), (2, "b", [3]), (3, "c", [1])])
    (name,) = engine.names(PREFIX)
    engine.add(name, range(5, 45), np.tile(whole_numbers(NEAR, SIZE), (40, 1)))
    for count in (1, 2, 3, 4):
        assert store.nearest_units(NEAR, count) == theirs.nearest_units(NEAR, count)
    assert store.units_above(NEAR, -1) == theirs.units_above(NEAR, -1)


def test_cap_holds_for_a_unit_over_all_its_documents(engine: EdgeEngine, tmp_path: Path) -> None:
    store = open_store(engine, tmp_path, 2)
    fill(store, [(1, "a", [1]), (2, "a", [2])])
    fill(store, [(2, "a", [3])])  # in place of one
    with pytest.raises(BadData, match="has 3 chunks of text"):
        fill(store, [(3, "a", [1])])
    assert [near.unit for near in store.nearest_units(NEAR, 9)] == ["a"]
    assert store.count_documents() == 2
    store.close()
    with pytest.raises(StoreError, match="more chunks of text than"):
        open_store(engine, tmp_path, 1).nearest_units(NEAR, 1)


# -- one moment --------------------------------------------------------------------------------------------------------


def test_ranks_that_were_read_stay_and_no_others_are_read(engine: EdgeEngine, tmp_path: Path) -> None:
    """A question with a cap reads few ranks. It cannot read others once the documents have changed."""
    store = open_store(engine, tmp_path, 1)
    fill(store, [(number, f"u{number}", [number]) for number in range(9)])
    scored, other = store.scored(NEAR), store.scored(NEAR)
    found = scored.nearest(2)
    assert other.nearest(3)[:2] == found
    store.remove_unit(found[0].unit)
    assert (scored.nearest(2), scored.nearest(1)) == (found, found[:1])
    with pytest.raises(StoreError, match="Ask again"):
        scored.nearest(3)
    with pytest.raises(StoreError, match="Ask again"):
        scored.above(0.1)
    with pytest.raises(StoreError, match="Ask again"):
        scored.between(0.0, 0.5)
    assert store.passages(found) == [None, *store.passages(found[1:])]


# -- whole -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cap", [0, 1])
def test_a_vector_that_qdrant_lost_is_missed(engine: EdgeEngine, tmp_path: Path, cap: int) -> None:
    store = open_store(engine, tmp_path, cap)
    fill(store, [(number, f"u{number}", [number]) for number in range(9)])
    (name,) = engine.names(PREFIX)
    ((lost,),) = store._database.rows(
        "select point.id from point join chunk on chunk.id = point.chunk join document on document.number = document "
        "where document.id = 'd0'"
    )
    delete(engine, name, [lost])
    with pytest.raises(StoreError, match="lacks vectors of the store"):
        store.nearest_units(NEAR, 2)
    with pytest.raises(StoreError, match="lacks vectors of the store"):
        store.units_above(NEAR, 0.9)
    with pytest.raises(StoreError, match="lacks the store"):
        store.texts()
    with pytest.raises(StoreError, match="lacks the store"):
        store.remove("d1")
    assert store.unsettled()
    engine.drop(name)
    with pytest.raises(StoreError, match="lacks the store"):
        store.nearest_units(NEAR, 2)


def delete(engine: EdgeEngine, name: str, ids: Any) -> None:
    engine.shards[name].update(engine.edge.UpdateOperation.delete_points([int(number) for number in ids]))
    engine.shards[name].flush()


SOUND = Shape(SIZE, "Dot", True, True, 1)


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        (replace(SOUND, dimension=7), "vectors of 6 numbers"),
        (replace(SOUND, distance="Cosine"), "Cosine in place of Dot"),
        (replace(SOUND, plain=False), "quantized"),
        (replace(SOUND, at_once=False), "prevent_unoptimized"),
        (replace(SOUND, copies=2), "2 copies"),
    ],
)
def test_collection_with_other_scores_is_refused(
    engine: EdgeEngine, tmp_path: Path, shape: Shape, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(engine, tmp_path)
    fill(store, [(1, "a", [1])])
    monkeypatch.setattr(engine, "shape", lambda name: shape)
    with pytest.raises(StoreError, match=why):  # a setting may change while the store is open
        store.nearest_units(NEAR, 1)
    with pytest.raises(StoreError, match=why):
        open_store(engine, tmp_path)


def test_scores_of_another_distance_are_refused(
    engine: EdgeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A twin whose collections have the distance Cosine, and say Dot: Qdrant shortens vectors, and rounds."""
    monkeypatch.setattr(engine, "distance", "Cosine")
    monkeypatch.setattr(engine, "shape", lambda name: SOUND)
    store = open_store(engine, tmp_path)
    fill(store, [(number, f"u{number}", [number]) for number in range(9)])
    with pytest.raises(StoreError, match="no sums of products"):
        store.nearest_units(NEAR, 1)


@pytest.mark.parametrize("wrong", ["repeated", "too many", "too large", "unsorted"])
def test_impossible_results_are_refused(
    engine: EdgeEngine, tmp_path: Path, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(engine, tmp_path)
    fill(store, [(number, f"u{number}", [number]) for number in range(9)])
    right = engine.search

    def search(name: str, question: Vector, limit: int, over: float | None = None) -> Found:
        found = right(name, question, limit, over)
        match wrong:
            case "repeated":
                return Found(np.repeat(found.ids, 2), np.repeat(found.scores, 2))
            case "too many":
                return Found(np.arange(limit + 1), np.zeros(limit + 1, np.float32))
            case "too large":
                return Found(found.ids, found.scores + np.float32(2**24))
        return Found(found.ids[::-1], found.scores[::-1])

    monkeypatch.setattr(engine, "search", search)
    with pytest.raises(StoreError, match="no sums of products"):
        store.nearest_units(NEAR, 1)

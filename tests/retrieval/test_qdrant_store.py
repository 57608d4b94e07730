"""The store in Qdrant, on Qdrant's own engine: exact as the embedded store, whole, and erased."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.errors import BadData, StoreError
from discreet.retrieval.documents import Document
from discreet.retrieval.embedded_store import EmbeddedStore
from discreet.retrieval.qdrant.engine import Found, Shape
from discreet.retrieval.qdrant.store import QdrantStore
from discreet.retrieval.store import Piece, Vector
from discreet.retrieval.store_metadata import replace_key
from discreet.retrieval.vectors import whole_numbers
from discreet.testing.settings import QUICK
from discreet.testing.store_cases import SIZE, direction, entry, fill
from tests.qdrant_engine import EdgeEngine

KEY = b"k" * 32
PREFIX = "store_1-"
NEAR = direction(1)


@pytest.fixture
def engine(tmp_path: Path) -> EdgeEngine:
    return EdgeEngine(tmp_path / "qdrant")


def open_store(engine: EdgeEngine, folder: Path, cap: int = 0, size: int = SIZE) -> QdrantStore:
    engine.dimension = size
    return QdrantStore(folder, size, None, engine, PREFIX, cap)


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
        assert np.array_equal(np.sort(read._scores), np.sort(wanted._scores))
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
    with pytest.raises(StoreError, match="chunks=2 or more"):
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
    ids, _ = next(engine.pages(name))
    delete(engine, name, ids[:1])
    with pytest.raises(StoreError, match="lacks 1 of the 9 vectors"):
        store.nearest_units(NEAR, 2)
    with pytest.raises(StoreError, match="lacks 1 of the 9 vectors"):
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


# -- erased ------------------------------------------------------------------------------------------------------------


def forms(vector: Any) -> list[bytes]:
    """The bytes of a vector in Qdrant's segments, and in its log of writes: CBOR, each number as short as it can be."""
    shortest = [np.float16(number) if np.float16(number) == number else np.float32(number) for number in vector]
    logged = b"".join((b"\xf9" if one.nbytes == 2 else b"\xfa") + one.tobytes()[::-1] for one in shortest)
    return [vector.astype("<f4").tobytes(), logged]


@pytest.mark.parametrize("how", ["remove", "remove_unit", "bury", "replace"])
def test_erased_vector_is_in_no_file_of_qdrant(engine: EdgeEngine, tmp_path: Path, how: str) -> None:
    store = open_store(engine, tmp_path / "store")
    fill(store, [(number, f"u{number}", [number]) for number in range(9)])
    vectors = {stored.unit: stored.vector for stored in store.texts()}
    assert [form in engine.read_files() for form in forms(vectors["u4"])] == [True, True]
    if how == "replace":
        fill(store, [(4, "u4", [40])])
        store.settle()
    else:
        getattr(store, how)("d4" if how == "remove" else "u4")
    assert not store.unsettled()
    files = engine.read_files()
    assert [form in files for form in forms(vectors["u4"])] == [False, False]
    assert [form in files for form in forms(vectors["u5"])] == [True, True]


@pytest.mark.parametrize(("number", "left"), [(60, [True, True]), (300, [False, True])])
def test_deletion_by_qdrant_leaves_bytes(engine: EdgeEngine, tmp_path: Path, number: int, left: list[bool]) -> None:
    """Why `settle` makes a new collection: Qdrant's deletion leaves vectors in segments, and in the log in any case.

    The settings are the strictest that a server accepts: each deletion starts a vacuum of segments from 100 points on.
    """
    edge = engine.edge
    vectors = [whole_numbers(direction(seed), SIZE) for seed in range(number)]
    strictest = edge.EdgeOptimizersConfig(deleted_threshold=0.0, vacuum_min_vector_number=100, indexing_threshold=0)
    config = edge.EdgeConfig(vectors=edge.EdgeVectorParams(size=SIZE, distance=edge.Distance.Dot), optimizers=strictest)
    (tmp_path / "qdrant" / "one").mkdir(parents=True)
    engine.shards["one"] = edge.EdgeShard.create(str(tmp_path / "qdrant" / "one"), config)
    engine.add("one", range(number), np.array(vectors))
    delete(engine, "one", [7])
    engine.shards["one"].optimize()
    assert engine.count("one") == number - 1
    files = engine.read_files()
    assert [form in files for form in forms(vectors[7])] == left


def test_interrupted_batch_leaves_nothing(engine: EdgeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The points of a batch are written before its commit. The next opening removes those of a batch without one."""
    store = open_store(engine, tmp_path / "store")
    fill(store, [(1, "a", [1])])
    before, right = engine.names(PREFIX), store._points.write

    def write(rows: Sequence[int], vectors: Sequence[Vector]) -> None:
        right(rows, vectors)
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(store._points, "write", write)
        with pytest.raises(KeyboardInterrupt):
            fill(store, [(2, "b", [2])])
    assert (engine.count(before[0]), store.unsettled(), store.count_documents()) == (2, True, 1)
    assert [near.unit for near in store.nearest_units(NEAR, 9)] == ["a"]
    store.close()
    again = open_store(engine, tmp_path / "store")
    (name,) = engine.names(PREFIX)
    assert (engine.count(name), again.unsettled(), [name] != before) == (1, False, True)
    assert [near.unit for near in again.nearest_units(NEAR, 9)] == ["a"]


@pytest.mark.parametrize("where", ["make", "add", "count", "drop"])
def test_interrupted_erasure_is_made_up(
    engine: EdgeEngine, tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(engine, tmp_path / "store")
    fill(store, [(1, "a", [1]), (2, "b", [2])])

    def fail(*_: object) -> None:
        raise StoreError("Qdrant cannot be reached.")

    with monkeypatch.context() as broken:
        broken.setattr(engine, where, fail)
        with pytest.raises(StoreError):
            store.remove_unit("a")
    assert (store.unsettled(), store.count_units()) == (True, 1)
    assert [near.unit for near in store.nearest_units(NEAR, 9)] == ["b"]
    store.close()
    again = open_store(engine, tmp_path / "store")
    (name,) = engine.names(PREFIX)
    assert (engine.count(name), again.unsettled()) == (1, False)
    assert [near.unit for near in again.nearest_units(NEAR, 9)] == ["b"]


def test_a_question_does_not_wait_for_an_erasure(
    engine: EdgeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one process copies vectors, another opens the store and asks; the erased unit is hidden already."""
    store = open_store(engine, tmp_path / "store")
    fill(store, [(1, "a", [1]), (2, "b", [1])])
    right, found = engine.count, list[str]()

    def count(name: str) -> int:
        with closing(open_store(engine, tmp_path / "store")) as other:
            assert other.unsettled()
            found.extend(near.unit for near in other.nearest_units(NEAR, 9))
        return right(name)

    with monkeypatch.context() as slow:
        slow.setattr(engine, "count", count)
        store.remove_unit("a")
    assert (found, store.unsettled()) == (["b"], False)


def test_old_collections_go_while_no_other_process_makes_one(
    engine: EdgeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that removes old collections must not take another's new one for old: both hold the write lock."""
    store = open_store(engine, tmp_path / "store")
    fill(store, [(1, "a", [1]), (2, "b", [1])])
    locked = list[str]()

    def with_lock(step: str) -> None:
        right = getattr(engine, step)

        def look(*given: Any) -> Any:
            with closing(sqlite3.connect(tmp_path / "store" / "store.sqlite", timeout=0)) as other:
                with pytest.raises(sqlite3.OperationalError, match="locked"):
                    other.execute("begin immediate")
                locked.append(step)
            return right(*given)

        monkeypatch.setattr(engine, step, look)

    for step in ("make", "add", "names", "drop"):
        with_lock(step)
    store.remove_unit("a")
    assert locked == ["make", "add", "names", "drop"]


def test_two_processes_erase_and_search(engine: EdgeEngine, tmp_path: Path) -> None:
    """The collection that one process makes for an erasure is that of the other's next question."""
    one = open_store(engine, tmp_path / "store")
    other = open_store(engine, tmp_path / "store")
    fill(one, [(1, "a", [1]), (2, "b", [1])])
    assert {near.unit for near in other.nearest_units(NEAR, 9)} == {"a", "b"}
    one.remove_unit("a")
    assert [near.unit for near in other.nearest_units(NEAR, 9)] == ["b"]
    fill(other, [(3, "c", [1])])
    other.settle()
    assert {near.unit for near in one.nearest_units(NEAR, 9)} == {"b", "c"}
    assert len(engine.names(PREFIX)) == 1

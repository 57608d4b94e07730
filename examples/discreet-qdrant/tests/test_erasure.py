"""Erasure in the store in Qdrant, on Qdrant's own engine: no byte stays in a file, also after an interruption."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdrant_engine import EdgeEngine
from test_qdrant_store import NEAR, PREFIX, delete, open_store

from discreet.errors import StoreError
from discreet.store.protocol import Piece
from discreet.store.sql_store import NamedUnit
from discreet.store.vectors import whole_numbers
from discreet.testing.broken_stores import SIZE, direction, fill


@pytest.fixture
def engine(tmp_path: Path) -> EdgeEngine:
    return EdgeEngine(tmp_path / "qdrant")


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

    def write(pieces: Sequence[Piece], chunks: range, units: Sequence[NamedUnit]) -> None:
        right(pieces, chunks, units)
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

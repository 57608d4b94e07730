"""An index that was brought up to date is that of a fresh reading, bit for bit; erased units are in no file."""

import secrets
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from discreet.errors import StoreError
from discreet.retrieval import live_index, row_changes, search
from discreet.retrieval.documents import Document
from discreet.retrieval.embedded_store import EmbeddedStore
from discreet.retrieval.kept_index import FILE, UNFINISHED, KeptIndex
from discreet.retrieval.search import Index
from discreet.retrieval.store import Piece
from discreet.testing.store import SIZE, direction

STORES = st.integers(0, 1)
NAMES = st.integers(0, 9)
UNITS = st.sampled_from("abcdefgh")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep an index of few rows in a file, and make it compact often."""
    monkeypatch.setattr(live_index, "LEAST", 3)
    monkeypatch.setattr(search, "SPARE", 2)


def put(store: EmbeddedStore, name: str, unit: str, seeds: list[int]) -> None:
    with store.batch():
        text = " ".join(map(str, seeds))
        store.put(Document(name, unit, text), [Piece(f"text {seed}", direction(seed)) for seed in seeds])


def same(one: Index, other: Index) -> bool:
    """Whether two indexes are equal in all bits, units without rows aside."""
    one, other = one.compact(), other.compact()
    arrays = ("units", "ties", "ends", "unit_of_row")
    return (one.state, one.names) == (other.state, other.names) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays
    )


def check(store: EmbeddedStore) -> None:
    """Compare the index of a store with a fresh reading, within one transaction."""
    with store._reading():
        index = store._live.refresh(store.state())
        state = row_changes.last_state(store._database)
        assert state is not None
        assert same(index, Index.read(store._database, state))


def look(store: EmbeddedStore) -> list[object]:
    """All that a search shows, with scores as bits."""
    found: list[object] = []
    for seed in range(3):
        scored = store.scored(direction(seed))
        found += [scored._scores.tobytes(), scored.nearest(3), scored.above(0.2), scored.between(-1.0, 0.5)]
        found += store.passages(scored.nearest(99))
    return found


def put_half(store: EmbeddedStore, name: str) -> None:
    with store.batch():
        store.put(Document(name, "z", "t"), [Piece("t", direction(1))])
        raise IndexError


class TwoStores(RuleBasedStateMachine):
    """Two connections write to one store and search it, with their own indexes."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name)
        self._stores = [EmbeddedStore(self._path, SIZE) for _ in range(2)]
        for store in self._stores:
            store._vectors.height = 4  # several blocks

    @rule(which=STORES, name=NAMES, unit=UNITS, seeds=st.lists(st.integers(0, 5), max_size=3))
    def put(self, which: int, name: int, unit: str, seeds: list[int]) -> None:
        put(self._stores[which], f"d{name}", unit, seeds)

    @rule(which=STORES, entries=st.lists(st.tuples(NAMES, UNITS, st.integers(0, 5)), min_size=2, max_size=9))
    def put_many(self, which: int, entries: list[tuple[int, str, int]]) -> None:
        with self._stores[which].batch():
            for name, unit, seed in entries:
                self._stores[which].put(Document(f"d{name}", unit, "t"), [Piece("t", direction(seed))])

    @rule(which=STORES, name=NAMES)
    def fail(self, which: int, name: int) -> None:
        """A batch that stops halfway leaves no document."""
        with pytest.raises(IndexError):
            put_half(self._stores[which], f"d{name}")

    @rule(which=STORES, name=NAMES)
    def remove(self, which: int, name: int) -> None:
        self._stores[which].remove(f"d{name}")

    @rule(which=STORES, unit=UNITS)
    def remove_unit(self, which: int, unit: str) -> None:
        self._stores[which].remove_unit(unit)

    @rule(which=STORES)
    def settle(self, which: int) -> None:
        self._stores[which].settle()

    @rule(which=STORES)
    def open_again(self, which: int) -> None:
        self._stores[which].close()
        self._stores[which] = EmbeddedStore(self._path, SIZE)

    @rule(how=st.sampled_from(["gone", "cut", "noise"]))
    def damage_the_file(self, how: str) -> None:
        path = self._path / FILE
        if path.exists():
            content = path.read_bytes()
            path.write_bytes(content[: len(content) // 2] if how == "cut" else secrets.token_bytes(len(content)))
            if how == "gone":
                path.unlink()

    @rule(which=STORES)
    def search_one(self, which: int) -> None:
        look(self._stores[which])
        check(self._stores[which])

    @invariant()
    def both_find_what_a_fresh_opening_finds(self) -> None:
        fresh = EmbeddedStore(self._path, SIZE)
        fresh._live._kept = KeptIndex(self._path / "none")
        expected = look(fresh)
        fresh.close()
        other = EmbeddedStore(self._path, SIZE)
        assert look(other) == expected
        other.close()
        # The other store catches up with several changes at once.
        assert look(self._stores[0]) == expected
        check(self._stores[0])

    def teardown(self) -> None:
        for store in self._stores:
            look(store)
            check(store)
            store.close()
        self._folder.cleanup()


TestTwoStores = TwoStores.TestCase
TestTwoStores.settings = settings(
    max_examples=15,
    stateful_step_count=12,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def filled(tmp_path: Path) -> EmbeddedStore:
    store = EmbeddedStore(tmp_path / "store", SIZE)
    for number in range(8):
        put(store, f"d{number}", f"unit-{number}", [number % 5, number % 3])
    store.settle()
    return store


def test_search_after_a_commit_reads_changed_rows_only(filled: EmbeddedStore) -> None:
    look(filled)
    other = EmbeddedStore(filled._vectors._path.parent, SIZE)
    put(other, "new", "new", [1])
    asked: list[str] = []
    filled._database.set_trace_callback(asked.append)
    filled.scored(direction(1))
    assert not any("select row, unit from chunk" in statement for statement in asked)
    assert filled.nearest_units(direction(1), 99) == other.nearest_units(direction(1), 99)


def test_fresh_opening_reads_the_file(filled: EmbeddedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = look(filled)
    put(filled, "late", "late", [2])
    filled.remove("late")
    monkeypatch.setattr(Index, "read", lambda *_: pytest.fail("all rows were read"))
    assert look(EmbeddedStore(filled._vectors._path.parent, SIZE)) == expected


def test_file_of_another_history_is_not_used(filled: EmbeddedStore, tmp_path: Path) -> None:
    """A store that was restored from a copy has as many changes as the file, but others."""
    folder = filled._vectors._path.parent
    copies = {name: (folder / name).read_bytes() for name in ("store.sqlite", "vectors.f32")}
    put(filled, "one", "one", [1])
    (folder / FILE).unlink()
    look(filled)
    kept = (folder / FILE).read_bytes()
    filled.close()
    for name, content in copies.items():
        (folder / name).write_bytes(content)
    store = EmbeddedStore(folder, SIZE)
    put(store, "two", "two", [2])
    (folder / FILE).write_bytes(kept)
    assert {passage.unit for passage in EmbeddedStore(folder, SIZE).nearest_units(direction(1), 99)} == {
        *(f"unit-{number}" for number in range(8)),
        "two",
    }


def held(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_erased_unit_is_not_in_the_file(filled: EmbeddedStore) -> None:
    folder = filled._vectors._path.parent
    (folder / UNFINISHED).write_bytes(b"unit-5 of a process that was killed")
    (tie,) = filled.select("select tie from unit where name = 'unit-5'")[0]
    numbers = np.frombuffer(tie, dtype=">u8").astype(np.uint64).tobytes()
    before = held(folder)
    assert (b"unit-5" in before, numbers in (folder / FILE).read_bytes()) == (True, True)
    filled.remove_unit("unit-5")
    after = held(folder)
    assert (b"unit-5" in after, tie in after, numbers in after, b"unit-4" in after) == (False, False, False, True)
    assert (folder / FILE).exists()
    assert not (folder / UNFINISHED).exists()


KILLED = """
    import os, sys
    from pathlib import Path
    from discreet.retrieval import kept_index, live_index
    from discreet.retrieval.embedded_store import EmbeddedStore
    live_index.LEAST = 3
    point, folder = sys.argv[1:]
    store = EmbeddedStore(Path(folder), 6)
    run, save, replace, overwrite = EmbeddedStore._run, kept_index.np.savez, os.replace, kept_index._overwrite
    if point == "ready":
        kept_index.Path.unlink = lambda *_, **__: os.kill(os.getpid(), 9)
    def stop_at(self, statement, *values):
        if statement.startswith(point):
            os.kill(os.getpid(), 9)
        return run(self, statement, *values)
    EmbeddedStore._run = stop_at
    def stop_in(file, **arrays):
        save(file, **arrays)
        file.flush()
        os.kill(os.getpid(), 9)
    if point == "saving":
        kept_index.np.savez = stop_in
    if point == "saved":
        os.replace = lambda *_: os.kill(os.getpid(), 9)
    if point == "renamed":
        kept_index.os.replace = lambda *both: (replace(*both), os.kill(os.getpid(), 9))
    store.remove_unit("unit-5")
"""


@pytest.mark.parametrize("point", ["ready", "vacuum", "update meta", "saving", "saved", "renamed"])
def test_kill_while_the_file_is_made_leaves_no_erased_unit(filled: EmbeddedStore, point: str) -> None:
    folder = filled._vectors._path.parent
    filled.close()
    program = [sys.executable, "-c", textwrap.dedent(KILLED), point, str(folder)]
    assert subprocess.run(program, check=False).returncode == -9
    store = EmbeddedStore(folder, SIZE)
    if point in ("ready", "vacuum", "update meta"):
        assert (folder / FILE).exists()  # the opening ended the erasure, and kept the index again
    check(store)
    assert (b"unit-5" in held(folder), b"unit-4" in held(folder)) == (False, True)
    look(store)
    check(store)
    assert {passage.unit for passage in store.nearest_units(direction(1), 99)} == {
        f"unit-{number}" for number in range(8) if number != 5
    }


def test_file_is_not_written_while_an_erasure_is_due(filled: EmbeddedStore) -> None:
    """Between the commit of an erasure and its end, a searching process may know the unit still."""
    folder = filled._vectors._path.parent
    look(filled)
    other = EmbeddedStore(folder, SIZE)
    with other.batch():
        other._erase("id", "d5")
    (folder / FILE).unlink()
    look(filled)
    assert not (folder / FILE).exists()
    other.settle()
    look(filled)
    assert b"unit-5" not in (folder / FILE).read_bytes()


WRITER = """
    import random, sys
    from pathlib import Path
    from discreet.retrieval import live_index, search
    from discreet.retrieval.documents import Document
    from discreet.retrieval.embedded_store import EmbeddedStore
    from discreet.retrieval.store import Piece
    from discreet.testing.store import SIZE, direction
    live_index.LEAST, search.SPARE = 3, 2
    store, draw = EmbeddedStore(Path(sys.argv[1]), SIZE), random.Random(int(sys.argv[2]))
    for _ in range(60):
        with store.batch():
            for _ in range(draw.randrange(4)):
                name, unit = draw.randrange(30), draw.choice("abcdefgh")
                pieces = [Piece("t", direction(draw.randrange(6))) for _ in range(draw.randrange(3))]
                store.put(Document(f"d{name}", unit, "t"), pieces)
        if draw.random() < 0.3:
            draw.choice([store.settle, lambda: store.remove_unit(draw.choice("abcdefgh"))])()
"""


def test_index_follows_two_processes_that_write(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path, SIZE)
    program = [sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path)]
    writers = [subprocess.Popen([*program, str(number)]) for number in range(2)]
    checked = 0
    while any(writer.poll() is None for writer in writers) or not checked:
        check(store)
        look(store)
        checked += 1
    assert [writer.returncode for writer in writers] == [0, 0]
    check(store)
    fresh = EmbeddedStore(tmp_path, SIZE)
    assert look(store) == look(fresh)
    store.settle()
    assert look(store) == look(fresh)


def test_log_is_cut_when_the_file_is_written(filled: EmbeddedStore) -> None:
    for number in range(30):
        put(filled, f"n{number}", f"n{number % 4}", [number % 6])
        look(filled)
    assert row_changes.length(filled._database) <= 2 * max(3, 38 // 4) + 2


def test_file_that_cannot_be_written_changes_nothing(filled: EmbeddedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = filled._vectors._path.parent
    (folder / FILE).unlink()
    monkeypatch.setattr(KeptIndex, "save", lambda *_: False)
    expected = look(filled)
    filled.settle()
    assert not (folder / FILE).exists()
    assert look(EmbeddedStore(folder, SIZE)) == expected


def test_log_without_entries_is_damage(filled: EmbeddedStore) -> None:
    filled._database.execute("delete from change")
    with pytest.raises(StoreError, match="damaged"):
        look(filled)


def test_search_does_not_fail_with_the_file(filled: EmbeddedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    (filled._vectors._path.parent / FILE).unlink()
    expected = look(filled)

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(row_changes, "length", fail)
    monkeypatch.setattr(row_changes, "forget_before", fail)
    put(filled, "x", "x", [1])
    filled.remove("x")
    assert look(filled) == expected

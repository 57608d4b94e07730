"""What a process knows of the rows is what a fresh opening reads, bit for bit; erased units are in no file."""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from discreet.errors import StoreError
from discreet.store import vectors
from discreet.store.documents import Document
from discreet.store.embedded_store import EmbeddedStore, FileVectors, SqliteDatabase
from discreet.store.embedding import HashingEmbedder
from discreet.store.protocol import Piece
from discreet.store.sql_tables import StoreDatabase
from discreet.store.unit_records import UnitRecords, owned_texts
from discreet.store.vectors import VectorFile
from discreet.testing.store import SIZE, direction
from tests.store.children import kill_now, killed

STORES = st.integers(0, 1)
NAMES = st.integers(0, 9)
UNITS = st.sampled_from(
    ["a", "b", "c", "d", "e", "f", "g", "a name that is too long for its place in a row of vectors"]
)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read few rows at once."""
    monkeypatch.setattr(vectors, "_AT_ONCE", 4 * SIZE)


def put(store: EmbeddedStore, name: str, unit: str, seeds: list[int]) -> None:
    with store.batch():
        text = " ".join(map(str, seeds))
        store.put(Document(name, unit, text), [Piece(f"text {seed}", direction(seed)) for seed in seeds])


def known(store: EmbeddedStore) -> list[object]:
    """What a store knows of each row that a chunk has, and of each unit."""
    store.scored(direction(0))
    own, units = store._vectors, store._units
    assert isinstance(own, FileVectors)
    used = np.flatnonzero(own._units)
    names = units.names_at(np.arange(len(units.numbers)))
    rows = list(zip(used.tolist(), own._chunks[used].tolist(), own._units[used].tolist(), strict=True))
    return [rows, units.numbers.tolist(), units.ties.tolist(), names]


def look(store: EmbeddedStore) -> list[object]:
    """All that a search shows, with scores as bits."""
    found: list[object] = []
    for seed in range(3):
        scored = store.scored(direction(seed))
        exact = scored._found.scores[scored._found.units > 0]
        found += [exact.tobytes(), scored.nearest(3), scored.above(0.2), scored.between(-1.0, 0.5)]
        found += store.passages(scored.nearest(99))
    return found


def put_half(store: EmbeddedStore, name: str) -> None:
    with store.batch():
        store.put(Document(name, "z", "t"), [Piece("t", direction(1))])
        raise IndexError


class TwoStores(RuleBasedStateMachine):
    """Two connections write to one store and search it, and each knows its rows."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name)
        self._stores = [EmbeddedStore(self._path, SIZE) for _ in range(2)]

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

    @rule(which=STORES, unit=UNITS, into=UNITS)
    def join(self, which: int, unit: str, into: str) -> None:
        if unit != into:
            self._stores[which].join(unit, into, lambda: None)
            self._stores[which].readmit(unit)

    @rule(which=STORES)
    def settle(self, which: int) -> None:
        self._stores[which].settle()

    @rule(which=STORES)
    def open_again(self, which: int) -> None:
        self._stores[which].close()
        self._stores[which] = EmbeddedStore(self._path, SIZE)

    @rule(which=STORES)
    def search_one(self, which: int) -> None:
        look(self._stores[which])

    @invariant()
    def both_find_what_a_fresh_opening_finds(self) -> None:
        fresh = EmbeddedStore(self._path, SIZE)
        # The other store catches up with several changes at once.
        assert look(self._stores[0]) == look(fresh)
        assert known(self._stores[0]) == known(fresh)
        fresh.close()

    def teardown(self) -> None:
        fresh = EmbeddedStore(self._path, SIZE)
        for store in self._stores:
            assert (look(store), known(store)) == (look(fresh), known(fresh))
            store.close()
        fresh.close()
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
    for number in range(40):
        put(store, f"d{number}", f"unit-{number}", [number % 5, number % 3])
    store.settle()
    return store


def folder_of(store: EmbeddedStore) -> Path:
    assert isinstance(store._vectors, FileVectors)
    return next(iter(store._vectors._file.sizes)).parent


def held(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def stop_at(point: str) -> None:
    """Kill this process before a statement, before the second commit, or after vectors were overwritten."""
    run, erase, commits = SqliteDatabase.run, VectorFile.erase, list[bool]()

    def stop_before(self: SqliteDatabase, command: str) -> None:
        commits.append(command == "commit")
        if command == point or (point == "second commit" and sum(commits) == 2):
            kill_now()
        run(self, command)

    def stop_after(self: VectorFile, places: Sequence[int], size: int) -> None:
        erase(self, places, size)
        if point == "overwritten":
            kill_now()

    SqliteDatabase.run, VectorFile.erase = stop_before, stop_after  # type: ignore[assignment,method-assign]


@pytest.mark.parametrize("point", ["commit", "overwritten", "second commit", "vacuum", "never"])
@pytest.mark.parametrize(
    "job",
    [lambda store: store.remove_unit("unit-39"), lambda store: store.join("unit-39", "unit-38", lambda: None)],
    ids=["remove", "join"],
)
def test_kill_during_an_erasure_leaves_all_or_nothing(
    filled: EmbeddedStore, point: str, job: Callable[[EmbeddedStore], int]
) -> None:
    """The last rows of the file go, so that it is cut off. A process that was open all the time goes on."""
    folder = folder_of(filled)
    before = filled.nearest_units(direction(1), 99)

    def erase() -> None:
        own = EmbeddedStore(folder, SIZE)
        stop_at(point)
        job(own)

    assert killed(erase)
    meanwhile = filled.nearest_units(direction(1), 99)
    gone = set() if point == "commit" else {"unit-39"}
    assert {near.unit for near in meanwhile} == {near.unit for near in before} - gone
    store = EmbeddedStore(folder, SIZE)
    assert not store.unsettled()
    held = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert (b"unit-39" in held) == (point == "commit")
    assert store.nearest_units(direction(1), 99) == filled.nearest_units(direction(1), 99) == meanwhile
    put(store, "new", "new", [1, 1, 1])
    assert store.nearest_units(direction(1), 99) == filled.nearest_units(direction(1), 99)


@pytest.mark.parametrize("erase", ["remove", "remove_unit"])
def test_document_that_is_replaced_meanwhile_is_erased(
    filled: EmbeddedStore, erase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, right = EmbeddedStore(folder_of(filled), SIZE), type(filled._database).alone

    def alone(self: StoreDatabase, *, wait: bool = True) -> AbstractContextManager[bool]:
        monkeypatch.setattr(SqliteDatabase, "alone", right)
        put(other, "d5", "unit-5", [2])  # between the search for the document and the lock
        return self.alone(wait=wait)

    monkeypatch.setattr(SqliteDatabase, "alone", alone)
    assert getattr(filled, erase)("d5" if erase == "remove" else "unit-5") == 1
    assert other.digests(["d5"]) == {}


def test_erasure_is_seen_although_another_reader_read_all_meanwhile(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path, HashingEmbedder.dimension)
    add_units(store, range(40))
    records = UnitRecords(store)
    assert "u5" in records.now().records
    store.remove_unit("u5")
    assert "u5" not in {unit for unit, _ in owned_texts(store)}
    assert "u5" not in records.now().records


@pytest.mark.parametrize("name", ["vectors.i16", "vectors.rows"])
@pytest.mark.parametrize("kept", [0.0, 0.5])
def test_lost_vectors_are_not_hidden_by_an_addition(tmp_path: Path, name: str, kept: float) -> None:
    store = EmbeddedStore(tmp_path, HashingEmbedder.dimension)
    add_units(store, range(40))
    store.close()
    path = tmp_path / name
    if kept:
        path.write_bytes(path.read_bytes()[: 20 * path.stat().st_size // 42])
    else:
        path.unlink()
    again = EmbeddedStore(tmp_path, HashingEmbedder.dimension)
    with pytest.raises(StoreError, match="missing or cut short"):
        add_units(again, range(40, 41))
    with pytest.raises(StoreError, match="missing or cut short"):
        again.nearest_units(HashingEmbedder().embed(["text 1"])[0], 5)


def test_empty_database_beside_vectors_is_refused(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path, HashingEmbedder.dimension)
    add_units(store, range(3))
    store.close()
    (tmp_path / "store.sqlite").write_bytes(b"")
    with pytest.raises(StoreError, match="no texts"):
        EmbeddedStore(tmp_path, HashingEmbedder.dimension)


def add_units(store: EmbeddedStore, numbers: range) -> None:
    vectors = HashingEmbedder().embed([f"text {number}" for number in numbers])
    with store.batch():
        for number, vector in zip(numbers, vectors, strict=True):
            store.put(Document(f"d{number}", f"u{number}", f"text {number}"), [Piece(f"text {number}", vector)])


def test_units_are_joined_to_another_that_is_there(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path, HashingEmbedder.dimension)
    add_units(store, range(3))
    assert store.join("u1", "u1", lambda: None) == 0
    assert store.count_units() == 3
    store.bury("u2")
    with pytest.raises(StoreError, match="erased"):
        store.join("u1", "u2", lambda: None)
    assert store.count_units() == 2

"""What every `Store` must do, checked against a store of a few lines that is plainly right."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from discreet.retrieval.documents import Document, Passage, StoredText
from discreet.retrieval.embedded_store import EmbeddedStore
from discreet.retrieval.store import Piece, Store, Vector, digest

SIZE = 6
SCALE = 4093
KEY = b"k" * 32
Make = Callable[[], Store]


class PlainStore:
    """A dictionary, whole numbers, and a sort."""

    def __init__(self, key: bytes = KEY) -> None:
        self.held: dict[str, tuple[Document, Sequence[Piece]]] = {}
        self._key = key

    @contextmanager
    def batch(self) -> Iterator[None]:
        yield

    def put(self, document: Document, pieces: Sequence[Piece]) -> None:
        self.held[document.id] = (document, pieces)

    def digests(self, ids: Sequence[str]) -> dict[str, bytes]:
        return {name: digest(self.held[name][0]) for name in ids if name in self.held}

    def units(self, ids: Sequence[str]) -> dict[str, str]:
        return {name: self.held[name][0].unit for name in ids if name in self.held}

    def settle(self) -> None:
        pass

    def remove(self, document_id: str) -> int:
        return int(self.held.pop(document_id, None) is not None)

    def remove_unit(self, unit: str) -> int:
        return sum([self.remove(name) for name, (document, _) in list(self.held.items()) if document.unit == unit])

    def count_documents(self) -> int:
        return len(self.held)

    def count_units(self) -> int:
        return len({document.unit for document, _ in self.held.values()})

    def texts(self) -> list[StoredText]:
        return [
            StoredText(document.unit, name, np.rint(np.asarray(piece.vector) * SCALE).astype(np.int64), piece.text)
            for name, (document, pieces) in sorted(self.held.items())
            for piece in pieces
        ]

    def state(self) -> object:
        return tuple(self.held.items())

    def nearest_units(self, vector: Vector, count: int) -> list[Passage]:
        best = self._best(vector)
        order = sorted(best, key=lambda unit: (best[unit][0], self.tie(unit)))
        return [Passage(unit, best[unit][1]) for unit in order[: max(count, 0)]]

    def units_above(self, vector: Vector, threshold: float) -> list[Passage]:
        best = self._best(vector)
        above = [unit for unit in best if -best[unit][0] >= threshold * SCALE**2]
        return [
            Passage(unit, best[unit][1]) for unit in sorted(above, key=lambda unit: (best[unit][0], self.tie(unit)))
        ]

    def tie(self, unit: str) -> bytes:
        return hashlib.blake2b(unit.encode(), key=self._key, digest_size=16).digest()

    def _best(self, vector: Vector) -> dict[str, tuple[int, str]]:
        query = whole(vector)
        best: dict[str, tuple[int, str]] = {}
        for document, pieces in self.held.values():
            for piece in pieces:
                score = (-sum(a * b for a, b in zip(whole(piece.vector), query, strict=True)), piece.text)
                best[document.unit] = min(score, best.get(document.unit, score))
        return best


def whole(vector: Vector) -> list[int]:
    return [round(float(number) * SCALE) for number in vector]


def direction(seed: int) -> Vector:
    made = np.random.default_rng(seed).normal(size=SIZE)
    return np.asarray(made / np.linalg.norm(made), dtype=np.float32)


def entry(name: int, unit: str, seeds: Sequence[int]) -> tuple[Document, list[Piece]]:
    # Pieces of one vector and different texts: ties within a unit.
    texts = [f"{unit} {seed} {place}" for place, seed in enumerate(seeds)]
    pieces = [Piece(text, direction(seed)) for text, seed in zip(texts, seeds, strict=True)]
    return Document(f"d{name}", unit, " ".join(texts)), pieces


def fill(store: Store, entries: Sequence[tuple[int, str, Sequence[int]]]) -> None:
    with store.batch():
        for one in entries:
            store.put(*entry(*one))


# Few directions and units, so that ties are everywhere.
UNITS = st.sampled_from("abcdefgh")
ENTRIES = st.lists(st.tuples(st.integers(0, 11), UNITS, st.lists(st.integers(0, 3), max_size=3)), max_size=12)
STEPS = st.lists(st.one_of(ENTRIES, st.integers(0, 11), UNITS, st.none()), max_size=8)
QUICK = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)


def replay(store: Store, steps: Sequence[object]) -> None:
    for step in steps:
        if isinstance(step, list):
            fill(store, step)
        elif isinstance(step, int):
            store.remove(f"d{step}")
        elif isinstance(step, str):
            store.remove_unit(step)
        else:
            store.settle()


class StoreConformance:
    """To be inherited, with a fixture `make` that makes empty stores."""

    @QUICK
    @given(STEPS, st.integers(0, 6), st.integers(0, 9))
    def test_any_history_answers_as_a_fresh_plain_store(
        self, make: Make, steps: list[object], query: int, count: int
    ) -> None:
        store, plain = make(), PlainStore()
        replay(store, steps)
        replay(plain, steps)
        assert set(store.nearest_units(direction(query), 99)) == set(plain.nearest_units(direction(query), 99))
        assert (store.count_documents(), store.count_units()) == (plain.count_documents(), plain.count_units())
        ids = [f"d{n}" for n in range(12)]
        assert store.digests(ids) == plain.digests(ids)
        assert store.units(ids) == plain.units(ids)
        # Ties aside (each store has its own key), ranks are those of exact arithmetic.
        exact = {unit: score for unit, (score, _) in plain._best(direction(query)).items()}
        ranked = [exact[passage.unit] for passage in store.nearest_units(direction(query), count)]
        assert ranked == sorted(exact.values())[:count]

    # `a` and `b` are equally near: what passes over one for the other shows itself once the other is gone.
    @example([(1, "a", [1]), (2, "b", [1]), (3, "c", [2])], 1, 2, "a")
    @example([(1, "a", [1]), (2, "b", [1]), (3, "c", [2])], 1, 2, "b")
    @QUICK
    @given(ENTRIES, st.integers(0, 6), st.integers(1, 6), UNITS)
    def test_removing_a_unit_replaces_at_most_one(
        self, make: Make, entries: list[tuple[int, str, list[int]]], query: int, count: int, gone: str
    ) -> None:
        store = make()
        fill(store, entries)
        before = store.nearest_units(direction(query), count)
        above = store.units_above(direction(query), 0.1)
        store.remove_unit(gone)
        after = store.nearest_units(direction(query), count)
        kept = [passage for passage in before if passage.unit != gone]
        assert after[: len(kept)] == kept
        assert len(after) - len(kept) <= (len(before) - len(kept))
        assert store.units_above(direction(query), 0.1) == [p for p in above if p.unit != gone]

    @QUICK
    @given(ENTRIES, st.integers(0, 6), st.integers(1, 6), UNITS, st.lists(st.integers(0, 3), max_size=3))
    def test_replacing_a_unit_changes_at_most_one(
        self,
        make: Make,
        entries: list[tuple[int, str, list[int]]],
        query: int,
        count: int,
        unit: str,
        seeds: list[int],
    ) -> None:
        store = make()
        fill(store, entries)
        before = set(store.nearest_units(direction(query), count))
        store.remove_unit(unit)
        fill(store, [(99, unit, seeds)])
        after = set(store.nearest_units(direction(query), count))
        assert len(before - after) <= 1
        assert len(after - before) <= 1

    # Both units are equally near, and arrive in turn.
    @example([(1, "a", [1]), (2, "b", [1])], [], 1, 1)
    @QUICK
    @given(ENTRIES, ENTRIES, st.integers(0, 6), st.integers(1, 6))
    def test_history_does_not_show(
        self,
        make: Make,
        entries: list[tuple[int, str, list[int]]],
        others: list[tuple[int, str, list[int]]],
        query: int,
        count: int,
    ) -> None:
        store, latest = make(), list({one[0]: one for one in entries}.values())
        fill(store, latest)
        first = store.nearest_units(direction(query), count)
        for name in range(12):
            store.remove(f"d{name}")
        fill(store, [(name + 50, unit, seeds) for name, unit, seeds in others])
        for one in reversed(latest):
            fill(store, [one])
        for name in range(12):
            store.remove(f"d{name + 50}")
        assert store.nearest_units(direction(query), count) == first

    def test_nothing_held_nothing_found(self, make: Make) -> None:
        store = make()
        assert store.nearest_units(direction(1), 5) == store.units_above(direction(1), -1) == []
        fill(store, [(1, "a", [1]), (2, "b", [])])
        assert store.nearest_units(direction(1), 0) == []
        assert [p.unit for p in store.nearest_units(direction(1), 5)] == ["a"]
        assert store.count_units() == 2

    def test_a_threshold_is_met_by_equality(self, make: Make) -> None:
        store = make()
        fill(store, [(1, "a", [1]), (2, "b", [2])])
        assert [p.unit for p in store.units_above(direction(1), 0.999)] == ["a"]
        assert {p.unit for p in store.units_above(direction(1), -1.001)} == {"a", "b"}

    def test_removing_counts(self, make: Make) -> None:
        store = make()
        fill(store, [(1, "a", [1]), (2, "a", [2]), (3, "b", [3])])
        assert (store.remove("d9"), store.remove_unit("z")) == (0, 0)
        assert (store.remove("d1"), store.remove("d1")) == (1, 0)
        assert (store.remove_unit("a"), store.count_documents(), store.count_units()) == (1, 1, 1)

    def test_a_document_that_moves_to_another_unit_leaves_the_first(self, make: Make) -> None:
        store = make()
        fill(store, [(1, "a", [1])])
        fill(store, [(1, "b", [1])])
        assert [p.unit for p in store.nearest_units(direction(1), 9)] == ["b"]
        assert store.count_units() == 1


class TestPlainStore(StoreConformance):
    @pytest.fixture
    def make(self) -> Make:
        return PlainStore


class TestEmbeddedStore(StoreConformance):
    @pytest.fixture
    def make(self, tmp_path_factory: pytest.TempPathFactory) -> Make:
        return lambda: EmbeddedStore(tmp_path_factory.mktemp("store"), SIZE)

    @QUICK
    @given(steps=STEPS, query=st.integers(0, 6), count=st.integers(0, 9), threshold=st.sampled_from([-2, 0, 0.3, 0.9]))
    def test_with_one_key_the_answers_are_equal_to_the_last_tie(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        steps: list[object],
        query: int,
        count: int,
        threshold: float,
    ) -> None:
        folder = tmp_path_factory.mktemp("store")
        store = EmbeddedStore(folder, SIZE)
        plain = PlainStore(store._key)
        assert store._scale == SCALE
        for part in (steps, steps[::-1]):
            replay(store, part)
            replay(plain, part)
            store = EmbeddedStore(folder, SIZE)
            assert store.nearest_units(direction(query), count) == plain.nearest_units(direction(query), count)
            assert store.units_above(direction(query), threshold) == plain.units_above(direction(query), threshold)


def test_a_broken_twin_whose_ties_go_by_arrival_is_caught() -> None:
    class ByArrival(PlainStore):
        def tie(self, unit: str) -> bytes:
            arrived = [document.unit for document, _ in self.held.values()]
            return arrived.index(unit).to_bytes(4, "big")

    with pytest.raises(AssertionError):
        StoreConformance().test_history_does_not_show(ByArrival)


def test_a_broken_twin_that_makes_its_answers_diverse_is_caught() -> None:
    class Diverse(PlainStore):
        """Passes over units as near as one it has taken: whether a unit is found depends on another."""

        def nearest_units(self, vector: Vector, count: int) -> list[Passage]:
            best = self._best(vector)
            taken: dict[int, Passage] = {}
            for passage in super().nearest_units(vector, 99):
                taken.setdefault(best[passage.unit][0], passage)
            return list(taken.values())[:count]

    with pytest.raises(AssertionError):
        StoreConformance().test_removing_a_unit_replaces_at_most_one(Diverse)


def test_each_store_has_a_key_of_its_own(tmp_path: Path) -> None:
    stores = [EmbeddedStore(tmp_path / str(n), SIZE) for n in range(2)]
    assert stores[0]._key != stores[1]._key
    assert EmbeddedStore(tmp_path / "0", SIZE)._key == stores[0]._key
    assert {len(store._key) for store in stores} == {32}

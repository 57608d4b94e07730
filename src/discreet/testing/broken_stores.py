"""Stores with one defect each, as databases have them: a suite that passes them has no teeth.

`starving` makes a broken twin of a store of your own. The other twins derive from the reference store, and name the
test of `StoreSuite` that finds them:

    from discreet.testing.broken_stores import starving

    def test_the_suite_finds_a_starving_twin_of_my_store(tmp_path):
        with pytest.raises(AssertionError):
            StoreSuite().test_heavy_units_take_one_rank_each(starving(lambda: MyStore(tmp_path, SIZE)))
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, ClassVar, cast

import numpy as np
import pytest
from hypothesis import strategies as st

from discreet.errors import StoreError
from discreet.store.documents import Document, Passage
from discreet.store.protocol import Hit, Piece, Scored, Store, Vector
from discreet.testing.plain_store import PlainScores, PlainStore

# --- store cases ------------------------------------------------------------------------------------------------------


SIZE = 6
"""The dimension of the vectors that the suite stores."""
MakeStore = Callable[[], Store]
Entry = tuple[int, str, list[int]]
"""A document: its number, its unit, and the direction of each chunk."""

# Few directions and units, so that ties are everywhere.
UNITS = st.sampled_from("abcdefgh")
ENTRIES = st.lists(st.tuples(st.integers(0, 11), UNITS, st.lists(st.integers(0, 3), max_size=3)), max_size=12)
STEPS = st.lists(st.one_of(ENTRIES, st.integers(0, 11), UNITS, st.none()), max_size=8)


class StoreFixtures:
    """The stores that a suite tests. A subclass overrides `make_store`, and may override `reopen`."""

    @pytest.fixture
    def make_store(self) -> MakeStore:
        """Return a function that makes an empty store for vectors of dimension `SIZE`, each with a key of its own."""
        raise NotImplementedError("Override the fixture `make_store`.")

    @pytest.fixture
    def reopen(self) -> Callable[[Store], Store]:
        """Return a function that opens a store's documents again, as another process does; by default, the same."""
        return lambda store: store


def direction(seed: int) -> Vector:
    """Return one of a few directions; no direction for a negative number."""
    # From a hash: no module of the library but the privacy package draws random numbers.
    digest = hashlib.blake2b(str(seed).encode(), digest_size=SIZE).digest()
    if seed < 0:  # an empty chunk
        return np.zeros(SIZE, dtype=np.float32)
    centred = np.frombuffer(digest, dtype=np.uint8) - 127.5
    return np.asarray(centred / np.linalg.norm(centred), dtype=np.float32)


def entry(name: int, unit: str, seeds: Sequence[int]) -> tuple[Document, list[Piece]]:
    """Return a document of a unit, with a piece for each direction."""
    # Pieces of one vector and different texts: ties within a unit.
    texts = [f"{unit} {seed} {place}" for place, seed in enumerate(seeds)]
    pieces = [Piece(text, direction(seed)) for text, seed in zip(texts, seeds, strict=True)]
    return Document(f"d{name}", unit, " ".join(texts)), pieces


def fill(store: Store, entries: Sequence[tuple[int, str, Sequence[int]]]) -> None:
    """Put documents in one batch."""
    with store.batch():
        for one in entries:
            store.put(*entry(*one))


def replay(store: Store, steps: Sequence[object]) -> None:
    """Put, remove and settle, step by step."""
    for step in steps:
        if isinstance(step, list):
            fill(store, step)
        elif isinstance(step, int):
            store.remove(f"d{step}")
        elif isinstance(step, str):
            store.remove_unit(step)
        else:
            store.settle()


# --- broken stores ----------------------------------------------------------------------------------------------------


# ruff: noqa: D102 - the protocol `Store` describes the methods


REQUESTS = 5
"""The most requests of a bounded grouping, as in the drivers of vector databases."""


def starving(make_store: MakeStore) -> MakeStore:
    """Return a function that makes the starving twin of the store that `make_store` makes.

    The twin finds the nearest units as vector databases group their points. It takes the nearest points, a global
    number of them, groups these by unit, and asks again without the units that it has, at most `REQUESTS` times. Units
    with many chunks near the question then displace all others, though each search of points is exact.
    """
    return lambda: cast(Store, _Starving(make_store()))


class _Starving:
    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def scored(self, vector: Vector) -> "_Starved":
        near = sorted((-float(stored.vector @ vector), stored.unit) for stored in self._store.texts())
        return _Starved(self._store.scored(vector), [unit for _, unit in near])

    def nearest_units(self, vector: Vector, count: int) -> list[Passage]:
        return [near for near in self._store.passages(self.scored(vector).nearest(count)) if near is not None]


class _Starved:
    """The groups that a bounded number of requests finds, of points in the order of their scores."""

    def __init__(self, found: Scored, points: Sequence[str]) -> None:
        self._found, self._points = found, points

    def above(self, threshold: float) -> list[Hit]:
        return self._found.above(threshold)

    def between(self, low: float, high: float) -> list[Hit]:
        return self._found.between(low, high)

    def nearest(self, count: int) -> list[Hit]:
        full = dict[str, None]()
        for _ in range(REQUESTS):
            rest = [unit for unit in self._points if unit not in full]
            full |= dict.fromkeys(rest[: max(count, 0)])
            if len(full) >= count:
                break
        wanted = list(full)[: max(count, 0)]
        hits = {hit.unit: hit for hit in self._found.nearest(len(set(self._points)))}
        return [hits[unit] for unit in wanted]


class BrokenStore(PlainStore):
    """A store with one defect.

    Attributes:
        found_by: the name of the test of `StoreSuite` that finds the defect.
    """

    found_by: ClassVar[str]


class TiesByArrival(BrokenStore):
    """Breaks ties between units by the order in which they came."""

    found_by = "test_history_does_not_show"

    def tie(self, unit: str) -> bytes:
        arrived = [document.unit for document, _ in self.held.values()]
        return arrived.index(unit).to_bytes(4, "big")


class DiverseAnswers(BrokenStore):
    """Passes over units as near as one that it has taken: whether a unit is found depends on another."""

    found_by = "test_removing_a_unit_replaces_at_most_one"

    def nearest_units(self, vector: Vector, count: int) -> list[Passage]:
        best = self._best(vector)
        taken: dict[int, Passage] = {}
        for passage in super().nearest_units(vector, 99):
            taken.setdefault(best[passage.unit][0], passage)
        return list(taken.values())[:count]


class LostRanks(BrokenStore):
    """Leaves out the second of two equally near units, as a search without duplicates does."""

    found_by = "test_each_unit_takes_one_rank"

    def nearest_units(self, vector: Vector, count: int) -> list[Passage]:
        best = self._best(vector)
        nearest = super().nearest_units(vector, count)
        return [
            near
            for near, last in zip(nearest, [None, *nearest], strict=False)
            if last is None or best[near.unit][0] != best[last.unit][0]
        ]


class ReusedRows(BrokenStore):
    """Uses places again, and does not look whose they are: another unit's text is taken for that of one erased."""

    found_by = "test_readmitted_unit_is_not_the_one_found_before"

    def passages(self, hits: Sequence[Hit]) -> list[Passage | None]:
        held = [piece.text for _, pieces in self.held.values() for piece in pieces]
        return [Passage(hit.unit, held[0]) if held else None for hit in hits]


class ApproximateSearch(BrokenStore):
    """Looks only at the first three documents."""

    found_by = "test_any_history_matches_the_reference"

    def scored(self, vector: Vector) -> PlainScores:
        held, self.held = self.held, dict(list(self.held.items())[:3])
        try:
            return super().scored(vector)
        finally:
            self.held = held


class RoundedScores(BrokenStore):
    """Adds products in half precision, as a database may do with a compressed index."""

    found_by = "test_scores_equal_the_reference"

    def _best(self, vector: Vector) -> dict[str, tuple[int, str, str]]:
        best = super()._best(vector)
        return {unit: (_in_half(score), text, name) for unit, (score, text, name) in best.items()}


def _in_half(score: int) -> int:
    return int(np.float32(score).astype(np.float16)) if abs(score) < 60000 else score // 512 * 512


class _Live(PlainScores):
    """Searches anew for each bin."""

    def __init__(self, store: PlainStore, vector: Vector) -> None:
        self._store, self._vector = store, vector

    def _now(self) -> PlainScores:
        return PlainStore.scored(self._store, self._vector)

    def above(self, threshold: float) -> list[Hit]:
        return self._now().above(threshold)

    def between(self, low: float, high: float) -> list[Hit]:
        return self._now().between(low, high)

    def nearest(self, count: int) -> list[Hit]:
        return self._now().nearest(count)


class MovingBins(BrokenStore):
    """Reads each bin of a question at a moment of its own."""

    found_by = "test_bins_of_one_question_are_of_one_moment"

    def scored(self, vector: Vector) -> PlainScores:
        return _Live(self, vector)


class KeptBytes(BrokenStore):
    """Keeps the bytes of erased documents in its files. `read_kept` reads them."""

    found_by = "test_erased_bytes_are_in_no_file"
    written = b""


def read_kept(store: KeptBytes) -> bytes:
    """Return the content of all files of a store that keeps bytes: the fixture `read_files`."""
    for (document, pieces), stored in zip(store.held.values(), store.texts(), strict=True):
        for piece in pieces:
            store.written += f"{document.id} {document.unit} {piece.text}".encode()
            store.written += stored.vector.astype("<f4").tobytes()
    return store.written


class Heedless(ApproximateSearch):
    """Answers also when its vectors have got an approximate index, and then uses it."""

    found_by = "test_inexact_store_refuses_each_question"
    has_index = False

    def scored(self, vector: Vector) -> PlainScores:
        return super().scored(vector) if self.has_index else PlainStore.scored(self, vector)


class RefusesLate(Heedless):
    """Searches by the approximate index, and refuses only to read the texts: single units have paid by then."""

    found_by = "test_refused_question_costs_nothing"

    def passages(self, hits: Sequence[Hit]) -> list[Passage | None]:
        if self.has_index:
            raise StoreError("The store has an approximate index. Drop the index.")
        return super().passages(hits)


class OpensHeedlessly(Heedless):
    """Refuses questions when its vectors have an approximate index, and is opened nevertheless."""

    found_by = "test_inexact_store_is_refused_at_opening"

    def scored(self, vector: Vector) -> PlainScores:
        if self.has_index:
            raise StoreError("The store has an approximate index. Drop the index.")
        return super().scored(vector)


@contextmanager
def add_index(store: Heedless) -> Iterator[None]:
    """Make an approximate index of the vectors of a store during a block: the fixture `make_inexact`."""
    store.has_index = True
    try:
        yield
    finally:
        store.has_index = False


def open_again(store: PlainStore) -> PlainStore:
    """Return another object with the same documents: the fixture `reopen`."""
    return copy(store)


BROKEN_STORES: tuple[type[BrokenStore], ...] = (
    TiesByArrival,
    DiverseAnswers,
    LostRanks,
    ReusedRows,
    ApproximateSearch,
    RoundedScores,
    MovingBins,
    KeptBytes,
    Heedless,
    RefusesLate,
    OpensHeedlessly,
)
"""All of these twins."""

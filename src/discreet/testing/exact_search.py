"""Tests of a store's search: exact scores, one rank for one unit, one moment for one question, and erased bytes."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.store.documents import Document
from discreet.store.protocol import Hit, Piece, Scored, Store, Vector
from discreet.testing.broken_stores import (
    ENTRIES,
    SIZE,
    UNITS,
    Entry,
    MakeStore,
    StoreFixtures,
    direction,
    fill,
    starving,
)
from discreet.testing.settings import QUICK

EDGES = [0.8, 0.5, 0.2, -0.1, -2.0]
WANTED = 80
HEAVY, LAYERS, LIGHT = 5, 120, 100
"""The crowd: units with many chunks near the question, their chunks, and the units with one chunk each."""


class ExactSearch(StoreFixtures):
    """Tests of the search of a `Store`, against a reference of a few lines."""

    @pytest.fixture
    def read_files(self) -> Callable[[Store], bytes] | None:
        """Return a function that returns the content of all files of a store; None if it has none."""
        return None

    # Two units tie; a unit has two chunks, one of them in two documents; a chunk is empty, and a document has none.
    @example([(1, "a", [1]), (2, "b", [1]), (3, "c", [2, 3]), (4, "c", [3])], 1)
    @example([(1, "a", []), (2, "b", [-1]), (3, "b", [1])], 1)
    @QUICK
    @given(ENTRIES, st.integers(0, 6))
    def test_scores_equal_the_reference(self, make_store: MakeStore, entries: list[Entry], query: int) -> None:
        """Check the score of each unit to the last bit, the order of ranks, and the text of the best chunk."""
        store = make_store()
        fill(store, entries)
        expected = score_units(store, rounded(make_store(), direction(query)))
        scored = store.scored(direction(query))
        hits = scored.nearest(99)
        assert {hit.unit: hit for hit in hits}.keys() == expected.keys()
        ranked = [expected[hit.unit][0] for hit in hits]
        assert ranked == sorted(ranked, reverse=True)
        texts = {near.unit: near.text for near in store.nearest_units(direction(query), 99)}
        assert texts == {unit: text for unit, (_, text) in expected.items()}
        # Scores are whole numbers. These edges are between them, also where a store compares in float32.
        edges = sorted({score + part for score, _ in expected.values() for part in (-0.25, 0.75)}, reverse=True)
        check_edges(scored, {unit: score for unit, (score, _) in expected.items()}, edges, store.scale**2)

    @example([(1, "a", [1]), (2, "b", [1]), (3, "c", [2])], 1, 2)
    @example([(1, "a", [1, 1]), (2, "b", [1]), (3, "c", [1]), (4, "a", [1])], 1, 1)
    @QUICK
    @given(ENTRIES, st.integers(0, 6), st.integers(1, 6))
    def test_each_unit_takes_one_rank(
        self, make_store: MakeStore, entries: list[Entry], query: int, count: int
    ) -> None:
        """Check that the result without any one unit is that of one rank more, without this unit."""
        store, latest = make_store(), list({one[0]: one for one in entries}.values())
        fill(store, latest)
        more = store.nearest_units(direction(query), count + 1)
        above = store.units_above(direction(query), 0.1)
        for gone in sorted({unit for _, unit, _ in latest}):
            store.remove_unit(gone)
            assert store.nearest_units(direction(query), count) == [near for near in more if near.unit != gone][:count]
            assert store.units_above(direction(query), 0.1) == [near for near in above if near.unit != gone]
            fill(store, [one for one in latest if one[1] == gone])
            assert store.nearest_units(direction(query), count + 1) == more

    def test_heavy_units_take_one_rank_each(self, make_store: MakeStore) -> None:
        """Units with many chunks near the question do not displace others, as they do in a bounded grouping."""
        store = make_store()
        put_crowd(store, HEAVY)
        more = [near.unit for near in store.nearest_units(ahead(1.0), WANTED + 1)]
        assert more[:HEAVY] == [f"heavy{number}" for number in range(HEAVY)]
        assert len(more) == WANTED + 1
        store.remove_unit("heavy0")
        assert [near.unit for near in store.nearest_units(ahead(1.0), WANTED)] == more[1:]

    def test_starving_twin_is_found(self, make_store: MakeStore) -> None:
        """Check that the test before has teeth: it finds the twin of this store that groups a bounded number."""
        with pytest.raises(AssertionError):
            self.test_heavy_units_take_one_rank_each(starving(make_store))

    @QUICK
    @given(
        ENTRIES, st.integers(0, 6), st.lists(ENTRIES, min_size=5, max_size=5), st.lists(UNITS, min_size=5, max_size=5)
    )
    def test_bins_of_one_question_are_of_one_moment(
        self,
        make_store: MakeStore,
        reopen: Callable[[Store], Store],
        entries: list[Entry],
        query: int,
        later: list[list[Entry]],
        gone: list[str],
    ) -> None:
        """Check that a writer between the bins of a question changes none of them, and the next question."""
        store = make_store()
        fill(store, entries)
        other = reopen(store)
        before, scored = store.scored(direction(query)).nearest(99), store.scored(direction(query))
        hits = list[Hit]()
        for low, high, added, unit in zip(EDGES, [None, *EDGES], later, gone, strict=False):
            hits += scored.above(low) if high is None else scored.between(low, high)
            fill(other, added)
            other.remove_unit(unit)
        assert [hit.unit for hit in hits] == [hit.unit for hit in before]
        assert store.nearest_units(direction(query), 99) == other.nearest_units(direction(query), 99)

    def test_erased_bytes_are_in_no_file(
        self, make_store: MakeStore, read_files: Callable[[Store], bytes] | None
    ) -> None:
        """Check that neither the name, nor the text, nor the vector of an erased unit is in a file."""
        if read_files is None:
            pytest.skip("The store keeps no files.")
        store = make_store()
        with store.batch():
            for number in range(20):
                text = f"confession {number} of the unit"
                store.put(Document(f"paper-{number}", f"person-{number}", text), [Piece(text, direction(number))])
        (vector,) = (stored.vector for stored in store.texts() if stored.unit == "person-7")
        needles = [b"confession 7 of the unit", b"person-7", b"paper-7"]
        forms = [vector.astype(kind).tobytes() for kind in ("<f4", "<f2", "<i2")]
        content = read_files(store)
        assert [needle for needle in needles if needle not in content] == []
        assert any(form in content for form in forms)
        store.remove_unit("person-7")
        assert not store.unsettled()
        content = read_files(store)
        assert [needle for needle in needles + forms if needle in content] == []
        assert b"confession 8 of the unit" in content


def score_units(store: Store, question: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> dict[str, tuple[int, str]]:
    """Return the exact score of each unit that has a chunk, and the text of its best chunk: the reference."""
    best: dict[str, tuple[int, str]] = {}
    for stored in store.texts():
        score = int(stored.vector @ question)
        high, text = best.get(stored.unit, (score, stored.text))
        if score >= high:
            best[stored.unit] = (score, min(stored.text, text) if score == high else stored.text)
    return best


def rounded(store: Store, vector: Vector) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Return a vector in the whole numbers of an empty store: a question is rounded as a document is."""
    with store.batch():
        store.put(Document("question", "question", "text"), [Piece("text", vector)])
    (stored,) = store.texts()
    return stored.vector


def check_edges(scored: Scored, scores: dict[str, int], edges: Sequence[float], unit: float) -> None:
    """Check which units are above each edge, and between two."""
    for edge in edges:
        assert {hit.unit for hit in scored.above(edge / unit)} == {name for name in scores if scores[name] >= edge}
    for high, low in pairwise(edges):
        between = {hit.unit for hit in scored.between(low / unit, high / unit)}
        assert between == {name for name in scores if low <= scores[name] < high}


def put_crowd(store: Store, heavy: int) -> None:
    """Put units with many chunks near `ahead(1.0)`, each in a layer of its own, and units with one chunk farther."""
    with store.batch():
        for number in range(heavy):
            nearness = [0.99 - 0.1 * number - 0.0005 * layer for layer in range(LAYERS)]
            pieces = [Piece(f"{number} {layer}", ahead(near)) for layer, near in enumerate(nearness)]
            store.put(Document(f"h{number}", f"heavy{number}", "text"), pieces)
        for number in range(LIGHT):
            store.put(Document(f"l{number}", f"light{number}", "text"), [Piece("text", ahead(0.4 - 0.003 * number))])


def ahead(similarity: float) -> Vector:
    """Return a vector with this similarity to `ahead(1.0)`."""
    return np.array([similarity, np.sqrt(1 - similarity**2), *[0.0] * (SIZE - 2)], dtype=np.float32)

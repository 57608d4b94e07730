"""The conformance suite of stores. `PlainStore` is the reference."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.errors import StoreError
from discreet.testing.broken_stores import ENTRIES as ENTRIES
from discreet.testing.broken_stores import SIZE as SIZE
from discreet.testing.broken_stores import STEPS as STEPS
from discreet.testing.broken_stores import UNITS as UNITS
from discreet.testing.broken_stores import MakeStore as MakeStore
from discreet.testing.broken_stores import direction as direction
from discreet.testing.broken_stores import entry as entry
from discreet.testing.broken_stores import fill as fill
from discreet.testing.broken_stores import replay as replay
from discreet.testing.exact_search import ExactSearch
from discreet.testing.plain_store import PlainStore
from discreet.testing.refusal import Refusal
from discreet.testing.settings import QUICK


class StoreSuite(Refusal, ExactSearch):
    """Tests of a `Store`.

    A subclass overrides the fixtures `make_store` and `make_inexact`, and may override `reopen` and `read_files`.

    The privacy guarantee needs one property above all: one unit changes at most one of the units that are found.
    """

    @QUICK
    @given(STEPS, st.integers(0, 6), st.integers(0, 9))
    def test_any_history_matches_the_reference(
        self, make_store: MakeStore, steps: list[object], query: int, count: int
    ) -> None:
        """Answers follow from the documents that are stored, not from the history."""
        store, plain = make_store(), PlainStore()
        replay(store, steps)
        replay(plain, steps)
        assert set(store.nearest_units(direction(query), 99)) == set(plain.nearest_units(direction(query), 99))
        assert (store.count_documents(), store.count_units()) == (plain.count_documents(), plain.count_units())
        ids = [f"d{n}" for n in range(12)]
        assert store.digests(ids) == plain.digests(ids)
        assert store.units(ids) == plain.units(ids)
        # Ties aside (each store has its own key), ranks are those of exact arithmetic.
        exact = {unit: score for unit, (score, _, _) in plain._best(direction(query)).items()}
        ranked = [exact[passage.unit] for passage in store.nearest_units(direction(query), count)]
        assert ranked == sorted(exact.values())[:count]

    # `a` and `b` are equally near: what passes over one for the other shows itself once the other is gone.
    @example([(1, "a", [1]), (2, "b", [1]), (3, "c", [2])], 1, 2, "a")
    @example([(1, "a", [1]), (2, "b", [1]), (3, "c", [2])], 1, 2, "b")
    @QUICK
    @given(ENTRIES, st.integers(0, 6), st.integers(1, 6), UNITS)
    def test_removing_a_unit_replaces_at_most_one(
        self, make_store: MakeStore, entries: list[tuple[int, str, list[int]]], query: int, count: int, gone: str
    ) -> None:
        """Check that without one unit, at most one other unit takes its place."""
        store = make_store()
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
        make_store: MakeStore,
        entries: list[tuple[int, str, list[int]]],
        query: int,
        count: int,
        unit: str,
        seeds: list[int],
    ) -> None:
        """Other documents of one unit change at most one of the units found."""
        store = make_store()
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
        make_store: MakeStore,
        entries: list[tuple[int, str, list[int]]],
        others: list[tuple[int, str, list[int]]],
        query: int,
        count: int,
    ) -> None:
        """Check that the order of additions and removed documents change no answer, also among ties."""
        store, latest = make_store(), list({one[0]: one for one in entries}.values())
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

    @QUICK
    @given(ENTRIES, st.integers(0, 6), st.lists(st.sampled_from([0.9, 0.5, 0.3, 0.1, 0.0, -0.3, -1.1]), unique=True))
    def test_bins_partition_the_units_above_the_lowest_edge(
        self, make_store: MakeStore, entries: list[tuple[int, str, list[int]]], query: int, edges: list[float]
    ) -> None:
        """Adjacent bins of similarity hold each unit once."""
        store, edges = make_store(), sorted([*edges, 0.2], reverse=True)
        fill(store, entries)
        scored = store.scored(direction(query))
        bins = [scored.above(edges[0]), *(scored.between(low, high) for high, low in pairwise(edges))]
        assert [hit for hits in bins for hit in hits] == scored.above(edges[-1])
        every = scored.nearest(99)
        assert every == scored.above(-2)
        assert store.passages(scored.above(0.1)) == store.units_above(direction(query), 0.1)
        assert store.passages(every[:2]) == store.nearest_units(direction(query), 2)
        assert [hit.unit for hit in every] == [near.unit for near in store.nearest_units(direction(query), 99)]

    # The document of `a` goes, and one of another unit may have its place; or one of `a` itself.
    @example([(1, "a", [1]), (2, "b", [2])], 1, "a", [(3, "c", [1])])
    @example([(1, "a", [1, 1]), (2, "b", [2])], 1, "a", [(3, "a", [2])])
    @QUICK
    @given(ENTRIES, st.integers(0, 6), UNITS, ENTRIES)
    def test_scores_stay_and_only_erased_units_have_no_text(
        self,
        make_store: MakeStore,
        entries: list[tuple[int, str, list[int]]],
        query: int,
        gone: str,
        later: list[tuple[int, str, list[int]]],
    ) -> None:
        """Scores are of one moment; a unit that was erased since has no text."""
        store = make_store()
        fill(store, entries)
        scored = store.scored(direction(query))
        before, above = scored.nearest(99), scored.above(0.1)
        texts = dict(zip(before, store.passages(before), strict=True))
        store.remove_unit(gone)
        others = [(number + 50, unit, seeds) for number, unit, seeds in later if unit != gone]
        fill(store, others)
        assert scored.nearest(99) == before
        assert scored.above(0.1) == above
        for hit, text in zip(before, store.passages(before), strict=True):
            assert text == (None if hit.unit == gone else texts[hit])

    def test_readmitted_unit_is_not_the_one_found_before(self, make_store: MakeStore) -> None:
        """Check that a hit of an erased unit does not return its new documents."""
        store = make_store()
        fill(store, [(1, "a", [1])])
        nearest = store.scored(direction(1)).nearest(1)
        store.remove_unit("a")
        fill(store, [(2, "a", [2])])
        assert store.passages(nearest) == [None]
        assert "a" not in repr(nearest[0]).replace("Hit", "")

    def test_empty_store_finds_nothing(self, make_store: MakeStore) -> None:
        """Check that a store without documents finds no unit; a unit without text is counted."""
        store = make_store()
        assert store.nearest_units(direction(1), 5) == store.units_above(direction(1), -1) == []
        fill(store, [(1, "a", [1]), (2, "b", [])])
        assert store.nearest_units(direction(1), 0) == []
        assert [p.unit for p in store.nearest_units(direction(1), 5)] == ["a"]
        assert store.count_units() == 2

    def test_threshold_is_met_by_equality(self, make_store: MakeStore) -> None:
        """Check that a similarity equal to the threshold is above it."""
        store = make_store()
        fill(store, [(1, "a", [1]), (2, "b", [2])])
        assert [p.unit for p in store.units_above(direction(1), 0.999)] == ["a"]
        assert {p.unit for p in store.units_above(direction(1), -1.001)} == {"a", "b"}

    def test_removal_returns_the_number_of_documents(self, make_store: MakeStore) -> None:
        """Removals return how many documents they erased."""
        store = make_store()
        fill(store, [(1, "a", [1]), (2, "a", [2]), (3, "b", [3])])
        assert (store.remove("d9"), store.remove_unit("z")) == (0, 0)
        assert (store.remove("d1"), store.remove("d1")) == (1, 0)
        assert (store.remove_unit("a"), store.count_documents(), store.count_units()) == (1, 1, 1)

    def test_document_of_another_unit_leaves_the_first(self, make_store: MakeStore) -> None:
        """Check that a document that is stored again for another unit belongs to that unit alone."""
        store = make_store()
        fill(store, [(1, "a", [1])])
        fill(store, [(1, "b", [1])])
        assert [p.unit for p in store.nearest_units(direction(1), 9)] == ["b"]
        assert store.count_units() == 1

    def test_buried_unit_is_refused_until_readmitted(self, make_store: MakeStore) -> None:
        """Check that a buried unit gets no documents until it is readmitted."""
        store = make_store()
        fill(store, [(1, "a", [1]), (2, "a", [2]), (3, "b", [3])])
        assert (store.bury("a"), store.bury("z"), store.bury("c", anyway=True)) == (2, 0, 0)
        assert {unit: erased for unit, (_, erased) in store.buried(["a", "b", "c", "z"]).items()} == {"a": 2, "c": 0}
        with pytest.raises(StoreError):
            fill(store, [(4, "a", [1])])
        assert (store.count_documents(), store.readmit("a"), store.readmit("a")) == (1, True, False)
        fill(store, [(4, "a", [1])])
        assert store.count_documents() == 2

    def test_joined_units_are_one(self, make_store: MakeStore) -> None:
        """Check that a unit has the documents of both after a join, and that the other name is refused."""
        store, paid = make_store(), list[str]()
        fill(store, [(1, "a", [1]), (2, "a", []), (3, "b", [3]), (4, "c", [2])])
        state = store.state()
        assert store.join("a", "b", lambda: paid.append("a")) == 2
        assert (paid, store.state() != state) == (["a"], True)
        assert store.units(["d1", "d2", "d3", "d4"]) == {"d1": "b", "d2": "b", "d3": "b", "d4": "c"}
        assert (store.count_documents(), store.count_units()) == (4, 2)
        assert [passage.unit for passage in store.nearest_units(direction(1), 1)] == ["b"]
        assert {passage.unit for passage in store.nearest_units(direction(1), 9)} == {"b", "c"}
        assert {(text.unit, text.text) for text in store.texts()} == {("b", "a 1 0"), ("b", "b 3 0"), ("c", "c 2 0")}
        with pytest.raises(StoreError):
            fill(store, [(5, "a", [1])])
        assert (store.join("a", "b", lambda: None), store.remove_unit("b")) == (0, 3)

    def test_join_without_payment_changes_nothing(self, make_store: MakeStore) -> None:
        """Check that a join whose payments could not be moved leaves both units."""
        store = make_store()
        fill(store, [(1, "a", [1]), (2, "b", [2])])

        def fail() -> None:
            raise StoreError("The ledger is out of reach.")

        with pytest.raises(StoreError):
            store.join("a", "b", fail)
        assert store.units(["d1", "d2"]) == {"d1": "a", "d2": "b"}
        assert not store.buried(["a", "b"])

    def test_batch_and_source_are_erased(self, make_store: MakeStore) -> None:
        """Documents are erased by their batch and by their file."""
        store = make_store()
        first, second = store.begin_batch(1), store.begin_batch(1)
        assert first != second
        with store.batch():
            for name, number, source in ((1, first, "a.csv"), (2, first, "b.csv"), (3, second, "b.csv")):
                document, pieces = entry(name, f"u{name}", [name])
                store.put(replace(document, source=source), pieces, number)
        assert (store.remove_source("b.csv"), store.remove_source(""), store.remove_source("c.csv")) == (2, 0, 0)
        assert (store.remove_batch(second), store.remove_batch(first), store.count_units()) == (0, 1, 0)

    def test_tag_depends_on_key_and_content(self, make_store: MakeStore) -> None:
        """Check that a tag follows from the content and from the key of the store."""
        store, other = make_store(), make_store()
        tags = {store.tag(b"a"), store.tag(b"b"), store.tag(b"a", 16)}
        assert store.tag(b"a") in tags
        assert sorted(len(tag) for tag in tags) == [16, 16, 32]
        if not isinstance(store, PlainStore):  # which has one key in all tests
            assert other.tag(b"a") != store.tag(b"a")

    def test_vectors_have_the_length_scale(self, make_store: MakeStore) -> None:
        """Stored vectors divided by `scale` are the vectors that were put."""
        store = make_store()
        fill(store, [(1, "a", [1])])
        (stored,) = store.texts()
        assert np.allclose(stored.vector / store.scale, direction(1), atol=1e-3)
        assert not store.unsettled()

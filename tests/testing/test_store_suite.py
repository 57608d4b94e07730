"""The suite of stores catches broken stores."""

from collections.abc import Sequence

import numpy as np
import pytest

from discreet.retrieval.documents import Passage
from discreet.retrieval.store import Hit, Vector
from discreet.testing import StoreSuite
from discreet.testing.plain_store import PlainScores, PlainStore


def test_store_suite_catches_ties_by_arrival() -> None:
    class ByArrival(PlainStore):
        def tie(self, unit: str) -> bytes:
            arrived = [document.unit for document, _ in self.held.values()]
            return arrived.index(unit).to_bytes(4, "big")

    with pytest.raises(AssertionError):
        StoreSuite().test_history_does_not_show(ByArrival)


def test_store_suite_catches_diverse_answers() -> None:
    class Diverse(PlainStore):
        """Passes over units as near as one it has taken: whether a unit is found depends on another."""

        def nearest_units(self, vector: Vector, count: int) -> list[Passage]:
            best = self._best(vector)
            taken: dict[int, Passage] = {}
            for passage in super().nearest_units(vector, 99):
                taken.setdefault(best[passage.unit][0], passage)
            return list(taken.values())[:count]

    with pytest.raises(AssertionError):
        StoreSuite().test_removing_a_unit_replaces_at_most_one(Diverse)


def test_store_suite_catches_reuse_of_a_row() -> None:
    """Places are used again: without a look at whose they are, another unit's text is taken for that of one erased."""

    class ByRow(PlainStore):
        def passages(self, hits: Sequence[Hit]) -> list[Passage | None]:
            held = [piece.text for _, pieces in self.held.values() for piece in pieces]
            return [Passage(hit.unit, held[0]) if held else None for hit in hits]

    with pytest.raises(AssertionError):
        StoreSuite().test_readmitted_unit_is_not_the_one_found_before(ByRow)


def test_store_suite_catches_approximate_search() -> None:
    class Approximate(PlainStore):
        """Looks only at the first three documents."""

        def scored(self, vector: Vector) -> PlainScores:
            held, self.held = self.held, dict(list(self.held.items())[:3])
            try:
                return super().scored(vector)
            finally:
                self.held = held

    with pytest.raises(AssertionError):
        StoreSuite().test_any_history_matches_the_reference(Approximate)


def test_store_suite_catches_rounded_scores() -> None:
    class Rounded(PlainStore):
        """Adds products in half precision, as a database may do with a compressed index."""

        def _best(self, vector: Vector) -> dict[str, tuple[int, str, str]]:
            best = super()._best(vector)
            return {
                unit: (int(np.float32(score).astype(np.float16)) if abs(score) < 60000 else score // 512 * 512, *_)
                for unit, (score, *_) in best.items()
            }

    with pytest.raises(AssertionError):
        StoreSuite().test_scores_equal_the_reference(Rounded)


def test_store_suite_catches_bins_of_several_moments() -> None:
    class Live(PlainScores):
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

    class Moving(PlainStore):
        def scored(self, vector: Vector) -> PlainScores:
            return Live(self, vector)

    with pytest.raises(AssertionError):
        StoreSuite().test_bins_of_one_question_are_of_one_moment(Moving, lambda store: store)


def test_store_suite_catches_a_rank_that_is_lost() -> None:
    class Masked(PlainStore):
        """Leaves out the second of two equally near units, as a search without duplicates does."""

        def nearest_units(self, vector: Vector, count: int) -> list[Passage]:
            best = self._best(vector)
            found = super().nearest_units(vector, count)
            return [
                near
                for near, last in zip(found, [None, *found], strict=False)
                if last is None or best[near.unit][0] != best[last.unit][0]
            ]

    with pytest.raises(AssertionError):
        StoreSuite().test_each_unit_takes_one_rank(Masked)


def test_store_suite_catches_bytes_that_stay() -> None:
    class Kept(PlainStore):
        written = b""

    store = Kept()

    def read(_: object) -> bytes:
        store.written += b"".join(
            f"{document.id} {document.unit} {piece.text}".encode() + stored.vector.astype("<f4").tobytes()
            for (document, pieces), stored in zip(store.held.values(), store.texts(), strict=True)
            for piece in pieces
        )
        return store.written

    with pytest.raises(AssertionError):
        StoreSuite().test_erased_bytes_are_in_no_file(lambda: store, read)

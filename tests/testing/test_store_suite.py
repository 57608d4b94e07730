"""The suite of stores catches broken stores."""

from collections.abc import Sequence

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

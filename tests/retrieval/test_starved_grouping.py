"""The conformance suite finds a grouping that starves units: that of vector databases, in a bounded number of requests.

Such a database takes the nearest points, groups them, and asks again without the groups that are full, at most five
times. Five units with many chunks then displace all others. Exact search of points does not mend it.
"""

import pytest

from discreet.retrieval.store import Vector
from discreet.testing.exact_search import HEAVY, ExactSearch, ahead, put_crowd
from discreet.testing.plain_store import PlainScores, PlainStore, whole

REQUESTS = 5


class StarvedScores(PlainScores):
    """The groups that a bounded number of requests finds."""

    def __init__(
        self, ranked: list[tuple[int, bytes, str]], where: dict[str, tuple[str, str]], points: list[str]
    ) -> None:
        super().__init__(ranked, where)
        self._points = points

    def nearest(self, count: int) -> list:  # type: ignore[type-arg]
        full = dict[str, None]()
        for _ in range(REQUESTS):
            rest = [unit for unit in self._points if unit not in full]
            full |= dict.fromkeys(rest[:count])
            if len(full) >= count:
                break
        return [self._hit(unit) for unit in list(full)[: max(count, 0)]]


class StarvedStore(PlainStore):
    """A store with such a grouping, over an exact search of points."""

    def scored(self, vector: Vector) -> StarvedScores:
        query, found = whole(vector), super().scored(vector)
        points = sorted(
            (
                -sum(a * b for a, b in zip(whole(piece.vector), query, strict=True)),
                self.tie(document.unit),
                document.unit,
            )
            for document, pieces in self.held.values()
            for piece in pieces
        )
        return StarvedScores(found._ranked, found._where, [unit for _, _, unit in points])


def test_suite_finds_a_grouping_that_starves_units() -> None:
    with pytest.raises(AssertionError):
        ExactSearch().test_heavy_units_take_one_rank_each(StarvedStore)


def test_one_heavy_unit_removes_all_light_ones() -> None:
    found = []
    for heavy in (HEAVY - 1, HEAVY):
        store = StarvedStore()
        put_crowd(store, heavy)
        found.append([near.unit for near in store.nearest_units(ahead(1.0), 80)])
    fewer, more = found
    assert (len(fewer), len(more)) == (80, HEAVY)
    assert not any(unit.startswith("light") for unit in more)


def test_small_vaults_do_not_show_it() -> None:
    store, plain = StarvedStore(), PlainStore()
    for one in (store, plain):
        put_crowd(one, 1)
    assert store.nearest_units(ahead(1.0), 80) == plain.nearest_units(ahead(1.0), 80)

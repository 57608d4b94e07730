"""Twins of the store in Qdrant, on Qdrant's own engine: the suite, or the tests of the cap, catch each of them.

The first groups as Qdrant does. Its engine finds points exactly, and its groups nevertheless depend on other units.
`discreet.testing.broken_stores.starving` has the same rule without an engine.
"""

import shutil
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from discreet_qdrant import nearest, store
from discreet_qdrant.engine import Engine, Found, searched
from discreet_qdrant.scores import PointScores
from discreet_qdrant.store import QdrantStore
from qdrant_engine import EdgeEngine
from test_qdrant_store import check_all_neighbours, of_known_key, reference

from discreet.errors import StoreError
from discreet.store.protocol import Hit, Vector
from discreet.store.vectors import Ranks, whole_numbers
from discreet.testing.broken_stores import SIZE
from discreet.testing.exact_search import HEAVY, WANTED, ExactSearch, ahead, put_crowd

REQUESTS = 5
"""The most requests of Qdrant's grouping, in its server and its engine (`MAX_GET_GROUPS_REQUESTS`)."""


class GroupingStore(QdrantStore):
    """Finds the nearest units by Qdrant's grouping, with groups of one point.

    Each request asks for as many points as groups are wanted, without the points of groups that are full.
    """

    def scored(self, vector: Vector) -> "Groups":  # type: ignore[override]
        return Groups(self, super().scored(vector)._looked(0), vector)


class Groups(PointScores):
    def __init__(self, own: GroupingStore, snapshot: Ranks, vector: Vector) -> None:
        self._store, self._snapshot, self._question = own, snapshot, whole_numbers(vector, SIZE)

    def nearest(self, count: int) -> list[Hit]:
        engine, stored = self._store._engine, self._store._points.stored()
        assert isinstance(engine, EdgeEngine)
        full = dict[int, None]()
        for _ in range(REQUESTS):
            of_full = np.isin(stored.units, list(full))
            only = engine.edge.Filter(must_not=[engine.edge.HasIdCondition(set(stored.ids[of_full].tolist()))])
            rows, _ = stored.of(engine.found(self._store._points.name, self._question, count, None, only))
            full |= dict.fromkeys(stored.units[rows].tolist())
            if len(full) >= count:
                break
        return self._snapshot._hits(np.searchsorted(self._snapshot._units.numbers, list(full)[:count]))


@pytest.fixture
def make(tmp_path: Path) -> Callable[[], GroupingStore]:
    def new() -> GroupingStore:
        shutil.rmtree(tmp_path / "case", ignore_errors=True)
        return GroupingStore(tmp_path / "case", SIZE, EdgeEngine(tmp_path / "case" / "qdrant"), "s-")

    return new


def test_suite_finds_the_grouping_of_qdrant(make: Callable[[], GroupingStore]) -> None:
    with pytest.raises(AssertionError):
        ExactSearch().test_heavy_units_take_one_rank_each(make)


def test_one_heavy_unit_removes_all_light_ones(make: Callable[[], GroupingStore]) -> None:
    found = []
    for heavy in (HEAVY - 1, HEAVY):
        own = make()
        put_crowd(own, heavy)
        found.append([near.unit for near in own.nearest_units(ahead(1.0), WANTED)])
    fewer, more = found
    assert (len(fewer), len(more)) == (WANTED, HEAVY)
    assert not any(unit.startswith("light") for unit in more)


# -- twins of the cap --------------------------------------------------------------------------------------------------

TIED = [(unit, [1]) for unit in "abcdefgh"]


def without_ties(engine: Engine, name: str, question: Vector, expected: int, over: float | None = None) -> Found:
    """Take the points that Qdrant returned, before others that are as near."""
    return searched(engine, name, question, expected if over is None else 1, over)


@pytest.mark.parametrize("is_twin", [False, True])
def test_ties_that_qdrant_breaks_are_caught(is_twin: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of points as near as each other, Qdrant returns any. A second request asks for all of them."""
    engine = EdgeEngine(tmp_path / "qdrant")
    ours, theirs = of_known_key(engine, tmp_path / "ours", 1), reference(tmp_path / "theirs")
    if is_twin:
        monkeypatch.setattr(nearest, "every", without_ties)
    with pytest.raises(AssertionError, match="Passage") if is_twin else nullcontext():
        for count in (1, 2, 3):
            check_all_neighbours(ours, theirs, engine, TIED, 1, count)


def test_without_the_factor_of_the_cap_units_starve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five heavy units take all places, as in Qdrant's grouping. The store then fails, and does not answer."""
    right: Callable[..., nearest.Read] = nearest.read_nearest

    def of_one_point(*arguments: Any) -> nearest.Read:
        return right(*arguments[:-1], 1)

    made = QdrantStore(tmp_path / "s", SIZE, EdgeEngine(tmp_path / "qdrant"), "s-", 120)
    put_crowd(made, HEAVY)
    assert len(made.nearest_units(ahead(1.0), WANTED)) == WANTED
    monkeypatch.setattr(store, "read_nearest", of_one_point)
    with pytest.raises(StoreError):
        made.nearest_units(ahead(1.0), WANTED)

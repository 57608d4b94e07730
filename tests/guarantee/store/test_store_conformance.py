"""All stores pass the conformance suite."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.store.embedded_store import EmbeddedStore
from discreet.store.protocol import Store
from discreet.testing import AlwaysExact, StoreSuite
from discreet.testing.plain_store import SCALE, PlainStore
from discreet.testing.settings import QUICK
from discreet.testing.store import SIZE, STEPS, MakeStore, direction, replay


class TestPlainStore(StoreSuite):
    @pytest.fixture
    def make_store(self) -> MakeStore:
        return PlainStore

    @pytest.fixture
    def make_inexact(self) -> AlwaysExact:
        return AlwaysExact("It computes all scores in Python.")


class TestEmbeddedStore(StoreSuite):
    @pytest.fixture
    def folders(self) -> dict[int, Path]:
        return {}

    @pytest.fixture
    def make_store(self, tmp_path_factory: pytest.TempPathFactory, folders: dict[int, Path]) -> MakeStore:
        def make() -> EmbeddedStore:
            folder = tmp_path_factory.mktemp("store")
            store = EmbeddedStore(folder, SIZE)
            folders[id(store)] = folder
            return store

        return make

    @pytest.fixture
    def reopen(self, folders: dict[int, Path]) -> Callable[[Store], Store]:
        return lambda store: EmbeddedStore(folders[id(store)], SIZE)

    @pytest.fixture
    def make_inexact(self) -> AlwaysExact:
        return AlwaysExact("Each question reads all vectors of a file, and no other search is built in.")

    @pytest.fixture
    def read_files(self, folders: dict[int, Path]) -> Callable[[Store], bytes]:
        return lambda store: b"".join(path.read_bytes() for path in folders[id(store)].iterdir())

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
        assert store.scale == SCALE
        for part in (steps, steps[::-1]):
            replay(store, part)
            replay(plain, part)
            store = EmbeddedStore(folder, SIZE)
            assert store.nearest_units(direction(query), count) == plain.nearest_units(direction(query), count)
            assert store.units_above(direction(query), threshold) == plain.units_above(direction(query), threshold)
            ours, theirs = store.scored(direction(query)), plain.scored(direction(query))
            for one, other in (
                (ours.nearest(count), theirs.nearest(count)),
                (ours.above(threshold), theirs.above(threshold)),
                (ours.between(threshold, 0.8), theirs.between(threshold, 0.8)),
            ):
                assert store.passages(one) == plain.passages(other)


def test_each_store_has_a_key_of_its_own(tmp_path: Path) -> None:
    stores = [EmbeddedStore(tmp_path / str(n), SIZE) for n in range(2)]
    assert stores[0]._key != stores[1]._key
    assert EmbeddedStore(tmp_path / "0", SIZE)._key == stores[0]._key
    assert {len(store._key) for store in stores} == {32}

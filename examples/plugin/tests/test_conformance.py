"""The plug-ins pass the conformance suites of discreet."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from discreet_example_plugin.after_model import AfterModel
from discreet_example_plugin.jsonl_store import JsonlStore
from discreet_example_plugin.nearby_units import NearbyUnits
from discreet_example_plugin.notes_loader import NotesLoader
from discreet_example_plugin.trigrams import Trigrams
from discreet_example_plugin.word_coder import WordCoder

from discreet import Algorithm, StoreError
from discreet.files.loaders import Loader
from discreet.models.protocol import Completer
from discreet.store.embedding import Embedder
from discreet.synthesis.readings import Coder
from discreet.testing import AlgorithmSuite, AlwaysExact, CoderSuite, EmbedderSuite, LoaderSuite, ModelSuite, StoreSuite
from discreet.testing.broken_stores import starving
from discreet.testing.store import SIZE, MakeStore, direction, entry, fill


class TestNearbyUnits(AlgorithmSuite):
    @pytest.fixture
    def algorithm(self) -> Algorithm:
        return NearbyUnits(epsilon=0.5)


class TestJsonlStore(StoreSuite):
    @pytest.fixture
    def make_store(self, tmp_path_factory: pytest.TempPathFactory) -> MakeStore:
        return lambda: JsonlStore(tmp_path_factory.mktemp("store"), SIZE)

    @pytest.fixture
    def make_inexact(self) -> AlwaysExact:
        return AlwaysExact("It computes all scores in Python.")


class TestTrigrams(EmbedderSuite):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return Trigrams()


class TestNotesLoader(LoaderSuite):
    @pytest.fixture
    def loader(self) -> Loader:
        return NotesLoader()

    def write(self, path: Path, records: Sequence[Mapping[str, str]]) -> None:
        lines = (f"{record.get('unit', '')}|{record['text']}\n" for record in records)
        path.write_text("".join(lines), encoding="utf-8")


class TestWordCoder(CoderSuite):
    @pytest.fixture
    def coder(self) -> Coder:
        return WordCoder()


class TestAfterModel(ModelSuite):
    @pytest.fixture
    def model(self) -> Completer:
        return AfterModel("is")


def test_suite_finds_a_starving_twin(tmp_path_factory: pytest.TempPathFactory) -> None:
    twin = starving(lambda: JsonlStore(tmp_path_factory.mktemp("store"), SIZE))
    with pytest.raises(AssertionError):
        StoreSuite().test_heavy_units_take_one_rank_each(twin)


def test_store_is_the_same_when_reopened(tmp_path: Path) -> None:
    store = JsonlStore(tmp_path, SIZE)
    assert JsonlStore.stored_dimension(tmp_path) is None
    fill(store, [(1, "a", [1]), (2, "b", [2]), (3, "c", [3])])
    store.remove("d2")
    store.bury("c")
    again = JsonlStore(tmp_path, SIZE)
    assert JsonlStore.stored_dimension(tmp_path) == SIZE
    assert again.nearest_units(direction(1), 9) == store.nearest_units(direction(1), 9)
    assert again.tag(b"content") == store.tag(b"content")
    assert list(again.buried(["a", "c"])) == ["c"]


def test_failed_batch_leaves_no_document(tmp_path: Path) -> None:
    store = JsonlStore(tmp_path, SIZE)
    with pytest.raises(StoreError), store.batch():
        put_and_fail(store)
    assert store.count_documents() == JsonlStore(tmp_path, SIZE).count_documents() == 0


def put_and_fail(store: JsonlStore) -> None:
    store.put(*entry(1, "a", [1]))
    raise StoreError("The disk is full.")

"""The store in Qdrant passes the conformance suite, on Qdrant's own engine in this process."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from discreet.retrieval.qdrant.store import QdrantStore
from discreet.retrieval.store import Store
from discreet.testing import StoreSuite
from discreet.testing.store import SIZE, MakeStore
from tests.qdrant_engine import EdgeEngine


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> EdgeEngine:
    return EdgeEngine(tmp_path_factory.mktemp("qdrant"))


class QdrantSuite(StoreSuite):
    cap = 0

    @pytest.fixture
    def make_store(self, engine: EdgeEngine, tmp_path: Path) -> Iterator[MakeStore]:
        made = list[QdrantStore]()

        def make() -> QdrantStore:
            number = len(made)
            if number > 8:
                self.forget(engine, made[number - 8])
            made.append(self.open(engine, tmp_path / str(number), f"{tmp_path.name}-{number}-"))
            return made[-1]

        yield make
        for store in made[-8:]:
            self.forget(engine, store)

    def open(self, engine: EdgeEngine, folder: Path, prefix: str) -> QdrantStore:
        return QdrantStore(folder, SIZE, None, engine, prefix, self.cap)

    def forget(self, engine: EdgeEngine, store: QdrantStore) -> None:
        """Remove the collections of a store, which nothing uses any more."""
        store.close()
        for name in engine.names(store._prefix):
            engine.drop(name)

    @pytest.fixture
    def reopen(self, engine: EdgeEngine, tmp_path: Path) -> Callable[[QdrantStore], Store]:
        def reopen(store: QdrantStore) -> Store:
            number = store._prefix.removeprefix(f"{tmp_path.name}-").removesuffix("-")
            return self.open(engine, tmp_path / number, store._prefix)

        return reopen

    @pytest.fixture
    def read_files(self, engine: EdgeEngine, tmp_path: Path) -> Callable[[Store], bytes]:
        """All files of the store and of the engine, its log of writes among them."""

        def read(_: Store) -> bytes:
            own = (path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
            return b"".join(own) + engine.read_files()

        return read


class TestQdrantStore(QdrantSuite):
    """Without a cap: a question reads all points."""


class TestQdrantStoreWithCap(QdrantSuite):
    """With a cap of chunks, as many as the suite's heaviest unit has."""

    cap = 120

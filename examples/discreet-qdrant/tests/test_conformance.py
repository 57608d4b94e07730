"""The store in Qdrant passes the conformance suite, on Qdrant's own engine: in this process, and over HTTP."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from discreet_qdrant.address import read_address
from discreet_qdrant.client import Client
from discreet_qdrant.engine import Engine
from discreet_qdrant.store import QdrantStore
from qdrant_engine import EdgeEngine
from qdrant_server import StandIn, qdrant_server

from discreet.store.protocol import Store
from discreet.testing import StoreSuite
from discreet.testing.exact_search import ExactSearch
from discreet.testing.refusal import Refusal
from discreet.testing.store import SIZE, MakeStore


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> EdgeEngine:
    return EdgeEngine(tmp_path_factory.mktemp("qdrant"))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, StandIn]]:
    with qdrant_server(tmp_path_factory.mktemp("server")) as own:
        own[1].engine.dimension = SIZE
        yield own


class KeptClient(Client):
    """A connection that many stores share, since a new one takes 50 ms."""

    def close(self) -> None:
        """Keep it for the next store."""


@pytest.fixture(scope="module")
def client(running: tuple[str, StandIn]) -> KeptClient:
    return KeptClient(read_address(running[0]))


class OnQdrant:
    cap = 0

    @pytest.fixture
    def connect(self, engine: EdgeEngine) -> Callable[[], Engine]:
        return lambda: engine

    @pytest.fixture
    def files(self, engine: EdgeEngine) -> EdgeEngine:
        """The engine whose files are read."""
        return engine

    @pytest.fixture
    def make_store(self, connect: Callable[[], Engine], tmp_path: Path) -> Iterator[MakeStore]:
        made = list[QdrantStore]()

        def make() -> QdrantStore:
            number = len(made)
            if number > 8:
                forget(connect(), made[number - 8])
            made.append(self.open(connect(), tmp_path / str(number), f"{tmp_path.name}-{number}-"))
            return made[-1]

        yield make
        for store in made[-8:]:
            forget(connect(), store)

    def open(self, engine: Engine, folder: Path, prefix: str) -> QdrantStore:
        return QdrantStore(folder, SIZE, engine, prefix, self.cap)

    @pytest.fixture
    def reopen(self, connect: Callable[[], Engine], tmp_path: Path) -> Callable[[QdrantStore], Store]:
        def reopen(store: QdrantStore) -> Store:
            number = store._prefix.removeprefix(f"{tmp_path.name}-").removesuffix("-")
            return self.open(connect(), tmp_path / number, store._prefix)

        return reopen

    @pytest.fixture(params=[{"plain": False}, {"at_once": False}, {"copies": 2}, {"distance": "Cosine"}], ids=str)
    def make_inexact(
        self, engine: EdgeEngine, request: pytest.FixtureRequest
    ) -> Callable[[QdrantStore], AbstractContextManager[None]]:
        """Settings of the collection with which scores are no exact products, or not those of this moment."""

        @contextmanager
        def alter(store: QdrantStore) -> Iterator[None]:
            name, sound = store._points.name, engine.shape(store._points.name)
            assert sound is not None
            engine.altered[name] = replace(sound, **request.param)
            yield
            del engine.altered[name]

        return alter

    @pytest.fixture
    def read_files(self, files: EdgeEngine, tmp_path: Path) -> Callable[[Store], bytes]:
        """All files of the store and of the engine, its log of writes among them."""

        def read(_: Store) -> bytes:
            own = (path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
            return b"".join(own) + files.read_files()

        return read


def forget(engine: Engine, store: QdrantStore) -> None:
    """Remove the collections of a store, which nothing uses any more."""
    store.close()
    for name in engine.names(store._prefix):
        engine.drop(name)
    engine.close()


class TestQdrantStore(OnQdrant, StoreSuite):
    """Without a cap: a question reads all points."""


class TestQdrantStoreWithCap(OnQdrant, StoreSuite):
    """With a cap of chunks, as many as the suite's heaviest unit has."""

    cap = 120


SETTINGS: list[dict[str, Any]] = [
    {"quantization_config": {"scalar": {"type": "int8"}}},
    {"replication_factor": 2},
    {"vectors": {"size": SIZE, "distance": "Cosine"}},
    {"vectors": {"size": SIZE, "distance": "Dot", "datatype": "float16"}},
    {"optimizers_config": {"prevent_unoptimized": True}},
]


class TestQdrantStoreOverHttp(OnQdrant, Refusal, ExactSearch):
    """The tests of search, refusal and erasure through qdrant-client, on a stand-in for the server."""

    cap = 120

    @pytest.fixture(params=SETTINGS, ids=str)
    def make_inexact(
        self, running: tuple[str, StandIn], request: pytest.FixtureRequest
    ) -> Callable[[QdrantStore], AbstractContextManager[None]]:
        """The same settings, as the server tells them of a collection."""

        @contextmanager
        def alter(store: QdrantStore) -> Iterator[None]:
            name, settings = store._points.name, running[1].settings
            sound = settings[name]
            settings[name] = sound | request.param
            yield
            settings[name] = sound

        return alter

    @pytest.fixture
    def connect(self, client: KeptClient) -> Callable[[], Engine]:
        return lambda: client

    @pytest.fixture
    def files(self, running: tuple[str, StandIn]) -> EdgeEngine:
        return running[1].engine

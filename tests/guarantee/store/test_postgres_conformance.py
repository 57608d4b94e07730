"""The store in PostgreSQL passes the conformance suite, on a server of the tests' own."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.store.documents import Document
from discreet.store.postgres_store import PostgresStore
from discreet.store.protocol import Store
from discreet.testing import StoreSuite
from discreet.testing.plain_store import SCALE, PlainStore
from discreet.testing.settings import QUICK
from discreet.testing.store import SIZE, STEPS, MakeStore, direction, replay
from discreet.vault import Vault
from tests.copies import copy_of
from tests.guarantee.ledger.conftest import Server, sql
from tests.vector_server import make, vector_server

Inexact = AbstractContextManager[None]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with vector_server() as own:
        yield own


class TestPostgresStore(StoreSuite):
    @pytest.fixture
    def keep(self) -> Iterator[Callable[[PostgresStore], PostgresStore]]:
        """Closes all stores but the last few: a server has a limit of connections."""
        opened = deque[PostgresStore]()

        def keep(store: PostgresStore) -> PostgresStore:
            opened.append(store)
            if len(opened) > 8:
                opened.popleft().close()
            return store

        yield keep
        for store in opened:
            store.close()

    @pytest.fixture
    def make_store(self, server: Server, keep: Callable[[PostgresStore], PostgresStore]) -> MakeStore:
        return lambda: keep(make(server.url, SIZE))

    @pytest.fixture
    def reopen(
        self, server: Server, keep: Callable[[PostgresStore], PostgresStore]
    ) -> Callable[[PostgresStore], Store]:
        return lambda store: keep(PostgresStore(server.url, store._database.name, SIZE))

    @pytest.fixture(params=["hnsw", "ivfflat"])
    def make_inexact(self, server: Server, request: pytest.FixtureRequest) -> Callable[[PostgresStore], Inexact]:
        """An approximate index of the vectors, as an administrator of the database would make it."""

        @contextmanager
        def add_index(store: PostgresStore) -> Iterator[None]:
            name = store._database.name
            sql(
                server.url,
                f'alter table "{name}".vector alter column v type halfvec({SIZE})',
                f'create index later on "{name}".vector using {request.param} (v halfvec_ip_ops)',
            )
            yield
            sql(server.url, f'drop index "{name}".later')

        return add_index

    @pytest.fixture
    def read_files(self, server: Server) -> Callable[[Store], bytes]:
        """All files of the server but its write-ahead log, which keeps what was written until it is recycled."""

        def read(_: Store) -> bytes:
            sql(server.url, "checkpoint")
            content = []
            for path in server.data.rglob("*"):
                if path.is_file() and "pg_wal" not in path.parts:
                    with suppress(FileNotFoundError):
                        content.append(Path(path).read_bytes())
            return b"".join(content)

        return read

    @QUICK
    @given(steps=STEPS, query=st.integers(0, 6), count=st.integers(0, 9), threshold=st.sampled_from([-2, 0, 0.3, 0.9]))
    def test_with_one_key_the_answers_are_equal_to_the_last_tie(
        self, make_store: Callable[[], PostgresStore], steps: list[object], query: int, count: int, threshold: float
    ) -> None:
        store = make_store()
        plain = PlainStore(store._key)
        assert store.scale == SCALE
        for part in (steps, steps[::-1]):
            replay(store, part)
            replay(plain, part)
            assert store.nearest_units(direction(query), count) == plain.nearest_units(direction(query), count)
            assert store.units_above(direction(query), threshold) == plain.units_above(direction(query), threshold)
            ours, theirs = store.scored(direction(query)), plain.scored(direction(query))
            for one, other in (
                (ours.nearest(count), theirs.nearest(count)),
                (ours.above(threshold), theirs.above(threshold)),
                (ours.between(threshold, 0.8), theirs.between(threshold, 0.8)),
            ):
                assert store.passages(one) == plain.passages(other)


@pytest.mark.parametrize("replaced", [False, True], ids=["erased", "replaced"])
def test_what_is_erased_leaves_other_folders_of_a_shared_store(server: Server, tmp_path: Path, replaced: bool) -> None:
    """Data that was derived of a text goes in each folder, as soon as that folder's vault is opened."""
    vault = Vault.create(tmp_path / "vault", epsilon=20, delta=1e-6, embedder="hashing", store=server.url)
    vault.add_documents(Document(f"d{n}", f"p{n}", "numb thumbs") for n in range(5))
    other = copy_of(vault.path, tmp_path / "machine")
    derived = other / "claims" / "datastore-text"
    for gone in (False, True, False):
        derived.mkdir(parents=True, exist_ok=True)
        if gone and replaced:
            vault.add_documents([Document("d1", "p1", "stiff knees")])
        elif gone:
            vault.remove_unit("p1")
        Vault.open(other).store.close()
        assert derived.exists() is not gone

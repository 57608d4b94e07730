"""What is special about the store in PostgreSQL: addresses, names, indexes, connections, writers, erasure."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psycopg
import pytest

from discreet.errors import StoreError, UsageError, VaultVersionError
from discreet.store.postgres_store import PostgresDatabase as Connection
from discreet.store.postgres_store import PostgresStore, PostgresStoreType
from discreet.store.vectors import half_numbers
from discreet.testing.store import SIZE, direction, entry, fill
from tests.guarantee.ledger.conftest import Server, sql
from tests.vector_server import make, vector_server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with vector_server() as own:
        yield own


@pytest.fixture
def store(server: Server) -> Iterator[PostgresStore]:
    made = make(server.url, SIZE)
    fill(made, [(1, "anna", [1]), (2, "bert", [2]), (3, "cleo", [1, 3])])
    yield made
    made.close()


def again(store: PostgresStore, server: Server) -> PostgresStore:
    return PostgresStore(server.url, store._database.name, SIZE)


# -- vectors -----------------------------------------------------------------------------------------------------------


# -- approximate indexes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["hnsw", "ivfflat"])
def test_approximate_index_is_refused(server: Server, store: PostgresStore, kind: str) -> None:
    name = store._database.name
    sql(server.url, f'alter table "{name}".vector alter column v type halfvec({SIZE})')
    sql(server.url, f'create index later on "{name}".vector using {kind} (v halfvec_ip_ops)')
    with pytest.raises(StoreError, match="approximate"):
        again(store, server)
    with pytest.raises(StoreError, match="approximate"):  # also while the store is open
        store.nearest_units(direction(1), 2)
    sql(server.url, f'drop index "{name}".later')
    assert len(again(store, server).nearest_units(direction(1), 9)) == 3


# -- addresses and errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong", ["", "sqlite:///x", "postgresql://u:hunter2@h:port/x", "postgresql://u:hunter2@h/x?y=1"]
)
def test_wrong_url_is_not_repeated(wrong: str) -> None:
    with pytest.raises(UsageError, match="postgresql://user@host/database") as error:
        Connection(wrong, "store_1")
    assert "hunter2" not in str(error.value)


def test_url_with_a_password_makes_no_store() -> None:
    for url in ("postgresql://u:hunter2@h/x", "postgresql://u@h/x?password=hunter2"):
        with pytest.raises(UsageError, match="PGPASSWORD") as error:
            PostgresStoreType(url, "store_1").make()
        assert "hunter2" not in str(error.value)


def test_server_out_of_reach_is_explained(server: Server, tmp_path: Path) -> None:
    for url, said in (
        (f"postgresql://someone:hunter2@/postgres?host={tmp_path}", "cannot be reached"),
        ("postgresql://someone:hunter2@127.0.0.1:1/postgres", "cannot be reached"),
        (server.url.replace("/postgres?", "/elsewhere?"), "refuses the connection, or does not exist"),
        (server.url.replace("postgres@", "someone@"), "refuses the connection, or does not exist"),
    ):
        with pytest.raises(StoreError, match=said) as error:
            PostgresStore(url, "store_1", SIZE)
        for secret in ("hunter2", "someone", "127.0.0.1", str(tmp_path), "elsewhere"):
            assert secret not in str(error.value)
        assert error.value.__suppress_context__


def test_other_versions_and_dimensions_are_refused(server: Server, store: PostgresStore) -> None:
    name = store._database.name
    with pytest.raises(StoreError, match=f"vectors of {SIZE} numbers; the embedder makes 7"):
        PostgresStore(server.url, name, 7)
    sql(server.url, f'update "{name}".store set version = 8')
    with pytest.raises(VaultVersionError, match="format 8"):
        again(store, server)


def test_database_without_pgvector_names_the_remedy(server: Server) -> None:
    role = "plain_role"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("create database bare")
        connection.execute(f"create role {role} login")
        connection.execute(f"grant create on database bare to {role}")
    url = server.url.replace("/postgres?", "/bare?").replace("postgres@", f"{role}@")
    with pytest.raises(UsageError, match="create extension vector"):
        PostgresStoreType(url, "store_1").make()
    sql(server.url.replace("/postgres?", "/bare?"), "create schema tools", "create extension vector schema tools")
    sql(server.url.replace("/postgres?", "/bare?"), f"grant usage on schema tools to {role}")
    made = PostgresStoreType(url, "store_1")
    made.make()
    opened = made(Path("unused"), SIZE)
    fill(opened, [(1, "anna", [1])])
    assert [near.unit for near in opened.nearest_units(direction(1), 3)] == ["anna"]
    opened.close()


# -- names and texts ---------------------------------------------------------------------------------------------------


# -- several processes -------------------------------------------------------------------------------------------------


def test_writers_take_turns(server: Server, store: PostgresStore) -> None:
    failed = list[BaseException]()

    def write(start: int) -> None:
        try:
            own = again(store, server)
            for number in range(start, start + 8):
                fill(own, [(number, f"u{number % 5}", [number % 4])])
                if number % 3 == 0:
                    own.remove(f"d{number}")
            own.close()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(start,)) for start in (100, 200, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert store.count_documents() == 3 + sum(n % 3 != 0 for start in (100, 200, 300) for n in range(start, start + 8))
    # A writer that waits for its turn may still read removed rows, so an erasure beside it may leave the files due.
    store.settle()
    assert not store.unsettled()


def cut(server: Server) -> None:
    """End all connections, as a restart of the server does."""
    others = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()"
    sql(server.url, f"{others} and backend_type = 'client backend'")


def test_restarted_server_is_reached_again(store: PostgresStore, server: Server) -> None:
    cut(server)
    assert len(store.nearest_units(direction(1), 9)) == 3
    cut(server)
    assert store.remove("d1") == 1
    assert store.count_units() == 2


def erase_and_break(store: PostgresStore, server: Server) -> None:
    with store._writing():
        store._rows("delete from document")
        cut(server)
        store._rows("select 1")


def test_killed_writer_changes_nothing(server: Server, store: PostgresStore) -> None:
    with pytest.raises(StoreError, match="cannot be reached"):
        erase_and_break(store, server)
    assert store.unsettled()
    opened = again(store, server)  # it settles what the killed writer left
    assert (opened.count_documents(), opened.unsettled()) == (3, False)
    assert len(store.nearest_units(direction(1), 9)) == 3
    opened.close()


def test_transaction_that_was_left_open_is_not_used(server: Server, store: PostgresStore) -> None:
    store._database.run("begin isolation level repeatable read; select 1")
    other = again(store, server)
    fill(other, [(9, "dora", [1])])
    other.close()
    assert len(store.nearest_units(direction(1), 9)) == 4


def test_child_process_has_a_connection_of_its_own(store: PostgresStore) -> None:
    child = os.fork()
    if not child:
        os._exit(0 if store.count_units() == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert store.count_units() == 3


# -- erasure -----------------------------------------------------------------------------------------------------------


def stored_pieces(number: int, unit: str, seed: int) -> tuple[bytes, bytes]:
    """Return the text and the vector of a document as the server's files hold them."""
    (piece,) = entry(number, unit, [seed])[1]
    numbers = half_numbers(piece.vector, SIZE).astype("<f2")
    sign = np.where(numbers == 0, np.float16(0), numbers)  # no minus zero
    return piece.text.encode(), sign.astype("<f2").tobytes()


def test_erased_texts_and_vectors_leave_the_log_of_writes() -> None:
    with vector_server(wal_recycle="off", wal_compression="off") as server:
        store = make(server.url, SIZE)
        fill(store, [(1, "anna", [1]), (2, "bert", [2])])
        secrets = stored_pieces(1, "anna", 1)
        assert all(holds(server, secret) for secret in secrets)
        store.remove_unit("anna")
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("select pg_switch_wal()")
            connection.execute("checkpoint")
        assert not any(holds(server, secret) for secret in secrets)
        assert all(holds(server, kept) for kept in stored_pieces(2, "bert", 2))
        store.close()


def holds(server: Server, needle: bytes) -> bool:
    return any(needle in path.read_bytes() for path in server.data.rglob("*") if path.is_file())


def test_statistics_hold_no_names(server: Server, store: PostgresStore) -> None:
    fill(store, [(number, f"person {number % 3}", [1]) for number in range(60)])
    name = store._database.name
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f'analyze "{name}".unit, "{name}".document, "{name}".chunk, "{name}".vector')
        asked = "select tablename || '.' || attname from pg_stats where schemaname = %s and n_distinct != 0"
        found = {column for (column,) in connection.execute(asked, (name,))}
    assert found <= {"unit.id", "document.unit", "document.batch", "document.since", "chunk.id", "chunk.unit"} | {
        "vector.id",
        "vector.unit",
    }
    assert "vector.unit" in found

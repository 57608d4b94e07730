"""A store in PostgreSQL: what its steps cost with many records."""

from collections.abc import Callable
from typing import Any

import numpy as np
import psutil
from tests.vector_server import make, vector_server

from discreet.retrieval.documents import Document
from discreet.retrieval.postgres_store import PostgresStore
from discreet.retrieval.store import Piece

Found = dict[str, float]

DIMENSION = 384
AT_ONCE = 5000
TIMES = 5
IN_MEMORY = 10**6
_SIZE = "select sum(pg_total_relation_size(oid)) from pg_class where relkind = 'r' and relnamespace = %s::regnamespace"


def of_postgres(count: int) -> Found:
    """Return the costs of a store in PostgreSQL with `count` records."""
    with vector_server(in_memory=count <= IN_MEMORY, shared_buffers="2GB", max_wal_size="4GB") as server:
        pid = server.pid()
        assert pid is not None
        processes = [psutil.Process(), psutil.Process(pid)]
        store = make(server.url, DIMENSION)
        return steps_of(store, server.url, count, processes)


def steps_of(store: PostgresStore, url: str, count: int, processes: list[psutil.Process]) -> Found:
    """Fill the store, and return what each step costs the client and the server."""

    def cost(work: Callable[[int], Any]) -> float:
        before = total(processes)
        for turn in range(TIMES):
            work(turn)
        return 1e3 * (total(processes) - before) / TIMES

    def add(name: str, documents: int) -> None:
        with store.batch():
            for n in range(documents):
                store.put(Document(f"{name}-{n}", f"{name} {n}", "text"), [Piece("text", query)])

    def search_after_a_commit(time: int) -> None:
        add(f"one {time}", 1)
        store.nearest_units(query, 80)

    figures: Found = {}
    query = fill_with_units(store, count)
    store._database.rows("analyze vector")
    name = store._database.name
    figures["pgvector: open, ms"] = cost(lambda _: PostgresStore(url, name, DIMENSION).close())
    store.nearest_units(query, 80)
    figures["pgvector: search, 80 units, ms"] = cost(lambda _: store.nearest_units(query, 80))
    figures["pgvector: add a document, ms"] = cost(lambda time: add(f"batch {time}", 256)) / 256
    figures["pgvector: a commit and a search, ms"] = cost(search_after_a_commit)
    figures["pgvector: erase a unit, ms"] = cost(lambda time: store.remove_unit(f"unit {time}"))
    figures["pgvector: on disk, MiB"] = int(store._database.rows(_SIZE, [name])[0][0]) / 2**20
    store.close()
    return figures


def fill_with_units(store: PostgresStore, count: int) -> Any:
    """Put a document of one chunk for each of `count` units; return a question's vector."""
    generator = np.random.default_rng(1)
    for first in range(0, count, AT_ONCE):
        vectors = generator.normal(size=(min(AT_ONCE, count - first), DIMENSION)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        with store.batch():
            for n, vector in enumerate(vectors, first):
                store.put(Document(f"d{n}", f"unit {n}", "text"), [Piece("text", vector)])
    return vectors[0]


def total(processes: list[psutil.Process]) -> float:
    """Return the processor time of processes and of all their children, also of those that ended."""
    children = [child for one in processes for child in one.children(recursive=True)]
    return sum(map(spent, children)) + sum(map(spent, processes))  # a child that ends meanwhile is in its parent's time


def spent(process: psutil.Process) -> float:
    """Return the processor time of a process, and of its children that ended, in seconds."""
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)

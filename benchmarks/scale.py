"""What each step costs with 10,000, 100,000 and 1,000,000 records: processor time, memory and disk.

    .venv/bin/python -m benchmarks.scale [--records 10000 100000 1000000] [--csv PATH]
        [--parts store ledger vault postgres]
    .venv/bin/python -m benchmarks.scale --plot FILE.svg --table docs/results/data/scale.csv

A record is one unit with one tiny text and a random vector of 384 numbers. The records are put in bulk by SQL, so
that filling takes minutes; documents are added, searched and erased by the store itself. In the ledger each unit has
paid once, and 1 % or 10 % of the units pay for a question. Times are processor seconds of one thread, which other
work on the machine moves little; the median of five where a step can be repeated. "memory": what the process holds
without the files that are mapped into it. Each number of records has a process of its own.

"ask": a whole question in a vault whose units pay, from its text to its answer, with a toy model and the hashing
embedder (`scale_vault.py`): a search whose voters read, a share, and votes by what was read before. "first of a
process" includes what the process loads or builds once; "after a commit" follows an added document. "peak memory" is
the resident memory of that process.

"pgvector": a store in PostgreSQL (`scale_postgres.py`); its times are those of the client and of the server.

"growth": the last column divided by the one before. "exponent": the slope of the logarithm of the values against that
of the number of records, over all columns: 0 is constant, and 1 is linear.
"""

import argparse
import csv
import math
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.scale_postgres import of_postgres
from benchmarks.scale_vault import of_vault, run_alone
from benchmarks.writing import add_csv_option, write_table

from discreet.ledger import late_check
from discreet.ledger.integrity import check
from discreet.ledger.sqlite import SqliteLedger
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import BoundedRange
from discreet.retrieval.documents import Document
from discreet.retrieval.embedded_store import EmbeddedStore
from discreet.retrieval.kept_index import FILE
from discreet.retrieval.store import Piece, Vector

DIMENSION = 384
BATCH = 256
AT_ONCE = 10_000
PARTS = ("store", "ledger", "vault", "postgres")
"""What is measured: the store alone, the ledger alone, whole questions in a vault, a store in PostgreSQL."""
BUDGET = Budget(1e4, 1e-5)
MOST, SPENT = Spending.of(BoundedRange(0.5)), Spending.of(BoundedRange(0.25))

Found = dict[str, float]


def seconds(work: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    """Return the processor time of `work`."""
    start = clock()
    work()
    return clock() - start


def fill(store: EmbeddedStore, folder: Path, count: int) -> Vector:
    """Put `count` records into an empty store in bulk. Return a question's vector."""
    generator = np.random.default_rng(1)
    database = store._database
    database.execute("begin immediate")
    numbers = range(1, count + 1)
    database.executemany(
        "insert into unit (id, name, tie) values (?, ?, ?)", ((n, f"unit {n}", os.urandom(16)) for n in numbers)
    )
    database.executemany("insert into document values (?, ?, ?, 0, 0, '', '{}')", ((f"d{n}", n, b"") for n in numbers))
    database.executemany("insert into chunk values (?, ?, ?, 'text')", ((n - 1, f"d{n}", n) for n in numbers))
    database.execute("commit")
    with (folder / "vectors.f32").open("wb") as file:
        for _ in range(0, count, AT_ONCE):
            vectors = generator.normal(size=(AT_ONCE, DIMENSION))
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            np.rint(vectors * store.scale).astype(np.float32).tofile(file)
    query: Vector = vectors[0].astype(np.float32)
    return query


def of_store(folder: Path, count: int) -> Found:
    """Return the costs of a store with `count` records."""
    store = EmbeddedStore(folder, DIMENSION)
    query = fill(store, folder, count)
    store.close()

    def add(name: str, documents: int) -> None:
        with store.batch():
            for n in range(documents):
                store.put(Document(f"{name}-{n}", f"{name} {n}", "text"), [Piece("text", query)])

    def search() -> None:
        store.nearest_units(query, 80)

    found: Found = {}
    found["store: open, ms"] = 1e3 * seconds(lambda: globals().update(opened=EmbeddedStore(folder, DIMENSION)))
    store = globals().pop("opened")
    found["store: first search without an index file, ms"] = 1e3 * seconds(search)
    store.settle()
    store.close()
    store = EmbeddedStore(folder, DIMENSION)
    found["store: first search with an index file, ms"] = 1e3 * seconds(search)
    found["store: search, 80 units, ms"] = 1e3 * statistics.median(seconds(search) for _ in range(5))
    found["store: add a document, ms"] = 1e3 * statistics.median(
        seconds(lambda n=n: add(f"batch {n}", BATCH)) / BATCH  # type: ignore[misc]
        for n in range(5)
    )
    search()
    after = []
    for n in range(5):
        add(f"one {n}", 1)
        after.append(seconds(search))
    found["store: first search after a commit, ms"] = 1e3 * statistics.median(after)
    found["store: erase a unit, ms"] = 1e3 * seconds(lambda: store.remove_unit(f"unit {count // 2}"))
    found["store: memory, MiB"] = private_memory()
    for name, label in (("store.sqlite", "texts"), ("vectors.f32", "vectors"), (FILE, "index")):
        path = folder / name
        found[f"store: {label} on disk, MiB"] = path.stat().st_size / 2**20 if path.exists() else 0.0
    store.close()
    return found


def of_ledger(folder: Path, count: int) -> Found:
    """Return the costs of a ledger in which `count` units have paid."""
    draw, path = random.Random(count), folder / "ledger.sqlite"
    known = [draw.randbytes(16) for _ in range(count)]
    ledger = SqliteLedger.create(path, BUDGET)
    for part, start in enumerate(range(0, count, 100_000)):
        ledger.reserve("before", part, SPENT, known[start : start + 100_000])
        ledger.settle("before", part, SPENT)
    ledger = SqliteLedger.open(path)  # as another process does, which has no balances in memory
    ledger.questions()  # which waits for the check
    found: Found = {}
    for percent in (1, 10):
        times = [ask(ledger, f"{percent}-{n}", draw.sample(known, count * percent // 100)) for n in range(5)]
        for what, values in zip(("reserve", "settle"), zip(*times, strict=True), strict=True):
            found[f"ledger: {what}, {percent} % of the units, ms"] = 1e3 * statistics.median(values)
        found[f"ledger: payers of a question, {percent} % of the units, kB on disk"] = (
            payers_size(ledger, percent) / 1e3
        )
    with ledger._reading() as connection:
        found["ledger: check of all balances, ms"] = 1e3 * seconds(lambda: check(connection))
    ledger._engine.dispose()  # the log is moved into the file
    found["ledger: on disk, MiB"] = path.stat().st_size / 2**20
    found["ledger: open, ms"] = 1e3 * seconds(lambda: SqliteLedger.open(path), time.thread_time)
    found["ledger: is checked beside"] = float(path.stat().st_size >= late_check.LARGE)
    return found


def ask(ledger: SqliteLedger, question: str, paying: list[bytes]) -> tuple[float, float]:
    """Return the times of a question's reservation and of its settlement."""
    reserving = seconds(lambda: ledger.reserve(question, 0, MOST, paying))
    return reserving, seconds(lambda: ledger.settle(question, 0, SPENT))


def payers_size(ledger: SqliteLedger, percent: int) -> int:
    """Return the size of the payers of a settled question, in bytes."""
    with ledger._reading() as connection:
        query = "select length(payers) + coalesce(length(packed), 0) from part where question = ?"
        return int(connection.exec_driver_sql(query, (f"{percent}-0",)).scalar_one())


def private_memory() -> float:
    """Return the memory that the process holds without mapped files, in MiB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


def in_a_folder(part: str, count: int) -> Found:
    """Return the costs of a store or of a ledger."""
    with tempfile.TemporaryDirectory() as folder:
        return of_store(Path(folder), count) if part == "store" else of_ledger(Path(folder), count)


def costs(count: int, parts: Sequence[str]) -> Found:
    """Return the costs of these parts for a number of records, from fresh processes."""
    found: Found = {}
    for part in ("store", "ledger"):
        found |= run_alone(in_a_folder, part, count) if part in parts else {}
    if "postgres" in parts:
        found |= run_alone(of_postgres, count)
    with tempfile.TemporaryDirectory() as folder:
        return found | (of_vault(Path(folder), count) if "vault" in parts else {})


def exponent(counts: Sequence[int], values: Sequence[float]) -> float | None:
    """Return the slope of the logarithm of the values against that of the counts; None if there is none."""
    if len(set(counts)) < 2 or min(values) <= 0:
        return None
    logs = [math.log(count) for count in counts]
    return statistics.linear_regression(logs, [math.log(value) for value in values]).slope


def cells(name: str, counts: Sequence[int], values: Sequence[float]) -> list[str]:
    """Return a row of the table."""
    if name == "ledger: is checked beside":
        return [name, *("yes" if value else "no" for value in values), "", ""]
    growth = f"{values[-1] / values[-2]:.1f}" if len(values) > 1 and values[-2] else ""
    slope = exponent(counts, values)
    shown = (f"{value:,.2f}" if value < 10 else f"{value:,.0f}" for value in values)
    return [name, *shown, growth, "" if slope is None else f"{slope:.2f}"]


DRAWN = {
    "store: first search without an index file, ms": "first search, no index file",
    "store: first search with an index file, ms": "first search, index file",
    "store: first search after a commit, ms": "first search after a commit",
    "store: search, 80 units, ms": "search",
    "store: erase a unit, ms": "erase a unit",
    "store: add a document, ms": "add a document",
    "pgvector: search, 80 units, ms": "search, pgvector",
    "pgvector: erase a unit, ms": "erase a unit, pgvector",
    "ledger: check of all balances, ms": "check of the ledger",
    "ledger: reserve, 1 % of the units, ms": "reserve, 1 % pay",
    "ask: search, the next one, ms": "a question with a search",
    "ask: share, the next one, ms": "a share",
    "vault: remove a unit, ms": "erase a unit of a vault",
}


def plot(table: Path, path: Path) -> None:
    """Draw times against the number of records, both as logarithms."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "discreet"
    import matplotlib.pyplot as plt

    with table.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    counts = [name for name in rows[0] if name not in ("measured", "growth", "exponent")]
    figure, axes = plt.subplots(figsize=(8, 5))
    for row in rows:
        if row["measured"] in DRAWN:
            values = [float(row[count].replace(",", "")) for count in counts]
            axes.plot(
                [int(count.replace(",", "")) for count in counts], values, marker="o", label=DRAWN[row["measured"]]
            )
    axes.set(xscale="log", yscale="log", xlabel="records", ylabel="processor time, ms")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Measure and print, or draw a table that was measured before."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what is measured")
    add_csv_option(parser)
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw the table of --table, and measure nothing")
    parser.add_argument("--table", type=Path, default=Path("docs/results/data/scale.csv"), metavar="CSV")
    options = parser.parse_args()
    if options.plot:
        plot(options.table, options.plot)
        return
    found = [costs(count, options.parts) for count in options.records]
    columns = ["measured", *(f"{count:,}" for count in options.records), "growth", "exponent"]
    rows = (cells(name, options.records, [one[name] for one in found]) for name in found[0])
    write_table(columns, rows, options.csv)


if __name__ == "__main__":
    main()

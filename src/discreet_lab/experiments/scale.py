"""What each step costs with many records, in a folder and in PostgreSQL."""

import argparse
import csv
import hashlib
import json
import math
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from tests.vector_server import make, vector_server

from discreet.algorithms.base import Algorithm, Query
from discreet.ledger.balances import RESERVE, Units
from discreet.ledger.ledger import SqliteLedger
from discreet.log import chain, replay
from discreet.models.completer import NO_MODEL
from discreet.models.toy import ToyModel
from discreet.privacy.account import UnitAccount
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import BoundedRange
from discreet.registry import Consensus, MuRAGAda
from discreet.statistics.counts import Count
from discreet.statistics.themes import Themes
from discreet.store.documents import Document
from discreet.store.embedded_store import TEXTS, VECTORS, EmbeddedStore
from discreet.store.embedding import HashingEmbedder
from discreet.store.postgres_store import PostgresStore
from discreet.store.protocol import Piece, Vector
from discreet.store.sealed_corpus import SealedCorpus
from discreet.store.vectors import HEAD, HEADS, VectorFile
from discreet.vault import Vault
from discreet_lab.experiments.common import add_csv_option, run_alone, write_table

# --- in PostgreSQL ----------------------------------------------------------------------------------------------------


Found = dict[str, float]

DIMENSION = 384
POSTGRES_AT_ONCE = 5000
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
    for first in range(0, count, POSTGRES_AT_ONCE):
        vectors = generator.normal(size=(min(POSTGRES_AT_ONCE, count - first), DIMENSION)).astype(np.float32)
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


# --- in a folder ------------------------------------------------------------------------------------------------------


KINDS = ("search", "share", "votes by readings")
DISEASES = 100
GRANT = 1000.0
_DIGITS = "zero one two three four five six seven eight nine".split()
_FIRST = "Winter Glass Copper Velvet Thunder Paper Amber Marble Silver Garden".split()
_SECOND = "Hand Heart Knee Lung Ear Spine Tooth Wrist Ankle Shoulder".split()


def of_vault(folder: Path, count: int) -> Found:
    """Return the costs of questions, of opening and of an erasure in a vault with `count` records."""
    path = folder / "vault"
    run_alone(make_vault, path, count)
    figures: Found = {}
    for kind in KINDS:
        figures |= run_alone(ask_in_turn, path, kind)
    return figures | run_alone(remove_unit, path, count)


def make_vault(path: Path, count: int) -> Found:
    """Make the vault, add its documents, and read them."""
    vault = Vault.create(path, epsilon=GRANT, delta=1e-6, unit_field="patient", embedder="hashing", people=count)
    vault = Vault.open(path, model=toy())
    vault.add_documents(notes(count))
    vault.read()
    return {}


def notes(count: int) -> Iterator[Document]:
    """Yield one note of each unit. All notes differ, and they have few different words."""
    for number in range(count):
        named = " ".join(_DIGITS[int(digit)] for digit in f"{number // DISEASES:06d}")
        disease = number % DISEASES
        said = f"The treatment is {_treatment(disease, number)}. The disease is {_disease(disease)}."
        yield Document(f"d{number}", f"unit {number}", f"Visit {named} . say: {said}")


def _disease(number: int) -> str:
    return f"{_FIRST[number // 10]} {_SECOND[number % 10]}"


def _treatment(disease: int, number: int) -> str:
    """Return the treatment of two thirds of the units, or that of the others."""
    return f"{_FIRST[disease % 10].lower()} {('tea', 'tea', 'rest')[number // DISEASES % 3]}"


def toy() -> ToyModel:
    """Return the model that repeats what a note says."""
    return ToyModel(default="nothing known", size=2000)


def ask_in_turn(path: Path, kind: str) -> Found:
    """Return the costs of opening a vault, and of three questions of a kind: the last after a commit."""
    begun = time.thread_time()  # a large ledger is checked in another thread
    vault = Vault.open(path, model=toy())
    opened = time.thread_time() - begun
    times = []
    first = 10 * KINDS.index(kind)  # a question that was asked before would get the same answer for nothing
    for number in range(first, first + 3):
        if number == first + 2:
            vault.add_documents([Document(f"later for a {kind}", f"later for a {kind}", "A note that says nothing.")])
        start = time.process_time()
        question, algorithm = asked(kind, number)
        vault.ask(question, algorithm)
        times.append(time.process_time() - start)
    figures = {"vault: open, ms": 1e3 * opened} if kind == "search" else {}
    return figures | {
        f"ask: {kind}, the first of a process, ms": 1e3 * times[0],
        f"ask: {kind}, the next one, ms": 1e3 * times[1],
        f"ask: {kind}, after a commit, ms": 1e3 * times[2],
        f"ask: {kind}, peak memory, MiB": peak_memory(),
    }


def asked(kind: str, number: int) -> tuple[str, Algorithm | None]:
    """Return a question about a disease, and its algorithm; None for the statistic that the question asks for."""
    if kind == "share":
        treatment = _treatment(number, 0)
        return f"What share of patients with {_disease(number)} had {treatment}?", None
    inner = Consensus(readings=kind == "votes by readings")
    return f"What is the treatment for {_disease(number)}?", MuRAGAda(inner=inner)


def remove_unit(path: Path, count: int) -> Found:
    """Return the cost of erasing a unit through the vault, with all that was derived from its documents."""
    vault = Vault.open(path, model=toy())
    begun = time.process_time()
    if vault.remove_unit(f"unit {count // 2}") != 1:
        raise RuntimeError(f"unit {count // 2} had no document to erase.")
    taken = time.process_time() - begun
    return {"vault: remove a unit, ms": 1e3 * taken, "vault: remove a unit, peak memory, MiB": peak_memory()}


def peak_memory() -> float:
    """Return the largest resident memory of this process so far, in MiB.

    It is read from the process, since `getrusage` counts that of the parent before the start of the program, too.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return max(int(line.split()[1]) for line in status if line.startswith(("VmHWM", "VmRSS"))) / 1024


BATCH = 256
AT_ONCE = 1000
PARTS = ("store", "ledger", "codes", "vault", "postgres")
"""What is measured: the store alone, the ledger alone, statistics of codes, whole questions in a vault, a store in
PostgreSQL."""
EACH = 10
"""How many records a person has in "codes"."""
WARDS, COMPLAINTS = tuple(f"ward {n}" for n in range(4)), tuple(f"system {n}" for n in range(12))
BUDGET, GRANTED = Budget(1e4, 1e-5), Budget(20.0, 1e-6, 5e-7)
MOST, SPENT = Spending.of(BoundedRange(0.5)), Spending.of(BoundedRange(0.25))


def seconds_by(work: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    """Return the processor time of `work`."""
    start = clock()
    work()
    return clock() - start


def fill_in_bulk(store: EmbeddedStore, folder: Path, count: int) -> Vector:
    """Put `count` records into an empty store in bulk. Return a question's vector."""
    database, file = store._database, VectorFile(folder / VECTORS, DIMENSION)
    database.run("begin immediate")
    insert = database.driver.executemany
    numbers = range(1, count + 1)
    ties = [hashlib.blake2b(f"unit {n}".encode(), key=store._key, digest_size=16).digest() for n in numbers]
    insert("insert into unit values (?, ?, ?)", ((n, tie, f"unit {n}") for n, tie in zip(numbers, ties, strict=True)))
    named = ((n, os.urandom(16), f"d{n}", n, b"", "", "{}") for n in numbers)
    insert("insert into document values (?, ?, ?, ?, ?, 0, 0, ?, ?)", named)
    insert("insert into chunk values (?, ?, ?, ?, 'text')", ((n, n, n, n - 1) for n in numbers))
    database.rows("update store set chunks = ?, documents = ?, units = ?, rows = ?, changes = 1", [count] * 4)
    database.run("commit")
    generator = np.random.default_rng(1)
    for start in range(0, count, AT_ONCE):
        vectors = generator.normal(size=(AT_ONCE, DIMENSION))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        heads = np.zeros(AT_ONCE, HEAD)
        heads["chunk"] = heads["unit"] = some = np.arange(start, start + AT_ONCE) + 1
        heads["tie"] = np.frombuffer(b"".join(ties[start : start + AT_ONCE]), ">u8").reshape(-1, 2)
        heads["name"] = [f"unit {n}" for n in some]
        file.write(range(start, start + AT_ONCE), heads, file.packed(list(vectors.astype(np.float32))))
    query: Vector = vectors[0].astype(np.float32)
    return query


def of_codes(folder: Path, count: int) -> Found:
    """Return the costs of statistics of `count` records of a tenth as many people, with a code and a ward each."""
    draw, people = random.Random(count), count // EACH
    store = EmbeddedStore(folder, DIMENSION)
    database, numbers = store._database, range(1, count + 1)
    database.run("begin immediate")
    insert = database.driver.executemany
    insert("insert into unit values (?, ?, ?)", ((n, os.urandom(16), f"unit {n}") for n in range(1, people + 1)))
    some = ((n, n % people + 1, json.dumps({"ward": draw.choice(WARDS), "complaint": _sick(draw)})) for n in numbers)
    named = ((n, os.urandom(16), f"d{n}", unit, b"", "", own) for n, unit, own in some)
    insert("insert into document values (?, ?, ?, ?, ?, 0, 0, ?, ?)", named)
    insert("insert into chunk values (?, ?, ?, ?, 'text')", ((n, n % people + 1, n, n - 1) for n in numbers))
    database.rows("update store set chunks = ?, documents = ?, units = ?, rows = ?, changes = 1", [count] * 4)
    database.run("commit")
    corpus, ledger = SealedCorpus(store, HashingEmbedder()), SqliteLedger.create(folder / "ledger.sqlite", GRANTED)
    table = Themes(attribute="complaint", values=COMPLAINTS, each=1)
    asked = {
        "a table of all people": table,
        "a table by ward": replace(table, by="ward", groups=WARDS),
        "a count of one value": Count(condition=f"complaint = '{COMPLAINTS[0]}'"),
    }
    figures: Found = {}
    for name, statistic in asked.items():
        times = []
        for number in range(4):
            account = UnitAccount(ledger, f"{name} {number}")
            times.append(seconds_by(partial(statistic.run, Query("q"), corpus, NO_MODEL, account)))
        figures |= {} if figures else {"codes: the first question of a process, ms": 1e3 * times[0]}
        figures[f"codes: {name}, ms"] = 1e3 * statistics.median(times[1:])
    store.close()
    return figures


def _sick(draw: random.Random) -> str:
    """Return a complaint, or none of those that are known."""
    return draw.choice((*COMPLAINTS, *("none",) * EACH * len(COMPLAINTS)))


def of_store(folder: Path, count: int) -> Found:
    """Return the costs of a store with `count` records."""
    store = EmbeddedStore(folder, DIMENSION)
    query = fill_in_bulk(store, folder, count)
    store.close()

    def add(name: str, documents: int) -> None:
        with store.batch():
            for n in range(documents):
                store.put(Document(f"{name}-{n}", f"{name} {n}", "text"), [Piece("text", query)])

    def search() -> None:
        store.nearest_units(query, 80)

    figures: Found = {}
    opening, first = [], []
    for _ in range(5):
        opening.append(seconds_by(lambda: globals().update(opened=EmbeddedStore(folder, DIMENSION))))
        store = globals().pop("opened")
        first.append(seconds_by(search))
        store.close()
    figures["store: open, ms"] = 1e3 * statistics.median(opening)
    figures["store: first search of a process, ms"] = 1e3 * statistics.median(first)
    store = EmbeddedStore(folder, DIMENSION)
    search()
    figures["store: search, 80 units, ms"] = 1e3 * statistics.median(seconds_by(search) for _ in range(5))
    figures["store: add a document, ms"] = 1e3 * statistics.median(
        seconds_by(lambda n=n: add(f"batch {n}", BATCH)) / BATCH  # type: ignore[misc]
        for n in range(5)
    )
    search()
    after = []
    for n in range(5):
        add(f"one {n}", 1)
        after.append(seconds_by(search))
    figures["store: first search after a commit, ms"] = 1e3 * statistics.median(after)
    figures["store: erase a unit, ms"] = 1e3 * seconds_by(lambda: store.remove_unit(f"unit {count // 2}"))
    figures["store: memory, MiB"] = private_memory()
    for name, label in ((TEXTS, "texts"), (VECTORS, "vectors"), (Path(VECTORS).with_suffix(HEADS), "rows")):
        figures[f"store: {label} on disk, MiB"] = (folder / name).stat().st_size / 2**20
    store.close()
    return figures


def of_ledger(folder: Path, count: int) -> Found:
    """Return the costs of a ledger in which `count` units have paid."""
    draw, path = random.Random(count), folder / "ledger.sqlite"
    keys = [draw.randbytes(16) for _ in range(count)]
    ledger = SqliteLedger.create(path, BUDGET)
    for part, start in enumerate(range(0, count, 100_000)):
        ledger.reserve("before", part, SPENT, keys[start : start + 100_000])
        ledger.settle("before", part, SPENT)
    ledger = SqliteLedger(path)  # as another process does, which has no balances in memory
    ledger.questions()  # which waits for the check
    figures: Found = {}
    for percent in (1, 10):
        times = [ask(ledger, f"{percent}-{n}", draw.sample(keys, count * percent // 100)) for n in range(5)]
        for what, values in zip(("reserve", "settle"), zip(*times, strict=True), strict=True):
            figures[f"ledger: {what}, {percent} % of the units, ms"] = 1e3 * statistics.median(values)
        figures[f"ledger: payers of a question, {percent} % of the units, kB on disk"] = (
            payers_size(ledger, percent) / 1e3
        )
    with ledger.reading() as read:
        figures["ledger: check of all rows, ms"] = 1e3 * seconds_by(
            lambda: replay.LogReplay(Units).check(read.connection)
        )
    ledger.place.engine.dispose()  # the log is moved into the file
    figures["ledger: on disk, MiB"] = path.stat().st_size / 2**20
    figures["ledger: open, ms"] = 1e3 * seconds_by(lambda: SqliteLedger(path), time.thread_time)
    figures["ledger: is checked beside"] = float(path.stat().st_size >= replay.LARGE)
    return figures | run_alone(of_payers, path, draw.sample(keys, min(count, 100_000)))


def of_payers(path: Path, known: list[bytes]) -> Found:
    """Return what questions cost a process that has just opened and checked a ledger, and the memory that it takes."""
    before, draw = private_memory(), random.Random(len(known))
    ledger = SqliteLedger(path)
    ledger.questions()  # which waits for the check
    times = [ask(ledger, f"all-{n}", known) for n in range(5)]
    figures = {
        "ledger: 100,000 payers (10,000 of 10,000), reserve and settle, ms": 1e3 * statistics.median(map(sum, times))
    }
    payers = [[*draw.sample(known, 70), *(draw.randbytes(16) for _ in range(10))] for _ in range(64)]
    times = [ask(ledger, f"new-{n}", paying) for n, paying in enumerate(payers)]
    figures["ledger: 80 payers, 10 of them new, reserve and settle, ms"] = 1e3 * statistics.median(map(sum, times))
    figures["ledger: memory of a process, MiB"] = private_memory() - before
    return figures


def ask(ledger: SqliteLedger, question: str, paying: list[bytes]) -> tuple[float, float]:
    """Return the times of a question's reservation and of its settlement."""
    reserving = seconds_by(lambda: ledger.reserve(question, 0, MOST, paying))
    return reserving, seconds_by(lambda: ledger.settle(question, 0, SPENT))


def payers_size(ledger: SqliteLedger, percent: int) -> int:
    """Return the size of the payers of a settled question, in bytes."""
    with ledger.reading() as read:
        row = chain.find(read.connection, f"{percent}-0", RESERVE)
    return 0 if row is None else len(row.content)


def private_memory() -> float:
    """Return the memory that the process holds without mapped files, in MiB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


def in_a_folder(part: str, count: int) -> Found:
    """Return the costs of a store, of a ledger, or of statistics of codes."""
    with tempfile.TemporaryDirectory() as folder:
        return {"store": of_store, "ledger": of_ledger, "codes": of_codes}[part](Path(folder), count)


def costs(count: int, parts: Sequence[str]) -> Found:
    """Return the costs of these parts for a number of records, from fresh processes."""
    figures: Found = {}
    for part in ("store", "ledger", "codes"):
        figures |= run_alone(in_a_folder, part, count) if part in parts else {}
    if "postgres" in parts:
        figures |= run_alone(of_postgres, count)
    with tempfile.TemporaryDirectory() as folder:
        return figures | (of_vault(Path(folder), count) if "vault" in parts else {})


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
    "store: first search of a process, ms": "first search of a process",
    "store: first search after a commit, ms": "first search after a commit",
    "store: search, 80 units, ms": "search",
    "store: erase a unit, ms": "erase a unit",
    "store: add a document, ms": "add a document",
    "pgvector: search, 80 units, ms": "search, pgvector",
    "pgvector: erase a unit, ms": "erase a unit, pgvector",
    "ledger: check of all rows, ms": "check of the ledger",
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


def measure_steps(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """What each step costs with 10,000, 100,000 and 1,000,000 records: processor time, memory and disk.

    A record is one unit with one tiny text and a random vector of 384 numbers. The records are put in bulk by SQL,
    so that filling takes minutes; documents are added, searched and erased by the store itself. In the ledger each
    unit has paid once, and 1 % or 10 % of the units pay for a question. Times are processor seconds of one thread,
    which other work on the machine moves little; the median of five where a step can be repeated. "memory": what
    the process holds without the files that are mapped into it. Each number of records has a process of its own.

    "ask": a whole question in a vault whose units pay, from its text to its answer, with a toy model and the
    hashing embedder (`scale_vault.py`): a search whose voters read, a share, and votes by what was read before.
    "first of a process" includes what the process loads or builds once; "after a commit" follows an added document.
    "peak memory" is the resident memory of that process.

    "pgvector": a store in PostgreSQL (`scale_postgres.py`); its times are those of the client and of the server.

    "growth": the last column divided by the one before. "exponent": the slope of the logarithm of the values
    against that of the number of records, over all columns: 0 is constant, and 1 is linear.
    """
    parser.add_argument("--records", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what is measured")
    add_csv_option(parser)
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw the table of --table, and measure nothing")
    parser.add_argument("--table", type=Path, default=Path("docs/results/data/scale.csv"), metavar="CSV")
    options = parser.parse_args(arguments)
    if options.plot:
        plot(options.table, options.plot)
        return
    found = [costs(count, options.parts) for count in options.records]
    columns = ["measured", *(f"{count:,}" for count in options.records), "growth", "exponent"]
    rows = (cells(name, options.records, [one[name] for one in found]) for name in found[0])
    write_table(columns, rows, options.csv)

"""What a payment costs, by the number of units and of payers."""

import argparse
import random
import resource
import secrets
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url

from discreet.ledger.ledger import LogLedger, PostgresLedger, SqliteLedger
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import BoundedRange
from discreet_lab.experiments.common import add_csv_option, run_alone, write_table

COLUMNS = "database, units, what, questions/s, of plain SQL, median ms, p99 ms, MiB to fill, MiB to ask".split(", ")
PAYING = 80
BUDGET = Budget(1e4, 1e-5)
MOST, SPENT = Spending.of(BoundedRange(0.5)), Spending.of(BoundedRange(0.25))
Ask = Callable[[list[bytes]], object]


def units(count: int) -> list[bytes]:
    """Names of units, as a keyed hash would name them."""
    draw = random.Random(count)
    return [draw.randbytes(16) for _ in range(count)]


def of_plain_sql(engine: Engine, known: list[bytes]) -> Ask:
    """What could be written by hand, without the certainty."""
    postgres = engine.dialect.name == "postgresql"
    driver: Any = engine.raw_connection().driver_connection
    cursor, mark, kind = driver.cursor(), "%s" if postgres else "?", "bytea" if postgres else "blob"
    cursor.execute(f"create table plain_unit (key {kind} primary key, spent bigint not null)")
    cursor.execute("create table plain_question (id text primary key, cost bigint not null)")
    cursor.executemany(f"insert into plain_unit values ({mark}, 0)", [(key,) for key in known])
    driver.commit()

    def ask(paying: list[bytes]) -> None:
        if not postgres:
            cursor.execute("begin immediate")
        cursor.executemany(
            f"update plain_unit set spent = spent + 1 where key = {mark} and spent + 1 < 1000000",
            [(key,) for key in paying],
        )
        cursor.execute(f"insert into plain_question values ({mark}, 1)", (secrets.token_hex(8),))
        driver.commit()

    return ask


def sqlite_engine(path: Path) -> Engine:
    """SQLite as its manual advises: a log, and commits that reach the disk."""
    engine = create_engine(f"sqlite:///{path}")

    @event.listens_for(engine, "connect")
    def connected(driver: Any, _: object) -> None:
        driver.execute("pragma journal_mode = wal")
        driver.execute("pragma synchronous = full")

    return engine


def postgres_engine(url: str, name: str) -> Engine:
    """PostgreSQL with a schema of its own."""
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"))

    @event.listens_for(engine, "connect")
    def connected(driver: Any, _: object) -> None:
        driver.execute(f"create schema {name}")
        driver.execute(f"set search_path to {name}")
        driver.execute("set synchronous_commit to on")
        driver.commit()

    return engine


def of_ledger(folder: Path, url: str, known: list[bytes]) -> Ask:
    """A ledger whose units have all paid before."""
    own_ledger: Any = (
        PostgresLedger.create(url, f"vault_{secrets.token_hex(8)}", BUDGET)
        if url
        else SqliteLedger.create(folder / "ledger.sqlite", BUDGET)
    )
    ledger: LogLedger = own_ledger
    for part, start in enumerate(range(0, len(known), 100_000)):
        ledger.reserve("before", part, SPENT, known[start : start + 100_000])
        ledger.settle("before", part, SPENT)
    questions = map(str, count())

    def ask(paying: list[bytes]) -> None:
        question = next(questions)
        ledger.reserve(question, 0, MOST, paying)
        ledger.settle(question, 0, SPENT)

    return ask


def question_times(ask: Ask, known: list[bytes], draw: random.Random, seconds: float) -> list[float]:
    """How long each question took."""
    times, started = list[float](), time.perf_counter()
    while time.perf_counter() - started < seconds:
        paying = draw.sample(known, PAYING)
        before = time.perf_counter()
        ask(paying)
        times.append(time.perf_counter() - before)
    return times


def both_programs(database: str, number: int, seconds: float, url: str) -> list[dict[str, Any]]:
    """Two rows of the table: by hand and by the ledger, in turns, since the disk is not the same all the time."""
    keys, draw = units(number), random.Random(1)
    at_first = _peak()
    with tempfile.TemporaryDirectory() as folder:
        asks: dict[str, Ask] = {"discreet": of_ledger(Path(folder), url, keys)}
        of_the_ledger = _peak() - at_first
        path = Path(folder) / "rows.sqlite"
        engine = postgres_engine(url, f"rows_{secrets.token_hex(8)}") if url else sqlite_engine(path)
        asks["plain SQL"] = of_plain_sql(engine, keys)
        filled, times = _peak(), defaultdict[str, list[float]](list)
        for turn in range(9):
            for what, ask in asks.items():
                found = question_times(ask, keys, draw, seconds / 9)
                # The first turn is not counted: it moves the log of filling the tables into the file.
                times[what] += found if turn else []
        memory = {"filling_mib": of_the_ledger, "asking_mib": _peak() - filled}
    return [
        {"database": database, "units": number, "what": what}
        | rates(times[what])
        | (memory if what == "discreet" else {})
        for what in ("plain SQL", "discreet")
    ]


def rates(times: list[float]) -> dict[str, float]:
    """Questions a second, the median, and what one in a hundred takes at least."""
    ordered = sorted(times)
    return {
        "questions_a_second": len(times) / sum(times),
        "median_ms": statistics.median(times) * 1000,
        "p99_ms": ordered[int(len(ordered) * 0.99)] * 1000,
    }


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@contextmanager
def own_server() -> Iterator[str | None]:
    """The address of a PostgreSQL server of our own; None where it is not installed."""
    import pytest
    from tests.guarantee.ledger import conftest

    with ExitStack() as stack:
        try:
            url = stack.enter_context(conftest.running(durable=True))
        except pytest.skip.Exception:
            url = None
        yield url


def payment_cells(rows: list[dict[str, Any]]) -> Iterator[list[str]]:
    """Yield the rows as text, in the order of `COLUMNS`."""
    plain = {(row["database"], row["units"]): row["questions_a_second"] for row in rows if row["what"] == "plain SQL"}
    for row in rows:
        share = row["questions_a_second"] / plain[row["database"], row["units"]]
        memory = [f"{row[name]:.1f}" if name in row else "" for name in ("filling_mib", "asking_mib")]
        rate = [f"{row['questions_a_second']:.0f}", f"{share:.0%}"]
        times = [f"{row[name]:.2f}" for name in ("median_ms", "p99_ms")]
        yield [row["database"], f"{row['units']:,}", row["what"], *rate, *times, *memory]


def time_payments(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """How many questions a second a ledger pays for, when each is paid by 80 units drawn at random.

    A question is reserved, durably, and settled. "plain SQL": the least that could be written by hand, on the same
    disk in the same run: one transaction a question, 80 updates by `executemany`, a row for the question, and a
    commit with `synchronous=full` (`synchronous_commit=on`). Every unit has paid before. Memory: by how much the
    most that the process ever held grows while all units pay for the first time, 100,000 at once, and while
    questions are asked; a process for each number of units. PostgreSQL is started in a temporary
    folder if it is installed (as user postgres, if this is root), and left out if it is not.
    """
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--units", type=int, nargs="+", default=[10_000, 1_000_000])
    add_csv_option(parser)
    options = parser.parse_args(arguments)
    with ExitStack() as stack:
        where = stack.enter_context(own_server())
        rows = [
            row
            for database, url in (("SQLite", ""), *([("PostgreSQL", where)] if where else []))
            for count in options.units
            for row in run_alone(both_programs, database, count, options.seconds, url)
        ]
    write_table(COLUMNS, payment_cells(rows), options.csv)
    if where is None:
        print("\nPostgreSQL is not installed here.", file=sys.stderr)

"""What a payment costs, by the number of units and of payers."""

import argparse
import json
import os
import random
import resource
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url

from discreet.ledger.ledger import LogLedger, PostgresLedger, SqliteLedger
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import BoundedRange
from discreet_lab.experiments.catalogue import ROOT
from discreet_lab.experiments.common import add_csv_option, run_alone, write_table

COLUMNS = "database, units, what, questions/s, of plain SQL, median ms, p99 ms, MiB to fill, MiB to ask".split(", ")
PAYING = 80
BUDGET = Budget(1e4, 1e-5)
MOST, SPENT = Spending.of(BoundedRange(0.5)), Spending.of(BoundedRange(0.25))
Ask = Callable[[list[bytes]], object]
EVERY = 0
"""The number of payers that stands for all units in common."""
TOGETHER = 64
Times = tuple[float, float]
"""The times of a reservation and of its settlement."""


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


class MeasuredLedger:
    """A ledger whose units have all paid before."""

    def __init__(self, folder: Path, url: str, known: list[bytes]) -> None:
        self._url, self._path, self._name = url, folder / "ledger.sqlite", f"vault_{secrets.token_hex(8)}"
        self._clock, self._asked = time.perf_counter if url else time.process_time, 0
        made: Any = PostgresLedger.create(url, self._name, BUDGET) if url else SqliteLedger.create(self._path, BUDGET)
        self.ledger: LogLedger = made
        for part, start in enumerate(range(0, len(known), 100_000)):
            self.ledger.reserve("before", part, SPENT, known[start : start + 100_000])
            self.ledger.settle("before", part, SPENT)

    def ask(self, paying: list[bytes]) -> Times:
        """Ask a question that these units pay; all units, if there are none."""
        self._asked += 1
        question, ledger = str(self._asked), self.ledger
        reserve = ledger.reserve if paying else lambda *_: ledger.reserve_all(question, 0, MOST)
        return (
            self._timed(lambda: reserve(question, 0, MOST, paying)),
            self._timed(lambda: ledger.settle(question, 0, SPENT)),
        )

    def ask_first(self, paying: list[bytes]) -> Times:
        """Ask as another process does, which has just opened and checked the ledger."""
        self.ledger = PostgresLedger(self._url, self._name) if self._url else SqliteLedger(self._path)
        self.ledger.questions()  # which waits for the check
        return self.ask(paying)

    def _timed(self, work: Callable[[], Any]) -> float:
        start = self._clock()
        work()
        return self._clock() - start


class MeasuredRows:
    """The smallest program with a row for each unit."""

    def __init__(self, folder: Path, url: str, known: list[bytes]) -> None:
        engine = postgres_engine(url, f"rows_{secrets.token_hex(8)}") if url else sqlite_engine(folder / "rows.sqlite")
        self._pay = of_plain_sql(engine, known)
        self._clock = time.perf_counter if url else time.process_time

    def ask(self, paying: list[bytes]) -> Times:
        """Ask a question that these units pay."""
        start = self._clock()
        self._pay(paying)
        return 0.0, self._clock() - start


def question_times(ask: Ask, known: list[bytes], draw: random.Random, seconds: float) -> list[float]:
    """How long each question took."""
    times, started = list[float](), time.perf_counter()
    while time.perf_counter() - started < seconds:
        paying = draw.sample(known, PAYING)
        before = time.perf_counter()
        ask(paying)
        times.append(time.perf_counter() - before)
    return times


def both_programs(database: str, count: int, seconds: float, url: str) -> list[dict[str, Any]]:
    """Two rows of the table: by hand and by the ledger, in turns, since the disk is not the same all the time."""
    known, draw = units(count), random.Random(1)
    at_first = _peak()
    with tempfile.TemporaryDirectory() as folder:
        asks: dict[str, Ask] = {"discreet": MeasuredLedger(Path(folder), url, known).ask}
        of_the_ledger = _peak() - at_first
        asks["plain SQL"] = MeasuredRows(Path(folder), url, known).ask
        filled, times = _peak(), defaultdict[str, list[float]](list)
        for turn in range(9):
            for what, ask in asks.items():
                found = question_times(ask, known, draw, seconds / 9)
                # The first turn is not counted: it moves the log of filling the tables into the file.
                times[what] += found if turn else []
        memory = {"filling_mib": of_the_ledger, "asking_mib": _peak() - filled}
    return [
        {"database": database, "units": count, "what": what}
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
    questions are asked; a process for each number of units. Without --postgres, PostgreSQL is started in a
    temporary folder if it is installed (as user postgres, if this is root), and left out if it is not.
    """
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--postgres", metavar="URL")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--units", type=int, nargs="+", default=[10_000, 1_000_000])
    add_csv_option(parser)
    options = parser.parse_args(arguments)
    with ExitStack() as stack:
        where = options.postgres or stack.enter_context(own_server())
        rows = [
            row
            for database, url in (("SQLite", ""), *([("PostgreSQL", where)] if where else []))
            for count in options.units
            for row in run_alone(both_programs, database, count, options.seconds, url)
        ]
    if options.json:
        print(json.dumps(rows))
    else:
        write_table(COLUMNS, payment_cells(rows), options.csv)
    if where is None:
        print("\nPostgreSQL is not installed here; name a server with --postgres.", file=sys.stderr)


PROGRAMS: dict[str, type[MeasuredLedger | MeasuredRows]] = {
    "before": MeasuredLedger,
    "now": MeasuredLedger,
    "rows by hand": MeasuredRows,
}


def serve(program: str, count: int, url: str) -> None:
    """Ask a question for each line of the input: how, and the number of payers."""
    known, draw = units(count), random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        made = PROGRAMS[program](Path(folder), url, known)
        for line in sys.stdin:
            how, paying = line.split()
            print(json.dumps(getattr(made, how)(draw.sample(known, int(paying)))), flush=True)


def started(program: str, count: int, url: str, before: Path | None) -> subprocess.Popen[str]:
    """Start a program."""
    older = [before / "src"] if before is not None and program == "before" else []
    paths = os.pathsep.join(map(str, [*older, ROOT / "src", ROOT]))
    options = ["--serve", program, "--units", str(count), "--url", url]
    command = [sys.executable, "-m", "discreet_lab.experiments", "ledger", "payers", *options]
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT
    )


@contextmanager
def checkout(commit: str | None) -> Iterator[Path | None]:
    """Yield a folder with the sources of a commit; None without a commit."""
    if commit is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        asked = ["git", "archive", commit, "src/discreet"]  # its laboratory would be another one
        archive = subprocess.run(asked, cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        yield Path(folder)


def times_of(process: subprocess.Popen[str], paying: int, how: str = "ask") -> Times:
    """Return the times of one question."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{how} {paying}\n")
    process.stdin.flush()
    reserve, settle = json.loads(process.stdout.readline())
    return reserve, settle


def payer_rows(count: int, payers: list[int], turns: int, url: str, before: Path | None) -> Iterator[list[str]]:
    """Yield the rows of a number of units."""
    names = [name for name in PROGRAMS if name != "before" or before is not None]
    running = {name: started(name, count, url, before) for name in names}
    try:
        for paying in (*payers, EVERY):
            able = [name for name in names if paying != EVERY or name != "rows by hand"]
            times: dict[str, list[Times]] = {name: [] for name in able}
            for turn in range((10 if EVERY < paying <= 1000 else 1) * turns + 1):
                for name in able:
                    found = times_of(running[name], paying)
                    times[name] += [found] if turn else []  # the first question of a kind fills caches
            together = statistics.mean(sum(times_of(running["now"], paying)) for _ in range(TOGETHER))
            first = statistics.median(sum(times_of(running["now"], paying, "ask_first")) for _ in range(3))
            yield [
                f"{count:,}",
                f"{paying:,}" if paying != EVERY else "every unit",
                *payer_cells(times, before is not None),
                shown(together),
                shown(first),
                shown(statistics.median(map(sum, times["rows by hand"]))) if "rows by hand" in times else "",
            ]
    finally:
        for process in running.values():
            assert process.stdin is not None
            process.stdin.close()
            process.wait()


def payer_cells(times: dict[str, list[Times]], compared: bool) -> Iterator[str]:
    """Yield the medians."""
    names = ("before", "now") if compared else ("now",)
    for name in names:
        for part in (0, 1):
            yield shown(statistics.median(pair[part] for pair in times[name]))
    for name in names:
        yield shown(statistics.median(map(sum, times[name])))


def shown(value: float) -> str:
    """Return seconds as milliseconds."""
    return f"{1e3 * value:.2f}" if value < 0.01 else f"{1e3 * value:,.0f}"


def time_payers(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """What a question costs by the number of its payers: a ledger before and now, and the smallest program with rows.

    A question is reserved, durably, and settled; every unit has paid before. "now": the ledger of this checkout;
    "before": that of the commit --before. "rows by hand": a row for each unit, and one conditional update for each
    payer, in one transaction (the part `payments`); it verifies, compresses, merges and adds nothing. The row
    "every unit": a payment of all units in common (`reserve_all`).

    Values are milliseconds: processor time in SQLite, and the time on the clock in PostgreSQL, whose server
    computes. They are the median of --turns, or of ten times as many up to 1,000 payers; the programs take turns,
    each in a process of its own. "mean of 64": of 64 questions one after the other. "first of a process": a
    question right after the ledger was opened and checked.
    """
    parser.add_argument("--units", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--payers", type=int, nargs="+", default=[80, 1_000, 10_000, 100_000])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--before", metavar="COMMIT")
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--serve", choices=PROGRAMS, help=argparse.SUPPRESS)
    parser.add_argument("--url", default="", help=argparse.SUPPRESS)
    add_csv_option(parser)
    options = parser.parse_args(arguments)
    if options.serve:
        serve(options.serve, options.units[0], options.url)
        return
    kinds = ("before", "now") if options.before else ("now",)
    columns = ["units", "payers", *(f"{what}, {kind}" for kind in kinds for what in ("reserve", "settle"))]
    columns += [*(f"both, {kind}" for kind in kinds)]
    columns += [f"mean of {TOGETHER}, now", "first of a process, now", "rows by hand"]
    with ExitStack() as stack:
        before = stack.enter_context(checkout(options.before))
        url = stack.enter_context(own_server()) or "" if options.database == "postgres" else ""
        rows = (
            row
            for count in options.units
            for row in payer_rows(count, [n for n in options.payers if n <= count], options.turns, url, before)
        )
        write_table(columns, rows, options.csv)

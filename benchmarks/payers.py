"""What a question costs by the number of its payers: a ledger before and now, and the smallest program with rows.

    .venv/bin/python -m benchmarks.payers [--units 100000 1000000] [--payers 80 1000 10000 100000] [--before COMMIT]
        [--database sqlite]

A question is reserved, durably, and settled; every unit has paid before. "now": the ledger of this checkout; "before":
that of the commit --before. "rows by hand": a row for each unit, and one conditional update for each payer, in one
transaction (benchmarks/ledger.py); it verifies, compresses, merges and adds nothing. The row "every unit": a payment
of all units in common (`reserve_all`).

Values are milliseconds: processor time in SQLite, and the time on the clock in PostgreSQL, whose server computes. They
are the median of --turns, or of ten times as many up to 1,000 payers; the programs take turns, each in a process of its
own. "mean of 64": of 64 questions one after the other, with the times at which parts that wait are written. "first of a
process": a question right after the ledger was opened and checked.
"""

import argparse
import json
import os
import random
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.ledger import BUDGET, MOST, SPENT, of_plain_sql, own_server, postgres_engine, sqlite_engine, units
from benchmarks.writing import add_csv_option, write_table

from discreet.ledger.postgres import PostgresLedger
from discreet.ledger.sql import SqlLedger
from discreet.ledger.sqlite import SqliteLedger

EVERY = 0
"""The number of payers that stands for all units in common."""
TOGETHER = 64
Times = tuple[float, float]
"""The times of a reservation and of its settlement."""


class Ledger:
    """A ledger whose units have all paid before."""

    def __init__(self, folder: Path, url: str, known: list[bytes]) -> None:
        self._url, self._path, self._name = url, folder / "ledger.sqlite", f"vault_{secrets.token_hex(8)}"
        self._clock, self._asked = time.perf_counter if url else time.process_time, 0
        made: Any = PostgresLedger.create(url, self._name, BUDGET) if url else SqliteLedger.create(self._path, BUDGET)
        self.ledger: SqlLedger = made
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
        self.ledger = PostgresLedger.open(self._url, self._name) if self._url else SqliteLedger.open(self._path)
        self.ledger.questions()  # which waits for the check
        return self.ask(paying)

    def _timed(self, work: Callable[[], Any]) -> float:
        start = self._clock()
        work()
        return self._clock() - start


class Rows:
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


PROGRAMS: dict[str, type[Ledger | Rows]] = {"before": Ledger, "now": Ledger, "rows by hand": Rows}


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
    here = Path(__file__).resolve().parents[1]
    source = before if before is not None and program == "before" else here
    command = [sys.executable, "-m", "benchmarks.payers", "--serve", program, "--units", str(count), "--url", url]
    environment = os.environ | {"PYTHONPATH": f"{source / 'src'}{os.pathsep}{here}", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=here
    )


@contextmanager
def checkout(commit: str | None) -> Iterator[Path | None]:
    """Yield a folder with the sources of a commit; None without a commit."""
    if commit is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        here = Path(__file__).resolve().parents[1]
        archive = subprocess.run(["git", "archive", commit, "src"], cwd=here, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        yield Path(folder)


def asked(process: subprocess.Popen[str], paying: int, how: str = "ask") -> Times:
    """Return the times of one question."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{how} {paying}\n")
    process.stdin.flush()
    reserve, settle = json.loads(process.stdout.readline())
    return reserve, settle


def measured(count: int, payers: list[int], turns: int, url: str, before: Path | None) -> Iterator[list[str]]:
    """Yield the rows of a number of units."""
    names = [name for name in PROGRAMS if name != "before" or before is not None]
    running = {name: started(name, count, url, before) for name in names}
    try:
        for paying in (*payers, EVERY):
            able = [name for name in names if paying != EVERY or name != "rows by hand"]
            times: dict[str, list[Times]] = {name: [] for name in able}
            for turn in range((10 if EVERY < paying <= 1000 else 1) * turns + 1):
                for name in able:
                    found = asked(running[name], paying)
                    times[name] += [found] if turn else []  # the first question of a kind fills caches
            together = statistics.mean(sum(asked(running["now"], paying)) for _ in range(TOGETHER))
            first = statistics.median(sum(asked(running["now"], paying, "ask_first")) for _ in range(3))
            yield [
                f"{count:,}",
                f"{paying:,}" if paying != EVERY else "every unit",
                *cells(times, before is not None),
                shown(together),
                shown(first),
                shown(statistics.median(map(sum, times["rows by hand"]))) if "rows by hand" in times else "",
            ]
    finally:
        for process in running.values():
            assert process.stdin is not None
            process.stdin.close()
            process.wait()


def cells(times: dict[str, list[Times]], compared: bool) -> Iterator[str]:
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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--payers", type=int, nargs="+", default=[80, 1_000, 10_000, 100_000])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--before", metavar="COMMIT")
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--serve", choices=PROGRAMS, help=argparse.SUPPRESS)
    parser.add_argument("--url", default="", help=argparse.SUPPRESS)
    add_csv_option(parser)
    options = parser.parse_args()
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
            for row in measured(count, [n for n in options.payers if n <= count], options.turns, url, before)
        )
        write_table(columns, rows, options.csv)


if __name__ == "__main__":
    main()

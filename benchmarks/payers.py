"""What a question costs by the number of its payers: processor time of one thread, and four programs by hand beside.

    .venv/bin/python -m benchmarks.payers [--units 100000 1000000] [--payers 80 1000 10000 100000] [--before COMMIT]

A question is reserved, durably, and settled, in SQLite; every unit has paid before. "now": the ledger of this
checkout; "before": that of the commit --before. The row "every unit": a payment of all units in common (`reserve_all`).
Values are milliseconds, the median of --turns, or of ten times as many up to 1,000 payers; the programs take turns,
each in a process of its own.

The programs by hand verify, compress, merge and add nothing:

- "rows": a row for each unit, and one conditional update for each payer, in one transaction (benchmarks/ledger.py);
- "blocks": keys and balances of about 64 units in one row each, found by the first bits of the key, computed by numpy,
  in pages of 4 KiB; reserved and settled like the ledger, but no block is ever split;
- "numbers": balances in blocks of 64 by a unit's number; the numbers of all keys are in the memory of the process,
  which is filled before the clock starts;
- "classes": the same, but a block of 256 holds the numbers of balances in a table of all different balances. They are
  few after the few questions of this run, and more after each.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.ledger import BUDGET, MOST, SPENT, of_plain_sql, sqlite_engine, units
from benchmarks.payers_by_hand import Blocks, Classed, Numbered
from benchmarks.writing import add_csv_option, write_table

from discreet.ledger.sqlite import SqliteLedger

EVERY = 0
"""The number of payers that stands for all units in common."""
Ask = Callable[[list[bytes]], tuple[float, float]]
"""Asks a question that these units pay. Returns the processor times of its reservation and its settlement."""


def timed(work: Callable[[], Any]) -> float:
    """Return the processor time of `work`, in seconds."""
    start = time.process_time()
    work()
    return time.process_time() - start


def of_ledger(folder: Path, known: list[bytes]) -> Ask:
    """Ask a ledger."""
    ledger = SqliteLedger.create(folder / "ledger.sqlite", BUDGET)
    for part, start in enumerate(range(0, len(known), 100_000)):
        ledger.reserve("before", part, SPENT, known[start : start + 100_000])
        ledger.settle("before", part, SPENT)
    asked = 0

    def ask(paying: list[bytes]) -> tuple[float, float]:
        nonlocal asked
        asked += 1
        question = str(asked)
        reserve = ledger.reserve if paying else lambda *_: ledger.reserve_all(question, 0, MOST)
        return timed(lambda: reserve(question, 0, MOST, paying)), timed(lambda: ledger.settle(question, 0, SPENT))

    return ask


def of_rows(folder: Path, known: list[bytes]) -> Ask:
    """Ask the smallest program with a row for each unit."""
    plain = of_plain_sql(sqlite_engine(folder / "rows.sqlite"), known)
    return lambda paying: (0.0, timed(lambda: plain(paying)))


def of(program: type[Blocks | Numbered], folder: Path, known: list[bytes]) -> Ask:
    """Ask a small program that keeps the balances of many units in one row."""
    made = program(folder, known)
    return lambda paying: (timed(lambda: made.reserve(paying)), timed(made.settle))


PROGRAMS: dict[str, Callable[[Path, list[bytes]], Ask]] = {
    "before": of_ledger,
    "now": of_ledger,
    "rows by hand": of_rows,
    "blocks by hand": partial(of, Blocks),
    "numbers by hand": partial(of, Numbered),
    "classes by hand": partial(of, Classed),
}
BY_HAND = [name for name in PROGRAMS if name.endswith("hand")]


def serve(program: str, count: int) -> None:
    """Ask a question for each line of the input, whose number is that of the payers."""
    known, draw = units(count), random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        ask = PROGRAMS[program](Path(folder), known)
        for line in sys.stdin:
            print(json.dumps(ask(draw.sample(known, int(line)))), flush=True)


def started(program: str, count: int, before: Path | None) -> subprocess.Popen[str]:
    """Start a program."""
    here = Path(__file__).resolve().parents[1]
    source = before if before is not None and program == "before" else here
    command = [sys.executable, "-m", "benchmarks.payers", "--serve", program, "--units", str(count)]
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


def asked(process: subprocess.Popen[str], paying: int) -> tuple[float, float]:
    """Return the times of one question."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{paying}\n")
    process.stdin.flush()
    reserve, settle = json.loads(process.stdout.readline())
    return reserve, settle


def measured(count: int, payers: list[int], turns: int, before: Path | None) -> Iterator[list[str]]:
    """Yield the rows of a number of units."""
    names = [name for name in PROGRAMS if name != "before" or before is not None]
    running = {name: started(name, count, before) for name in names}
    try:
        for paying in (*payers, EVERY):
            able = [name for name in names if paying != EVERY or not name.endswith("hand")]
            times: dict[str, list[tuple[float, float]]] = {name: [] for name in able}
            for turn in range((10 if EVERY < paying <= 1000 else 1) * turns + 1):
                for name in able:
                    found = asked(running[name], paying)
                    times[name] += [found] if turn else []  # the first question of a kind fills caches
            yield [f"{count:,}", f"{paying:,}" if paying != EVERY else "every unit", *cells(times, before is not None)]
    finally:
        for process in running.values():
            assert process.stdin is not None
            process.stdin.close()
            process.wait()


def cells(times: dict[str, list[tuple[float, float]]], compared: bool) -> Iterator[str]:
    """Yield the medians."""
    for name in ("before", "now") if compared else ("now",):
        for part in (0, 1):
            yield shown(statistics.median(pair[part] for pair in times[name]))
    for name in (*(("before",) if compared else ()), "now", *BY_HAND):
        yield shown(statistics.median(reserve + settle for reserve, settle in times[name])) if name in times else ""


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
    parser.add_argument("--serve", choices=PROGRAMS, help=argparse.SUPPRESS)
    add_csv_option(parser)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.units[0])
        return
    kinds = ("before", "now") if options.before else ("now",)
    columns = ["units", "payers", *(f"{what}, {kind}" for kind in kinds for what in ("reserve", "settle"))]
    columns += [*(f"both, {kind}" for kind in kinds), *BY_HAND]
    with checkout(options.before) as before:
        rows = (
            row
            for count in options.units
            for row in measured(count, [n for n in options.payers if n <= count], options.turns, before)
        )
        write_table(columns, rows, options.csv)


if __name__ == "__main__":
    main()

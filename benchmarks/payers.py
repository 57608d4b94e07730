"""What a question costs by the number of its payers: processor time of one thread, and two programs by hand beside.

    .venv/bin/python -m benchmarks.payers [--units 100000 1000000] [--payers 80 1000 10000 100000] [--before COMMIT]

A question is reserved, durably, and settled, in SQLite; every unit has paid before. "now": the ledger of this
checkout; "before": that of the commit --before. "rows by hand": a row for each unit, and one
conditional update for each payer, in one transaction (benchmarks/ledger.py). "blocks by hand": keys and balances of
about 64 units in one row each, found by the first bits of the key, computed by numpy, in pages of 4 KiB; reserved and
settled like the ledger, but nothing is verified, compressed, merged or added, and no block is ever split. The row
"every unit": a payment of all units in common (`reserve_all`). Values are milliseconds, the median of --turns, or of
ten times as many up to 1,000 payers; the programs take turns, each in a process of its own.
"""

import argparse
import itertools
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.ledger import BUDGET, MOST, SPENT, of_plain_sql, sqlite_engine, units
from benchmarks.writing import add_csv_option, write_table

from discreet.ledger.sqlite import SqliteLedger

EVERY = 0
"""The number of payers that stands for all units in common."""
IN_A_BLOCK = 64
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


def halves(keys: bytes) -> Any:
    """Return keys as two whole numbers each, in order."""
    found = np.frombuffer(keys, dtype=">u8").reshape(-1, 2)
    return found[np.lexsort((found[:, 1].astype(np.uint64), found[:, 0].astype(np.uint64)))]


class Blocks:
    """A row of keys and a row of balances for all units whose keys begin with the same bits."""

    def __init__(self, folder: Path, known: list[bytes]) -> None:
        self.bits = max(1, (len(known) // IN_A_BLOCK).bit_length() - 1)
        self.asked = 0
        self.database = sqlite3.connect(folder / "blocks.sqlite", isolation_level=None)
        for statement in ("journal_mode = wal", "wal_autocheckpoint = 4096"):
            self.database.execute(f"pragma {statement}")
        for table in ("keys", "balances", "part"):
            self.database.execute(f"create table {table} (id integer primary key, content blob)")
        found = halves(b"".join(known))
        edges = np.searchsorted(self.block(found), np.arange(2**self.bits + 1)).tolist()
        pairs = list(enumerate(itertools.pairwise(edges)))
        self.database.execute("begin")
        self.put("insert into keys values (?, ?)", ((n, found[a:b].tobytes()) for n, (a, b) in pairs))
        self.put("insert into balances values (?, ?)", ((n, bytes(24 * (b - a))) for n, (a, b) in pairs))
        self.database.execute("commit")

    def put(self, statement: str, rows: Iterator[tuple[Any, ...]]) -> None:
        """Run a statement for each row."""
        self.database.executemany(statement, rows)

    def block(self, keys: Any) -> Any:
        """Return the number of each key's block."""
        return (keys[:, 0].astype(np.uint64) >> np.uint64(64 - self.bits)).astype(np.int64)

    def read(self, table: str, numbers: list[int]) -> list[bytes]:
        """Return the contents of blocks: by a scan if they are many."""
        if 3 * len(numbers) > 2**self.bits:
            wanted = set(numbers)
            rows = self.database.execute(f"select id, content from {table} order by id")
            return [content for number, content in rows if number in wanted]
        one = f"select content from {table} where id = ?"
        return [self.database.execute(one, (number,)).fetchone()[0] for number in numbers]

    def found(self, keys: Any) -> tuple[list[int], Any, Any, Any]:
        """Return the blocks of keys, where each block starts, the balances in them, and the place of each key."""
        numbers = np.unique(self.block(keys)).tolist()
        contents = self.read("keys", numbers)
        starts = np.cumsum([0, *(len(content) // 16 for content in contents)])
        known = np.frombuffer(b"".join(contents), dtype=">u8").reshape(-1, 2)
        places = np.searchsorted(known[:, 0].astype(np.uint64), keys[:, 0].astype(np.uint64))
        assert (known[places] == keys).all()
        balances = np.frombuffer(bytearray(b"".join(self.read("balances", numbers))), dtype="<i8").reshape(-1, 3)
        return numbers, starts, balances, places

    def reserve(self, paying: list[bytes]) -> None:
        """Read the balances, and write the keys of those that can pay."""
        self.asked += 1
        self.database.execute("pragma synchronous = full")
        self.database.execute("begin immediate")
        keys = halves(b"".join(paying))
        _, _, balances, places = self.found(keys)
        self.paid = keys[(balances[places, 2] <= 0) & (balances[places, 0] < 10**12)]
        assert len(self.paid) == len(paying)
        self.database.execute("insert into part values (?, ?)", (self.asked, self.paid.tobytes()))
        self.database.execute("commit")

    def settle(self) -> None:
        """Write the balances."""
        self.database.execute("pragma synchronous = normal")
        self.database.execute("begin immediate")
        numbers, starts, balances, places = self.found(self.paid)
        balances[places] += np.array([1, 1, 0])
        content, ends = balances.tobytes(), (24 * starts).tolist()
        changed = ((content[a:b], n) for n, (a, b) in zip(numbers, itertools.pairwise(ends), strict=True))
        self.put("update balances set content = ? where id = ?", changed)
        self.database.execute("commit")


def of_blocks(folder: Path, known: list[bytes]) -> Ask:
    """Ask a small program with blocks of units."""
    blocks = Blocks(folder, known)
    return lambda paying: (timed(lambda: blocks.reserve(paying)), timed(blocks.settle))


PROGRAMS = {"before": of_ledger, "now": of_ledger, "rows by hand": of_rows, "blocks by hand": of_blocks}


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
    for name in (*(("before",) if compared else ()), "now", "rows by hand", "blocks by hand"):
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
    columns += [*(f"both, {kind}" for kind in kinds), "rows by hand", "blocks by hand"]
    with checkout(options.before) as before:
        rows = (
            row
            for count in options.units
            for row in measured(count, [n for n in options.payers if n <= count], options.turns, before)
        )
        write_table(columns, rows, options.csv)


if __name__ == "__main__":
    main()

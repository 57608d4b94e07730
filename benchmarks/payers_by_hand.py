"""Three small programs that charge many payers, beside the ledger: they show what a ledger of another form would cost.

They verify, merge, add and split nothing. Keys are those of `benchmarks.ledger.units`.
"""

import itertools
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

IN_A_BLOCK = 64
CLASSES_IN_A_BLOCK = 256
CHARGE = np.array([1, 1, 0])


def opened(path: Path, *tables: str) -> sqlite3.Connection:
    """Make a database with tables of numbered contents."""
    database = sqlite3.connect(path, isolation_level=None)
    for statement in ("journal_mode = wal", "wal_autocheckpoint = 4096"):
        database.execute(f"pragma {statement}")
    for table in tables:
        database.execute(f"create table {table} (id integer primary key, content blob)")
    return database


def read(database: sqlite3.Connection, table: str, numbers: list[int], among: int) -> list[bytes]:
    """Return the contents of rows in order: by a scan if they are many `among` all."""
    if 3 * len(numbers) > among:
        wanted = set(numbers)
        rows = database.execute(f"select id, content from {table} order by id")
        return [content for number, content in rows if number in wanted]
    one = f"select content from {table} where id = ?"
    return [database.execute(one, (number,)).fetchone()[0] for number in numbers]


def halves(keys: bytes) -> Any:
    """Return keys as two whole numbers each, in order."""
    found = np.frombuffer(keys, dtype=">u8").reshape(-1, 2)
    return found[np.lexsort((found[:, 1].astype(np.uint64), found[:, 0].astype(np.uint64)))]


class Blocks:
    """A row of keys and a row of balances for all units whose keys begin with the same bits."""

    def __init__(self, folder: Path, known: list[bytes]) -> None:
        self.bits = max(1, (len(known) // IN_A_BLOCK).bit_length() - 1)
        self.asked = 0
        self.database = opened(folder / "blocks.sqlite", "keys", "balances", "part")
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
        """Return the contents of blocks."""
        return read(self.database, table, numbers, 2**self.bits)

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
        balances[places] += CHARGE
        content, ends = balances.tobytes(), (24 * starts).tolist()
        changed = ((content[a:b], n) for n, (a, b) in zip(numbers, itertools.pairwise(ends), strict=True))
        self.put("update balances set content = ? where id = ?", changed)
        self.database.execute("commit")


class Numbered:
    """Balances in blocks by the number of a unit; the numbers of all keys are in memory, as one sorted array."""

    size, table = IN_A_BLOCK, "balances"
    kind: Any = np.dtype(("<i8", 3))

    def __init__(self, folder: Path, known: list[bytes]) -> None:
        self.count, self.asked = len(known), 0
        self.database = opened(folder / "numbered.sqlite", self.table, "part")
        found = np.frombuffer(b"".join(known), dtype=">u8").reshape(-1, 2)[:, 0].astype(np.uint64)
        self.numbers = np.argsort(found)
        self.keys = found[self.numbers]
        self.begin("full")
        blocks = ((n, bytes(self.size * self.kind.itemsize)) for n in range(-(-self.count // self.size)))
        self.database.executemany(f"insert into {self.table} values (?, ?)", blocks)
        self.database.execute("commit")

    def begin(self, synchronous: str) -> None:
        """Begin a transaction."""
        self.database.execute(f"pragma synchronous = {synchronous}")
        self.database.execute("begin immediate")

    def found(self) -> tuple[list[int], Any, Any]:
        """Return the blocks of the payers, what they hold, and the place of each payer in it."""
        blocks = np.unique(self.paid // self.size)
        contents = read(self.database, self.table, blocks.tolist(), -(-self.count // self.size))
        held = np.frombuffer(bytearray(b"".join(contents)), dtype=self.kind)
        block, place = np.divmod(self.paid, self.size)
        return blocks.tolist(), held, np.searchsorted(blocks, block) * self.size + place

    def reserve(self, paying: list[bytes]) -> None:
        """Read the balances, and write the numbers of the payers, all of which can pay."""
        self.asked += 1
        self.begin("full")
        wanted = np.sort(np.frombuffer(b"".join(paying), dtype=">u8").reshape(-1, 2)[:, 0].astype(np.uint64))
        self.paid = np.sort(self.numbers[np.searchsorted(self.keys, wanted)])
        _, held, places = self.found()
        balances = self.balances(held[places])
        assert ((balances[:, 2] <= 0) & (balances[:, 0] < 10**12)).all()
        gaps = np.diff(self.paid, prepend=0).astype("<u4")
        self.database.execute("insert into part values (?, ?)", (self.asked, gaps.tobytes()))
        self.database.execute("commit")

    def settle(self) -> None:
        """Write the balances."""
        self.begin("normal")
        blocks, held, places = self.found()
        held[places] = self.charged(held[places])
        width = self.size * self.kind.itemsize
        content = held.tobytes()
        starts = range(0, len(content), width)
        changed = ((content[start : start + width], number) for start, number in zip(starts, blocks, strict=True))
        self.database.executemany(f"update {self.table} set content = ? where id = ?", changed)
        self.database.execute("commit")

    def balances(self, held: Any) -> Any:
        """Return the balances that a block holds."""
        return held

    def charged(self, held: Any) -> Any:
        """Return what the block holds after a payment."""
        return held + CHARGE


class Classed(Numbered):
    """Blocks of the numbers of balances, and a table of all different balances."""

    size, table = CLASSES_IN_A_BLOCK, "classes"
    kind: Any = np.dtype("<u4")

    def __init__(self, folder: Path, known: list[bytes]) -> None:
        super().__init__(folder, known)
        self.database.execute("create table balance (id integer primary key, curve, pure, failures)")
        self.database.execute("insert into balance values (0, 0, 0, 0)")

    def balances(self, held: Any) -> Any:
        """Return the balances of classes."""
        used, place = np.unique(held, return_inverse=True)
        one = "select curve, pure, failures from balance where id = ?"
        return np.array([self.database.execute(one, (number,)).fetchone() for number in used.tolist()])[place]

    def charged(self, held: Any) -> Any:
        """Return the classes after a payment, each a new one."""
        used, first, place = np.unique(held, return_index=True, return_inverse=True)
        (last,) = self.database.execute("select max(id) from balance").fetchone()
        fresh = np.arange(last + 1, last + 1 + len(used))
        rows = np.column_stack([fresh, self.balances(held[first]) + CHARGE]).tolist()
        self.database.executemany("insert into balance values (?, ?, ?, ?)", rows)
        return fresh.astype(self.kind)[place]

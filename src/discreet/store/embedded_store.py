"""The store in a folder: tables in SQLite (`store.sqlite`), and vectors in files beside them.

`vectors.i16` has a vector in each row. `vectors.rows` has in each row the numbers of its chunk and its unit, so that a
search needs no table of all chunks. A row counts as the database says: those from `store.rows` on are of no commit, and
those of `free_row` are of none any more. After `settle`, free rows are zeros. So only while it is due must a search
read the list of free rows.
"""

import errno
import fcntl
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Column, Connection, Engine, Integer, Table, create_engine, delete, func, select, update
from sqlalchemy.pool import NullPool

from discreet.errors import StoreError
from discreet.store.protocol import Piece, Vector
from discreet.store.sql_store import Freed, NamedUnit, SqlStore, changed_units
from discreet.store.sql_tables import (
    CHUNK,
    DOCUMENT,
    PATIENCE,
    STORE,
    TABLES,
    UNIT,
    StoreDatabase,
    among,
    first_row,
    parts,
)
from discreet.store.vectors import FREE, HEAD, ChunkScores, Numbers, UnitNames, VectorFile, slot_of
from discreet.system.databases import meaning_of

TEXTS, VECTORS = "store.sqlite", "vectors.i16"
_LONGEST = 2**20
"""The upper limit of the length of vectors: no embedder makes longer ones."""
_PAUSE = 0.005
_SHARE = 8
"""One over the share of rows of changed units from which all rows are read."""

# The rows of the file of vectors that no chunk has.
FREE_ROW = Table("free_row", TABLES, Column("row", Integer, primary_key=True), info={"only": "sqlite"})

_FULL = "The disk is full. Nothing that was stored before is lost: free some space and run the command again."
_SAID = {
    "full": _FULL,
    "damaged": "The store is damaged. Restore the vault from a copy, or make a new one and add the documents again.",
    "busy": "Another process is using the store. Wait for it to end and run the command again.",
    "unwritable": "The store cannot be written. Check the permissions of the vault's folder.",
    "unopened": "The store cannot be opened. Check the permissions of the vault's folder.",
    "disk": "The disk of the store reports an error. Check the disk.",
}
_OTHER = "The store cannot be used ({}). If it is damaged, restore the vault from a copy."
_NO_TEXTS = "The store has vectors but no texts. Restore the vault from a copy."


_FOLDER: ContextVar[Path] = ContextVar("folder")
"""The folder of the store to which a connection is made at this moment."""


@cache
def _engine() -> Engine:
    """Return the engine of all stores: to make one takes longer than to open a store."""
    return create_engine("sqlite://", creator=_connect, poolclass=NullPool, hide_parameters=True)


def _connect() -> sqlite3.Connection:
    connection = sqlite3.connect(_FOLDER.get() / TEXTS, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    # The journal keeps its default mode: each commit removes it, and a reader blocks the commits of writers.
    connection.executescript("pragma secure_delete = on; pragma synchronous = full; pragma temp_store = memory")
    return connection


class SqliteDatabase(StoreDatabase):
    """The connection to the tables of a store in a folder."""

    has_names = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        super().__init__(self._connected, _SAID, _OTHER)

    def _connected(self) -> Connection:
        before = _FOLDER.set(self._folder)
        try:
            return _engine().connect()
        finally:
            _FOLDER.reset(before)

    @contextmanager
    def alone(self, *, wait: bool = True) -> Iterator[bool]:
        """Hold the writers' lock of the store during the block: a lock of its folder, which ends with the process."""
        with self.explained(), self.turn:
            held = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                yield self._wait_for(held, self.patience if wait else 0)
            finally:
                fcntl.flock(held, fcntl.LOCK_UN)  # a forked process may still have the folder open
                os.close(held)

    def _wait_for(self, held: int, patience: float) -> bool:
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if not patience:
                    return False
                if time.monotonic() > until:
                    raise StoreError(_SAID["busy"]) from None
            time.sleep(_PAUSE)

    def begin(self, *, reading: bool) -> None:
        """Begin a transaction. While one reads, no process can commit, so texts and rows do not change."""
        self.run("begin" if reading else "begin immediate")
        if reading:
            self.rows("select 1 from store")

    def add(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows to a table."""
        with self.explained(), self.turn:
            if rows:
                self.opened()
                places = ", ".join("?" * len(rows[0]))
                into = f"insert into {table.name} ({', '.join(rows[0])}) values ({places})"
                self.driver.executemany(into, [tuple(row.values()) for row in rows])

    def literal(self, value: bytes, *, is_text: bool) -> str:
        """Return bytes as they stand in a statement; with `is_text`, those of a text."""
        return f"cast(x'{value.hex()}' as text)" if is_text else f"x'{value.hex()}'"

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn errors of SQLite and of files into a `StoreError` that names a remedy."""
        with explained(), super().explained():
            yield


@contextmanager
def explained() -> Iterator[None]:
    """Turn errors of SQLite and of files into a `StoreError` that names a remedy."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(_SAID.get(meaning_of(error), _OTHER.format(type(error).__name__))) from None
    except UnicodeDecodeError:
        raise StoreError(_SAID["damaged"]) from None
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise StoreError(_FULL if full else f"The store cannot be used: {error.strerror}.") from error


class FileVectors:
    """The `Vectors` of a store in a folder."""

    def __init__(self, database: StoreDatabase, file: VectorFile) -> None:
        self._database, self._file = database, file
        self._seen: tuple[int, ...] = (-1,)
        self._heads, self._vectors = file.open(0)
        self._chunks = self._units = np.empty(0, np.int64)

    def write(self, pieces: Sequence[Piece], chunks: range, units: Sequence[NamedUnit]) -> Sequence[int | None]:
        """Write the vectors of new chunks, durably, to rows that no committed chunk refers to. Return the rows."""
        return self._put(self._file.packed([piece.vector for piece in pieces]), chunks, units)

    def _put(self, vectors: NDArray[np.int16], chunks: Sequence[int], units: Sequence[NamedUnit]) -> list[int]:
        heads = np.zeros(len(vectors), HEAD)
        heads["chunk"], heads["unit"] = chunks, [unit.number for unit in units]
        heads["tie"] = np.frombuffer(b"".join(unit.tie for unit in units), ">u8").reshape(-1, 2)
        heads["name"] = [slot_of(unit.name) for unit in units]
        extent = self._extent()[0]
        statement = f"select row from free_row order by row limit {len(vectors)}"
        rows = [row for (row,) in self._database.rows(statement)]
        for part in parts(rows):
            self._database.rows(delete(FREE_ROW).where(among(FREE_ROW.c.row, part)))
        fresh = len(vectors) - len(rows)
        end = int(self._database.only("rows")[0])
        if fresh:
            self._database.rows(f"update store set rows = {end + fresh}")
        rows += range(end, end + fresh)
        if rows:
            self._file.check(extent)  # a file that was lost or cut short is not made whole with zeros
            self._file.write(rows, heads, vectors)
        return rows

    def free(self, chunks: Freed) -> None:
        """Note the rows of chunks that are no more."""
        self._database.add(FREE_ROW, [{"row": row} for _, row in chunks])

    def move(self, old: int, new: NamedUnit) -> None:
        """Copy the vectors of a unit to other rows, for another unit: a row that a chunk has is never written."""
        of_old = select(DOCUMENT.c.number).where(DOCUMENT.c.unit == old)
        found = self._database.rows(select(CHUNK.c.id, CHUNK.c.row).where(CHUNK.c.document.in_(of_old)))
        if not found:
            return
        chunks, rows = zip(*found, strict=True)
        vectors = self._file.open(max(rows) + 1)[1][list(rows)]
        for chunk, row in zip(chunks, self._put(vectors, chunks, [new] * len(found)), strict=True):
            self._database.rows("update chunk set row = ? where id = ?", [row, chunk])
        self.free(found)

    def overwrite(self) -> bool:
        """Overwrite free rows, cut the file off after the last row, and rewrite the database."""
        with self._database.writing():
            size, free = self._extent()
            self._database.rows(delete(FREE_ROW).where(FREE_ROW.c.row >= size))
            self._database.rows(f"update store set rows = {size}")
            self._file.erase(free[free < size].tolist(), size)
        # SQLite keeps copies in pages that it rearranged, and `secure_delete` misses them. A rewrite drops them.
        self._database.run("vacuum")
        return True

    def _extent(self) -> tuple[int, Numbers]:
        """Return the number of rows up to the last one that a chunk has, and the free rows."""
        free_rows = self._database.rows("select row from free_row order by row")
        free = np.array([row for (row,) in free_rows], np.int64)
        size = int(self._database.only("rows")[0])
        ends = np.arange(size - len(free), size)
        last = np.flatnonzero(free != ends)  # the free rows after this one are at the end of the file
        return size - len(free) + (int(last[-1]) + 1 if len(last) else 0), free

    def search(self, vector: Vector) -> ChunkScores:
        """Return the scores of all rows."""
        self._look()
        return ChunkScores(self._chunks, self._units, self._file.scores(self._vectors[: len(self._units)], vector))

    def _look(self) -> None:
        """Learn of which chunk and unit each row is, if a commit may have changed it.

        A process reads it from all rows once, and then from the tables for the units that changed. An older search
        keeps the arrays that it has.
        """
        seen = tuple(self._database.only("changes, rows, due"))
        if seen == self._seen:
            return
        if not all(isinstance(value, int) for value in seen):
            raise self._database.damaged()
        changes, size, due = seen
        free = np.empty(0, np.int64)
        if due:  # free rows may have remains, or what is written at present
            size, free = self._extent()
        if min(len(self._heads), len(self._vectors)) < size:
            self._heads, self._vectors = self._file.open(size)
        changed = changed_units(self._database, self._seen[0], changes)
        if changed is None or len(changed) * _SHARE > size:
            units = self._heads["unit"][:size].copy()
            units[free[free < size]] = FREE
            self._chunks, self._units = self._heads["chunk"][:size].copy(), units
        else:
            self._follow(changed, size)
        if self._units.min(initial=FREE) < FREE:
            raise self._database.damaged()
        self._seen = seen

    def _follow(self, changed: Sequence[int], size: int) -> None:
        size_before = min(size, len(self._units))
        chunks, units = np.zeros(size, np.int64), np.zeros(size, np.int64)
        chunks[:size_before], units[:size_before] = self._chunks[:size_before], self._units[:size_before]
        is_changed = np.zeros(int(units.max(initial=FREE)) + 1, dtype=bool)
        is_changed[[unit for unit in changed if unit < len(is_changed)]] = True
        units[is_changed[units]] = FREE
        of_unit = select(CHUNK.c.row, CHUNK.c.id, CHUNK.c.unit).select_from(
            CHUNK.join(DOCUMENT, DOCUMENT.c.number == CHUNK.c.document)
        )
        for part in parts(changed):
            for row, chunk, unit in self._database.rows(of_unit.where(among(DOCUMENT.c.unit, part))):
                if row >= size:
                    raise self._database.damaged()
                chunks[row], units[row] = chunk, unit
        self._chunks, self._units = chunks, units

    def read_units(self, found: ChunkScores, numbers: Numbers) -> UnitNames:
        """Return units, each from one of its rows."""
        if self._database.rows("select count(*) from unit")[0][0] < len(numbers):
            raise self._database.damaged()
        place = np.zeros(int(found.units.max(initial=FREE)) + 1, np.int64)
        place[found.units] = np.arange(len(found.units))
        rows = place[numbers]
        return UnitNames.of_slots(numbers, self._heads["tie"][rows], self._heads["name"][rows], self._long_names)

    def _long_names(self, numbers: Sequence[int]) -> Mapping[int, str]:
        names = dict[int, str]()
        for part in parts(numbers):
            names |= dict(self._database.rows(select(UNIT.c.id, UNIT.c.name).where(among(UNIT.c.id, part))))
        if len(names) != len(numbers):
            raise self._database.damaged()
        return names

    def reader(self) -> Callable[[int], NDArray[Any]]:
        """Return what reads the vector of a chunk, in whole numbers."""
        self._look()
        live = np.flatnonzero(self._units != FREE)
        vectors, place = self._vectors, dict(zip(self._chunks[live].tolist(), live.tolist(), strict=True))
        return lambda chunk: vectors[place[chunk]].astype(np.int64)


class EmbeddedStore(SqlStore):
    """A `Store` in a folder. Processes may share it; threads take turns.

    Raises:
        StoreError: if the folder cannot be read or written, is damaged, or holds vectors of another dimension.
        VaultVersionError: if the store has another format.
    """

    def __init__(self, folder: Path, dimension: int) -> None:
        """Open the store, or create it.

        Args:
            folder: the folder.
            dimension: the length of the vectors.
        """
        with explained():
            folder.mkdir(parents=True, exist_ok=True)
            if (folder / VECTORS).exists() and not (folder / TEXTS).exists():
                raise StoreError(_NO_TEXTS)
            database = SqliteDatabase(folder)
            if not database.rows("select 1 from sqlite_master where name = 'store'"):
                if (folder / VECTORS).exists():
                    raise StoreError(_NO_TEXTS)
                _make(database, dimension)
            super().__init__(database, self._open_vectors(database, folder, dimension), dimension)

    def _open_vectors(self, database: StoreDatabase, folder: Path, dimension: int) -> Any:
        return FileVectors(database, VectorFile(folder / VECTORS, dimension))

    @staticmethod
    def stored_dimension(folder: Path) -> int | None:
        """Return the length of the vectors in the store in `folder`; None if nothing was ever added.

        It is read without the embedder, as loading one takes seconds.

        Raises:
            StoreError: if the store cannot be read, or is damaged.
        """
        if not (folder / TEXTS).exists():
            if (folder / VECTORS).exists():
                raise StoreError(_NO_TEXTS)
            return None
        with explained(), closing(sqlite3.connect(folder / TEXTS, timeout=PATIENCE)) as database:
            if not database.execute("select 1 from sqlite_master where name = 'store'").fetchone():
                return None  # the creation of the tables was interrupted
            row = database.execute("select dimension from store").fetchone()
        if row is None or not isinstance(row[0], int) or not 0 < row[0] <= _LONGEST:
            raise StoreError("The store has no valid length of vectors. Restore the vault from a copy.")
        return row[0]


def _make(database: SqliteDatabase, dimension: int) -> None:
    """Make the tables and a key. Another process may do this at the same time."""
    with database.alone(), database.writing():
        tables = [name for (name,) in database.rows("select name from sqlite_master where type = 'table'")]
        if "store" in tables:
            return
        if tables:  # of another format
            raise database.damaged()
        TABLES.create_all(database.opened(), checkfirst=False)
        database.add(STORE, [first_row(dimension, secrets.token_bytes(32))])


def replace_key(folder: Path, key: bytes) -> None:
    """Give an empty, closed store another key, so that ties between units are broken in a reproducible order.

    Raises:
        StoreError: if the store holds a unit, or cannot be written.
    """
    with closing(SqliteDatabase(folder)) as database, database.alone(), database.writing():
        if database.rows(select(func.count()).select_from(UNIT))[0][0]:
            raise StoreError("The store holds documents. Its key can be replaced only while it is empty.")
        database.rows(update(STORE).values(key=key))

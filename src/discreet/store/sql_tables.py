"""The tables of a store in SQLite or PostgreSQL, and the connection to them: transactions, locks, and errors in words.

Names, texts and fields are kept as bytes in PostgreSQL: its texts hold no NUL, and its order of texts depends on the
server. Bytes in UTF-8 have the order of Python's texts. Its indexes have keyed hashes of names and no names.

Errors contain neither a part of the documents nor the address of a server, nor a server's messages.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from threading import RLock
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Executable,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    bindparam,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.types import TypeDecorator, TypeEngine

from discreet.config import FORMAT, check_format
from discreet.errors import StoreError
from discreet.store.vectors import check_dimension
from discreet.system.databases import meaning_of

PATIENCE = 30.0
"""The time to wait for another process that writes, in seconds."""
AT_ONCE = 2000
"""The most values in one statement."""


class Words(TypeDecorator[str]):
    """A text: in PostgreSQL its bytes in UTF-8."""

    impl = LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type of the column."""
        return dialect.type_descriptor(Text() if dialect.name == "sqlite" else LargeBinary())

    # Not `process_bind_param` and `process_result_value`: each call would cost, also where nothing is to be done.
    def bind_processor(self, dialect: Dialect) -> Any:
        """Return what makes a value of the column."""
        return None if dialect.name == "sqlite" else str.encode

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """Return what makes a text."""
        return None if dialect.name == "sqlite" else lambda value: None if value is None else value.decode()


TABLES = MetaData()
_NUMBER = BigInteger().with_variant(Integer, "sqlite")


def _key(name: str) -> Column[int]:
    return Column(name, _NUMBER, primary_key=True, autoincrement=False)


def _number(name: str, **options: Any) -> Column[int]:
    return Column(name, _NUMBER, nullable=False, **options)


# One row. `chunks`, `documents`, `units` and `batches` are the last numbers that were given. Numbers are not reused, so
# that a stale number cannot name another unit. `rows` are those of the file of vectors. `due`: files may hold remains.
STORE = Table(
    "store",
    TABLES,
    _key("only"),
    _number("version"),
    Column("dimension", _NUMBER),
    Column("key", LargeBinary, nullable=False),
    *map(_number, ("changes", "chunks", "documents", "units", "batches", "rows")),
    Column("due", Boolean, nullable=False),
)
UNIT = Table(
    "unit",
    TABLES,
    _key("id"),
    Column("tie", LargeBinary, nullable=False),
    Column("name", Words, nullable=False),
)
# A document has the batch of its current text (batch), the batch of the first text under its id (since), its file, and
# its declared fields as JSON. Batch 0: none.
DOCUMENT = Table(
    "document",
    TABLES,
    _key("number"),
    Column("tie", LargeBinary, nullable=False),
    Column("id", Words, nullable=False),
    _number("unit", index=True),
    Column("digest", LargeBinary, nullable=False),
    _number("batch", index=True),
    _number("since"),
    Column("source", Words, nullable=False),
    Column("fields", Text, nullable=False),
)
CHUNK = Table(
    "chunk",
    TABLES,
    _key("id"),
    _number("document", index=True),
    _number("unit"),
    Column("row", _NUMBER),
    Column("text", Words, nullable=False),
)
# Each addition, with its number of files. The names of files are kept with documents alone, and erased with them.
BATCH = Table("batch", TABLES, _key("number"), Column("time", Text, nullable=False), _number("files"))
# Units whose later documents are refused, erased or joined to another: a keyed hash, the time, and the number of erased
# documents. The key is in the same database, so its reader can test a known name.
TOMBSTONE = Table(
    "tombstone",
    TABLES,
    Column("unit", LargeBinary, primary_key=True),
    Column("time", Text, nullable=False),
    _number("documents"),
)
# The units that a change touched, which may be gone since.
CHANGE = Table("change", TABLES, _key("number"), _key("unit"), sqlite_with_rowid=False)


NAMES = {"unit": "name", "document": "id"}
"""The column of the name in a table: in PostgreSQL, a keyed hash (`tie`) is looked up in its place."""
for _table in (UNIT, DOCUMENT):
    _name = NAMES[_table.name]
    Index(f"{_table.name}_{_name}", _table.c[_name], unique=True).ddl_if(dialect="sqlite")
    Index(f"{_table.name}_tie", _table.c.tie, unique=True).ddl_if(dialect="postgresql")


def among(column: ColumnElement[Any], values: Iterable[int]) -> ColumnElement[bool]:
    """Return the condition that a column has one of some numbers. They stand in the statement."""
    return column.in_(bindparam(None, list(values), expanding=True, literal_execute=True))


def parts(values: Sequence[Any], size: int = AT_ONCE) -> Iterator[Sequence[Any]]:
    """Yield values in parts for one statement each."""
    return (values[start : start + size] for start in range(0, len(values), size))


_OF_PARENTS: list[Connection] = []
"""Connections of a parent process. They are never closed here: that would end the parent's."""


class StoreDatabase(ABC):
    """One connection to the tables of a store. Threads take turns; a broken connection is made again.

    Args:
        connect: makes a connection.
        said: the message of each meaning of an error (`meaning_of`).
        other: the message of all other errors.

    Attributes:
        patience: the time to wait for another process that writes, in seconds.
        turn: the lock by which threads take turns.
    """

    def __init__(self, connect: Callable[[], Connection], said: Mapping[str, str], other: str) -> None:
        self._connect, self._said, self._other = connect, said, other
        self._connection: Connection | None = None
        self._process, self._busy = 0, False
        self.turn = RLock()
        self.driver: Any = None
        self.patience = PATIENCE

    # -- what differs ----------------------------------------------------------------------------------------

    has_names = False
    """Whether its indexes have names, and its texts are texts: they are bytes otherwise (`Words`)."""

    @abstractmethod
    def alone(self, *, wait: bool = True) -> AbstractContextManager[bool]:
        """Hold the writers' lock of the store during the block. It is freed if the process ends.

        Without `wait`, yield whether it was free.

        Raises:
            StoreError: with `wait`, if another process holds it for longer than `patience`.
        """

    @abstractmethod
    def begin(self, *, reading: bool) -> None:
        """Begin a transaction. With `reading`, it sees the state of one moment, and locks nothing that is written."""

    @abstractmethod
    def add(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows to a table, each with a value for all of the same columns."""

    def is_alive(self) -> bool:
        """Return whether the connection can be used."""
        return True

    @abstractmethod
    def literal(self, value: bytes, *, is_text: bool) -> str:
        """Return bytes as they stand in a statement; with `is_text`, those of a text."""

    # -- what is common --------------------------------------------------------------------------------------

    def rows(self, statement: Executable | str, values: Any = None) -> list[Any]:
        """Run one statement, in SQLAlchemy or in the database's own words, and return its rows, if it returns any.

        The database's own words go to the driver directly, which saves the time of SQLAlchemy.
        """
        with self.explained(), self.turn:
            connection = self.opened()
            if isinstance(statement, str):
                own = self.driver.execute(statement, *([tuple(values)] if values else []))
                return own.fetchall() if own.description else []
            result = connection.execute(statement, values)
            return list(result.fetchall()) if result.returns_rows else []

    def of_keys(self, columns: str, table: str, key: str, values: Iterable[bytes]) -> Iterator[Any]:
        """Yield a column and others of the rows in which it is one of some keyed hashes, or of names in UTF-8.

        The values stand in the statement: SQLAlchemy would take longer to bind each than SQLite to find its row.
        """
        is_text = key in NAMES.values()
        for part in parts(list(values)):
            some = ", ".join(self.literal(value, is_text=is_text) for value in part)
            yield from self.rows(f"select {key}, {columns} from {table} where {key} in ({some})")

    def run(self, command: str) -> None:
        """Run a command about transactions, or one that must be outside of them."""
        with self.explained(), self.turn:
            self.opened()
            self.driver.execute(command)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Run the block on the state of one moment."""
        with self._transaction(reading=True):
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Run the block as a transaction that writes, and commit it."""
        with self._transaction(reading=False):
            yield

    @contextmanager
    def _transaction(self, *, reading: bool) -> Iterator[None]:
        with self.explained(), self.turn:
            self.opened()
            with self.uninterrupted():
                try:
                    self.begin(reading=reading)
                    yield
                    self.run("rollback" if reading else "commit")
                except BaseException:  # also Ctrl-C
                    with suppress(Exception):  # a full disk may have ended it already
                        self.driver.execute("rollback")
                    raise

    @contextmanager
    def uninterrupted(self) -> Iterator[None]:
        """Use one connection during the block: a new one would have neither its transaction nor its lock."""
        before, self._busy = self._busy, True
        try:
            yield
        finally:
            self._busy = before

    def opened(self) -> Connection:
        """Return the connection; a new one if there is none, if it broke, or if a parent process has made it."""
        before = self._connection
        if before is not None and self._process == os.getpid() and (self._busy or self.is_alive()):
            return before
        if before is not None and self._process == os.getpid():
            with suppress(Exception):
                before.close()
        elif before is not None:
            _OF_PARENTS.append(before)
        connection = self._connect()
        self.driver = connection.connection.driver_connection
        self._connection, self._process = connection, os.getpid()
        return connection

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None and self._process == os.getpid():
            with suppress(Exception):
                self._connection.close()
        self._connection = None

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn errors of the database into a `StoreError` that names a remedy."""
        try:
            yield
        except Exception as error:
            own = (SQLAlchemyError, UnicodeDecodeError)
            if not isinstance(error, own) and type(error).__module__.split(".")[0] not in ("psycopg", "sqlite3"):
                raise
            raise StoreError(self._said.get(meaning_of(error), self._other.format(type(error).__name__))) from None

    def damaged(self) -> StoreError:
        """Return the error of a store with content that no version of this program writes."""
        return StoreError(self._said["damaged"])

    def only(self, columns: str) -> Any:
        """Return columns of the one row of `STORE`.

        Raises:
            StoreError: if it is missing.
        """
        rows = self.rows(f"select {columns} from store")
        if len(rows) != 1:
            raise self.damaged()
        return rows[0]


def check_store(database: StoreDatabase, dimension: int) -> bytes:
    """Check the format of the tables and the length of vectors. Return the store's key.

    Raises:
        StoreError: if the store holds vectors of another length.
        VaultVersionError: if the store has another format.
    """
    version, stored, key = database.only("version, dimension, key")
    check_format("The store", version)
    check_dimension(stored, dimension)
    return bytes(key)


def first_row(dimension: int | None, key: bytes) -> dict[str, Any]:
    """Return the row of `STORE` in a new store."""
    counts = dict.fromkeys(("changes", "chunks", "documents", "units", "batches", "rows"), 0)
    return {"only": 1, "version": FORMAT, "dimension": dimension, "key": key, **counts, "due": False}

"""The file under a ledger: how it is opened, and what its errors mean.

Connections are kept between transactions (closing the last one would move the log into the file, and wait for the
disk), but not across a fork (connections.py), nor once the file or its log is another one than it was.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, DisconnectionError, MultipleResultsFound, NoResultFound, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from discreet.errors import LedgerError, MissingPart
from discreet.ledger.connections import pool
from discreet.ledger.encoding import CORRUPT

PATIENCE = 30
"""Seconds to wait while another process writes."""

_OLDEST = (3, 35)  # from which on an update returns rows
_PAGE = 512
_LOG = 2**24  # bytes after which the log is moved into the file

_READ_ONLY = "The ledger cannot be written. Nothing was charged or released; allow writing to it and to its folder."
_EXPLAINED = {
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_CANTOPEN": _READ_ONLY,
    "SQLITE_PERM": _READ_ONLY,
    "SQLITE_FULL": "The disk is full, so the ledger cannot be written. Nothing was charged or released; make room.",
    "SQLITE_BUSY": f"Another process has held the ledger for {PATIENCE} s. Nothing was charged or released; try again.",
    "SQLITE_IOERR_WRITE": "The ledger's disk does not take more. Nothing was charged or released; make room.",
    "SQLITE_IOERR": "The disk under the ledger does not work. Nothing was released; look after the disk.",
    "SQLITE_CORRUPT": CORRUPT,
    "SQLITE_NOTADB": CORRUPT,
    "SQLITE_CONSTRAINT": CORRUPT,  # it holds what it must not
    "SQLITE_ERROR": CORRUPT,  # our statements are fixed: if one does not fit the tables, the tables are damaged
}
_UNWRITABLE = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")


def new_file(path: Path) -> None:
    """An empty file at `path`.

    Raises:
        LedgerError: there is something already, or it cannot be made.
    """
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        raise LedgerError(
            f"There is something at {path} already; it is not overwritten. Choose another name."
        ) from None
    except OSError as error:
        raise LedgerError(f"No ledger can be made at {path}: {error.strerror}. Choose another folder.") from error


def engine(path: Path) -> Engine:
    """An engine for the file at `path`, whose transactions are made by `transaction`.

    Raises:
        MissingPart: the SQLite that Python was built with is too old.
    """
    if sqlite3.sqlite_version_info < _OLDEST:
        raise MissingPart(
            f"A ledger needs SQLite {'.'.join(map(str, _OLDEST))}; this Python has {sqlite3.sqlite_version}. "
            "Use a Python that was built with a newer one."
        )
    files = str(path), str(_log_of(path))
    made = pool(
        create_engine(
            "sqlite://",
            creator=lambda: connect(path),
            poolclass=QueuePool,
            max_overflow=-1,
            hide_parameters=True,  # an error shows no question, and no unit
        )
    )

    @event.listens_for(made, "connect")
    def connected(database: sqlite3.Connection, record: ConnectionPoolEntry) -> None:
        record.info.update(new=True, files=_files(files))

    @event.listens_for(made, "checkout")
    def taken(database: sqlite3.Connection, record: ConnectionPoolEntry, _: object) -> None:
        if not record.info.pop("new", False) and record.info["files"] != (_files(files) or "not kept"):
            raise DisconnectionError  # taken away or put back from a copy: connect anew

    return made


@contextmanager
def transaction(engine: Engine, *, reading: bool = False, durable: bool = True) -> Iterator[Connection]:
    """A transaction that takes the write lock first, unless it is for `reading`.

    Its commit is on disk when it returns, unless it is not `durable`: then it may be lost in a power cut, though not
    in part, and not without all that came after it.
    """
    with engine.connect() as connection, connection.begin():
        # Begun here, not by a hook of the engine's: with one, every statement looks for hooks.
        database = _driver(connection)
        if reading:
            database.execute("begin")
        else:
            database.execute(f"pragma synchronous = {'full' if durable else 'normal'}")
            database.execute("begin immediate")
        yield connection


def connect(path: Path) -> sqlite3.Connection:
    """A connection to the existing file at `path`, whose commits are on disk when they return.

    Where nothing can be written (a read-only folder), the file can be read all the same if no log lies beside it.
    """
    connection = _opened(path, "mode=rw")
    try:
        connection.execute("pragma synchronous = full")
        connection.execute(f"pragma wal_autocheckpoint = {_LOG // _PAGE}")
        connection.execute("pragma schema_version").fetchone()
    except sqlite3.Error as error:
        connection.close()
        if not _name(error).startswith(_UNWRITABLE) or _log_of(path).exists():
            raise
        connection = _opened(path, "mode=ro&immutable=1")
    return connection


def keep_log(path: Path) -> None:
    """Have the file at `path` written by way of a log (WAL), for good: readers and a writer do not wait.

    An empty file gets small pages, too: the units of a question lie all over it, and each page is written whole.
    """
    connection = _opened(path, "mode=rw")
    try:
        connection.execute(f"pragma page_size = {_PAGE}")
        connection.execute("pragma journal_mode = wal")
    finally:
        connection.close()


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what goes wrong in the file at `path` into a `LedgerError` that says what to do."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, UnicodeDecodeError) as error:
        if not path.is_file():
            raise missing(path) from error
        raise LedgerError(_meaning(error)) from error


def missing(path: Path) -> LedgerError:
    """The error of a ledger that is not there: it is never begun afresh, since that would forget what was spent."""
    return LedgerError(f"The ledger {path} is missing. Nothing is released without it; restore it from a copy.")


def _opened(path: Path, how: str) -> sqlite3.Connection:
    # As an address, because it can forbid making the file, and takes names with any characters. Transactions are
    # begun by the engine, not by the driver.
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}", uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
    )


def _driver(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.dbapi_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def _files(paths: tuple[str, str]) -> tuple[tuple[int, int], ...]:
    """Which files a ledger has; nothing without a log, since then a connection does not see what others write."""
    try:
        return tuple((found.st_dev, found.st_ino) for found in map(os.stat, paths))
    except OSError:
        return ()


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _meaning(error: Exception) -> str:
    if isinstance(error, (NoResultFound, MultipleResultsFound, UnicodeDecodeError)):
        return CORRUPT  # a row that must be there is not, is there twice, or cannot be read
    name = _name(error.orig if isinstance(error, DBAPIError) else error)
    return next((said for start, said in _EXPLAINED.items() if name.startswith(start)), _unknown(error))


def _name(error: BaseException | None) -> str:
    return str(getattr(error, "sqlite_errorname", ""))


def _unknown(error: Exception) -> str:
    return f"The ledger cannot be used ({type(error).__name__}). Nothing was released. If it lasts, restore a copy."

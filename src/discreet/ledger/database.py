"""The SQLite file of a ledger: connections, transactions, and the explanation of errors.

Connections are kept between transactions, because closing the last one moves the log into the file and waits for the
disk. They are not kept across a fork (connections.py), or after the file or its log was replaced.
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
"""The time to wait for another process that writes, in seconds."""

_OLDEST = (3, 35)  # the first version in which an update returns rows
_PAGE = 512
_LOG = 2**24  # the size of the log, in bytes, at which it is moved into the file

_READ_ONLY = (
    "The ledger cannot be written. Nothing was charged or released. Permit writing to the ledger and to its folder."
)
_EXPLAINED = {
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_CANTOPEN": _READ_ONLY,
    "SQLITE_PERM": _READ_ONLY,
    "SQLITE_FULL": "The disk of the ledger is full. Nothing was charged or released. Free disk space.",
    "SQLITE_BUSY": f"Another process has held the ledger for {PATIENCE} s. Nothing was charged or released. Try again.",
    "SQLITE_IOERR_WRITE": "The ledger's disk refuses to write. Nothing was charged or released. Free disk space.",
    "SQLITE_IOERR": "The ledger's disk reports an error. Nothing was released. Check the disk.",
    "SQLITE_CORRUPT": CORRUPT,
    "SQLITE_NOTADB": CORRUPT,
    "SQLITE_CONSTRAINT": CORRUPT,  # the stored values violate a constraint
    "SQLITE_ERROR": CORRUPT,  # the statements are fixed: if one fails, the tables are damaged
}
_UNWRITABLE = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")


def new_file(path: Path) -> None:
    """Make an empty file at `path`.

    Raises:
        LedgerError: if a file exists at `path`, or cannot be made.
    """
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        raise LedgerError(
            f"{path} already exists, and a ledger never overwrites a file. Choose another path."
        ) from None
    except OSError as error:
        raise LedgerError(f"The ledger {path} cannot be made: {error.strerror}. Choose another folder.") from error


def engine(path: Path) -> Engine:
    """Return an engine for the file at `path`. `transaction` makes its transactions.

    Raises:
        MissingPart: if Python's SQLite is too old.
    """
    if sqlite3.sqlite_version_info < _OLDEST:
        raise MissingPart(
            f"A ledger needs SQLite {'.'.join(map(str, _OLDEST))} or later; this Python has "
            f"{sqlite3.sqlite_version}. Use a Python with a newer SQLite."
        )
    files = str(path), str(_log_of(path))
    made = pool(
        create_engine(
            "sqlite://",
            creator=lambda: connect(path),
            poolclass=QueuePool,
            max_overflow=-1,
            hide_parameters=True,  # errors must not show questions or units
        )
    )

    @event.listens_for(made, "connect")
    def connected(database: sqlite3.Connection, record: ConnectionPoolEntry) -> None:
        record.info.update(new=True, files=_files(files))

    @event.listens_for(made, "checkout")
    def taken(database: sqlite3.Connection, record: ConnectionPoolEntry, _: object) -> None:
        if not record.info.pop("new", False) and record.info["files"] != (_files(files) or "not kept"):
            raise DisconnectionError  # the file was removed or replaced by a copy: connect again

    return made


@contextmanager
def transaction(engine: Engine, *, reading: bool = False, durable: bool = True) -> Iterator[Connection]:
    """Run the block as a transaction, which takes the write lock first unless it is for `reading`.

    With `durable`, the commit is on disk when the block ends. Without it, a power cut may undo the whole transaction
    together with all later ones, but never a part of it.
    """
    with engine.connect() as connection, connection.begin():
        # A hook of the engine could begin the transaction, but would slow every statement.
        database = _driver(connection)
        if reading:
            database.execute("begin")
        else:
            database.execute(f"pragma synchronous = {'full' if durable else 'normal'}")
            database.execute("begin immediate")
        yield connection


def connect(path: Path) -> sqlite3.Connection:
    """Connect to the existing file at `path`. Commits are on disk when they return.

    In a read-only folder, the file can still be read if it has no log.
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
    """Set the write-ahead log of the file at `path` permanently, so that readers and a writer do not wait.

    An empty file also gets small pages: the units of a question are scattered over it, and SQLite writes whole pages.
    """
    connection = _opened(path, "mode=rw")
    try:
        connection.execute(f"pragma page_size = {_PAGE}")
        connection.execute("pragma journal_mode = wal")
    finally:
        connection.close()


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Convert errors of the file at `path` to a `LedgerError` with a remedy."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, UnicodeDecodeError) as error:
        if not path.is_file():
            raise missing(path) from error
        raise LedgerError(_meaning(error)) from error


def missing(path: Path) -> LedgerError:
    """Return the error of a missing ledger. A new one is never made in its place: it would lack all charges."""
    return LedgerError(f"The ledger {path} is missing. Nothing is released without a ledger. Restore it from a backup.")


def _opened(path: Path, how: str) -> sqlite3.Connection:
    # A URI can forbid that SQLite makes the file, and permits all characters in names. `transaction` begins the
    # transactions, not the driver.
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}", uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
    )


def _driver(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.dbapi_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def _files(paths: tuple[str, str]) -> tuple[tuple[int, int], ...]:
    """Return the identities of the ledger's files; none without a log, when a connection may miss other writes."""
    try:
        return tuple((found.st_dev, found.st_ino) for found in map(os.stat, paths))
    except OSError:
        return ()


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _meaning(error: Exception) -> str:
    if isinstance(error, (NoResultFound, MultipleResultsFound, UnicodeDecodeError)):
        return CORRUPT  # a required row is missing, occurs twice, or cannot be read
    name = _name(error.orig if isinstance(error, DBAPIError) else error)
    return next((said for start, said in _EXPLAINED.items() if name.startswith(start)), _unknown(error))


def _name(error: BaseException | None) -> str:
    return str(getattr(error, "sqlite_errorname", ""))


def _unknown(error: Exception) -> str:
    return (
        f"The ledger cannot be used ({type(error).__name__}). Nothing was released. Try again; if the error remains, "
        "restore a backup."
    )

"""A log in an SQLite file: its connections, its transactions, and the explanation of its errors.

A transaction that writes takes the write lock first (`begin immediate`). Its commit is on disk when it returns, unless
the caller needs no durability: then a power cut may undo it together with all later commits, but never a part of it.

Connections are kept between transactions, because closing the last one moves the write-ahead log into the file and
waits for the disk. They are not kept across a fork, or after the file or its write-ahead log was replaced.
"""

import fcntl
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from discreet.config import FORMAT, check_format
from discreet.errors import LedgerError, MissingPart
from discreet.log import chain
from discreet.log.chain import CORRUPT, PATIENCE
from discreet.system.databases import closing_with, meaning_of, pool

RIGHTS = 0o660
"""The most that a file permits which several users of a server share."""

_OLDEST = (3, 35)
_WAL = 4096  # the pages of the write-ahead log from which it is moved into the file: 16 MiB

_READ_ONLY = (
    "The ledger cannot be written. Nothing was charged or released. Permit writing to the ledger and to its folder."
)
_EXPLAINED = {
    "unwritable": _READ_ONLY,
    "unopened": _READ_ONLY,
    "full": "The disk of the ledger is full. Nothing was charged or released. Free disk space.",
    "unwritten": "The ledger's disk refuses to write. Nothing was charged or released. Free disk space.",
}


class SqliteFile:
    """The file of a log.

    Attributes:
        path: its absolute path.
        engine: its connections.
    """

    def __init__(self, path: Path) -> None:
        """Connect to an existing file when it is first used.

        Raises:
            MissingPart: if Python's SQLite is too old.
        """
        if sqlite3.sqlite_version_info < _OLDEST:
            raise MissingPart(
                f"A ledger needs SQLite {'.'.join(map(str, _OLDEST))} or later; this Python has "
                f"{sqlite3.sqlite_version}. Use a Python with a newer SQLite."
            )
        self.path = path.absolute()
        self.engine = closing_with(self, _make_engine(self.path))

    def make(self, fill: Callable[[Connection], object], rights: int = 0o666) -> None:
        """Make the file with a log that `fill` writes in one transaction; `rights` is the most that it permits.

        Raises:
            LedgerError: if a file exists at the path, or if it cannot be written.
        """
        _make_file(self.path, rights)
        try:
            with explained(self.path):
                with closing(_opened(self.path, "mode=rw")) as database:
                    database.execute("pragma journal_mode = wal")  # so that readers and a writer do not wait
                with self.writing() as connection:
                    fill(connection)
                    connection.execute(text(f"pragma user_version = {FORMAT}"))
        except BaseException:
            self.engine.dispose()
            self.path.unlink(missing_ok=True)
            raise

    def reading(self) -> AbstractContextManager[Connection]:
        """Run the block as a transaction on one consistent state. Its errors are `LedgerError`s."""
        return self._transaction("begin")

    def writing(self, *, durable: bool = True) -> AbstractContextManager[Connection]:
        """Run the block as a transaction that no other process writes beside. Its errors are `LedgerError`s."""
        return self._transaction(f"pragma synchronous = {'full' if durable else 'normal'}", "begin immediate")

    def sync_rows(self, connection: Connection) -> None:
        """Write to the file, so that the commit brings the whole write-ahead log to the disk."""
        connection.execute(text(f"pragma user_version = {FORMAT}"))

    @contextmanager
    def _transaction(self, *statements: str) -> Iterator[Connection]:
        with explained(self.path), self.engine.connect() as connection, connection.begin():
            # A hook of the engine could begin the transaction, but would slow every statement.
            for statement in statements:
                driver_of(connection).execute(statement)
            yield connection

    def check_open(self) -> int:
        """Check that the file is there and has this format. Return its size in bytes.

        Raises:
            LedgerError: if it is missing, or no log.
            VaultVersionError: if it has another format.
        """
        if not self.path.is_file():
            raise chain.missing(self.path)
        with self.reading() as connection:
            check_file(driver_of(connection))
        return self.path.stat().st_size

    def explained(self) -> AbstractContextManager[None]:
        """Convert errors of the file to a `LedgerError` with a remedy."""
        return explained(self.path)

    def check_pages(self, connection: Connection) -> None:
        """Check the structure of the file.

        Raises:
            LedgerError: if it is damaged.
        """
        if connection.execute(text("pragma quick_check")).scalar() != "ok":
            raise LedgerError(CORRUPT)

    def forget_deleted(self) -> bool:
        """Empty the write-ahead log, which may have rows of a log that was closed. Return False if others read it."""
        with explained(self.path), closing(connect(self.path)) as database:
            return not database.execute("pragma wal_checkpoint(truncate)").fetchone()[0]


@contextmanager
def making(folder: Path) -> Iterator[None]:
    """Make a folder, and hold it for the block: no other process makes a file in it by this function."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o770)
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def make_log(path: Path, fill: Callable[[Connection], object]) -> None:
    """Make the file of a log that `fill` writes, in a folder that is held. It is made aside, and then renamed."""
    aside = path.with_name(f"{path.name}.new")
    aside.unlink(missing_ok=True)
    file = SqliteFile(aside)
    try:
        file.make(fill, RIGHTS)
    finally:
        file.engine.dispose()
    os.replace(aside, path)


def check_file(database: sqlite3.Connection) -> None:
    """Check the format of an open file.

    Raises:
        LedgerError: if it is no log.
        VaultVersionError: if it has another format.
    """
    version = int(database.execute("pragma user_version").fetchone()[0])
    if version < 1:  # the file was emptied, or its creation was interrupted
        raise LedgerError(CORRUPT)
    check_format("The ledger", version)


def connect(path: Path) -> sqlite3.Connection:
    """Connect to the existing file at `path`. Commits are on disk when they return, unless `writing` says otherwise.

    In a read-only folder, the file can still be read if it has no write-ahead log.
    """
    connection = _opened(path, "mode=rw")
    try:
        connection.execute("pragma synchronous = full")
        connection.execute("pragma secure_delete = on")  # a log that was closed leaves no rows behind
        connection.execute(f"pragma wal_autocheckpoint = {_WAL}")
        connection.execute("pragma schema_version").fetchone()
    except sqlite3.Error as error:
        connection.close()
        if meaning_of(error) not in ("unwritable", "unopened") or _wal_of(path).exists():
            raise
        connection = _opened(path, "mode=ro&immutable=1")
    return connection


def explained(path: Path) -> AbstractContextManager[None]:
    """Convert errors of the file at `path` to a `LedgerError` with a remedy."""
    return chain.explained(_EXPLAINED, path)


def driver_of(connection: Connection) -> sqlite3.Connection:
    """Return the connection of the driver."""
    driver = connection.connection.dbapi_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def _make_file(path: Path, rights: int) -> None:
    try:
        path.touch(rights, exist_ok=False)
    except FileExistsError:
        raise LedgerError(
            f"{path} already exists, and a ledger never overwrites a file. Choose another path."
        ) from None
    except OSError as error:
        raise LedgerError(f"The ledger {path} cannot be made: {error.strerror}. Choose another folder.") from error


def _make_engine(path: Path) -> Engine:
    files = str(path), str(_wal_of(path))
    engine = pool(
        create_engine(
            "sqlite://",
            creator=lambda: connect(path),
            poolclass=QueuePool,
            max_overflow=-1,
            hide_parameters=True,  # errors must not show questions or units
        )
    )

    @event.listens_for(engine, "connect")
    def connected(database: sqlite3.Connection, record: ConnectionPoolEntry) -> None:
        record.info.update(new=True, files=_files(files))

    @event.listens_for(engine, "checkout")
    def taken(database: sqlite3.Connection, record: ConnectionPoolEntry, _: object) -> None:
        if not record.info.pop("new", False) and record.info["files"] != (_files(files) or "not kept"):
            raise DisconnectionError  # the file was removed or replaced by a copy: connect again

    return engine


def _opened(path: Path, how: str) -> sqlite3.Connection:
    # A URI can forbid that SQLite makes the file, and permits all characters in names. The transactions are begun
    # above, not by the driver.
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}", uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
    )


def _files(paths: tuple[str, str]) -> tuple[tuple[int, int], ...]:
    """Return the identities of the file and its write-ahead log; none without it, when a connection may miss writes."""
    try:
        return tuple((status.st_dev, status.st_ino) for status in map(os.stat, paths))
    except OSError:
        return ()


def _wal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


@contextmanager
def alone_by_file(folder: Path, key: bytes) -> Iterator[None]:
    """Wait for the flight `key` on this machine, and hold it until the block ends.

    If no file can be made (a full disk, a read-only folder), no flight is held, and the block runs.

    Args:
        folder: the folder of the lock file, which is removed at the end.
        key: the key of the flight. It must not reveal the question, so it is a keyed hash.
    """
    held = _locked(folder / f"flight.{key.hex()}")
    try:
        yield
    finally:
        if held is not None:
            with held, suppress(OSError):  # the folder may have become read-only
                (folder / f"flight.{key.hex()}").unlink(missing_ok=True)
                # Unlock explicitly: a forked process may still have the file open.
                fcntl.flock(held, fcntl.LOCK_UN)


def _locked(path: Path) -> BinaryIO | None:
    """Return the locked file at `path`, which is unlocked when it is closed; None if it cannot be made or locked."""
    while True:
        try:
            file = open(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o666), "rb")  # noqa: SIM115 - the holder closes it
        except OSError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if _is_at(file, path):
                return file
        except OSError:  # a file system without locks
            file.close()
            return None
        except BaseException:
            file.close()
            raise
        file.close()  # the previous holder removed the file


def _is_at(file: BinaryIO, path: Path) -> bool:
    """Return whether the locked file is still the one at `path`."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False

"""The connection of a store to its PostgreSQL server: transactions, the writers' lock, and the explanation of errors.

Errors contain neither the server's URL nor its messages, which may name hosts, users and people.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import RLock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from discreet.errors import MissingPart, StoreError, UsageError
from discreet.system.database_url import LINK, is_postgres, is_refusal

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.errors import Diagnostic

PATIENCE = 30
"""The time to wait for another process that writes, in seconds."""

_SESSION = (
    f"set lock_timeout = '{PATIENCE}s'; set idle_in_transaction_session_timeout = '120s'; "
    "set client_encoding = 'UTF8'; set synchronous_commit = on; "
    # A cut link does not close a connection. These probes of the server free the writers' lock within a minute.
    "set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3"
)
_READING = "begin isolation level repeatable read, read only"
_WRITING = "begin isolation level read committed"
_NAME = re.compile(r"store_[0-9a-f]{1,57}")

_INVALID = "The URL of the store is invalid. Expected: postgresql://user@host/database."
_UNREACHED = (
    "The store's database cannot be reached, or the connection broke. Check that the server is running, and run the "
    "command again."
)
_REFUSED = (
    "The store's database refuses the connection, or does not exist. Check its URL, its role, and PGPASSWORD or the "
    ".pgpass file."
)
_MISSING = (
    "The database has no such store, or tables of it are missing. Restore them from a dump of the database: pg_restore."
)
_UNWRITABLE = "The role may not write the store. Use the role that made the vault, or grant it the store's schema."
DAMAGED = "The store is damaged. Restore its schema from a dump of the database: pg_restore."
_BUSY = f"Other processes have held the store for {PATIENCE} s. Wait for them to end, and run the command again."
_FULL = (
    "The disk of the store's server is full. Nothing that was stored before is lost: free some space, and try again."
)
_EXPLAINED = {
    "08": _UNREACHED,
    "57": _UNREACHED,  # the server stops or starts
    "25P03": _UNREACHED,  # this process was suspended during a transaction
    "28": _REFUSED,
    "3D000": _REFUSED,
    "3F000": _MISSING,
    "42P01": _MISSING,
    "25006": _UNWRITABLE,
    "42501": _UNWRITABLE,
    "53100": _FULL,
    "53": "The store's database accepts no more connections, or has no memory left. Try again.",
    "55P03": _BUSY,
    "40": _BUSY,
    "58": "The disk of the store's server reports an error. Check the disk.",
}


class Server:
    """One connection to the schema of a store. Threads take turns; a broken connection is made again.

    Args:
        url: the URL of the database. No error shows it.
        name: the name of the schema: "store_" and up to 57 of the digits 0-9a-f.

    Raises:
        UsageError: if the URL or the name is invalid.
        MissingPart: if the driver is not installed.
    """

    def __init__(self, url: str, name: str) -> None:
        # Statements contain the name without quoting, so it must be a plain name.
        if not _NAME.fullmatch(name):
            raise UsageError("The name of the store's schema is invalid. Restore vault.json from a backup.")
        self.name, self.turn = name, RLock()
        self._connect = _connector(url)
        self._connection: Connection[Any] | None = None
        self._process, self._busy = 0, False
        digest = hashlib.blake2b(f"discreet {name}".encode(), digest_size=8).digest()
        self._lock = int.from_bytes(digest, "big", signed=True)

    def rows(self, statement: str, *values: object) -> list[Any]:
        """Run one statement, and return its rows, if it returns any."""
        with explained(), self.turn:
            cursor = self._opened().execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def copy(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Write rows by a `copy ... from stdin`."""
        with explained(), self.turn, self._opened().cursor().copy(statement) as copy:
            for row in rows:
                copy.write_row(row)

    @contextmanager
    def transaction(self, *, reading: bool = False, settings: str = "") -> Iterator[None]:
        """Run the block as a transaction. With `reading`, it sees the state of one moment, and locks nothing.

        Args:
            reading: whether the block only reads.
            settings: statements that set what holds for this transaction alone.
        """
        with explained(), self.turn:
            connection = self._opened()
            with self._uninterrupted():
                try:
                    # One call for all statements: each call waits for the server.
                    connection.execute(f"{_READING if reading else _WRITING}; {settings}")
                    yield
                    connection.execute("commit")
                except BaseException:  # also Ctrl-C
                    with suppress(Exception):
                        connection.execute("rollback")
                    raise

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the writers' lock of this store during the block. The server frees it if the connection ends."""
        with explained(), self.turn:
            connection = self._opened()
            try:
                connection.execute(f"select pg_advisory_lock({self._lock})")
                with self._uninterrupted():
                    yield
            finally:
                with suppress(Exception):  # a broken connection holds no lock, nor does one that waited in vain
                    connection.execute(f"select pg_advisory_unlock({self._lock})")

    def rewrite(self, table: str) -> int:
        """Write a table to new files without the removed rows, and delete the old files.

        Return the number of removed rows that the new files still have, because an older transaction may read them.
        """
        with explained(), self.turn:
            connection, details = self._opened(), list[str]()

            def keep(notice: "Diagnostic") -> None:
                details.append(notice.message_detail or "")

            connection.add_notice_handler(keep)
            try:
                connection.execute(f"vacuum (full, verbose, analyze) {table}")
            finally:
                connection.remove_notice_handler(keep)
        # The detail of the first notice with one: "2 dead row versions cannot be removed yet." in some language.
        counts = [re.match(r"\D*(\d+)", detail) for detail in details if detail]
        return int(counts[0][1]) if counts and counts[0] else 1  # a server that does not say it may have kept rows

    @contextmanager
    def _uninterrupted(self) -> Iterator[None]:
        """Use one connection during the block: a new one would have neither its transaction nor its lock."""
        before, self._busy = self._busy, True
        try:
            yield
        finally:
            self._busy = before

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
        self._connection = None

    def _opened(self) -> "Connection[Any]":
        """Return the connection; a new one if there is none, if it broke, or if a parent process has made it."""
        before = self._connection
        if before is not None and self._process == os.getpid() and (self._busy or _answers(before)):
            return before
        connection: Connection[Any] = self._connect()
        connection.execute(f"{_SESSION}; set search_path to {self.name}", prepare=False)
        self._connection, self._process = connection, os.getpid()
        return connection


def _answers(connection: "Connection[Any]") -> bool:
    """Return whether the server is there. After its restart this costs a round trip, and no question."""
    import psycopg

    if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:  # Ctrl-C left a transaction
        connection.close()
        return False
    try:
        connection.execute("select 1")
    except psycopg.OperationalError:
        return False
    return True


def _connector(url: str) -> Any:
    """Return a function that connects to the database at `url`."""
    if not is_postgres(url):
        raise UsageError(_INVALID)
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise MissingPart("A store in PostgreSQL needs psycopg", "postgres") from None
    try:
        _ = urlsplit(url).port  # psycopg does not check it
        options: dict[str, Any] = {**LINK, **conninfo_to_dict(url)}
    except (psycopg.Error, ValueError):
        raise UsageError(_INVALID) from None
    return lambda: psycopg.connect(autocommit=True, **options)


@contextmanager
def explained() -> Iterator[None]:
    """Convert errors of the database to a `StoreError` with a remedy."""
    try:
        yield
    except UnicodeDecodeError:
        raise StoreError(DAMAGED) from None
    except Exception as error:
        if not type(error).__module__.startswith("psycopg"):
            raise
        raise StoreError(_meaning(error)) from None


def _meaning(error: Exception) -> str:
    state = getattr(error, "sqlstate", None)
    if state is None and type(error).__name__ in ("OperationalError", "ConnectionTimeout", "InterfaceError"):
        return _REFUSED if is_refusal(str(error)) else _UNREACHED
    found = next((said for start, said in _EXPLAINED.items() if str(state).startswith(start)), None)
    return found or f"The store cannot be used ({type(error).__name__}). If it is damaged, restore it from a dump."

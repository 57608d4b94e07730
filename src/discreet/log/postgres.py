"""A log in a schema of a PostgreSQL database: its connections, its transactions, and the explanation of its errors.

A transaction that writes takes an advisory lock first, which ends with the transaction, also after a crash. Its commit
is on disk when it returns (`synchronous_commit = on`), unless the caller needs no durability. The lock is an agreement
among processes of this program; the primary key of the log is the guard that holds without it. A role that may only
select and insert rows can pay, and cannot change what was paid.

Errors contain neither the server's URL nor its messages, which may name hosts, users and people.
"""

import hashlib
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from sqlalchemy import URL, Connection, Engine, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError

from discreet.config import FORMAT, check_format
from discreet.errors import LedgerError, MissingPart, UsageError
from discreet.log.chain import PATIENCE, explained
from discreet.system.database_url import LINK
from discreet.system.sharing import closing_with, pool

_SCHEMA = re.compile(r"vault_[0-9a-f]{1,57}|accounts")
# A process behind a cut link, which holds the lock, is given up before the others that wait for the lock give up.
_ALL = f"set local lock_timeout = '{PATIENCE}s'; set local idle_in_transaction_session_timeout = '{PATIENCE // 2}s'"
_READING = "set transaction isolation level repeatable read, read only"
# The transaction sees all rows that were committed before it got the lock.
_WRITING = "set transaction isolation level read committed"

_MISSING = "The database has no such ledger. Nothing is released without a ledger. Restore it from a backup."
_UNREACHED = (
    "The ledger's database cannot be reached, or the connection broke. Nothing was released, but the current payment "
    "may count as spent. Check that the server is running, and run the command again."
)
_REFUSED = (
    "The ledger's database refuses the connection, or does not exist. Nothing was released. Check its URL, its role, "
    "and PGPASSWORD or the .pgpass file."
)
_UNWRITABLE = "The ledger cannot be written. Nothing was charged or released. Permit writing to its schema."
_EXPLAINED = {
    "unreached": _UNREACHED,
    "refused": _REFUSED,
    "missing": _MISSING,
    "unwritable": _UNWRITABLE,
    "exists": "A ledger of this name already exists, and is never overwritten. Choose another name.",
    "full": "The server's disk is full. Nothing was charged or released. Free disk space on the server.",
    "crowded": "The ledger's database accepts no more connections. Nothing was charged or released. Try again.",
}


class PostgresSchema:
    """The schema of a log.

    Attributes:
        name: its name: "vault_" and up to 57 of the digits 0-9a-f, or "accounts".
        engine: its connections.
    """

    def __init__(self, url: str, name: str) -> None:
        """Connect to the database when it is first used.

        Args:
            url: "postgresql://user@host/database". No error shows it.
            name: the name of the schema.

        Raises:
            UsageError: if the URL or the name is invalid.
            MissingPart: if the driver is not installed.
        """
        # Statements contain the name without parameters, so it must be a plain name.
        if not _SCHEMA.fullmatch(name):
            raise UsageError(
                "The name of the ledger's schema is invalid. Expected: vault_ and up to 57 of the digits 0-9a-f. "
                "Restore vault.json from a backup."
            )
        self.name = name
        self.engine = closing_with(self, _make_engine(_address(url, name)))
        key = hashlib.blake2b(f"log {name}".encode(), digest_size=8).digest()
        self._lock = f"select pg_advisory_xact_lock({int.from_bytes(key, 'big', signed=True)})"

    def make(self, fill: Callable[[Connection], object]) -> None:
        """Make the schema with a log that `fill` writes in one transaction.

        Raises:
            LedgerError: if the schema exists, or if the database cannot be reached or written.
        """
        with self.writing() as connection:
            connection.execute(text(f'create schema "{self.name}"'))
            fill(connection)
            connection.execute(text("create table format (version bigint not null)"))
            connection.execute(text("insert into format values (:format)"), {"format": FORMAT})

    def reading(self) -> AbstractContextManager[Connection]:
        """Run the block as a transaction on one consistent state. Its errors are `LedgerError`s."""
        return self._transaction(_READING)

    def writing(self, *, durable: bool = True) -> AbstractContextManager[Connection]:
        """Run the block as a transaction that no other process writes beside. Its errors are `LedgerError`s."""
        commit = f"set local synchronous_commit = {'on' if durable else 'off'}"
        return self._transaction(_WRITING, commit, lock=self._lock)

    def is_made(self) -> bool:
        """Return whether the schema is there."""
        with self.reading() as connection:
            statement = text("select to_regclass(:table)")
            return connection.execute(statement, {"table": f"{self.name}.format"}).scalar() is not None

    def check_open(self) -> int:
        """Check that the schema is there and has this format. Return the size of its log in bytes.

        Raises:
            LedgerError: if it is missing or out of reach.
            VaultVersionError: if it has another format.
        """
        if not self.is_made():
            raise LedgerError(_MISSING)
        with self.reading() as connection:
            check_format("The ledger", connection.execute(text("select version from format")).scalar_one())
            return int(connection.execute(text("select pg_table_size(to_regclass('log'))")).scalar() or 0)

    def others(self) -> int:
        """Return the number of other connections to this schema, of any machine, as far as the role may see them."""
        statement = "select count(*) from pg_stat_activity where application_name = :name and pid <> pg_backend_pid()"
        with self.reading() as connection:
            return int(connection.execute(text(statement), {"name": self.name}).scalar() or 0)

    def explained(self) -> AbstractContextManager[None]:
        """Convert errors of the database to a `LedgerError` with a remedy."""
        return explained(_EXPLAINED)

    def check_pages(self, connection: Connection) -> None:
        """Trust the server's own checksums."""

    def forget_deleted(self) -> bool:
        """Leave it to the server: a table that was dropped has no file any more."""
        return True

    @contextmanager
    def _transaction(self, *settings: str, lock: str = "") -> Iterator[Connection]:
        with self.explained(), self.engine.connect() as connection, connection.begin():
            driver = connection.connection.dbapi_connection
            assert driver is not None
            # One call for all statements: each call waits for the server.
            # A reader sees the rows of its first query: that must not be here, before it has the state of its process.
            path = f'set local search_path to "{self.name}"'
            driver.execute("; ".join(("begin", *settings, _ALL, path, *([lock] if lock else []))), prepare=False)
            yield connection


def _address(url: str, name: str) -> URL:
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):
        address = None
    if address is None or address.get_backend_name() != "postgresql":
        raise UsageError("The ledger URL is invalid. Expected: postgresql://user@host/database.")
    address = address.set(drivername="postgresql+psycopg")
    given = LINK | {"application_name": name}  # by which `others` finds it
    return address.update_query_dict({option: value for option, value in given.items() if option not in address.query})


def _make_engine(url: URL) -> Engine:
    try:
        # A ping before each use: after a restart of the server, this costs a round trip, but no question. The
        # transactions are begun above, because the driver would need a further round trip.
        return pool(
            create_engine(url, isolation_level="AUTOCOMMIT", pool_pre_ping=True, max_overflow=-1, hide_parameters=True)
        )
    except ImportError:
        raise MissingPart("A ledger in PostgreSQL needs psycopg", "postgres") from None


PAUSE = 0.2
"""The time between two attempts to take a server's lock, in seconds."""
# A power cut does not close a connection. These probes of the server free the lock within a minute.
_NOTICE = "set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3"


@contextmanager
def alone_by_server(engine: Engine, name: str, key: bytes) -> Iterator[None]:
    """Wait for the flight `key` of the ledger `name` on all machines, and hold it until the block ends.

    If the connection breaks, the flight becomes free, and the block continues.
    """
    number = {"key": int.from_bytes(hashlib.blake2b(name.encode() + key, digest_size=8).digest(), "big", signed=True)}
    with explained(_EXPLAINED):
        connection = engine.connect()
    with connection:
        try:
            with explained(_EXPLAINED):
                connection.execute(text(_NOTICE))
                while not connection.execute(text("select pg_try_advisory_lock(:key)"), number).scalar():
                    time.sleep(PAUSE)
            yield
        finally:
            _let_go(connection, number)


def _let_go(connection: Connection, number: dict[str, int]) -> None:
    """Release the lock. If the server does not confirm this (Ctrl-C, a broken connection), close the connection."""
    free = False
    try:
        free = bool(connection.execute(text("select pg_advisory_unlock(:key)"), number).scalar())
    except Exception:
        pass
    finally:
        if not free:
            connection.invalidate()  # a pooled connection would keep the lock

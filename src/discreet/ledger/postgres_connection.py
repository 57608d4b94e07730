"""The PostgreSQL server under a ledger: how it is reached, what a transaction is, and what its errors mean.

Neither the server's address nor its own words are in an error: they may name hosts, users and people.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL, Connection, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, MultipleResultsFound, NoResultFound, SQLAlchemyError

from discreet.errors import LedgerError, MissingPart, UsageError
from discreet.ledger.connections import pool
from discreet.ledger.encoding import CORRUPT

PATIENCE = 30
"""Seconds to wait while another process writes."""

_ALL = f"set local lock_timeout = '{PATIENCE}s'; set local idle_in_transaction_session_timeout = '{PATIENCE}s'"
_READING = "set transaction isolation level repeatable read, read only"
# Committed rows are seen after the lock was waited for, and commits are on disk when they return.
_WRITING = "set transaction isolation level read committed; set local synchronous_commit = on"
_LOCK = "select 1 from total for update"
_LOST = "set local synchronous_commit = off"

_MISSING = "There is no such ledger in this database. Nothing is released without it; restore it from a copy."
_UNREACHED = (
    "The ledger's database cannot be reached, or the connection to it broke. Nothing was released; what was just being "
    "paid may count as spent. See that the server runs, then run the command again."
)
_REFUSED = "The ledger's database refuses the connection. Nothing was charged or released; check its address."
_UNWRITABLE = "The ledger cannot be written. Nothing was charged or released; allow writing to its schema."
_AGAIN = f"Another process has held the ledger for {PATIENCE} s. Nothing was charged or released; try again."
_EXPLAINED = {
    "08": _UNREACHED,
    "57": _UNREACHED,  # the server is being stopped or started
    "25P03": _UNREACHED,  # this process slept in the middle of a transaction
    "28": _REFUSED,
    "3D000": _REFUSED,
    "3F000": _MISSING,
    "42P01": _MISSING,
    "25006": _UNWRITABLE,
    "42501": _UNWRITABLE,
    "42P06": "There is a ledger of this name already; it is not overwritten. Choose another name.",
    "53100": "The server's disk is full, so the ledger cannot be written. Nothing was charged or released; make room.",
    "53": "The ledger's database has no room for another connection. Nothing was charged or released; try again.",
    "55P03": _AGAIN,
    "40": _AGAIN,
    "58": "The disk under the ledger does not work. Nothing was released; look after the disk.",
    "XX": CORRUPT,
    "23": CORRUPT,  # it holds what it must not
    "42": CORRUPT,  # our statements are fixed: if one does not fit the tables, the tables are damaged
}


def address(url: str) -> URL:
    """The address of a database, for the driver that is used.

    Raises:
        UsageError: it is none of a PostgreSQL database.
    """
    try:
        found = make_url(url)
    except (ArgumentError, ValueError):
        found = None
    if found is None or found.get_backend_name() != "postgresql":
        raise UsageError("This is no address of a PostgreSQL database. Expected: postgresql://user@host/database.")
    found = found.set(drivername="postgresql+psycopg")
    return found if "connect_timeout" in found.query else found.update_query_dict({"connect_timeout": "10"})


def engine(url: URL) -> Engine:
    """An engine for the database at `url`, whose transactions are made by `transaction`.

    Raises:
        MissingPart: the driver is not installed.
    """
    try:
        # Tried before use: a server that was started anew meanwhile costs a round trip, not a question. The driver
        # begins nothing by itself, since that would be a round trip of its own: `transaction` does.
        return pool(
            create_engine(url, isolation_level="AUTOCOMMIT", pool_pre_ping=True, max_overflow=-1, hide_parameters=True)
        )
    except ImportError:
        raise MissingPart("A ledger in PostgreSQL needs psycopg", "postgres") from None


@contextmanager
def transaction(
    engine: Engine, name: str, *, reading: bool = False, making: bool = False, durable: bool = True
) -> Iterator[Connection]:
    """A transaction in the schema `name`, which must have been checked; it locks the total first.

    When `reading`, it sees one moment and locks nothing; when `making`, it locks nothing, since there is nothing yet.
    If it is not `durable`, it may be lost when the server's power is cut.
    """
    start = f'{_ALL}; set local search_path to "{name}"'
    if reading:
        start = f"{_READING}; {start}"
    elif making:
        start = f"{_WRITING}; {start}"
    else:
        start = f"{_WRITING}; {start}; {'' if durable else f'{_LOST}; '}{_LOCK}"
    with engine.connect() as connection, connection.begin():
        driver = connection.connection.dbapi_connection
        assert driver is not None
        # In one go: every statement by itself would wait for the server once more.
        driver.execute(f"begin; {start}", prepare=False)
        yield connection


@contextmanager
def explained() -> Iterator[None]:
    """Turn what goes wrong in the database into a `LedgerError` that says what to do."""
    try:
        yield
    except (SQLAlchemyError, UnicodeDecodeError) as error:
        raise LedgerError(_meaning(error)) from None
    except Exception as error:
        if not type(error).__module__.startswith("psycopg"):
            raise
        raise LedgerError(_meaning(error)) from None


def missing() -> LedgerError:
    """The error of a ledger that is not there: it is never begun afresh, since that would forget what was spent."""
    return LedgerError(_MISSING)


def _meaning(error: Exception) -> str:
    if isinstance(error, (NoResultFound, MultipleResultsFound, UnicodeDecodeError)):
        return CORRUPT  # a row that must be there is not, is there twice, or cannot be read
    cause = error.orig if isinstance(error, DBAPIError) else error
    state = getattr(cause, "sqlstate", None)
    if state is None and type(cause).__name__ in ("OperationalError", "ConnectionTimeout", "InterfaceError"):
        return _UNREACHED
    found = next((said for start, said in _EXPLAINED.items() if str(state).startswith(start)), None)
    return (
        found or f"The ledger cannot be used ({type(error).__name__}). Nothing was released. Restore a copy if need be."
    )

"""The PostgreSQL server of a ledger: connections, transactions, and the explanation of errors.

Errors contain neither the server's URL nor its messages, which may name hosts, users and people.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL, Connection, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, MultipleResultsFound, NoResultFound, SQLAlchemyError

from discreet.errors import LedgerError, MissingPart, UsageError
from discreet.ledger.connections import pool
from discreet.ledger.encoding import CORRUPT
from discreet.system.database_url import LINK, is_refusal

PATIENCE = 30
"""The time to wait for another process that writes, in seconds."""

# A process behind a cut link, which holds the lock, is given up before the others that wait for the lock give up.
_ALL = f"set local lock_timeout = '{PATIENCE}s'; set local idle_in_transaction_session_timeout = '{PATIENCE // 2}s'"
_READING = "set transaction isolation level repeatable read, read only"
# The transaction sees all rows that were committed before it got the lock, and its commit is on disk when it returns.
_WRITING = "set transaction isolation level read committed; set local synchronous_commit = on"
_LOCK = "select 1 from total for update"
_LOST = "set local synchronous_commit = off"

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
_AGAIN = f"Another process has held the ledger for {PATIENCE} s. Nothing was charged or released. Try again."
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
    "42P06": "A ledger of this name already exists, and is never overwritten. Choose another name.",
    "53100": "The server's disk is full. Nothing was charged or released. Free disk space on the server.",
    "53": "The ledger's database accepts no more connections. Nothing was charged or released. Try again.",
    "55P03": _AGAIN,
    "40": _AGAIN,
    "58": "The ledger's disk reports an error. Nothing was released. Check the disk.",
    "XX": CORRUPT,
    "23": CORRUPT,  # the stored values violate a constraint
    "42": CORRUPT,  # the statements are fixed: if one fails, the tables are damaged
}


def address(url: str) -> URL:
    """Return the URL of a database for the driver.

    Raises:
        UsageError: if the URL is not that of a PostgreSQL database.
    """
    try:
        found = make_url(url)
    except (ArgumentError, ValueError):
        found = None
    if found is None or found.get_backend_name() != "postgresql":
        raise UsageError("The ledger URL is invalid. Expected: postgresql://user@host/database.")
    found = found.set(drivername="postgresql+psycopg")
    return found.update_query_dict({name: value for name, value in LINK.items() if name not in found.query})


def engine(url: URL) -> Engine:
    """Return an engine for the database at `url`. `transaction` makes its transactions.

    Raises:
        MissingPart: if the driver is not installed.
    """
    try:
        # A ping before each use: after a restart of the server, this costs a round trip, but no question. `transaction`
        # begins the transactions, because the driver would need a further round trip.
        return pool(
            create_engine(url, isolation_level="AUTOCOMMIT", pool_pre_ping=True, max_overflow=-1, hide_parameters=True)
        )
    except ImportError:
        raise MissingPart("A ledger in PostgreSQL needs psycopg", "postgres") from None


@contextmanager
def transaction(
    engine: Engine, name: str, *, reading: bool = False, making: bool = False, durable: bool = True
) -> Iterator[Connection]:
    """Run the block as a transaction in the checked schema `name`, which locks the total first.

    With `reading`, the transaction sees one consistent state and locks nothing. With `making`, it locks nothing,
    because there are no tables yet. Without `durable`, a power cut of the server may undo it.
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
        # One call for all statements: each call waits for the server.
        driver.execute(f"begin; {start}", prepare=False)
        yield connection


@contextmanager
def explained() -> Iterator[None]:
    """Convert errors of the database to a `LedgerError` with a remedy."""
    try:
        yield
    except (SQLAlchemyError, UnicodeDecodeError) as error:
        raise LedgerError(_meaning(error)) from None
    except Exception as error:
        if not type(error).__module__.startswith("psycopg"):
            raise
        raise LedgerError(_meaning(error)) from None


def missing() -> LedgerError:
    """Return the error of a missing ledger. A new one is never made in its place: it would lack all charges."""
    return LedgerError(_MISSING)


def _meaning(error: Exception) -> str:
    if isinstance(error, (NoResultFound, MultipleResultsFound, UnicodeDecodeError)):
        return CORRUPT  # a required row is missing, occurs twice, or cannot be read
    cause = error.orig if isinstance(error, DBAPIError) else error
    state = getattr(cause, "sqlstate", None)
    if state is None and type(cause).__name__ in ("OperationalError", "ConnectionTimeout", "InterfaceError"):
        return _REFUSED if is_refusal(str(cause)) else _UNREACHED
    found = next((said for start, said in _EXPLAINED.items() if str(state).startswith(start)), None)
    return (
        found
        or f"The ledger cannot be used ({type(error).__name__}). Nothing was released. Try again; if the error "
        "remains, restore a backup."
    )

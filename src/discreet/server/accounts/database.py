"""The database of the accounts: an SQLite file, or a PostgreSQL database that several machines share.

A writing transaction holds a lock from its first statement on (`begin immediate`, or an advisory lock), so that what
it reads cannot change before it writes. Its commit is on disk when it returns.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, bindparam, create_engine, insert, inspect, make_url, select, text, update
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from discreet.config import FORMAT
from discreet.privacy.costs import ORDERS
from discreet.server.accounts.counter import Counter
from discreet.server.accounts.errors import AccountsError, OlderCopy
from discreet.server.accounts.tables import METADATA, SHARED, STATE
from discreet.system.database_url import LINK, is_refusal

PATIENCE = 60
"""Seconds to wait while another process writes."""
_WANTED = {"format": FORMAT, "orders": len(ORDERS)}
_LOCK = 0x64736361  # the number of the advisory lock: "dsca"
# A server may be set to lose the last commits in a power cut: a key would forget what it spent. A process behind a cut
# link would hold the lock of all others until its connection is missed.
_WRITING = (
    f"set local synchronous_commit = on; set local lock_timeout = '{PATIENCE}s'; "
    f"set local idle_in_transaction_session_timeout = '{PATIENCE // 4}s'"
)
_VALUE = select(STATE.c.value).where(STATE.c.name == bindparam("of_name"))
_COUNT = update(STATE).where(STATE.c.name == "changes")
_POOL = 4
_PAUSE = 0.02

_UNWRITABLE = "The accounts cannot be written. No question is asked. Allow writing to the file and to its folder."
_DAMAGED = (
    "The database of accounts is damaged. No question is asked. Restore it from a copy, and run: "
    "discreet key accept-copy VAULT"
)
_UNREACHED = (
    "The database of accounts cannot be reached, or the connection broke. No question is asked. Check that the server "
    "is running, and run the command again."
)
_REFUSED = (
    "The database of accounts refuses the connection, or does not exist. No question is asked. Check its URL, its "
    "role, and the .pgpass file."
)
_EXPLAINED = {
    "SQLITE_READONLY": _UNWRITABLE,
    "SQLITE_CANTOPEN": _UNWRITABLE,
    "SQLITE_PERM": _UNWRITABLE,
    "SQLITE_FULL": "The disk is full, so the accounts cannot be written. No question is asked. Make room.",
    "SQLITE_BUSY": f"Another process has held the accounts for {PATIENCE} s. No question is asked. Try again.",
    "SQLITE_IOERR": "The disk under the accounts failed. No question is asked. Check the disk.",
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_NOTADB": _DAMAGED,
    "SQLITE_ERROR": _DAMAGED,
    "08": _UNREACHED,
    "57": _UNREACHED,  # the server stops or starts
}


class Database:
    """A database of accounts, which is made if there is none. Threads share it; each process opens its own."""

    def __init__(self, address: Path | str) -> None:
        """Open a database.

        Args:
            address: the path of a file, or a URL that begins with `postgresql`.

        Raises:
            AccountsError: if it cannot be used.
            OlderCopy: if it lacks changes that were made before.
        """
        self._url = str(address) if str(address).startswith("postgresql") else ""
        self.path = Path() if self._url else Path(address).absolute()
        self._counter = None if self._url else Counter(self.path.with_suffix(".counter"))
        self._engines: dict[int, Engine] = {}
        self._one_writes, self._seen = threading.RLock(), 0
        self._open()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Hold a transaction that no other one writes beside; it is on disk afterwards, or nothing of it is."""
        with self._one_writes:
            with explained(), self._engine.connect() as connection, connection.begin():
                self._lock(connection)
                changes = self._count(connection)
                yield connection
            self._seen = changes
            if self._counter is not None:
                self._counter.note(changes)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Hold a transaction that reads one state of the database."""
        with explained(), self._engine.connect() as connection:
            if self._url:
                connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                if not self._url:
                    connection.exec_driver_sql("begin")
                yield connection

    def changes(self) -> int:
        """Return how often the database was written."""
        with self.reading() as connection:
            return _state(connection, "changes")

    def accept_copy(self) -> None:
        """Have the counter forget what this copy of the database lacks."""
        if self._counter is not None:
            self._counter.reset(self.changes())

    def close(self) -> None:
        """Close the connections of this process."""
        engine = self._engines.pop(os.getpid(), None)
        if engine is not None:
            engine.dispose()

    @property
    def _engine(self) -> Engine:
        # A forked process inherits connections that it must not use: SQLite's locks do not survive a fork.
        found = self._engines.get(os.getpid())
        if found is None:
            for inherited in self._engines.values():
                inherited.dispose(close=False)
            found = self._engines[os.getpid()] = self._connected()
        return found

    def _connected(self) -> Engine:
        if self._url:
            url = make_url(self._url).set(drivername="postgresql+psycopg")
            url = url.update_query_dict({name: value for name, value in LINK.items() if name not in url.query})
            # What a writer reads after it got the lock must be newer than the lock. So it reads what is committed, and
            # the role's own level does not count.
            return create_engine(
                url, isolation_level="READ COMMITTED", hide_parameters=True, pool_pre_ping=True, max_overflow=-1
            )
        return create_engine(
            "sqlite://",
            creator=lambda: _connect(self.path),
            poolclass=QueuePool,
            pool_size=_POOL,
            max_overflow=-1,
            hide_parameters=True,  # an error shows no value
        )

    def _open(self) -> None:
        before = self._counter.read() if self._counter is not None else 0
        if not self._url and not self.path.exists():
            if before:
                raise OlderCopy(
                    f"The database {self.path} is missing, and had {before} changes. Restore it from a copy, and run: "
                    "discreet key accept-copy VAULT"
                )
            _make_file(self.path)
        with explained(), self._engine.connect() as connection, connection.begin():
            self._lock(connection)
            if not inspect(connection).has_table(STATE.name):  # a table that is missing later is never made anew
                METADATA.create_all(connection)
                if self._url:
                    SHARED.create_all(connection)
                _write_format(connection)
            _check_format(connection)

    @property
    def shared(self) -> bool:
        """Whether several servers may share the database."""
        return bool(self._url)

    def check_copy(self) -> None:
        """Refuse a database that lacks changes which the counter has.

        Raises:
            OlderCopy: if it lacks some.
        """
        # The counter is read first: another process may write meanwhile, and the database is then further.
        before = self._counter.read() if self._counter is not None else 0
        if (now := self.changes()) < before:
            raise _older(now, before)

    def _lock(self, connection: Connection) -> None:
        if self._url:
            connection.exec_driver_sql(_WRITING)
            connection.execute(text("select pg_advisory_xact_lock(:number)"), {"number": _LOCK})
        else:
            connection.exec_driver_sql("begin immediate")

    def _count(self, connection: Connection) -> int:
        changes = _state(connection, "changes")
        if changes < self._seen:
            raise _older(changes, self._seen)
        connection.execute(_COUNT, {"value": changes + 1})
        return changes + 1


@contextmanager
def explained() -> Iterator[None]:
    """Turn an error of the database into an `AccountsError` that names what to do."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise AccountsError(_meaning(error)) from None


def _make_file(path: Path) -> None:
    """Make an empty file with a log (WAL), so that readers do not wait for a writer."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o770)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o660))
    except OSError as error:
        raise AccountsError(
            f"No accounts can be made in {path.parent}: {error.strerror}. Choose another folder with --state."
        ) from None


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw", uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
    )
    try:
        _keep_log(connection)
        connection.execute("pragma synchronous = full")
    except BaseException:
        connection.close()
        raise
    return connection


def _keep_log(connection: sqlite3.Connection) -> None:
    """Have the file written by way of a log. SQLite does not wait for its lock here, so this function does."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("pragma journal_mode = wal")
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > end:
                raise
            time.sleep(_PAUSE)


def _write_format(connection: Connection) -> None:
    """Write the format of new tables."""
    connection.execute(insert(STATE), [{"name": name, "value": n} for name, n in (_WANTED | {"changes": 0}).items()])


def _check_format(connection: Connection) -> None:
    """Refuse tables of another format."""
    found = {row.name: row.value for row in connection.execute(select(STATE))}
    wanted = _WANTED
    if {name: found.get(name) for name in wanted} != wanted:
        raise AccountsError(
            f"The accounts have format {found.get('format')}; this version of discreet reads format {FORMAT} alone. "
            "Use the version of discreet that made them: docs/maintenance.md names it. Or move them away, and issue "
            "new keys: discreet key issue. Keys forget what they spent; the grant of each individual still holds."
        )


def _state(connection: Connection, name: str) -> int:
    return int(connection.execute(_VALUE, {"of_name": name}).scalar_one())


def _older(now: int, before: int) -> OlderCopy:
    return OlderCopy(
        f"The accounts were put back from an older copy: they have {now} changes of {before}. Keys forget what they "
        "spent since; the grant of each individual still holds. Put the newest copy back. To go on with this one: "
        "discreet key accept-copy VAULT"
    )


def _meaning(error: Exception) -> str:
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(error, OperationalError) and getattr(cause, "sqlstate", "") is None:  # no server said a code
        return _REFUSED if is_refusal(str(cause)) else _UNREACHED
    name = str(getattr(cause, "sqlite_errorname", "") or getattr(cause, "sqlstate", ""))
    found = (meaning for start, meaning in _EXPLAINED.items() if name.startswith(start))
    return next(found, f"The accounts cannot be used ({type(error).__name__}). No question is asked. Try again.")

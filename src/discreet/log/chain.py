"""The rows of a log. Each has a hash of its own fields and of the hash of the row before.

The table `log` only grows: triggers refuse every update and every delete. The first row opens the log. It holds the
grant, and the hash of the row before it: zeros for a new log, or the last hash of a log that was closed. The numbers of
rows go on after a closing, so they only grow.

What the chain finds: a row that was changed, removed, added or moved, unless all later hashes were computed anew. What
it cannot find: newest rows that were lost together, and a log that was written anew as a whole. The counter beside the
log finds lost rows and other copies (`replay.Counter`). Nothing here stops a person who may write both: a chain detects
accidents and careless changes.

The number of a row is the primary key. So two processes that append at the same time cannot both succeed, even if the
lock of the database failed.
"""

import hashlib
import re
import struct
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Column, Connection, Index, Integer, LargeBinary, MetaData, Table, Text, text

from discreet.errors import LedgerError
from discreet.system.databases import meaning_of

PATIENCE = 30
"""The time to wait for another process that writes, in seconds."""
CORRUPT = "The ledger is corrupt. Nothing is released without a sound ledger. Restore it from a backup."
_LIBRARIES = ("sqlalchemy", "sqlite3", "psycopg")
_SAID = {
    "busy": f"Another process has held the ledger for {PATIENCE} s. Nothing was charged or released. Try again.",
    "disk": "The ledger's disk reports an error. Nothing was released. Check the disk.",
    "damaged": CORRUPT,
    # Two rows with one number, or two settlements of one part.
    "twice": "Another process paid at the same moment, although the ledger was locked. Nothing was charged or "
    "released. Try again.",
}
OPEN = "open"
"""The kind of the first row of a log."""
GENESIS = bytes(32)
"""The hash before the first row of a log that continues no other one."""

_PAGE = 64


class Entry(NamedTuple):
    """What a caller appends. Its question, its kind and its part together are unique.

    Attributes:
        question: the id of the question, or of what else the row is about.
        kind: the kind of the row.
        part: the number of a part of the question.
        loss: the loss at each order, packed; empty if the row pays nothing.
        failure: the failure probability, in units of 1e-18.
        content: what else belongs to the row: payers, or a record as JSON.
    """

    question: str
    kind: str
    part: int = 0
    loss: bytes = b""
    failure: int = 0
    content: bytes = b""


class LogRow(NamedTuple):
    """A row of a log: an entry with its number, its time (whole seconds since 1970), and its hash."""

    id: int
    question: str
    kind: str
    part: int
    time: int
    loss: bytes
    failure: int
    content: bytes
    hash: bytes


class Head(NamedTuple):
    """The last row that a process knows: its number, its hash, and the hash of the row before."""

    id: int
    hash: bytes
    before: bytes


class ReplacedError(Exception):
    """The log lacks the last known row: it is an older copy, another copy, or lost rows in a power cut."""


_TYPES = (int, str, str, int, int, bytes, int, bytes, bytes)
_LENGTHS = struct.Struct(">8q")
_TABLES = MetaData()
LOG = Table(
    "log",
    _TABLES,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("question", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("part", BigInteger, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("loss", LargeBinary, nullable=False),
    Column("failure", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    # A second guard: a part is reserved once, and settled once.
    Index("log_question", "question", "kind", "part", unique=True),
)
_REFUSE = "begin select raise(abort, 'a row of the log is final'); end"
_FINAL = {
    "sqlite": (
        f"create trigger log_no_update before update on log {_REFUSE}",
        f"create trigger log_no_delete before delete on log {_REFUSE}",
        # `insert or replace` would fire no trigger of a delete.
        f"create trigger log_grows before insert on log when new.id <> (select max(id) + 1 from log) {_REFUSE}",
    ),
    "postgresql": (
        "create or replace function log_is_final() returns trigger language plpgsql as "
        "'begin raise exception ''a row of the log is final''; end'",
        "create trigger log_is_final before update or delete or truncate on log "
        "for each statement execute function log_is_final()",
    ),
}


_CLOSED = {
    "sqlite": "select name from sqlite_master where type = 'table' and name glob 'log_until_*'",
    "postgresql": "select tablename from pg_tables where schemaname = current_schema() and tablename ^@ 'log_until_'",
}


class LogStatement:
    """A statement with `:named` values, run by the driver: SQLAlchemy would take longer than the database."""

    def __init__(self, sql: str) -> None:
        self._sqlite, self._postgres = sql, re.sub(r":(\w+)", r"%(\1)s", sql)

    def run(self, connection: Connection, values: Mapping[str, object]) -> Any:
        """Run the statement in the connection's transaction. Return the driver's cursor, whose rows are tuples."""
        driver: Any = connection.connection.dbapi_connection
        return driver.execute(self._sqlite if connection.dialect.name == "sqlite" else self._postgres, values)


_FIELDS = ", ".join(LogRow._fields)
_READ = LogStatement(f"select {_FIELDS} from log where id >= :start order by id limit {_PAGE}")
_FIRST = LogStatement(f"select {_FIELDS} from log order by id limit 1")
_OF_QUESTION = LogStatement(f"select {_FIELDS} from log where question = :question order by id")
_ONE = LogStatement(f"select {_FIELDS} from log where question = :question and kind = :kind and part = :part")
_HASH = LogStatement("select hash from log where id = :id")
_APPEND = LogStatement(f"insert into log ({_FIELDS}) values ({', '.join(f':{name}' for name in LogRow._fields)})")


def now() -> int:
    """Return the time of this machine's clock, in whole seconds. Nothing depends on it but reports."""
    return int(time.time())


def make(connection: Connection, content: bytes, after: Head | None = None) -> Head:
    """Make the table with its first row. Return that row.

    Args:
        connection: a transaction.
        content: the grant.
        after: the last row of the log that this one continues; None for a new log.
    """
    _make_table(connection)
    before = Head(0, GENESIS, b"") if after is None else after
    return append(connection, before, Entry("", OPEN, content=before.hash + content))


def copy(connection: Connection, rows: Iterable[LogRow], content: bytes | None = None) -> None:
    """Make the table with the rows of another log, which were checked.

    Args:
        connection: a transaction.
        rows: the rows. Their hashes stay, unless the first row changes.
        content: a grant in place of the one in the first row; None for the same.
    """
    _make_table(connection)
    head: Head | None = None
    for row in rows:
        head = head or Head(row.id - 1, before_first(row), b"")
        if row.kind == OPEN and content is not None:
            row = row._replace(content=head.hash + content)
        head = append(connection, head, Entry(*(getattr(row, name) for name in Entry._fields)), row.time)


def append(connection: Connection, head: Head, entry: Entry, at: int | None = None) -> Head:
    """Append a row after `head`, the last row. Return the new last row.

    Args:
        connection: a transaction that holds the lock.
        head: the last row.
        entry: what the row says.
        at: its time; now if None.

    The row counts only after the commit. A caller forgets all that it derived from it if the commit fails.
    """
    question, kind, part, loss, failure, content = entry
    row = LogRow(head.id + 1, question, kind, part, now() if at is None else at, loss, failure, content, b"")
    row = row._replace(hash=hash_of(row, head.hash))
    _APPEND.run(connection, row._asdict())
    return Head(row.id, row.hash, head.hash)


def hash_of(row: LogRow, before: bytes) -> bytes:
    """Return the SHA-256 of a row's fields, with their lengths, after the hash of the row before.

    Raises:
        LedgerError: if a field has another type.
    """
    if tuple(map(type, row)) != _TYPES:
        raise LedgerError(CORRUPT)
    fields = [value if isinstance(value, bytes) else str(value).encode() for value in row[:-1]]
    return hashlib.sha256(before + _LENGTHS.pack(*map(len, fields)) + b"".join(fields)).digest()


def read(connection: Connection, head: Head | None = None) -> Iterator[LogRow]:
    """Yield the rows after `head`, or all rows, in their order. Each is checked against the hash of the row before.

    The row `head` itself is read and checked again, too.

    Raises:
        ReplacedError: if the log has no row `head`.
        LedgerError: if a row is missing, or was changed.
    """
    start, before = (0, None) if head is None else (head.id, head.before)
    start_row = head
    while rows := _READ.run(connection, {"start": start}).fetchall():
        for row in map(LogRow._make, rows):
            if start_row is not None and (row.id, row.hash) != start_row[:2]:
                raise ReplacedError
            if before is None:
                before = before_first(row)
            elif row.id != start:
                raise LedgerError(CORRUPT)
            if row.hash != hash_of(row, before):
                raise LedgerError(CORRUPT)
            if start_row is None:
                yield row
            start, before, start_row = row.id + 1, row.hash, None
    if start_row is not None:
        raise ReplacedError
    if before is None:
        raise LedgerError(CORRUPT)


def before_first(row: LogRow) -> bytes:
    """Return the hash before the first row of a log.

    Raises:
        LedgerError: if the row opens no log.
    """
    if row.kind != OPEN or not isinstance(row.content, bytes) or (row.id == 1) != row.content.startswith(GENESIS):
        raise LedgerError(CORRUPT)
    return row.content[: len(GENESIS)]


def first(connection: Connection) -> LogRow:
    """Return the first row, checked against its hash.

    Raises:
        LedgerError: if it is missing, or was changed.
    """
    result = _FIRST.run(connection, {}).fetchone()
    if result is None:
        raise LedgerError(CORRUPT)
    row = LogRow._make(result)
    if row.hash != hash_of(row, before_first(row)):
        raise LedgerError(CORRUPT)
    return row


def rows_of(connection: Connection, questions: Collection[str]) -> Iterator[LogRow]:
    """Yield the rows of questions, found by the index."""
    for question in questions:
        yield from map(LogRow._make, _OF_QUESTION.run(connection, {"question": question}).fetchall())


def find(connection: Connection, question: str, kind: str, part: int = 0) -> LogRow | None:
    """Return the row with this question, kind and part, found by the index; None if there is none."""
    row = _ONE.run(connection, {"question": question, "kind": kind, "part": part}).fetchone()
    return None if row is None else LogRow._make(row)


def hash_at(connection: Connection, number: int) -> bytes | None:
    """Return the hash of the row with this number; None if there is none."""
    row = _HASH.run(connection, {"id": number}).fetchone()
    return None if row is None else bytes(row[0])


def list_closed(connection: Connection) -> list[str]:
    """Return the names of the tables with rows of logs that were closed."""
    return sorted(name for (name,) in connection.execute(text(_CLOSED[connection.dialect.name])))


def close(connection: Connection, head: Head, content: bytes, *, keep: bool) -> Head:
    """Replace the log by a new one that continues it. Return the first row of the new log.

    Args:
        connection: a transaction that holds the lock.
        head: the last row.
        content: the grant.
        keep: whether the old rows stay, as the table `log_until_N`; else they are gone for good.
    """
    if keep:
        connection.execute(text(f"create table log_until_{head.id:d} as select * from log"))
    LOG.drop(connection)
    return make(connection, content, head)


def _make_table(connection: Connection) -> None:
    _TABLES.create_all(connection, checkfirst=False)
    for statement in _FINAL[connection.dialect.name]:
        connection.execute(text(statement))


@contextmanager
def explained(said: Mapping[str, str], path: Path | None = None) -> Iterator[None]:
    """Convert errors of a database to a `LedgerError` with a remedy, which has none of the driver's words.

    Args:
        said: what each meaning of an error (`meaning_of`) is called for this kind of database.
        path: the file of the database, if it has one.
    """
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in _LIBRARIES and not isinstance(error, UnicodeDecodeError):
            raise
        if path is not None and not path.is_file():
            raise missing(path) from None
        unknown = f"The ledger cannot be used ({type(error).__name__}). Nothing was released. Try again; if the error "
        words = (_SAID | dict(said)).get(meaning_of(error), f"{unknown}remains, restore a backup.")
        raise LedgerError(words) from None


def missing(path: Path) -> LedgerError:
    """Return the error of a missing ledger. A new one is never made in its place: it would lack all charges."""
    return LedgerError(f"The ledger {path} is missing. Nothing is released without a ledger. Restore it from a backup.")

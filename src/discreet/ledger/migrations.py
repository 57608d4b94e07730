"""The tables of a ledger in SQLite, as numbered steps. A step is never changed once released; a new one is added.

The same tables in PostgreSQL: postgres_tables.py.
"""

import hashlib
from collections.abc import Callable

from sqlalchemy import Connection, text

from discreet.errors import LedgerError
from discreet.ledger.encoding import CORRUPT

GRANT_IS_FINAL = (
    "create trigger grant_is_final before update on grant_ begin select raise(abort, 'a grant is final'); end"
)


def m001_initial(connection: Connection) -> None:
    """The grant, the total, the questions and their charges."""
    for statement in (
        # One row: what was granted. Numbers as text, so that they are read back exactly.
        "create table grant_ (only integer primary key check (only = 1), epsilon text not null, delta text not null, "
        "failures text not null, finite_order text not null, orders text not null, log_questions integer not null, "
        "simulation integer not null)",
        # One row: the sum of all charges, in billionths of a nat at each order, and in 1e-18 of delta.
        "create table total (only integer primary key check (only = 1), nano blob not null, atto integer not null)",
        "create table question (id text primary key, time text not null, algorithm text not null, text text, "
        "private integer not null, stopped text)",
        "create table charge (question text not null, number integer not null, time text not null, "
        "mechanism text not null, change text not null, cost text not null, nano blob not null, atto integer not null, "
        "primary key (question, number))",
        GRANT_IS_FINAL,
    ):
        connection.execute(text(statement))


def m002_sealed_grant(connection: Connection) -> None:
    """A digest of the grant, so that damage to it is noticed: one changed byte would turn epsilon 5 into 9.

    Against damage alone, not against whoever may write the file. Also, a grant cannot be deleted.
    """
    connection.execute(text("create table seal (only integer primary key check (only = 1), digest text not null)"))
    connection.execute(
        text("create trigger grant_stays before delete on grant_ begin select raise(abort, 'a grant is final'); end")
    )
    if connection.execute(text("select 1 from grant_")).scalar() is not None:
        connection.execute(text("insert into seal values (1, :digest)"), {"digest": _digest(connection, _GRANT_2)})


def m003_units(connection: Connection) -> None:
    """What single units paid, the parts in which questions pay, and which filter was granted.

    Raises:
        LedgerError: the grant is not the sealed one; it would get a new seal otherwise.
    """
    sealed = connection.execute(text("select digest from seal")).scalar()
    if sealed is not None and sealed != _digest(connection, _GRANT_2):
        raise LedgerError(f"The ledger's grant is not the one that was made. {CORRUPT}")
    for statement in (
        "alter table grant_ add column accountant text not null default 'renyi'",
        # Units that ever paid by themselves: a keyed hash, and the three numbers of a `FilterState`.
        "create table unit (key blob primary key check (length(key) = 16), curve bigint not null check (curve >= 0), "
        "pure bigint not null check (pure >= 0), failures bigint not null check (failures >= 0)) without rowid",
        # What is reserved before noise is drawn. Spent: null until it is settled. Paying: the keys of the units
        # that pay, one after the other, unless everybody does. Charges: what was released, as JSON, for the record.
        "create table part (question text not null, part integer not null, most_nano blob not null, "
        "most_atto bigint not null, spent_nano blob, spent_atto bigint, everybody boolean not null, paying blob, "
        "charges text, primary key (question, part), check (everybody = (paying is null)))",
    ):
        connection.execute(text(statement))
    if sealed is not None:
        connection.execute(text("update seal set digest = :digest"), {"digest": grant_digest(connection)})


OPEN_PART = (
    # One row: the part that single units reserved last. Their rows do not hold it before it is settled, so that sums do
    # not tell whether it is whole; a digest of what was reserved does. Nulls: their rows hold every part.
    'create table open_part ("only" bigint primary key check ("only" = 1), question text, part bigint, digest {bytes})',
    "insert into open_part values (1, null, null, null)",
    # Called otherwise from now on, so that a program of an earlier version that has the ledger open fails: it would not
    # see what the open part reserved.
    "alter table part rename column paying to payers",
)


def m004_open_part(connection: Connection) -> None:
    """Units' rows are written when a part is settled, once, no longer when it is reserved."""
    for statement in OPEN_PART:
        connection.execute(text(statement.format(bytes="blob")))


MERGED = (
    # Units that turned out to be one: what `old` had paid, `new` has paid. Old names stay in `part.payers`, so that a
    # part which they paid for can still be settled.
    "create table if not exists merged (old {bytes} primary key check (length(old) = 16), "
    "new {bytes} not null check (length(new) = 16), time text not null)",
    "create index if not exists merged_new on merged (new)",
    # Called otherwise from now on, so that a program of an earlier version that has the ledger open fails: it would not
    # find what a unit paid under its old name.
    "alter table open_part rename to latest_part",
)


def m005_merged(connection: Connection) -> None:
    """Which units turned out to be one."""
    for statement in MERGED:
        connection.execute(text(statement.format(bytes="blob")))


_GRANT_2 = "epsilon, delta, failures, finite_order, orders, log_questions, simulation"


def grant_digest(connection: Connection) -> str:
    """A digest of every column of the grant."""
    return _digest(connection, f"{_GRANT_2}, accountant")


def _digest(connection: Connection, columns: str) -> str:
    row = connection.execute(text(f"select {columns} from grant_")).one()
    return hashlib.sha256(repr(tuple(row)).encode()).hexdigest()


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (
    m001_initial,
    m002_sealed_grant,
    m003_units,
    m004_open_part,
    m005_merged,
)
"""In order; the number of those that ran is the version of a ledger."""

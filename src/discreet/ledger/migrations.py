"""The tables of a ledger in SQLite, as numbered steps. A released step never changes; new steps are added.

postgres_tables.py has the same tables for PostgreSQL.
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
    """Make the tables of the grant, the total, the questions and their charges."""
    for statement in (
        # One row with the grant. Its numbers are texts, which give back the exact values.
        "create table grant_ (only integer primary key check (only = 1), epsilon text not null, delta text not null, "
        "failures text not null, finite_order text not null, orders text not null, log_questions integer not null, "
        "simulation integer not null)",
        # One row with the sum of all charges: in 1e-9 nats at each order, and in units of 1e-18 of delta.
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
    """Add a digest of the grant, which detects damage: one changed byte could turn epsilon 5 into 9.

    The digest does not protect against a process that may write the file. The step also forbids to delete the grant.
    """
    connection.execute(text("create table seal (only integer primary key check (only = 1), digest text not null)"))
    connection.execute(
        text("create trigger grant_stays before delete on grant_ begin select raise(abort, 'a grant is final'); end")
    )
    if connection.execute(text("select 1 from grant_")).scalar() is not None:
        connection.execute(text("insert into seal values (1, :digest)"), {"digest": _digest(connection, _GRANT_2)})


def m003_units(connection: Connection) -> None:
    """Add the balances of units, the parts of questions, and the filter of the grant.

    Raises:
        LedgerError: if the grant differs from its seal. The step would otherwise seal a damaged grant.
    """
    sealed = connection.execute(text("select digest from seal")).scalar()
    if sealed is not None and sealed != _digest(connection, _GRANT_2):
        raise LedgerError(f"The ledger's grant differs from its seal. {CORRUPT}")
    for statement in (
        "alter table grant_ add column accountant text not null default 'renyi'",
        # One row for each unit that was ever charged alone: a keyed hash, and the three numbers of a `FilterState`.
        "create table unit (key blob primary key check (length(key) = 16), curve bigint not null check (curve >= 0), "
        "pure bigint not null check (pure >= 0), failures bigint not null check (failures >= 0)) without rowid",
        # The sums that are reserved before noise is drawn. Spent: null until the part is settled. Paying: the
        # concatenated keys of the payers; null if all units pay. Charges: the releases as JSON, for the record.
        "create table part (question text not null, part integer not null, most_nano blob not null, "
        "most_atto bigint not null, spent_nano blob, spent_atto bigint, everybody boolean not null, paying blob, "
        "charges text, primary key (question, part), check (everybody = (paying is null)))",
    ):
        connection.execute(text(statement))
    if sealed is not None:
        connection.execute(text("update seal set digest = :digest"), {"digest": grant_digest(connection)})


OPEN_PART = (
    # One row: the last part that single units reserved. Their rows do not include it before it is settled, so no sum
    # can check it; the digest of the reservation does. Nulls: the rows include all parts.
    'create table open_part ("only" bigint primary key check ("only" = 1), question text, part bigint, digest {bytes})',
    "insert into open_part values (1, null, null, null)",
    # The new name makes a running program of an earlier version fail: it would miss the reservation of the open part.
    "alter table part rename column paying to payers",
)


def m004_open_part(connection: Connection) -> None:
    """Add the open part: units' rows are now written once, when a part is settled, and not when it is reserved."""
    for statement in OPEN_PART:
        connection.execute(text(statement.format(bytes="blob")))


MERGED = (
    # Merged units: `new` has the payments of `old`. The old keys stay in `part.payers`, so that their parts can still
    # be settled.
    "create table if not exists merged (old {bytes} primary key check (length(old) = 16), "
    "new {bytes} not null check (length(new) = 16), time text not null)",
    "create index if not exists merged_new on merged (new)",
    # The new name makes a running program of an earlier version fail: it would miss the payments under the old key.
    "alter table open_part rename to latest_part",
)


def m005_merged(connection: Connection) -> None:
    """Add the table of merged units."""
    for statement in MERGED:
        connection.execute(text(statement.format(bytes="blob")))


NUMBERED = (
    # The numbers of units, which name them in the compressed payers of a part (packed_payers.py). A number is never
    # given again: that of a merged unit stays with its old key.
    "alter table unit add column number bigint",
    "update unit set number = numbered.number from "
    "(select key, row_number() over (order by key) as number from unit) as numbered where numbered.key = unit.key",
    "create unique index unit_number on unit (number)",
    "alter table part add column packed {bytes}",
    "alter table merged add column number bigint",
    # The new name makes a running program of an earlier version fail: it would miss payers that are compressed.
    "alter table merged rename to merged_unit",
)


def m006_numbered(connection: Connection) -> None:
    """Add numbers of units, and the compressed payers of parts. Payers of earlier parts stay unchanged."""
    for statement in NUMBERED:
        connection.execute(text(statement.format(bytes="blob")))


WAITING = (
    # Large parts that the rows of their payers do not include yet (waiting.py). The digest is that of the part.
    "create table waiting_part (question text not null, part bigint not null, payers bigint not null, "
    "digest {bytes} not null, primary key (question, part))",
    # What units paid for large parts that are written, by their numbers (blocks.py).
    "create table balance_block (block bigint primary key, content {bytes} not null)",
    # The numbers of changes (changes.py); null for earlier parts.
    "alter table part add column reserved_at bigint",
    "alter table part add column settled_at bigint",
    "create index part_reserved_at on part (reserved_at)",
    "create index part_settled_at on part (settled_at)",
    "create index merged_unit_number on merged_unit (number)",
    # A random number for each merge of units.
    "alter table latest_part add column merged_at bigint",
    # A program of format 5 may have paid units while they were numbered.
    "update unit set number = fresh.number from (select key, row_number() over (order by key) + "
    "(select coalesce(max(number), 0) from (select max(number) as number from unit "
    "union all select max(number) from merged_unit) as numbers) as number "
    "from unit where number is null) as fresh where fresh.key = unit.key",
    # The new name makes a running program of an earlier version fail: it would miss the waiting parts.
    "alter table latest_part rename to last_part",
)


def m007_waiting(connection: Connection) -> None:
    """Add the waiting parts, the blocks of balances, and the numbers of changes."""
    for statement in WAITING:
        connection.execute(text(statement.format(bytes="blob")))


_GRANT_2 = "epsilon, delta, failures, finite_order, orders, log_questions, simulation"


def grant_digest(connection: Connection) -> str:
    """Return a digest of all columns of the grant."""
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
    m006_numbered,
    m007_waiting,
)
"""The steps in order. The number of finished steps is the version of a ledger."""

"""The tables of a ledger, in SQLite and in PostgreSQL.

Numbers of the grant are texts, which give back the exact values.
"""

import hashlib

from sqlalchemy import Connection, text

from discreet.config import FORMAT

# `{bytes}`: the type of bytes. `{arrival}`: the column that numbers questions in the order of arrival, which SQLite has
# as rowid.
_TABLES = (
    # One row with the grant, and one with its digest, which detects damage: one changed byte could turn epsilon 5 into
    # 9. It does not protect against a process that may write the file.
    'create table grant_ ("only" bigint primary key check ("only" = 1), epsilon text not null, delta text not null, '
    "failures text not null, finite_order text not null, orders text not null, log_questions boolean not null, "
    "simulation boolean not null, accountant text not null)",
    'create table seal ("only" bigint primary key check ("only" = 1), digest text not null)',
    # One row with the sum of all charges: in 1e-9 nats at each order, and in units of 1e-18 of delta.
    'create table total ("only" bigint primary key check ("only" = 1), nano {bytes} not null, atto bigint not null)',
    "create table question (id text primary key, time text not null, algorithm text not null, text text, "
    "private boolean not null, stopped text{arrival})",
    "create table charge (question text not null, number bigint not null, time text not null, "
    "mechanism text not null, change text not null, cost text not null, nano {bytes} not null, atto bigint not null, "
    "primary key (question, number))",
    # One row for each unit that was ever charged alone: a keyed hash, the three numbers of a `FilterState`, and the
    # number that names it in the compressed payers of a part (packed_payers.py). A number is never given again: that of
    # a merged unit stays with its old key.
    "create table unit (key {bytes} primary key check (length(key) = 16), curve bigint not null check (curve >= 0), "
    "pure bigint not null check (pure >= 0), failures bigint not null check (failures >= 0), number bigint){keyed}",
    "create unique index unit_number on unit (number)",
    # The sums that are reserved before noise is drawn. Spent: null until the part is settled. Payers: their
    # concatenated keys; null if all units pay. Charges: the releases as JSON, for the record. The last two columns are
    # numbers of changes (changes.py).
    "create table part (question text not null, part bigint not null, most_nano {bytes} not null, "
    "most_atto bigint not null, spent_nano {bytes}, spent_atto bigint, everybody boolean not null, payers {bytes}, "
    "charges text, packed {bytes}, reserved_at bigint, settled_at bigint, primary key (question, part), "
    "check (everybody = (payers is null)))",
    "create index part_reserved_at on part (reserved_at)",
    "create index part_settled_at on part (settled_at)",
    # One row: the last part that few units reserved. Their rows do not include it before it is settled, so no sum can
    # check it; the digest of the reservation does. Nulls: the rows include all parts. Merged at: a random number for
    # each merge of units.
    'create table last_part ("only" bigint primary key check ("only" = 1), question text, part bigint, '
    "digest {bytes}, merged_at bigint)",
    "insert into last_part values (1, null, null, null, null)",
    # Parts of many payers that the rows of their payers do not include yet (waiting.py), with the digests of the parts.
    "create table waiting_part (question text not null, part bigint not null, payers bigint not null, "
    "digest {bytes} not null, primary key (question, part))",
    # What units paid for parts of many payers that are written, by their numbers (blocks.py).
    "create table balance_block (block bigint primary key, content {bytes} not null)",
    # Merged units: `new` has the payments of `old`. The old keys stay in `part.payers`, so that their parts can still
    # be settled.
    "create table merged_unit (old {bytes} primary key check (length(old) = 16), "
    "new {bytes} not null check (length(new) = 16), time text not null, number bigint)",
    "create index merged_unit_new on merged_unit (new)",
    "create index merged_unit_number on merged_unit (number)",
)
GRANT_IS_FINAL = (
    "create trigger grant_is_final before update on grant_ begin select raise(abort, 'a grant is final'); end"
)
_FINAL_IN_SQLITE = (
    GRANT_IS_FINAL,
    "create trigger grant_stays before delete on grant_ begin select raise(abort, 'a grant is final'); end",
)
_FINAL_IN_POSTGRES = (
    "create function grant_is_final() returns trigger language plpgsql as "
    "'begin raise exception ''a grant is final''; end'",
    "create trigger grant_is_final before update or delete or truncate on grant_ "
    "for each statement execute function grant_is_final()",
)


def make_in_sqlite(connection: Connection) -> None:
    """Make the tables in an empty file."""
    for statement in _TABLES:
        connection.execute(text(statement.format(bytes="blob", arrival="", keyed=" without rowid")))
    for statement in _FINAL_IN_SQLITE:
        connection.execute(text(statement))
    connection.execute(text(f"pragma user_version = {FORMAT}"))


def make_in_postgres(connection: Connection, name: str) -> None:
    """Make the tables in a new schema with the checked name `name`."""
    connection.execute(text(f'create schema "{name}"'))
    arrival = ", arrival bigint generated always as identity"
    for statement in _TABLES:
        connection.execute(text(statement.format(bytes="bytea", arrival=arrival, keyed="")))
    for statement in _FINAL_IN_POSTGRES:
        connection.execute(text(statement))
    connection.execute(text("create table format (version bigint not null)"))
    connection.execute(text("insert into format values (:format)"), {"format": FORMAT})


def grant_digest(connection: Connection) -> str:
    """Return a digest of all columns of the grant."""
    row = connection.execute(
        text("select epsilon, delta, failures, finite_order, orders, log_questions, simulation, accountant from grant_")
    ).one()
    return hashlib.sha256(repr(tuple(row)).encode()).hexdigest()

"""The tables of a ledger in PostgreSQL. Their columns are those of migrations.py after its last step."""

from sqlalchemy import Connection, text

from discreet.ledger.migrations import MERGED, NUMBERED, OPEN_PART, WAITING

VERSION = 7
"""The step of migrations.py that these tables correspond to."""

_TABLES = (
    "create table format (version bigint not null)",
    'create table grant_ ("only" bigint primary key check ("only" = 1), epsilon text not null, delta text not null, '
    "failures text not null, finite_order text not null, orders text not null, log_questions boolean not null, "
    "simulation boolean not null, accountant text not null)",
    'create table seal ("only" bigint primary key check ("only" = 1), digest text not null)',
    'create table total ("only" bigint primary key check ("only" = 1), nano bytea not null, atto bigint not null)',
    "create table question (id text primary key, time text not null, algorithm text not null, text text, "
    "private boolean not null, stopped text, arrival bigint generated always as identity)",
    "create table charge (question text not null, number bigint not null, time text not null, "
    "mechanism text not null, change text not null, cost text not null, nano bytea not null, atto bigint not null, "
    "primary key (question, number))",
    "create table unit (key bytea primary key check (length(key) = 16), curve bigint not null check (curve >= 0), "
    "pure bigint not null check (pure >= 0), failures bigint not null check (failures >= 0))",
    "create table part (question text not null, part bigint not null, most_nano bytea not null, "
    "most_atto bigint not null, spent_nano bytea, spent_atto bigint, everybody boolean not null, paying bytea, "
    "charges text, primary key (question, part), check (everybody = (paying is null)))",
    "create function grant_is_final() returns trigger language plpgsql as "
    "'begin raise exception ''a grant is final''; end'",
    "create trigger grant_is_final before update or delete or truncate on grant_ "
    "for each statement execute function grant_is_final()",
)
_STEPS = (OPEN_PART, MERGED, NUMBERED, WAITING)
_LATER = tuple(tuple(statement.format(bytes="bytea") for statement in step) for step in _STEPS)
OLDEST = VERSION - len(_LATER)
"""The first version of a ledger in PostgreSQL. Later steps are applied to its tables."""


def make_tables(connection: Connection, name: str) -> None:
    """Make empty tables in a new schema with the checked name `name`."""
    connection.execute(text(f'create schema "{name}"'))
    for statement in _TABLES:
        connection.execute(text(statement))
    connection.execute(text("insert into format values (:version)"), {"version": OLDEST})
    migrate(connection)


def migrate(connection: Connection) -> None:
    """Migrate older tables under the lock of the ledger. Another process may have migrated them before."""
    version = connection.execute(text("select version from format")).scalar_one()
    for step in _LATER[version - OLDEST :]:
        for statement in step:
            connection.execute(text(statement))
    connection.execute(text("update format set version = :version"), {"version": VERSION})

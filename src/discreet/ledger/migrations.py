"""The ledger's tables, as numbered steps. A step is never changed once released; a new one is added."""

import hashlib
from collections.abc import Callable

from sqlalchemy import Connection, text

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
        connection.execute(text("insert into seal values (1, :digest)"), {"digest": grant_digest(connection)})


def grant_digest(connection: Connection) -> str:
    """A digest of every column of the grant."""
    row = connection.execute(
        text("select epsilon, delta, failures, finite_order, orders, log_questions, simulation from grant_")
    ).one()
    return hashlib.sha256(repr(tuple(row)).encode()).hexdigest()


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (m001_initial, m002_sealed_grant)
"""In order; the number of those that ran is the version of a ledger."""

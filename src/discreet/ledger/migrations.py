"""The ledger's tables, as numbered steps. A step is never changed once released; a new one is added."""

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


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (m001_initial,)
"""In order; the number of those that ran is the version of a ledger."""

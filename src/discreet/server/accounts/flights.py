"""Which server has a question in flight, in accounts that several servers share."""

from sqlalchemy import Connection, bindparam, delete, insert, select
from sqlalchemy.sql.elements import ColumnElement

from discreet.server.accounts.tables import FLIGHTS, QUESTIONS

_BEGIN = insert(FLIGHTS)
_LAND = delete(FLIGHTS).where(FLIGHTS.c.question == bindparam("of_id"))


def begin(connection: Connection, question: str, server: str) -> None:
    """Record that a server has a question in flight."""
    connection.execute(_BEGIN, {"question": question, "server": server})


def land(connection: Connection, question: str) -> None:
    """Record that a question is in flight no more."""
    if "\0" not in question:  # PostgreSQL has no such text: it would be an error of the database
        connection.execute(_LAND, {"of_id": question})


def of_server(server: str) -> ColumnElement[bool]:
    """Return the condition that a question is one of a server's flights."""
    return QUESTIONS.c.id.in_(select(FLIGHTS.c.question).where(FLIGHTS.c.server == server))

"""Idempotency-Keys of requests that joined the question of another request, or got its stored answer.

Such a request has no question of its own in the accounts, so its name is kept here.
"""

from sqlalchemy import Connection, delete, insert, select

from discreet.server.accounts.tables import NAMES


def record(connection: Connection, key: str, name: str, question: str, now: float) -> None:
    """Have a name of a key find a question, in place of the one that it found before."""
    connection.execute(delete(NAMES).where((NAMES.c.key == key) & (NAMES.c.name == name)))
    connection.execute(insert(NAMES).values(key=key, name=name, question=question, asked=now))


def find(connection: Connection, key: str, name: str, since: float) -> str | None:
    """Return the question that a name of a key finds, if it was recorded since then."""
    named = (NAMES.c.key == key) & (NAMES.c.name == name) & (NAMES.c.asked > since)
    found: str | None = connection.execute(select(NAMES.c.question).where(named)).scalar()
    return found


def forget(connection: Connection, before: float) -> None:
    """Delete the names that no request can use any more."""
    connection.execute(delete(NAMES).where(NAMES.c.asked < before))

"""How rows hold sums and the names of units, in every kind of database."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, text

from discreet.errors import LedgerError
from discreet.ledger.sql_statements import Statement
from discreet.privacy.accounting import Spending
from discreet.privacy.costs import ORDERS

CORRUPT = "The ledger is corrupt. Nothing is released without it; restore it from a copy."

KEY = 16
"""How many bytes the name of a unit has."""

_TOTAL = Statement("select nano, atto from total")
_SET_TOTAL = Statement("update total set nano = :nano, atto = :atto")


def pack(spending: Spending) -> dict[str, Any]:
    """A sum as the two columns that hold it."""
    return {"nano": spending.loss_nano.astype("<i8").tobytes(), "atto": spending.failure_atto}


def unpack(nano: object, atto: object) -> Spending:
    """The sum that two columns hold.

    Raises:
        LedgerError: they hold none.
    """
    if not (isinstance(nano, bytes) and len(nano) == 8 * len(ORDERS) and isinstance(atto, int) and atto >= 0):
        raise LedgerError(CORRUPT)
    return Spending(np.frombuffer(nano, dtype="<i8").astype(np.int64), atto)


def unpack_part(row: Any) -> tuple[Spending, Spending | None]:
    """What a part reserved, and what it spent; None while it is not settled."""
    spent = None if row.spent_nano is None else unpack(row.spent_nano, row.spent_atto)
    return unpack(row.most_nano, row.most_atto), spent


def counted(most: Spending, spent: Spending | None) -> Spending:
    """What a part counts for: what it spent; all that it reserved while it is not settled."""
    return most if spent is None else most - (most - spent)


def total(connection: Connection) -> Spending:
    """What everybody has spent."""
    return unpack(*_TOTAL.one(connection, {}))


def set_total(connection: Connection, spending: Spending) -> None:
    """Note what everybody has spent."""
    _SET_TOTAL.run(connection, pack(spending))


def stream(connection: Connection, statement: str, **values: object) -> Iterator[Any]:
    """The rows of a query, a few at a time, however many there are."""
    result = connection.execution_options(yield_per=1000).execute(text(statement), values)
    yield from result


def checked(units: Sequence[bytes]) -> list[bytes]:
    """The names of units, each once, in order.

    Raises:
        LedgerError: one has not the length that all have.
    """
    if set(map(type, units)) - {bytes} or set(map(len, units)) - {KEY}:
        raise LedgerError(f"A unit is named by exactly {KEY} bytes. Nothing was reserved; name it by a keyed hash.")
    return sorted(set(units))

"""The encoding of sums and unit keys in rows, for all databases."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, text

from discreet.errors import LedgerError
from discreet.ledger.sql_statements import Statement
from discreet.privacy.accounting import Spending
from discreet.privacy.costs import ORDERS

CORRUPT = "The ledger is corrupt. Nothing is released without a sound ledger. Restore it from a backup."

KEY = 16
"""The length of a unit's key, in bytes."""
FIXED = np.dtype(("S", KEY))
"""The type of keys in an array, which numpy sorts as bytes. A single element would lose its zeros at the end."""

_AT_ONCE = 1000

_TOTAL = Statement("select nano, atto from total")
_SET_TOTAL = Statement("update total set nano = :nano, atto = :atto")


def pack(spending: Spending) -> dict[str, Any]:
    """Return a sum as the values of its two columns."""
    return {"nano": spending.loss_nano.astype("<i8").tobytes(), "atto": spending.failure_atto}


def unpack(nano: object, atto: object) -> Spending:
    """Return the sum from its two columns.

    Raises:
        LedgerError: if the columns do not contain a sum.
    """
    if not (isinstance(nano, bytes) and len(nano) == 8 * len(ORDERS) and isinstance(atto, int) and atto >= 0):
        raise LedgerError(CORRUPT)
    return Spending(np.frombuffer(nano, dtype="<i8").astype(np.int64), atto)


def unpack_part(row: Any) -> tuple[Spending, Spending | None]:
    """Return the reserved sum of a part and its spent sum; None for the second while the part is not settled."""
    return unpack_sums(row.most_nano, row.most_atto, row.spent_nano, row.spent_atto)


def unpack_sums(
    most_nano: object, most_atto: object, spent_nano: object, spent_atto: object
) -> tuple[Spending, Spending | None]:
    """Return the reserved sum of a part and its spent sum from their columns; None for the second without one."""
    return unpack(most_nano, most_atto), None if spent_nano is None else unpack(spent_nano, spent_atto)


def counted(most: Spending, spent: Spending | None) -> Spending:
    """Return the sum that counts for a part: the spent sum, or the reserved sum while the part is not settled."""
    return most if spent is None else most - (most - spent)


def total(connection: Connection) -> Spending:
    """Return the sum that all units have paid in common."""
    return unpack(*_TOTAL.one(connection, {}))


def set_total(connection: Connection, spending: Spending) -> None:
    """Write the sum that all units have paid in common."""
    _SET_TOTAL.run(connection, pack(spending))


def stream(connection: Connection, statement: str, **values: object) -> Iterator[Any]:
    """Yield the rows of a query, and fetch only some of them at a time."""
    result = connection.execution_options(yield_per=1000).execute(text(statement), values)
    yield from result


def joined(units: Sequence[bytes]) -> bytes:
    """Return the concatenated keys of units in order, each once.

    Raises:
        LedgerError: if a key has a wrong type or length.
    """
    listed = list(units)
    together = b"".join(_checked(listed[start : start + _AT_ONCE]) for start in range(0, len(listed), _AT_ONCE))
    halves = np.frombuffer(together, dtype=">u8").reshape(-1, 2)
    first = halves[:, 0].astype(np.uint64)
    order = np.argsort(first)
    if (first[order[1:]] == first[order[:-1]]).any():  # a unit that is named twice, or keys of tests
        return np.unique(np.frombuffer(together, dtype=FIXED)).tobytes()
    return halves[order].tobytes()


def _checked(units: Sequence[bytes]) -> bytes:
    """Return some keys in their order, after a look at their types and lengths. Few at once stay in the cache."""
    if set(map(type, units)) - {bytes} or set(map(len, units)) - {KEY}:
        raise LedgerError(
            f"The key of a unit has a wrong type or length; {KEY} bytes are expected. Nothing was reserved. Use a "
            "keyed hash."
        )
    return b"".join(units)


def split(keys: bytes) -> list[bytes]:
    """Return concatenated keys one by one."""
    return [keys[start : start + KEY] for start in range(0, len(keys), KEY)]

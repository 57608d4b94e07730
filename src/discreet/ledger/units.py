"""What single units have paid, in the table `unit`: who can pay, paying, and getting back.

Each question is answered by the database, row by row, in whole numbers; never are all units in memory. Whether a
unit can pay depends on its own row and on what everybody spent, on nothing else.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, text

from discreet.errors import LedgerError
from discreet.ledger.rows import CORRUPT, KEY, stream
from discreet.privacy.accounting import CUT, Budget, Meter

_AT_ONCE = 1000

# The names in `:keys`, one after the other, as rows: one value whatever their number, in any database.
_NAMED = f"""
    with recursive named(place, key) as (
        select 1, substr(:keys, 1, {KEY})
        union all select place + {KEY}, substr(:keys, place + {KEY}, {KEY}) from named
        where place + {KEY} < length(:keys)
    )
"""

# The readings of two cut numbers fit into 64 bits, and so do their sums here.
_ADMITTED = """
    coalesce(unit.failures, 0) + :failures <= :most_failures
    and (coalesce(unit.curve, 0) + :curve <= :most_curve or coalesce(unit.pure, 0) + :pure <= :most_pure)
"""

_CAN_PAY = text(f"{_NAMED} select named.key from named left join unit on unit.key = named.key where {_ADMITTED}")

_CANNOT_PAY = f"select key from unit where not ({_ADMITTED})"

_PAY = text(f"""
    {_NAMED} insert into unit (key, curve, pure, failures) select key, :curve, :pure, :failures from named where true
    on conflict (key) do update set
        curve = case when unit.curve + excluded.curve < :cut then unit.curve + excluded.curve else :cut end,
        pure = case when unit.pure + excluded.pure < :cut then unit.pure + excluded.pure else :cut end,
        failures = unit.failures + excluded.failures
""")

# What was cut stays cut, as in `Meter`. It begins with "update", without which SQLite's driver counts no rows.
_GET_BACK = text(f"""
    update unit set
        curve = case when curve < :cut then curve - :curve else curve end,
        pure = case when pure < :cut then pure - :pure else pure end,
        failures = failures - :failures
    where key in ({_NAMED} select key from named)
""")

_READINGS = "select curve, pure, failures, count(*) as units from unit group by curve, pure, failures"


def can_pay(connection: Connection, budget: Budget, everybody: Meter, units: Sequence[bytes]) -> list[bytes]:
    """Those of `units` that stay within `budget` when `everybody` is added to what they paid; in order."""
    values = _values(everybody) | _limits(budget)
    able: list[bytes] = []
    for keys in _chunks(units):
        able.extend(connection.scalars(_CAN_PAY, values | {"keys": keys}).all())
    return sorted(able)


def cannot_pay(connection: Connection, budget: Budget, everybody: Meter) -> frozenset[bytes]:
    """All units that do not stay within `budget` when `everybody` is added to what they paid."""
    return frozenset(row.key for row in stream(connection, _CANNOT_PAY, **_values(everybody), **_limits(budget)))


def pay(connection: Connection, cost: Meter, units: Sequence[bytes]) -> None:
    """Add `cost` to what each of `units` paid."""
    for keys in _chunks(units):
        connection.execute(_PAY, _values(cost) | {"keys": keys, "cut": CUT})


def get_back(connection: Connection, back: Meter, units: Sequence[bytes]) -> None:
    """Take `back`, which all of `units` paid, off what each paid.

    Raises:
        LedgerError: one of them never paid.
    """
    if back == Meter():
        return
    found = sum(
        connection.execute(_GET_BACK, _values(back) | {"keys": keys, "cut": CUT}).rowcount for keys in _chunks(units)
    )
    if found != len(units):
        raise LedgerError(CORRUPT)


def readings(connection: Connection) -> list[tuple[Meter, int]]:
    """Each reading that units have, and how many have it."""
    return [(Meter(row.curve, row.pure, row.failures), row.units) for row in stream(connection, _READINGS)]


def _chunks(units: Sequence[bytes]) -> Iterator[bytes]:
    for start in range(0, len(units), _AT_ONCE):
        yield b"".join(units[start : start + _AT_ONCE])


def _values(meter: Meter) -> dict[str, Any]:
    return {"curve": meter.curve, "pure": meter.pure, "failures": meter.failures}


def _limits(budget: Budget) -> dict[str, Any]:
    return {f"most_{name}": value for name, value in _values(budget.limit).items()}

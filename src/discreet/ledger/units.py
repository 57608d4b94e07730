"""What single units have paid, in the table `unit`: who can pay, paying, and getting back.

Each question is answered by the database, row by row, in whole numbers; never are all units in memory. Whether a
unit can pay depends on its own row and on what everybody spent, on nothing else. What a row does not hold yet:
pending.py.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection

from discreet.errors import LedgerError
from discreet.ledger.rows import CORRUPT, KEY, stream
from discreet.ledger.statements import Statement
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

_CANNOT_PAY_OF = Statement(
    f"{_NAMED} select named.key from named left join unit on unit.key = named.key where not ({_ADMITTED})"
)

_CANNOT_PAY = f"select key from unit where not ({_ADMITTED})"

# Cut where all that was reserved would be cut, as if it had been added first and the rest taken back. These begin with
# "update", without which SQLite's driver counts no rows.
_PAY = Statement(f"""
    update unit set
        curve = case when curve + :held_curve < :cut then curve + :curve else :cut end,
        pure = case when pure + :held_pure < :cut then pure + :pure else :cut end,
        failures = failures + :failures
    where key in ({_NAMED} select key from named)
""")

_PAY_FIRST = Statement(f"""
    {_NAMED} insert into unit (key, curve, pure, failures) select key, :curve, :pure, :failures from named where true
    on conflict (key) do nothing
""")

# What was cut stays cut, as in `Meter`.
_GET_BACK = Statement(f"""
    update unit set
        curve = case when curve < :cut then curve - :curve else curve end,
        pure = case when pure < :cut then pure - :pure else pure end,
        failures = failures - :failures
    where key in ({_NAMED} select key from named)
""")

_READINGS = "select curve, pure, failures, count(*) as units from unit group by curve, pure, failures"

_READINGS_OF = Statement(f"""
    {_NAMED} select curve, pure, failures, count(*) as units from named left join unit on unit.key = named.key
    group by curve, pure, failures
""")


def can_pay(connection: Connection, budget: Budget, everybody: Meter, units: Sequence[bytes]) -> list[bytes]:
    """Those of `units` that stay within `budget` when `everybody` is added to what they paid."""
    if not budget.admits_meter(everybody):
        return []
    values = _values(everybody) | _limits(budget)
    unable: set[bytes] = set()
    for keys in _chunks(b"".join(units)):  # who cannot: most can, so that the database has few to name
        unable.update(key for (key,) in _CANNOT_PAY_OF.run(connection, values | {"keys": keys}))
    return [unit for unit in units if unit not in unable]


def cannot_pay(connection: Connection, budget: Budget, everybody: Meter) -> frozenset[bytes]:
    """All units that do not stay within `budget` when `everybody` is added to what they paid."""
    return frozenset(row.key for row in stream(connection, _CANNOT_PAY, **_values(everybody), **_limits(budget)))


def pay(connection: Connection, held: Meter, kept: Meter, payers: bytes) -> None:
    """Add what is kept of `held`, which was reserved, to what each of those named one after the other paid."""
    values = _values(kept) | {"held_curve": held.curve, "held_pure": held.pure, "cut": CUT}
    for keys in _chunks(payers):
        if _PAY.run(connection, values | {"keys": keys}).rowcount * KEY < len(keys):
            _PAY_FIRST.run(connection, _values(kept) | {"keys": keys})  # who has a row has paid just now


def get_back(connection: Connection, back: Meter, payers: bytes) -> None:
    """Take `back`, which all of `payers` paid, off what each paid.

    Raises:
        LedgerError: one of them never paid.
    """
    if back == Meter():
        return
    found = sum(
        _GET_BACK.run(connection, _values(back) | {"keys": keys, "cut": CUT}).rowcount for keys in _chunks(payers)
    )
    if found * KEY != len(payers):
        raise LedgerError(CORRUPT)


def readings(connection: Connection, held: Meter, payers: bytes) -> list[tuple[Meter, int]]:
    """Each reading that units have, and how many have it, when `payers` paid `held` beyond what their rows say."""
    found = Counter({Meter(row.curve, row.pure, row.failures): row.units for row in stream(connection, _READINGS)})
    for keys in _chunks(payers):
        for curve, pure, failures, units in _READINGS_OF.run(connection, {"keys": keys}):
            before = Meter() if curve is None else Meter(curve, pure, failures)
            found[before] -= 0 if curve is None else units
            found[before + held] += units
    return [(reading, count) for reading, count in found.items() if count]


def _chunks(payers: bytes) -> Iterator[bytes]:
    for start in range(0, len(payers), _AT_ONCE * KEY):
        yield payers[start : start + _AT_ONCE * KEY]


def _values(meter: Meter) -> dict[str, Any]:
    return {"curve": meter.curve, "pure": meter.pure, "failures": meter.failures}


def _limits(budget: Budget) -> dict[str, Any]:
    return {f"most_{name}": value for name, value in _values(budget.limit).items()}

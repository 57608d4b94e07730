"""What single units have paid, in the table `unit`: who can pay, paying, and getting back.

Each question is answered by the database, row by row, in whole numbers; never are all units in memory. Whether a
unit can pay depends on its own row and on what everybody spent, on nothing else. What a row does not hold yet:
reservations.py.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, text

from discreet.errors import LedgerError
from discreet.ledger.encoding import CORRUPT, KEY, stream
from discreet.ledger.sql_statements import Statement
from discreet.privacy.accounting import CUT, Budget, FilterState

_AT_ONCE = 1000

NAMED = f"""
    with recursive named(place, key) as (
        select 1, substr(:keys, 1, {KEY})
        union all select place + {KEY}, substr(:keys, place + {KEY}, {KEY}) from named
        where place + {KEY} < length(:keys)
    )
"""
"""The names in `:keys`, one after the other, as rows: one value whatever their number, in any database."""

# The readings of two cut numbers fit into 64 bits, and so do their sums here.
_ADMITTED = """
    coalesce(unit.failures, 0) + :failures <= :most_failures
    and (coalesce(unit.curve, 0) + :curve <= :most_curve or coalesce(unit.pure, 0) + :pure <= :most_pure)
"""

# A name that was merged is no unit's any more (merging.py): it pays nothing.
_CANNOT_PAY_OF = Statement(
    f"{NAMED} select named.key from named left join unit on unit.key = named.key where not ({_ADMITTED}) "
    "or exists (select 1 from merged where merged.old = named.key)"
)

_CANNOT_PAY = f"select key from unit where not ({_ADMITTED})"

# Cut where all that was reserved would be cut, as if it had been added first and the rest taken back. These begin with
# "update", without which SQLite's driver counts no rows.
_PAY = Statement(f"""
    update unit set
        curve = case when curve + :held_curve < :cut then curve + :curve else :cut end,
        pure = case when pure + :held_pure < :cut then pure + :pure else :cut end,
        failures = failures + :failures
    where key in ({NAMED} select key from named)
""")

_PAY_FIRST = Statement(f"""
    {NAMED} insert into unit (key, curve, pure, failures) select key, :curve, :pure, :failures from named where true
    on conflict (key) do nothing
""")

# What was cut stays cut, as in `FilterState`.
_GET_BACK = Statement(f"""
    update unit set
        curve = case when curve < :cut then curve - :curve else curve end,
        pure = case when pure < :cut then pure - :pure else pure end,
        failures = failures - :failures
    where key in ({NAMED} select key from named)
""")

_BALANCE = text("select curve, pure, failures from unit where key = :key")

_READINGS = "select curve, pure, failures, count(*) as units from unit group by curve, pure, failures"

_READINGS_OF = Statement(f"""
    {NAMED} select curve, pure, failures, count(*) as units from named left join unit on unit.key = named.key
    group by curve, pure, failures
""")


def can_pay(connection: Connection, budget: Budget, everybody: FilterState, units: Sequence[bytes]) -> list[bytes]:
    """Those of `units` that stay within `budget` when `everybody` is added to what they paid."""
    if not budget.admits_state(everybody):
        return []
    values = _values(everybody) | _limits(budget)
    unable: set[bytes] = set()
    for keys in chunks(b"".join(units)):  # who cannot: most can, so that the database has few to name
        unable.update(key for (key,) in _CANNOT_PAY_OF.run(connection, values | {"keys": keys}))
    return [unit for unit in units if unit not in unable]


def cannot_pay(connection: Connection, budget: Budget, everybody: FilterState) -> frozenset[bytes]:
    """All units that do not stay within `budget` when `everybody` is added to what they paid."""
    return frozenset(row.key for row in stream(connection, _CANNOT_PAY, **_values(everybody), **_limits(budget)))


def pay(connection: Connection, held: FilterState, kept: FilterState, payers: bytes) -> None:
    """Add what is kept of `held`, which was reserved, to what each of those named one after the other paid."""
    values = _values(kept) | {"held_curve": held.curve, "held_pure": held.pure, "cut": CUT}
    for keys in chunks(payers):
        if _PAY.run(connection, values | {"keys": keys}).rowcount * KEY < len(keys):
            _PAY_FIRST.run(connection, _values(kept) | {"keys": keys})  # who has a row has paid just now


def get_back(connection: Connection, back: FilterState, payers: bytes) -> None:
    """Take `back`, which all of `payers` paid, off what each paid.

    Raises:
        LedgerError: one of them never paid.
    """
    if back == FilterState():
        return
    found = sum(
        _GET_BACK.run(connection, _values(back) | {"keys": keys, "cut": CUT}).rowcount for keys in chunks(payers)
    )
    if found * KEY != len(payers):
        raise LedgerError(CORRUPT)


def unit_balances(connection: Connection, held: FilterState, payers: bytes) -> list[tuple[FilterState, int]]:
    """Each reading that units have, and how many have it, when `payers` paid `held` beyond what their rows say."""
    found = Counter(
        {FilterState(row.curve, row.pure, row.failures): row.units for row in stream(connection, _READINGS)}
    )
    for keys in chunks(payers):
        for curve, pure, failures, units in _READINGS_OF.run(connection, {"keys": keys}):
            before = FilterState() if curve is None else FilterState(curve, pure, failures)
            found[before] -= 0 if curve is None else units
            found[before + held] += units
    return [(reading, count) for reading, count in found.items() if count]


def balance(connection: Connection, held: FilterState, payers: bytes, unit: bytes) -> FilterState:
    """What one unit has paid, when `payers` paid `held` beyond what their rows say."""
    row = connection.execute(_BALANCE, {"key": unit}).one_or_none()
    paid = FilterState() if row is None else FilterState(row.curve, row.pure, row.failures)
    names = {payers[start : start + KEY] for start in range(0, len(payers), KEY)}
    return paid + held if unit in names else paid


def chunks(payers: bytes) -> Iterator[bytes]:
    """Names of units, one after the other, in pieces that fit into a statement."""
    for start in range(0, len(payers), _AT_ONCE * KEY):
        yield payers[start : start + _AT_ONCE * KEY]


def _values(state: FilterState) -> dict[str, Any]:
    return {"curve": state.curve, "pure": state.pure, "failures": state.failures}


def _limits(budget: Budget) -> dict[str, Any]:
    return {f"most_{name}": value for name, value in _values(budget.limit).items()}

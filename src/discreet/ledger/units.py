"""The balances of single units in the table `unit`: checks, payments and returns.

The database computes row by row in whole numbers, and memory never holds all units. Whether a unit can pay depends only
on its own row and on the common sum of all units. reservations.py has the payments that rows do not include yet.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from discreet.errors import LedgerError
from discreet.ledger.encoding import CORRUPT, KEY, split, stream
from discreet.ledger.sql_statements import Statement
from discreet.privacy.accounting import CUT, Budget, FilterState

_AT_ONCE = 1000

Numbers = NDArray[np.int64]

NAMED = f"""
    with recursive named(place, key) as (
        select 1, substr(:keys, 1, {KEY})
        union all select place + {KEY}, substr(:keys, place + {KEY}, {KEY}) from named
        where place + {KEY} < length(:keys)
    )
"""
"""The concatenated keys in `:keys` as rows. Any number of keys is one value, in all databases."""

# The sum of two cut readings fits into 64 bits.
_ADMITTED = """
    coalesce(unit.failures, 0) + :failures <= :most_failures
    and (coalesce(unit.curve, 0) + :curve <= :most_curve or coalesce(unit.pure, 0) + :pure <= :most_pure)
"""

# No unit has a merged key any more (merging.py), so it pays nothing.
_CANNOT_PAY_OF = f"not ({_ADMITTED}) or exists (select 1 from merged_unit where merged_unit.old = named.key)"
_UNABLE = Statement(
    f"{NAMED} select named.key from named left join unit on unit.key = named.key where {_CANNOT_PAY_OF}"
)
_UNABLE_AND_NUMBERS = Statement(
    f"{NAMED} select case when {_CANNOT_PAY_OF} then named.key end, unit.number "
    "from named left join unit on unit.key = named.key"
)

_CANNOT_PAY = f"select key from unit where not ({_ADMITTED})"

# A reading is cut if the whole reservation would be cut, as if it were added first and the rest returned. The
# statements begin with "update", because SQLite's driver counts rows only then.
_PAY = Statement(f"""
    update unit set
        curve = case when curve + :held_curve < :cut then curve + :curve else :cut end,
        pure = case when pure + :held_pure < :cut then pure + :pure else :cut end,
        failures = failures + :failures
    where key in ({NAMED} select key from named)
""")

_PAY_FIRST = Statement(f"""
    {NAMED} insert into unit (key, curve, pure, failures, number)
    select key, :curve, :pure, :failures, :last + row_number() over (order by place) from named
    where not exists (select 1 from unit where unit.key = named.key)
""")

_LAST_NUMBER = Statement(
    "select max(number) from (select max(number) as number from unit "
    "union all select max(number) from merged_unit) as numbers"
)

# A cut reading stays cut, as in `FilterState`.
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


@dataclass(frozen=True)
class Admitted:
    """The units that can pay.

    Attributes:
        keys: their concatenated keys, in order.
        numbers: their numbers, in any order; None if they were not read, or if a unit has none yet.
    """

    keys: bytes
    numbers: Numbers | None = None


def can_pay(
    connection: Connection, budget: Budget, common: FilterState, keys: bytes, *, numbered: bool = False
) -> Admitted:
    """Return those of the units (concatenated keys, in order) whose balance plus `common` stays within `budget`.

    With `numbered`, their numbers are read with their balances, since a second look would take as long.
    """
    if not budget.admits_state(common):
        return Admitted(b"")
    values = _values(common) | _limits(budget)
    if not numbered:
        unable = [key for some in chunks(keys) for (key,) in _UNABLE.run(connection, values | {"keys": some})]
        return Admitted(_without(keys, unable))
    unable, numbers = [], list[int | None]()
    for some in chunks(keys):
        for key, number in _UNABLE_AND_NUMBERS.run(connection, values | {"keys": some}).fetchall():
            if key is None:
                numbers.append(number)
            else:
                unable.append(key)
    known = None if None in numbers else np.array(numbers, dtype=np.int64)
    return Admitted(_without(keys, unable), known)


def _without(keys: bytes, some: list[bytes]) -> bytes:
    """Return concatenated keys without `some` of them, in their order."""
    left = set(some)
    return b"".join(key for key in split(keys) if key not in left) if left else keys


def cannot_pay(connection: Connection, budget: Budget, common: FilterState) -> frozenset[bytes]:
    """Return all units whose balance plus `common` exceeds `budget`."""
    return frozenset(row.key for row in stream(connection, _CANNOT_PAY, **_values(common), **_limits(budget)))


def pay(connection: Connection, held: FilterState, kept: FilterState, payers: bytes) -> None:
    """Add the kept part of the reservation `held` to the balances of the payers (concatenated keys)."""
    values = _values(kept) | {"held_curve": held.curve, "held_pure": held.pure, "cut": CUT}
    for keys in chunks(payers):
        if _PAY.run(connection, values | {"keys": keys}).rowcount * KEY < len(keys):
            # Units with a row have already paid.
            _PAY_FIRST.run(connection, _values(kept) | {"keys": keys, "last": last_number(connection)})


def last_number(connection: Connection) -> int:
    """Return the largest number that a unit has or had."""
    return int(_LAST_NUMBER.one(connection, {})[0] or 0)


def get_back(connection: Connection, back: FilterState, payers: bytes) -> None:
    """Subtract `back` from the balances of the payers (concatenated keys).

    Raises:
        LedgerError: if a payer never paid.
    """
    if back == FilterState():
        return
    found = sum(
        _GET_BACK.run(connection, _values(back) | {"keys": keys, "cut": CUT}).rowcount for keys in chunks(payers)
    )
    if found * KEY != len(payers):
        raise LedgerError(CORRUPT)


def unit_balances(connection: Connection, held: FilterState, payers: bytes) -> list[tuple[FilterState, int]]:
    """Return the distinct balances with their numbers of units. `payers` paid `held` in addition to their rows."""
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
    """Return the balance of one unit. `payers` paid `held` in addition to their rows."""
    row = connection.execute(_BALANCE, {"key": unit}).one_or_none()
    paid = FilterState() if row is None else FilterState(row.curve, row.pure, row.failures)
    return paid + held if unit in split(payers) else paid


def chunks(payers: bytes) -> Iterator[bytes]:
    """Yield concatenated keys in pieces that fit into a statement."""
    for start in range(0, len(payers), _AT_ONCE * KEY):
        yield payers[start : start + _AT_ONCE * KEY]


def _values(state: FilterState) -> dict[str, Any]:
    return {"curve": state.curve, "pure": state.pure, "failures": state.failures}


def _limits(budget: Budget) -> dict[str, Any]:
    return {f"most_{name}": value for name, value in _values(budget.limit).items()}

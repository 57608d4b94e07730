"""The balances of single units in the table `unit`: checks, payments and returns.

Whether a unit can pay depends only on its own balance and on the common sum of all units. A unit gets its row, with a
number, when it pays for the first time. reservations.py and waiting.py have the payments that rows do not include yet.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from discreet.errors import LedgerError
from discreet.ledger.encoding import CORRUPT, FIXED, KEY, split, stream
from discreet.ledger.sql_statements import Statement
from discreet.privacy.accounting import CUT, Budget, FilterState

_AT_ONCE = 1000

Numbers = NDArray[np.int64]
Readings = NDArray[np.int64]
"""Balances, of shape (3, units): the curves, the pure losses and the failures of `FilterState`s."""

NAMED = f"""
    with recursive named(place, key) as (
        select 1, substr(:keys, 1, {KEY})
        union all select place + {KEY}, substr(:keys, place + {KEY}, {KEY}) from named
        where place + {KEY} < length(:keys)
    )
"""
"""The concatenated keys in `:keys` as rows. Any number of keys is one value, in all databases."""

_READ = Statement(f"""
    {NAMED} select unit.number, unit.curve, unit.pure, unit.failures,
        exists (select 1 from merged_unit where merged_unit.old = named.key)
    from named left join unit on unit.key = named.key order by named.place
""")

# The sum of two cut readings fits into 64 bits.
_BEYOND = """
    select key, number, curve, pure, failures from unit where not (failures + :failures <= :most_failures
        and (curve + :curve <= :most_curve or pure + :pure <= :most_pure))
"""

# A reading is cut if the whole reservation would be cut, as if it were added first and the rest returned. The
# statements begin with "update", because SQLite's driver counts rows only then.
_PAY = Statement(f"""
    update unit set
        curve = case when curve + :held_curve < :cut then curve + :curve else :cut end,
        pure = case when pure + :held_pure < :cut then pure + :pure else :cut end,
        failures = failures + :failures
    where key in ({NAMED} select key from named)
""")

_ADD_NEW = Statement(f"""
    {NAMED} insert into unit (key, curve, pure, failures, number)
    select key, 0, 0, 0, :last + row_number() over (order by place) from named
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

_BALANCE = text("select number, curve, pure, failures from unit where key = :key")

_READINGS = "select curve, pure, failures, count(*) as units from unit group by curve, pure, failures"

_READINGS_OF = Statement(f"""
    {NAMED} select curve, pure, failures, count(*) as units from named join unit on unit.key = named.key
    group by curve, pure, failures
""")


@dataclass(frozen=True)
class Balances:
    """The balances of some units, in the order of their keys.

    Attributes:
        numbers: the number of each unit; 0 for a unit that has never paid.
        readings: the balance of each unit.
        merged: whether a unit was merged into another one (merging.py). It pays nothing any more.
    """

    numbers: Numbers
    readings: Readings
    merged: NDArray[np.bool_]


@dataclass(frozen=True)
class Admitted:
    """The units that can pay.

    Attributes:
        keys: their concatenated keys, in order.
        numbers: the number of each; 0 for a unit that has never paid.
    """

    keys: bytes
    numbers: Numbers


def read(connection: Connection, keys: bytes) -> Balances:
    """Return the rows of units (concatenated keys). A unit without a row has paid nothing."""
    rows = [row for some in chunks(keys) for row in _READ.run(connection, {"keys": some}).fetchall()]
    if any(row[0] is None and row[1] is not None for row in rows):
        raise LedgerError(CORRUPT)  # every row has a number
    found = np.array([[value or 0 for value in row] for row in rows], dtype=np.int64).reshape(-1, 5).T
    return Balances(found[0], found[1:4], found[4].astype(bool))


def can_pay(budget: Budget, common: FilterState, keys: bytes, balances: Balances) -> Admitted:
    """Return those of the units (concatenated keys) whose balance plus `common` stays within `budget`."""
    able = within(budget, common, balances.readings) & ~balances.merged
    return Admitted(np.frombuffer(keys, dtype=FIXED)[able].tobytes(), balances.numbers[able])


def within(budget: Budget, common: FilterState, readings: Readings) -> NDArray[np.bool_]:
    """Return, for each balance, whether `budget` admits its sum with `common`, as `Budget.admits_state` does."""
    limit, (curve, pure, failures) = budget.limit, readings + as_column(common)
    able = (failures <= limit.failures) & ((curve <= limit.curve) | (pure <= limit.pure))
    return np.asarray(able & budget.admits_state(common))


def add_new(connection: Connection, admitted: Admitted) -> Numbers:
    """Give a row and a number to the units that have never paid. Return the numbers of all."""
    numbers = admitted.numbers.copy()
    new = np.flatnonzero(numbers == 0)
    last, keys = last_number(connection) if len(new) else 0, np.frombuffer(admitted.keys, dtype=FIXED)[new].tobytes()
    numbers[new] = last + 1 + np.arange(len(new))
    for some in chunks(keys):
        _ADD_NEW.run(connection, {"keys": some, "last": last})
        last += len(some) // KEY
    return numbers


def rows_beyond(connection: Connection, budget: Budget, common: FilterState) -> list[tuple[Any, ...]]:
    """Return all rows whose balance plus `common` exceeds `budget`: key, number, and the balance."""
    return [tuple(row) for row in stream(connection, _BEYOND, **_values(common), **_limits(budget))]


def pay(connection: Connection, held: FilterState, kept: FilterState, payers: bytes) -> None:
    """Add the kept part of the reservation `held` to the balances of the payers (concatenated keys).

    Raises:
        LedgerError: if a payer has no row.
    """
    values = _values(kept) | {"held_curve": held.curve, "held_pure": held.pure, "cut": CUT}
    found = sum(_PAY.run(connection, values | {"keys": keys}).rowcount for keys in chunks(payers))
    if found * KEY != len(payers):
        raise LedgerError(CORRUPT)


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
            before = FilterState(curve, pure, failures)
            found[before] -= units
            found[before + held] += units
    return [(reading, count) for reading, count in found.items() if count]


def balance(connection: Connection, held: FilterState, payers: bytes, unit: bytes) -> tuple[FilterState, int]:
    """Return the balance of one unit, and its number. `payers` paid `held` in addition to their rows."""
    row = connection.execute(_BALANCE, {"key": unit}).one_or_none()
    if row is None:
        return FilterState(), 0
    paid = FilterState(row.curve, row.pure, row.failures)
    return paid + held if unit in split(payers) else paid, row.number


def plus(readings: Readings, more: Readings) -> Readings:
    """Return sums of balances, with their losses cut as in `FilterState`."""
    after = readings + more
    np.minimum(after[:2], CUT, out=after[:2])
    return after


def minus(readings: Readings, back: FilterState) -> Readings:
    """Return balances after `back` was returned. A cut loss stays cut, as in `FilterState`."""
    after = readings - as_column(back)
    after[:2] = np.where(readings[:2] < CUT, after[:2], CUT)
    return after


def as_column(state: FilterState) -> Readings:
    """Return a state as the balance of one unit."""
    return np.array([[state.curve], [state.pure], [state.failures]], dtype=np.int64)


def chunks(payers: bytes) -> Iterator[bytes]:
    """Yield concatenated keys in pieces that fit into a statement."""
    for start in range(0, len(payers), _AT_ONCE * KEY):
        yield payers[start : start + _AT_ONCE * KEY]


def _values(state: FilterState) -> dict[str, Any]:
    return {"curve": state.curve, "pure": state.pure, "failures": state.failures}


def _limits(budget: Budget) -> dict[str, Any]:
    return {f"most_{name}": value for name, value in _values(budget.limit).items()}

"""All balances of a ledger in the memory of one process, for payments by a large share of the units.

The view is read once, from rows, blocks and waiting parts. Later it reads what changed since then: new rows, and the
parts that were reserved or settled (changes.py). If the last change that it knows is gone, or if units were merged, it
is not used any more. It is read and refreshed in the transaction of a payment, before that payment changes the balance
of a single unit: so it never contains a balance that is undone.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from discreet.ledger import packed_payers, units, waiting
from discreet.ledger.changes import CHANGES
from discreet.ledger.encoding import KEY, unpack_sums
from discreet.ledger.sql_statements import Statement
from discreet.ledger.units import Balances, Numbers, Readings
from discreet.privacy.accounting import Budget, FilterState

_AT_ONCE = 1000
MOST_CHANGED = 256
"""The number of changed parts from which all balances are read again, which takes as long."""

_STATE = Statement(f"select (select max(at) from {CHANGES}), merged_at from last_part")
_KNOWN = Statement("select count(*) from part where reserved_at = :at or settled_at = :at")
_ROWS = text("select key, number, curve, pure, failures from unit order by key")
_MERGED = Statement("select unit.number from merged_unit join unit on unit.key = merged_unit.old")
_NEW_ROWS = Statement("select key, number from unit where number > :last order by number")
_SINCE = "from part where (reserved_at > :at or settled_at > :at) and not everybody"
_COUNT_CHANGED = Statement(f"select count(*) {_SINCE}")
_CHANGED = Statement(f"select reserved_at, most_nano, most_atto, spent_nano, spent_atto, payers, packed {_SINCE}")

Halves = NDArray[np.uint64]


class BalanceView:
    """The balances of all units. A refresh that is interrupted leaves a view that must not be used.

    The keys are two arrays of their halves, in the order of the first halves, with an array of their numbers. The
    balances are in the order of the numbers; a place without a unit is 0.
    """

    def __init__(self, keys: bytes, numbers: Numbers, readings: Readings) -> None:
        self._first, self._second = _halves(keys)
        self._numbers = numbers
        self._readings: Readings = np.zeros((3, int(numbers.max(initial=0)) + 1), dtype=np.int64)
        self._readings[:, numbers] = readings
        self._is_unit = np.zeros(self._readings.shape[1], dtype=bool)
        self._is_unit[numbers] = True
        self._at, self._merged_at = 0, None
        self._merged: Numbers = np.empty(0, dtype=np.int64)

    @classmethod
    def load(cls, connection: Connection, budget: Budget) -> Self:
        """Read the balances of all units from rows, blocks and waiting parts."""
        keys, columns = list[bytes](), [np.empty((4, 0), dtype=np.int64)]
        for rows in connection.execution_options(yield_per=_AT_ONCE).execute(_ROWS).partitions():
            names, *values = zip(*rows, strict=True)
            keys.append(b"".join(names))
            columns.append(np.array(values, dtype=np.int64))
        found = np.concatenate(columns, axis=1)
        view = cls(b"".join(keys), found[0], found[1:])
        large = waiting.large_sums(connection, budget)[:, : view._readings.shape[1]]
        view._readings[:] = units.plus(view._readings, large)
        view._merged = np.array([number for (number,) in _MERGED.run(connection, {}).fetchall()], dtype=np.int64)
        at, view._merged_at = _STATE.one(connection, {})
        view._at = at or 0
        return view

    def refresh(self, connection: Connection, budget: Budget) -> bool:
        """Read what changed. Return whether the view can still be used."""
        at, merged_at = _STATE.one(connection, {})
        if merged_at != self._merged_at or not self._at or not _KNOWN.one(connection, {"at": self._at})[0]:
            return False
        if _COUNT_CHANGED.one(connection, {"at": self._at})[0] > MOST_CHANGED:
            return False
        self._add_rows(_NEW_ROWS.run(connection, {"last": self._readings.shape[1] - 1}).fetchall())
        for row in _CHANGED.run(connection, {"at": self._at}).fetchall():
            if not self._add_part(row, budget):
                return False
        self._at = at
        return True

    def balances(self, connection: Connection, keys: bytes) -> Balances:
        """Return the balances of units (concatenated keys). Keys without a row are looked up among the merged ones."""
        numbers = self._find(keys)
        readings, merged = self._readings[:, numbers], np.isin(numbers, self._merged)
        unknown = np.flatnonzero(numbers == 0)
        if len(unknown):
            merged[unknown] = units.read(connection, _chosen(keys, unknown)).merged
        return Balances(numbers, readings, merged)

    def cannot_pay(self, budget: Budget, common: FilterState) -> frozenset[bytes]:
        """Return all units whose balance plus `common` exceeds `budget`."""
        unable = np.flatnonzero(~units.within(budget, common, self._readings[:, self._numbers]))
        halves = np.stack([self._first[unable], self._second[unable]], axis=1).astype(">u8").tobytes()
        return frozenset(halves[start : start + KEY] for start in range(0, len(halves), KEY))

    def unit_balances(self, held: FilterState, payers: bytes) -> list[tuple[FilterState, int]]:
        """Return the distinct balances with their numbers of units. `payers` paid `held` in addition."""
        readings, paid = self._readings.copy(), self._find(payers)
        readings[:, paid] = units.plus(readings[:, paid], units.as_column(held))
        states, counts = np.unique(readings[:, self._numbers], axis=1, return_counts=True)
        return [(FilterState(*state), count) for state, count in zip(states.T.tolist(), counts.tolist(), strict=True)]

    def _find(self, keys: bytes) -> Numbers:
        """Return the number of each key; 0 for a key without a row."""
        first, second = _halves(keys)
        numbers: Numbers = np.zeros(len(first), dtype=np.int64)
        left, places = np.arange(len(first)), np.searchsorted(self._first, first)
        while len(left):  # once more for each key with the same first half, which only keys of tests have
            inside = places < len(self._first)
            left, places = left[inside], places[inside]
            same = self._first[places] == first[left]
            left, places = left[same], places[same]
            found = self._second[places] == second[left]
            numbers[left[found]] = self._numbers[places[found]]
            left, places = left[~found], places[~found] + 1
        return numbers

    def _add_rows(self, rows: list[Any]) -> None:
        """Add units that have paid for the first time; the parts that they paid follow."""
        if not rows:
            return
        first, second = _halves(b"".join(bytes(key) for key, _ in rows))
        numbers = np.array([number for _, number in rows], dtype=np.int64)
        order = np.argsort(first, kind="stable")
        places = np.searchsorted(self._first, first[order])
        self._first = np.insert(self._first, places, first[order])
        self._second = np.insert(self._second, places, second[order])
        self._numbers = np.insert(self._numbers, places, numbers[order])
        more = np.zeros((3, int(numbers[-1]) + 1 - self._readings.shape[1]), dtype=np.int64)
        self._readings = np.concatenate([self._readings, more], axis=1)
        self._is_unit = np.append(self._is_unit, more[0] != 0)
        self._is_unit[numbers] = True

    def _add_part(self, row: Any, budget: Budget) -> bool:
        """Add what changed of a part. Return whether all of its payers are known."""
        reserved_at, *sums, payers, packed = row
        most, spent = unpack_sums(*sums)
        numbers = self._find(payers) if packed is None else packed_payers.unpack(packed)
        if numbers.max(initial=0) >= len(self._is_unit) or not self._is_unit[numbers].all():
            return False  # a payer was merged into another unit
        kept = waiting.kept_of(budget, most, spent)
        if reserved_at is not None and reserved_at > self._at:
            waiting.add_to(self._readings, np.sort(numbers), kept)
        else:  # it was settled since then
            before, held = self._readings[:, numbers], budget.filter_state(most)
            self._readings[:, numbers] = units.minus(before, held - kept)
        return True


def _halves(keys: bytes) -> tuple[Halves, Halves]:
    """Return the first and the second halves of concatenated keys, as whole numbers."""
    halves = np.frombuffer(keys, dtype=">u8").reshape(-1, 2).astype(np.uint64)
    return np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1])


def _chosen(keys: bytes, places: NDArray[np.intp]) -> bytes:
    """Return some of concatenated keys."""
    return np.frombuffer(keys, dtype=">u8").reshape(-1, 2)[places].tobytes()

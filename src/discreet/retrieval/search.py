"""The units of a store by their scores for one question, at one moment.

All ranks are computed in memory, from one read of the vectors. The index holds names of units, and no texts. Only the
texts of units that are dealt to voters are read (`Store.passages`).
"""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.retrieval.row_changes import NO_ROW, State
from discreet.retrieval.sqlite_errors import damaged
from discreet.retrieval.store import Hit
from discreet.retrieval.vectors import Vector

Numbers = NDArray[np.int64]
FREE = -1
"""The unit of a row that no chunk has."""
SPARE = 4096


@dataclass(frozen=True, eq=False)
class Index:
    """The units of all rows in memory, without texts and vectors. It is immutable: a change requires a new index.

    Attributes:
        state: the state of the store.
        units: the numbers of units, ascending. Units without rows may be among them.
        ties: 128 bits of a keyed hash of each unit, shape (units, 2).
        names: the names of all units, concatenated, in UTF-8.
        ends: the end of each unit's name in `names`, shape (units,).
        unit_of_row: the index in `units` of each row's unit; `FREE` for free rows.
        used: the number of units, all with rows, when the index was last compact.
    """

    state: State
    units: Numbers
    ties: NDArray[np.uint64]
    names: bytes
    ends: Numbers
    unit_of_row: NDArray[np.intp]
    used: int

    @classmethod
    def read(cls, database: sqlite3.Connection, state: State) -> "Index":
        """Read the index from all rows of the store, within a transaction.

        Raises:
            StoreError: if the store is damaged.
        """
        chunks = np.array(database.execute("select row, unit from chunk").fetchall(), dtype=np.int64).reshape(-1, 2)
        known = {number: (tie, name) for number, tie, name in database.execute("select id, tie, name from unit")}
        size = int(chunks[:, 0].max()) + 1 if len(chunks) else 0
        units, places = np.unique(chunks[:, 1], return_inverse=True)
        if not known.keys() >= set(units.tolist()):
            raise damaged()
        unit_of_row = np.full(size, FREE, dtype=np.intp)
        unit_of_row[chunks[:, 0]] = places
        ties, names, ends = _described([known[unit] for unit in units.tolist()])
        return cls(state, units, ties, names, ends, unit_of_row, len(units))

    def changed(self, rows: Sequence[Any], size: int, state: State) -> "Index | None":
        """Return the index after changes of rows; None if the changes need a new reading.

        Args:
            rows: the rows that changed, as `row_changes.rows_since` returns them.
            size: the number of rows up to the last one in use.
            state: the state after the changes.

        Raises:
            StoreError: if the store is damaged.
        """
        used = [(row, unit) for row, unit, _, _ in rows if unit is not None]
        numbers = np.array([unit for _, unit in used], dtype=np.int64)
        places = np.searchsorted(self.units, numbers)
        met = np.append(self.units, -1)[places] == numbers
        described = {unit: (tie, name) for _, unit, tie, name in rows if unit is not None}
        fresh = sorted(set(numbers[~met].tolist()))
        if fresh and len(self.units) and fresh[0] < self.units[-1]:
            return None  # a unit had documents without text before
        added = self._with([(unit, described[unit]) for unit in fresh])
        unit_of_row = np.full(size, FREE, dtype=np.intp)
        kept = min(size, len(self.unit_of_row))
        unit_of_row[:kept] = self.unit_of_row[:kept]
        freed = np.array([row for row, unit, _, _ in rows if unit is None and NO_ROW < row < size], dtype=np.intp)
        unit_of_row[freed] = FREE
        if used:
            filled = np.array([row for row, _ in used], dtype=np.intp)
            if filled.max() >= size:
                raise damaged()
            unit_of_row[filled] = np.searchsorted(added.units, numbers)
        found = replace(added, unit_of_row=unit_of_row, state=state)
        return found.compact() if len(found.units) > 2 * found.used + SPARE else found

    def _with(self, fresh: Sequence[tuple[int, tuple[Any, Any]]]) -> "Index":
        """Return the index with further units, whose numbers are larger than all others."""
        if not fresh:
            return self
        ties, names, ends = _described([described for _, described in fresh])
        return replace(
            self,
            units=np.append(self.units, [unit for unit, _ in fresh]),
            ties=np.concatenate([self.ties, ties]),
            names=self.names + names,
            ends=np.append(self.ends, ends + len(self.names)),
        )

    def compact(self) -> "Index":
        """Return the index without units that have no rows."""
        alive = np.zeros(len(self.units), dtype=bool)
        alive[self.unit_of_row[self.unit_of_row != FREE]] = True
        lengths = np.diff(self.ends, prepend=0)
        letters = np.frombuffer(self.names, dtype=np.uint8)[np.repeat(alive, lengths)]
        number = np.append(np.cumsum(alive) - 1, FREE)  # the last is that of free rows
        return replace(
            self,
            units=self.units[alive],
            ties=self.ties[alive],
            names=letters.tobytes(),
            ends=np.cumsum(lengths[alive], dtype=np.int64),
            unit_of_row=number[self.unit_of_row].astype(np.intp),
            used=int(alive.sum()),
        )

    def best(self, scores: Vector) -> Vector:
        """Return the best score of each unit, shape (units,); minus infinity for a unit without rows."""
        best = np.full(len(self.units) + 1, -np.inf, dtype=np.float32)
        np.maximum.at(best, self.unit_of_row, scores)  # the last entry is that of free rows
        return best[:-1]


def _described(units: Sequence[tuple[Any, Any]]) -> tuple[NDArray[np.uint64], bytes, Numbers]:
    """Return ties, names and ends of names of some units.

    Raises:
        StoreError: if the store is damaged.
    """
    if not all(isinstance(tie, bytes) and len(tie) == 16 and isinstance(name, str) for tie, name in units):
        raise damaged()
    names = [name.encode() for _, name in units]
    ties = np.frombuffer(b"".join(tie for tie, _ in units), dtype=">u8").astype(np.uint64).reshape(-1, 2)
    return ties, b"".join(names), np.cumsum([len(name) for name in names], dtype=np.int64)


class Ranks(ABC):
    """A `Scored` in memory: exact scores of units, ranked. Later additions and removals do not change it."""

    def __init__(self, best: Vector, ties: NDArray[np.uint64], unit: float) -> None:
        """Keep exact scores.

        Args:
            best: the best score of each unit, shape (units,).
            ties: 128 bits of a keyed hash of each unit, shape (units, 2).
            unit: the score of similarity 1.
        """
        self._best, self._ties, self._unit = best, ties, unit

    def above(self, threshold: float) -> list[Hit]:
        """Return every unit whose similarity is at least `threshold`, nearest first."""
        return self._hits(self._ranked(self._best >= threshold * self._unit))

    def between(self, low: float, high: float) -> list[Hit]:
        """Return every unit that is above `low` and not above `high`, nearest first."""
        # The comparisons are those of `above`, so that each unit is on one side of an edge.
        return self._hits(self._ranked((self._best >= low * self._unit) & ~(self._best >= high * self._unit)))

    def nearest(self, count: int) -> list[Hit]:
        """Return the `count` nearest units (fewer if there are fewer), nearest first."""
        count = min(max(count, 0), len(self._best))
        if not count:
            return []
        least = np.partition(self._best, len(self._best) - count)[len(self._best) - count]
        return self._hits(self._ranked(self._best >= least)[:count])

    def _ranked(self, chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return the indices of the chosen units with rows, nearest first; a keyed hash of the unit breaks ties."""
        places = np.flatnonzero(chosen & (self._best > -np.inf))
        ties = self._ties[places]
        order: NDArray[np.intp] = np.lexsort((ties[:, 1], ties[:, 0], -self._best[places]))
        return places[order]

    @abstractmethod
    def _hits(self, places: NDArray[np.intp]) -> list[Hit]:
        """Return the units at `places`, in this order."""


class Snapshot(Ranks):
    """The `Scored` of the embedded store."""

    def __init__(self, index: Index, scores: Vector, best: Vector, unit: float) -> None:
        """Keep exact scores.

        Args:
            index: the rows and units.
            scores: the scores of all rows, shape (rows,).
            best: the best score of each unit, shape (units,).
            unit: the score of similarity 1.
        """
        super().__init__(best, index.ties, unit)
        self._index, self._scores = index, scores

    def _hits(self, places: NDArray[np.intp]) -> list[Hit]:
        """Return the units with their numbers and the rows of their best chunks, in the order of `places`."""
        if not len(places):
            return []
        index, best = self._index, self._best[places]
        # The rows between the least and the largest best score: few of all rows, and all best rows are among them.
        rows = np.flatnonzero((self._scores >= best.min()) & (self._scores <= best.max()))
        rows = rows[index.unit_of_row[rows] != FREE]
        owners = index.unit_of_row[rows]
        rows = rows[self._scores[rows] == self._best[owners]]
        rank = np.full(len(index.units), -1, dtype=np.intp)
        rank[places] = np.arange(len(places))
        ranks = rank[index.unit_of_row[rows]]
        rows, ranks = rows[ranks >= 0], ranks[ranks >= 0]
        ordered = rows[np.argsort(ranks, kind="stable")].tolist()
        ends = np.cumsum(np.bincount(ranks, minlength=len(places))).tolist()
        numbers, stops = index.units[places].tolist(), index.ends[places].tolist()
        lasts = np.where(places > 0, index.ends[places - 1], 0).tolist()
        found, begin = [], 0
        for number, last, stop, end in zip(numbers, lasts, stops, ends, strict=True):
            found.append(Hit(index.names[last:stop].decode(), (number, tuple(ordered[begin:end]))))
            begin = end
        return found

"""The units of a store by their scores for one question, at one moment.

All ranks are computed in memory, from one read of the vectors. The index holds names of units, and no texts. Only the
texts of units that are dealt to voters are read (`Store.passages`).
"""

import sqlite3
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.retrieval.sqlite_errors import damaged
from discreet.retrieval.store import Hit
from discreet.retrieval.vectors import Vector, VectorFile

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Index:
    """The data of a search in memory, without texts. It is immutable: a change of the store requires a new index.

    Attributes:
        matrix: the vectors, shape (rows, dimension).
        units: the number of each unit that has chunks, shape (units,).
        ties: 128 bits of a keyed hash of each unit, shape (units, 2).
        names: the names of all units, concatenated, in UTF-8.
        ends: the end of each unit's name in `names`, shape (units,).
        unit_of_row: the index in `units` of each row's unit; for free rows, the first index past the end.
        rows: all rows in the order of their units, shape (rows,).
        starts: the index in `rows` of the first row of each unit, and of the free rows, shape (units + 1,).
    """

    matrix: Vector
    units: Numbers
    ties: NDArray[np.uint64]
    names: bytes
    ends: Numbers
    unit_of_row: NDArray[np.intp]
    rows: NDArray[np.intp]
    starts: Numbers

    @classmethod
    def read(cls, database: sqlite3.Connection, vectors: VectorFile) -> "Index":
        """Read the current index of the store, within a transaction.

        Raises:
            StoreError: if the store is damaged.
        """
        chunks = np.array(database.execute("select row, unit from chunk").fetchall(), dtype=np.int64).reshape(-1, 2)
        known = {number: (tie, name) for number, tie, name in database.execute("select id, tie, name from unit")}
        size = int(chunks[:, 0].max()) + 1 if len(chunks) else 0
        units, places = np.unique(chunks[:, 1], return_inverse=True)
        if not known.keys() >= set(units.tolist()):
            raise damaged()
        unit_of_row = np.full(size, len(units), dtype=np.intp)
        unit_of_row[chunks[:, 0]] = places
        ties = b"".join(known[unit][0] for unit in units.tolist())
        names = [known[unit][1].encode() for unit in units.tolist()]
        rows = np.argsort(unit_of_row, kind="stable")
        return cls(
            vectors.open(size),
            units,
            np.frombuffer(ties, dtype=">u8").astype(np.uint64).reshape(-1, 2),
            b"".join(names),
            np.cumsum([len(name) for name in names], dtype=np.int64),
            unit_of_row,
            rows,
            np.searchsorted(unit_of_row[rows], np.arange(len(units) + 1)),
        )

    def best(self, scores: Vector) -> Vector:
        """Return the best score of each unit, shape (units,)."""
        best = np.full(len(self.units) + 1, -np.inf, dtype=np.float32)
        np.maximum.at(best, self.unit_of_row, scores)  # the last entry is that of free rows
        return best[:-1]


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
        """Return the indices of the chosen units, nearest first; a keyed hash of the unit breaks ties."""
        places = np.flatnonzero(chosen)
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
        index = self._index
        starts, counts = index.starts[places], index.starts[places + 1] - index.starts[places]
        before = np.cumsum(counts) - counts
        rows = index.rows[np.repeat(starts - before, counts) + np.arange(counts.sum())]
        owners = np.repeat(np.arange(len(places)), counts)
        best = self._scores[rows] == self._best[places][owners]
        rows, ends = rows[best].tolist(), np.cumsum(np.bincount(owners[best], minlength=len(places))).tolist()
        numbers, stops = index.units[places].tolist(), index.ends[places].tolist()
        lasts = np.where(places > 0, index.ends[places - 1], 0).tolist()
        found, begin = [], 0
        for number, last, stop, end in zip(numbers, lasts, stops, ends, strict=True):
            found.append(Hit(index.names[last:stop].decode(), (number, tuple(rows[begin:end]))))
            begin = end
        return found

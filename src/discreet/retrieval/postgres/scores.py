"""The search of a store in PostgreSQL: one statement in one transaction reads all vectors, and returns 12 bytes each.

The server computes the score of each chunk. A score is a sum of products of whole numbers, which float32 holds
without rounding (`vectors`), so that no order of rows, no number of parallel workers and no instruction set changes a
bit. The best score of each unit and the ranks are computed here (`Ranks`), as in the embedded store: to group the rows
on the server takes as long as their scores. The statement asks for all rows in no order, so that no index of vectors
could serve it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import StoreError
from discreet.retrieval.postgres.server import DAMAGED
from discreet.retrieval.search import Ranks
from discreet.retrieval.store import Hit
from discreet.retrieval.vectors import Vector

Numbers = NDArray[np.int64]
_ROW = np.dtype([("unit", ">i8"), ("score", ">f4")])

# The operator <#> returns minus the score.
SCORES = (
    "select string_agg(int8send(unit) || "
    "float4send((v operator({extension}.<#>) %s::{extension}.halfvec)::real), ''::bytea) from vector"
)
# Rows that were added after the search do not count: `id <= last`.
BEST = (
    "select distinct on (vector.unit) vector.unit, text from unnest(%s::bigint[], %s::float8[]) as found (unit, best) "
    "join vector on vector.unit = found.unit and vector.id <= %s "
    "and (v operator({extension}.<#>) %s::{extension}.halfvec) = found.best "
    "join chunk on chunk.id = vector.id order by vector.unit, text"
)


@dataclass(frozen=True)
class Seen:
    """What a search saw: the question's vector, and the last chunk that was stored."""

    question: str = field(repr=False)
    last: int


@dataclass(frozen=True)
class Units:
    """The units that a search found, by their numbers: kept for the next search. A number never names another unit.

    Attributes:
        numbers: the numbers in order, shape (units,).
        ties: 128 bits of a keyed hash of each unit, shape (units, 2).
        names: the names, shape (units,).
    """

    numbers: Numbers
    ties: NDArray[np.uint64]
    names: NDArray[np.object_]

    @classmethod
    def none(cls) -> "Units":
        """Return no units."""
        return cls(np.empty(0, np.int64), np.empty((0, 2), np.uint64), np.empty(0, object))

    def of(self, numbers: Numbers, read: Callable[[Sequence[int]], Sequence[Any]]) -> "Units":
        """Return the units of `numbers`, which are in order. Forget all others.

        Args:
            numbers: the numbers.
            read: returns (number, tie, name) of numbers that are not known yet.

        Raises:
            StoreError: if a number has no unit: the store is damaged.
        """
        if np.array_equal(numbers, self.numbers):
            return self
        kept = np.isin(self.numbers, numbers, assume_unique=True)
        rows = read(np.setdiff1d(numbers, self.numbers, assume_unique=True).tolist())
        fresh = np.array([row[0] for row in rows], np.int64)
        ties = np.frombuffer(b"".join(row[1] for row in rows), ">u8").astype(np.uint64).reshape(-1, 2)
        names = np.empty(len(rows), object)
        names[:] = [row[2].decode() for row in rows]
        every = np.concatenate([self.numbers[kept], fresh])
        order = np.argsort(every)
        if not np.array_equal(every[order], numbers):
            raise StoreError(DAMAGED)
        return Units(
            numbers,
            np.concatenate([self.ties[kept], ties])[order],
            np.concatenate([self.names[kept], names])[order],
        )


def unpacked(content: bytes | None) -> tuple[Numbers, Vector]:
    """Return the numbers of all units in order, and their best scores."""
    rows = np.frombuffer(content or b"", _ROW)
    units, scores = rows["unit"].astype(np.int64), -rows["score"].astype(np.float32)
    order = np.argsort(units, kind="stable")  # fast where rows come in the order of their units, as they often do
    numbers, starts = np.unique(units[order], return_index=True)
    return numbers, np.maximum.reduceat(scores[order], starts) if len(starts) else scores


def halves(vector: Vector) -> str:
    """Return a vector of whole numbers as pgvector reads it."""
    return f"[{','.join(map(str, vector.astype(int).tolist()))}]"


class PostgresScores(Ranks):
    """The `Scored` of a store in PostgreSQL."""

    def __init__(self, units: Units, best: Vector, unit: float, seen: Seen) -> None:
        """Keep exact scores.

        Args:
            units: the units, shape (units,).
            best: the best score of each unit, shape (units,).
            unit: the score of similarity 1.
            seen: what the search saw.
        """
        super().__init__(best, units.ties, unit)
        self._units, self._seen = units, seen

    def _hits(self, places: NDArray[np.intp]) -> list[Hit]:
        """Return the units with their numbers and best scores, in the order of `places`."""
        numbers, best = self._units.numbers[places].tolist(), self._best[places].tolist()
        names = self._units.names[places].tolist()
        return [
            Hit(name, (number, score, self._seen)) for name, number, score in zip(names, numbers, best, strict=True)
        ]

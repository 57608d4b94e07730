"""The points that decide the nearest units, by one request of a public size.

Let each unit have at most `cap` points, and let s be the k-th best score of a unit. Fewer than k units are better than
s, so fewer than k * cap points are. The k * cap best points therefore contain each point above s; and if they end
below s, they contain each point at s too. If they end at s, a second request asks for all points from s on. The ranks
of the k nearest units and their ties are then those of all points. README.md has the proof.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import StoreError
from discreet.store.vectors import Vector
from discreet_qdrant.engine import WRONG_SCORES, Engine, Found, Ids, every, searched


@dataclass(frozen=True, eq=False)
class Stored:
    """The points of a store at one moment.

    Attributes:
        ids: their numbers, ascending, shape (points,).
        chunks: the number of the chunk of each, shape (points,).
        units: the number of the unit of each, shape (points,).
    """

    ids: Ids
    chunks: Ids
    units: Ids

    def of(self, found: Found) -> tuple[NDArray[np.intp], Vector]:
        """Return the places and scores of found points that are stored. Others are of a batch without a commit."""
        places = np.minimum(np.searchsorted(self.ids, found.ids), max(len(self.ids) - 1, 0))
        own = self.ids[places] == found.ids if len(self.ids) else np.zeros(len(found), dtype=bool)
        return places[own], found.scores[own]


@dataclass(frozen=True, eq=False)
class Read:
    """What was read for a question: places of stored points with their scores, and whether these are all points."""

    rows: NDArray[np.intp]
    scores: Vector
    whole: bool


def read_all(engine: Engine, name: str, question: Vector, stored: Stored) -> Read:
    """Return the scores of all stored points.

    Raises:
        StoreError: if one is missing.
    """
    rows, scores = stored.of(every(engine, name, question, len(stored.ids)))
    if len(rows) != len(stored.ids):
        raise StoreError(
            "Qdrant lacks vectors of the store. See: discreet doctor VAULT. Restore a snapshot of its collection in "
            "Qdrant."
        )
    return Read(rows, scores, True)


def read_nearest(engine: Engine, name: str, question: Vector, stored: Stored, count: int, cap: int) -> Read:
    """Return the scores of the points that decide which units are the `count` nearest.

    Args:
        engine: the engine.
        name: the collection.
        question: the question's vector.
        stored: the points at this moment.
        count: the number of units, at least 1.
        cap: the most points that a unit has.

    Raises:
        StoreError: if Qdrant returned fewer units than there must be.
    """
    if engine.count(name) < len(stored.ids):
        return read_all(engine, name, question, stored)  # which says what is missing
    limit = wanted = count * cap
    while True:
        found = searched(engine, name, question, limit)
        rows, scores = stored.of(found)
        if len(found) < limit:
            if len(rows) != len(stored.ids):
                return read_all(engine, name, question, stored)  # which says what is missing
            return Read(rows, scores, True)
        if len(rows) >= wanted:
            break
        # Points of a batch without a commit took places. They are no more than the places that are added.
        limit = wanted + 2 * (limit - len(rows))
    least = _rank(stored.units[rows], scores, count)
    if scores[-1] == least:
        again = every(engine, name, question, limit, float(least) - 1)
        rows, scores = stored.of(again)
        rows, scores = rows[scores >= least], scores[scores >= least]
    return Read(rows, scores, False)


def _rank(owners: Ids, scores: Vector, count: int) -> np.float32:
    """Return the score of the unit of rank `count`."""
    _, firsts = np.unique(owners, return_index=True)  # scores descend, so the first of a unit is its best
    if len(firsts) < count:
        raise StoreError(WRONG_SCORES)
    best = np.sort(scores[firsts])[::-1]
    return np.float32(best[count - 1])

"""The units of a store in Qdrant by their scores, read when they are first needed, and at one moment."""

from collections.abc import Callable
from dataclasses import dataclass

from discreet.store.protocol import Hit
from discreet.store.vectors import Ranks


@dataclass(frozen=True, eq=False)
class LookedUp:
    """What was read of a store.

    Attributes:
        ranks: the scores that were read; units without one were not read.
        changes: the number of changes of the store until then.
        whole: whether all points were read.
    """

    ranks: Ranks
    changes: int
    whole: bool


Look = Callable[[int, int | None], LookedUp]
"""Reads what decides the nearest units of a number (0: all points), if the store is still in a given state."""


class PointScores:
    """The `Scored` of a store in Qdrant. Its moment is that of its first use.

    A threshold reads all points. So do the nearest units, unless the store has a cap of chunks. What was read is kept:
    after it, additions and removals change nothing.
    """

    def __init__(self, look: Look, *, capped: bool) -> None:
        self._look, self._capped = look, capped
        self._read: LookedUp | None = None
        self._ranks = 0

    def above(self, threshold: float) -> list[Hit]:
        """Return every unit whose similarity is at least `threshold`, nearest first."""
        return self._looked(0).above(threshold)

    def between(self, low: float, high: float) -> list[Hit]:
        """Return every unit that is above `low` and not above `high`, nearest first."""
        return self._looked(0).between(low, high)

    def nearest(self, count: int) -> list[Hit]:
        """Return the `count` nearest units (fewer if there are fewer), nearest first."""
        return self._looked(count if self._capped else 0).nearest(count) if count > 0 else []

    def _looked(self, ranks: int) -> Ranks:
        """Return scores that decide the nearest units of this number; 0 for all scores.

        Raises:
            StoreError: if more must be read, and the documents have changed since.
        """
        read = self._read
        if read is None or not (read.whole or 0 < ranks <= self._ranks):
            read = self._read = self._look(ranks, read.changes if read else None)
            self._ranks = ranks
        return read.ranks

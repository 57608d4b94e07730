"""The exact nearest neighbours of many vectors at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
_AT_ONCE = 2**24
"""So many distances are held at a time: 64 MiB."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Keys to be searched by Euclidean distance, all of them, every time.

    Attributes:
        keys: shape (keys, size); may be mapped into memory.
        squares: the squared length of each, shape (keys,).
    """

    keys: Vectors
    squares: Vectors

    @staticmethod
    def of(keys: Vectors) -> "Neighbours":
        """For these keys."""
        return Neighbours(keys, np.einsum("ij,ij->i", keys, keys, dtype=np.float32))

    def nearest(self, vectors: Vectors, count: int) -> tuple[Vectors, NDArray[np.intp]]:
        """Squared distances and places of the nearest keys, nearest first, each of shape (vectors, count).

        Equally near ones come in the order of their places. There are fewer if there are fewer keys.
        """
        count = min(count, len(self.keys))
        rows = max(1, _AT_ONCE // max(1, len(self.keys)))
        parts = [self._nearest(vectors[start : start + rows], count) for start in range(0, len(vectors), rows)]
        if not parts:
            return np.empty((0, count), np.float32), np.empty((0, count), np.intp)
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def _nearest(self, vectors: Vectors, count: int) -> tuple[Vectors, NDArray[np.intp]]:
        # The vector's own length is the same for all keys: it is added at the end.
        scores = vectors @ np.asarray(self.keys).T
        scores *= -2
        scores += self.squares
        places = np.argpartition(scores, max(0, count - 1), axis=1)[:, :count] if count else np.empty((len(vectors), 0))
        places = np.sort(places.astype(np.intp), axis=1)
        found = np.take_along_axis(scores, places, axis=1)
        order = np.argsort(found, axis=1, kind="stable")
        own = np.einsum("ij,ij->i", vectors, vectors)[:, None]
        distances = np.maximum(np.take_along_axis(found, order, axis=1) + own, 0)
        return np.asarray(distances, np.float32), np.take_along_axis(places, order, axis=1)

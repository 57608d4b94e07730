"""The exact nearest neighbours of many vectors at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
_AT_ONCE = 2**24
"""The number of distances that are held at a time: 64 MiB."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Keys for exhaustive search by Euclidean distance.

    Attributes:
        keys: shape (keys, size); may be mapped into memory.
        squares: the squared length of each key, shape (keys,).
    """

    keys: Vectors
    squares: Vectors

    @staticmethod
    def of(keys: Vectors) -> "Neighbours":
        """Return the neighbours of these keys, with their squared lengths."""
        return Neighbours(keys, np.einsum("ij,ij->i", keys, keys, dtype=np.float32))

    def nearest(self, vectors: Vectors, count: int) -> tuple[Vectors, NDArray[np.intp]]:
        """Return squared distances and indices of the nearest keys, nearest first, each of shape (vectors, count).

        Equally near keys come in the order of their indices. `count` is cut to the number of keys.
        """
        count = min(count, len(self.keys))
        rows = max(1, _AT_ONCE // max(1, len(self.keys)))
        parts = [self._nearest(vectors[start : start + rows], count) for start in range(0, len(vectors), rows)]
        if not parts:
            return np.empty((0, count), np.float32), np.empty((0, count), np.intp)
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def _nearest(self, vectors: Vectors, count: int) -> tuple[Vectors, NDArray[np.intp]]:
        # The length of the vector is the same for all keys. It is added at the end.
        scores = vectors @ np.asarray(self.keys).T
        scores *= -2
        scores += self.squares
        places = np.argpartition(scores, max(0, count - 1), axis=1)[:, :count] if count else np.empty((len(vectors), 0))
        places = np.sort(places.astype(np.intp), axis=1)
        nearest_scores = np.take_along_axis(scores, places, axis=1)
        order = np.argsort(nearest_scores, axis=1, kind="stable")
        own = np.einsum("ij,ij->i", vectors, vectors)[:, None]
        distances = np.maximum(np.take_along_axis(nearest_scores, order, axis=1) + own, 0)
        return np.asarray(distances, np.float32), np.take_along_axis(places, order, axis=1)

"""An embedder: counts of three letters in a row, without a model."""

import math
import zlib
from collections.abc import Callable, Sequence

import numpy as np

from discreet.store.embedding import Vectors


class Trigrams:
    """Counts each three letters in a row at a place of the vector that their checksum names."""

    name = "trigrams"
    dimension = 512

    def embed(self, texts: Sequence[str], progress: Callable[[int], None] | None = None) -> Vectors:
        """Return a vector of length one for each text; the zero vector for a text of fewer than three letters."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            letters = text.lower()
            counts = [0] * self.dimension
            for start in range(len(letters) - 2):
                counts[zlib.crc32(letters[start : start + 3].encode("utf-8", "replace")) % self.dimension] += 1
            length = math.sqrt(sum(count * count for count in counts))  # of whole numbers: the sum is exact
            if length:
                vectors[row] = [count / length for count in counts]
            if progress:
                progress(1)
        return vectors

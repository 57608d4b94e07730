"""An embedder that embeds each text once: for a question that is asked a thousand times."""

from collections.abc import Sequence

import numpy as np

from discreet.retrieval.embedding import Embedder, Told, Vectors


class KeptVectors:
    """An embedder that keeps all vectors.

    Args:
        embedder: the embedder that makes them.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name, self.dimension = embedder.name, embedder.dimension
        self._kept: dict[str, Vectors] = {}

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        """Return vectors of shape (texts, dimension)."""
        fresh = [text for text in dict.fromkeys(texts) if text not in self._kept]
        if fresh:
            self._kept |= zip(fresh, self._embedder.embed(fresh, progress), strict=True)
        return np.stack([self._kept[text] for text in texts])

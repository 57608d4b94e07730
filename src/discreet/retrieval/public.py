"""A corpus of public texts, such as a synthetic one: in memory, to be asked for nothing."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from discreet.errors import BadData
from discreet.retrieval.documents import Passage
from discreet.retrieval.embedding import Embedder
from discreet.retrieval.store import Vector


class PublicTexts:
    """Texts with their vectors."""

    def __init__(self, texts: Sequence[str], embedder: Embedder) -> None:
        self._texts, self._embedder = list(texts), embedder
        self._vectors = np.asarray(embedder.embed(self._texts))

    @classmethod
    def read(cls, path: Path, embedder: Embedder) -> "PublicTexts":
        """The `text` of each line of a JSONL file.

        Raises:
            BadData: the file is not there, or holds no texts.
        """
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
            texts = [str(json.loads(line)["text"]) for line in lines if line.strip()]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadData(
                f"{path} cannot be read as a corpus ({type(error).__name__}). Expected: a JSON object with a 'text' on "
                "every line, as `discreet synthesize` writes it."
            ) from error
        if not texts:
            raise BadData(f"{path} holds no texts: nothing was released when it was made. Ask the vault itself.")
        return cls(texts, embedder)

    def unsealed_passages(self, question: str, count: int) -> list[Passage]:
        """The nearest texts, nearest first."""
        vector: Vector = self._embedder.embed([question])[0]
        likeness = self._vectors @ vector
        order = np.argsort(-likeness, kind="stable")[:count]
        return [Passage(str(place), self._texts[place]) for place in order.tolist()]

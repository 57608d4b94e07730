"""A corpus of public texts, such as a synthetic one: in memory, to be asked for nothing."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from discreet.errors import BadData, UsageError
from discreet.retrieval.documents import Passage
from discreet.retrieval.embedding import Embedder
from discreet.retrieval.jsonl import lines_of
from discreet.retrieval.store import Vector


class PublicTexts:
    """Texts with their vectors.

    Attributes:
        digest: the SHA-256 of the file that they come from, in hexadecimal; empty if they come from none.
        vectors: one of length one for each text, shape (texts, dimension).
    """

    def __init__(
        self, texts: Sequence[str], embedder: Embedder, digest: str = "", vectors: Vector | None = None
    ) -> None:
        """Embed the texts, unless their vectors are given."""
        self._texts, self._embedder, self.digest = list(texts), embedder, digest
        self.vectors: Vector = np.asarray(embedder.embed(self._texts) if vectors is None else vectors)

    @classmethod
    def read(cls, path: Path, embedder: Embedder) -> "PublicTexts":
        """The `text` of each line of a JSONL file.

        Raises:
            UsageError: the file is not there.
            BadData: it holds no texts.
        """
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise UsageError(
                f"There is no file at {path}. Name a corpus, as `discreet synthesize` writes it."
            ) from None
        except OSError as error:
            raise not_a_corpus(path, error) from error
        return cls(texts_of(content, path), embedder, digest_of(content))

    def unsealed_passages(self, question: str, count: int) -> list[Passage]:
        """The nearest texts, nearest first."""
        vector: Vector = self._embedder.embed([question])[0]
        likeness = self.vectors @ vector
        order = np.argsort(-likeness, kind="stable")[:count]
        return [Passage(str(place), self._texts[place]) for place in order.tolist()]

    def nearest(self, question: str) -> str:
        """The text nearest to the question: a function of the two, and of nothing that is private."""
        return self.unsealed_passages(question, 1)[0].text

    def some(self, count: int) -> list[tuple[str, Vector]]:
        """At most so many texts with their vectors, spread over the corpus."""
        found = min(count, len(self))
        places = [number * len(self) // found for number in range(found)]
        return [(self._texts[place], self.vectors[place]) for place in places]

    def __len__(self) -> int:
        return len(self._texts)


def texts_of(content: bytes, path: Path) -> list[str]:
    """The texts of a corpus.

    Args:
        content: of the file.
        path: of the file, to be named in errors.

    Raises:
        BadData: it is no corpus, or holds no texts.
    """
    try:
        texts = [_text(record) for _, record in lines_of(content)]
    except (ValueError, KeyError, TypeError) as error:
        raise not_a_corpus(path, error) from error
    if not texts:
        raise BadData(f"{path} holds no texts: nothing was released when it was made. Ask the vault itself.")
    return texts


def digest_of(content: bytes) -> str:
    """By which a file is known: what `sha256sum` prints."""
    return hashlib.sha256(content).hexdigest()


def not_a_corpus(path: Path, error: Exception) -> BadData:
    """The error for a file that cannot be read as a corpus."""
    return BadData(
        f"{path} cannot be read as a corpus ({type(error).__name__}). Expected: a JSON object with a 'text' on every "
        "line, as `discreet synthesize` writes it."
    )


def _text(record: dict[str, object]) -> str:
    text = record["text"]
    if not isinstance(text, str):
        raise TypeError("a text is a string")
    return text

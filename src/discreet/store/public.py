"""A corpus of public texts in memory, such as a synthetic one. Reading it costs nothing."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from discreet.errors import BadData, UsageError
from discreet.store.documents import Passage
from discreet.store.embedding import Embedder, embed_questions
from discreet.store.protocol import Vector
from discreet.system.files import lines_of


class PublicTexts:
    """Public texts with their vectors.

    Attributes:
        digest: the SHA-256 of their file, in hexadecimal; empty if they come from no file.
        vectors: a vector of length one for each text, shape (texts, dimension).
    """

    def __init__(
        self, texts: Sequence[str], embedder: Embedder, digest: str = "", vectors: Vector | None = None
    ) -> None:
        """Embed the texts, unless their vectors are given."""
        self._texts, self._embedder, self.digest = list(texts), embedder, digest
        self.vectors: Vector = np.asarray(embedder.embed(self._texts) if vectors is None else vectors)

    @classmethod
    def read(cls, path: Path, embedder: Embedder) -> "PublicTexts":
        """Read the `text` of each line of a JSONL file.

        Raises:
            UsageError: if the file does not exist.
            BadData: if it holds no texts.
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
        """Return the nearest texts, nearest first."""
        vector: Vector = embed_questions(self._embedder, [question])[0]
        likeness = self.vectors @ vector
        order = np.argsort(-likeness, kind="stable")[:count]
        return [Passage(str(place), self._texts[place]) for place in order.tolist()]

    def nearest(self, question: str) -> str:
        """Return the text nearest to the question. It depends on public values alone."""
        return self.unsealed_passages(question, 1)[0].text

    def some(self, count: int) -> list[tuple[str, Vector]]:
        """Return at most `count` texts with their vectors, spread over the corpus."""
        found = min(count, len(self))
        places = [number * len(self) // found for number in range(found)]
        return [(self._texts[place], self.vectors[place]) for place in places]

    def __len__(self) -> int:
        return len(self._texts)


def texts_of(content: bytes, path: Path) -> list[str]:
    """Return the texts of a corpus.

    Args:
        content: the content of the file.
        path: the path of the file, for errors.

    Raises:
        BadData: if the content is no corpus, or holds no texts.
    """
    try:
        texts = [_text(record) for _, record in lines_of(content)]
    except (ValueError, KeyError, TypeError) as error:
        raise not_a_corpus(path, error) from error
    if not texts:
        raise BadData(f"{path} holds no texts: nothing was released when it was made. Ask the vault itself.")
    return texts


def digest_of(content: bytes) -> str:
    """Return the SHA-256 of a file's content, as `sha256sum` prints it."""
    return hashlib.sha256(content).hexdigest()


def not_a_corpus(path: Path, error: Exception) -> BadData:
    """Return the error for a file that is no corpus."""
    return BadData(
        f"{path} cannot be read as a corpus ({type(error).__name__}). Expected: a JSON object with a 'text' on every "
        "line, as `discreet synthesize` writes it."
    )


def _text(record: dict[str, object]) -> str:
    text = record["text"]
    if not isinstance(text, str):
        raise TypeError("a text is a string")
    return text

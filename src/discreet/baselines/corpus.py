"""The documents as baselines without a guarantee read them: also in the clear."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from discreet.errors import UsageError
from discreet.privacy.partition import REPLACE_ONE
from discreet.privacy.private import Private
from discreet.retrieval.documents import Passage, StoredText
from discreet.retrieval.embedding import Embedder
from discreet.retrieval.sealed_corpus import SealedCorpus
from discreet.retrieval.store import Store

T = TypeVar("T")


class BaselineCorpus(SealedCorpus):
    """A corpus that is also readable in the clear. A vault gives it to algorithms without a guarantee only.

    Attributes:
        folder: the folder for data that a baseline derives from all documents, private like the documents; None if it
            may keep nothing.
    """

    def __init__(self, store: Store, embedder: Embedder, secret: bytes = b"", folder: Path | None = None) -> None:
        super().__init__(store, embedder, secret)
        self.folder = folder
        self._made: dict[str, tuple[object, Any]] = {}

    def unsealed_passages(self, question: str, count: int) -> list[Passage]:
        """Return the nearest passages in the clear, at most one of each unit."""
        return self._store.nearest_units(self.embed(question), count)

    def made_once(self, name: str, make: Callable[[list[StoredText]], T]) -> Private[T]:
        """Return the value that `make` derives from all chunks, sealed as one share. It is kept until documents change.

        One unit may change all of the value.
        """
        state = self._store.state()
        if name not in self._made or self._made[name][0] != state:
            self._made[name] = (state, make(self._store.texts()))
        return Private([self._made[name][1]], REPLACE_ONE)


def require_baseline(corpus: SealedCorpus) -> BaselineCorpus:
    """Return the corpus as one that is readable in the clear.

    Raises:
        UsageError: if the corpus is sealed, since a guarantee is demanded.
    """
    if not isinstance(corpus, BaselineCorpus):
        raise UsageError(
            "The corpus is sealed, and the algorithm reads documents in the clear. Expected: a BaselineCorpus. A vault "
            "gives one to algorithms that declare no guarantee."
        )
    return corpus

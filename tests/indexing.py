"""Index the documents of a corpus; read a corpus that does not change once."""

from collections.abc import Sequence
from functools import cache

from discreet.store.documents import Passage
from discreet.store.embedding import Embedder
from discreet.store.indexer import Indexer
from discreet.store.protocol import Hit, Scored, Store
from discreet.store.sealed_corpus import SealedCorpus


def indexer(corpus: SealedCorpus) -> Indexer:
    """Return the indexer of the store that a corpus searches."""
    return Indexer(corpus._store, corpus._embedder)


def read_once(corpus: SealedCorpus) -> SealedCorpus:
    """Return a corpus over a store that does not change: each search and each text is read from the store once.

    An exact law runs an algorithm for each outcome of its draws, thousands of times over the same documents.
    """
    return ReadOnce(corpus._store, corpus._embedder, corpus.secret)


class _Kept:
    def __init__(self, scored: Scored) -> None:
        self.above, self.between, self.nearest = cache(scored.above), cache(scored.between), cache(scored.nearest)


class ReadOnce(SealedCorpus):
    def __init__(self, store: Store, embedder: Embedder, secret: bytes = b"") -> None:
        super().__init__(store, embedder, secret)
        self._searched = cache(lambda question: _Kept(SealedCorpus._scored(self, question)))
        self._texts = cache(super()._read)

    def _scored(self, question: str) -> Scored:
        return self._searched(question)

    def _read(self, shares: Sequence[tuple[Hit, ...]]) -> list[tuple[Passage, ...]]:
        return list(self._texts(tuple(shares)))

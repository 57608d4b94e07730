"""The way of documents into the store of a corpus."""

from discreet.retrieval.indexer import Indexer
from discreet.retrieval.sealed_corpus import SealedCorpus


def indexer(corpus: SealedCorpus) -> Indexer:
    """Return the indexer of the store that a corpus searches."""
    return Indexer(corpus._store, corpus._embedder)

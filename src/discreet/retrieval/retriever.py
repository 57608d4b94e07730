"""From a question to sealed documents, and from documents to an index."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from discreet.privacy.change import Change, Relation
from discreet.privacy.private import Private
from discreet.retrieval.documents import Document, Passage, chunk
from discreet.retrieval.embedding import Embedder
from discreet.retrieval.store import Piece, Store, digest

TOP_UNITS = Change(1, Relation.REPLACE)
"""What one unit changes in the nearest units: without it, another takes its place, in one share."""


@dataclass
class Counts:
    """What indexing did: how many documents, and the ids that came twice with different content."""

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    conflicts: list[str] = field(default_factory=list)


class Corpus:
    """A store together with the embedder that its vectors come from."""

    def __init__(self, store: Store, embedder: Embedder) -> None:
        self._store, self._embedder = store, embedder

    def top_units(self, question: str, voters: int, units_per_voter: int = 1) -> Private[tuple[Passage, ...]]:
        """The voters' documents: the nearest units, in a uniformly random partition, sealed.

        There are always `voters` shares of `units_per_voter` places. If the vault has fewer units, places stay
        empty; that shows nowhere.
        """
        places = voters * units_per_voter
        nearest: list[Passage | None] = list(self._nearest(question, places))
        nearest += [None] * (places - len(nearest))
        random.SystemRandom().shuffle(nearest)  # blind to content: coupling two shuffles, one share differs
        shares = [
            tuple(sorted((p for p in nearest[start : start + units_per_voter] if p), key=lambda p: (p.text, p.unit)))
            for start in range(0, places, units_per_voter)
        ]
        return Private(shares, TOP_UNITS)

    def unsealed_passages(self, question: str, count: int) -> list[Passage]:
        """The nearest passages in the clear, for baselines without a guarantee."""
        return self._nearest(question, count)

    def index(
        self, documents: Iterable[Document], batch: int = 256, progress: Callable[[int], None] | None = None
    ) -> Counts:
        """Add what is new, replace what changed, skip the rest without embedding it.

        Batch by batch, each durable: interrupted, it goes on where it stopped when run again.
        """
        counts = Counts()
        met: dict[str, bytes] = {}
        for group in _groups(documents, batch):
            fresh = self._fresh(group, met, counts)
            if progress:
                progress(len(group) - len(fresh))
            if fresh:
                self._add(fresh, progress)
        self._store.settle()  # once for all that was replaced; after an interruption, when the store is next opened
        return counts

    def _nearest(self, question: str, count: int) -> list[Passage]:
        return self._store.nearest_units(self._embedder.embed([question])[0], count)

    def _fresh(self, group: Sequence[Document], met: dict[str, bytes], counts: Counts) -> list[Document]:
        """Those documents of `group` that have to be stored; counts the others."""
        stored = self._store.digests([document.id for document in group])
        fresh = []
        for document in group:
            content = digest(document)
            if document.id in met:
                if met[document.id] != content:
                    counts.conflicts.append(document.id)
                else:
                    counts.unchanged += 1
                continue
            met[document.id] = content
            if stored.get(document.id) == content:
                counts.unchanged += 1
                continue
            counts.replaced += document.id in stored
            counts.added += document.id not in stored
            fresh.append(document)
        return fresh

    def _add(self, documents: Sequence[Document], progress: Callable[[int], None] | None) -> None:
        chunks = [chunk(document.text) for document in documents]
        vectors = iter(np.asarray(self._embedder.embed([text for texts in chunks for text in texts])))
        with self._store.batch():
            for document, texts in zip(documents, chunks, strict=True):
                self._store.put(document, [Piece(text, next(vectors)) for text in texts])
        if progress:
            progress(len(documents))


def _groups(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    iterator = iter(documents)
    while group := list(islice(iterator, size)):
        yield group

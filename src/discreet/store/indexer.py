"""The way of documents into a store: split into chunks, embedded, and stored durably."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import TypeVar

import numpy as np

from discreet.store.documents import Document, chunk
from discreet.store.embedding import Embedder, StreamingEmbedder, Vectors
from discreet.store.protocol import Piece, Store, digest
from discreet.system.progress import stage

_T = TypeVar("_T")
_STORED = 256
"""Documents that are stored together."""
_MANY = 1000
"""The passages of documents that are embedded together, from which their progress is shown: they take some seconds."""


Fate = Enum("Fate", "ADDED REPLACED UNCHANGED CONFLICT NAMELESS TAKEN BURIED")
"""What becomes of a document: it is stored as new or in place of another one, is stored already, or is refused."""


@dataclass
class Counts:
    """What became of indexed documents.

    Attributes:
        fates: the number of documents by what became of them.
        batch: the number of the batch of the added documents; 0 if none was added.
    """

    fates: Counter[Fate] = field(default_factory=Counter)
    batch: int = 0


class Admission:
    """The rules by which documents enter a store; one object for each addition. It changes nothing.

    Args:
        store: the store; None if nothing was ever added.
    """

    def __init__(self, store: Store | None) -> None:
        self._store, self._met = store, dict[str, bytes]()
        self.buried: dict[str, str] = {}
        """The times of erasure of the erased individuals that were met."""

    def fates(self, group: Sequence[Document]) -> list[Fate]:
        """Return what becomes of each of some documents, which follow those of earlier calls."""
        ids, store = [document.id for document in group], self._store
        stored, about = (store.digests(ids), store.units(ids)) if store else ({}, {})
        buried = store.buried({document.unit for document in group}) if store else {}
        self.buried |= {unit: time for unit, (time, _) in buried.items()}
        return [self._fate(document, stored, about, buried) for document in group]

    def _fate(
        self, document: Document, stored: Mapping[str, bytes], about: Mapping[str, str], buried: Collection[str]
    ) -> Fate:
        if document.unit in buried:
            return Fate.BURIED
        content = digest(document)
        if document.id in self._met:
            return Fate.UNCHANGED if self._met[document.id] == content else Fate.CONFLICT
        same = stored.get(document.id) == content
        if not same and about.get(document.id, document.unit) != document.unit:
            return Fate.NAMELESS if document.own_unit else Fate.TAKEN
        self._met[document.id] = content  # not before: a refused document is not kept
        if same:
            return Fate.UNCHANGED
        return Fate.REPLACED if document.id in stored else Fate.ADDED


class Indexer:
    """A store together with the embedder of its vectors, for additions."""

    def __init__(self, store: Store, embedder: Embedder) -> None:
        self._store, self._embedder = store, embedder

    def index(
        self,
        documents: Iterable[Document],
        batch: int | None = None,
        progress: Callable[[int], None] | None = None,
        *,
        begin: Callable[[], int] | None = None,
        at_once: int = 0,
    ) -> Counts:
        """Add new documents, and replace changed ones. Embed no unchanged document. Return the counts.

        A document never replaces one about another individual: it would erase that individual's record. Documents about
        erased individuals are refused. An interrupted call can be repeated: it resumes after the last group.

        Args:
            documents: the documents.
            batch: the number of an existing batch; a new batch, when the first document is stored, if None.
            progress: receives the number of documents that are done.
            begin: returns the number of a new batch; a batch of no file if None.
            at_once: the number of documents that are embedded together; as the embedder prefers if 0. Those that are
                ready are stored durably, at most `_STORED` together.
        """
        admission = Admission(self._store)
        admitted = (
            (document, fate)
            for group in _groups(documents, at_once or self._at_once)
            for document, fate in zip(group, admission.fates(group), strict=True)
        )
        return self.index_admitted(admitted, batch, progress, begin=begin, at_once=at_once)

    def index_admitted(
        self,
        admitted: Iterable[tuple[Document, Fate]],
        batch: int | None = None,
        progress: Callable[[int], None] | None = None,
        *,
        begin: Callable[[], int] | None = None,
        at_once: int = 0,
    ) -> Counts:
        """Index documents as `index` does, of which an `Admission` has told what becomes of each."""
        counts = Counts()
        for group in _groups(admitted, at_once or self._at_once):
            counts.fates.update(fate for _, fate in group)
            fresh = [document for document, fate in group if fate in (Fate.ADDED, Fate.REPLACED)]
            if progress:
                progress(len(group) - len(fresh))
            if fresh:
                started = begin or self._store.begin_batch
                batch = counts.batch = started() if batch is None else batch
                self._add(fresh, batch, progress)
        self._store.settle()  # once for all replacements; after an interruption, when the store is next opened
        return counts

    @property
    def _at_once(self) -> int:
        return getattr(self._embedder, "documents_at_once", _STORED)

    def _add(self, documents: Sequence[Document], batch: int, progress: Callable[[int], None] | None) -> None:
        """Embed and store documents."""
        chunks = [chunk(document.text) for document in documents]
        vectors = self._vectors([text for texts in chunks for text in texts])
        for start in range(0, len(documents), _STORED):
            part, own = documents[start : start + _STORED], chunks[start : start + _STORED]
            pieces = [[Piece(text, next(vectors)) for text in texts] for texts in own]  # before the store is locked
            with self._store.batch():
                for document, of_it in zip(part, pieces, strict=True):
                    self._store.put(document, of_it, batch)
            if progress:
                progress(len(part))

    def _vectors(self, texts: Sequence[str]) -> Iterator[Vectors]:
        """Yield the vector of each text."""
        if isinstance(self._embedder, StreamingEmbedder):
            for some in self._embedder.stream(texts):
                yield from some
        elif len(texts) > _MANY:  # long documents: each is one step of `progress`
            with stage("Embedding their passages", len(texts)) as told:
                vectors = self._embedder.embed(texts, told)
            yield from np.asarray(vectors)
        else:
            yield from np.asarray(self._embedder.embed(texts))


def _groups(some: Iterable[_T], size: int) -> Iterator[list[_T]]:
    iterator = iter(some)
    while group := list(islice(iterator, size)):
        yield group

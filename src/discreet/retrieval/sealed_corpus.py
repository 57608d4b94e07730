"""From a question to sealed documents, and from documents to an index."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from discreet.privacy.change import Change
from discreet.privacy.partition import ADD_REMOVE_ONE, REPLACE_ONE, Member, partition_to_voters
from discreet.privacy.private import Private
from discreet.retrieval.documents import Document, Passage, StoredText, chunk
from discreet.retrieval.embedding import Embedder
from discreet.retrieval.store import Hit, Piece, Scored, Store, Vector, digest

Found = Member[Hit]
"""A unit that was found, with its key in the ledger; its text is read once it is dealt."""
T = TypeVar("T")


@dataclass
class Counts:
    """What indexing did: how many documents, and the ids of those that were left out.

    Attributes:
        conflicts: that came twice with different content.
        nameless: that name nobody, and are stored as documents about somebody.
        taken: that are stored as documents about another individual.
        buried: about individuals that were erased and are not to come back: how many, by name and time (UTC).
        batch: the number of the batch that holds what was added; 0 if nothing was.
    """

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    conflicts: list[str] = field(default_factory=list)
    nameless: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    buried: Counter[tuple[str, str]] = field(default_factory=Counter)
    batch: int = 0


class SealedCorpus:
    """A store together with the embedder that its vectors come from.

    Attributes:
        secret: the vault's key, from which the units' keys in the ledger are made.
        folder: where a baseline may keep what it makes of all documents, private as they are; None for nowhere.
    """

    def __init__(self, store: Store, embedder: Embedder, secret: bytes = b"", folder: Path | None = None) -> None:
        self._store, self._embedder, self.secret, self.folder = store, embedder, secret, folder
        self._made: dict[str, tuple[object, Any]] = {}

    def top_units(self, question: str, voters: int, units_per_voter: int = 1) -> Private[tuple[Passage, ...]]:
        """The voters' documents: the nearest units, in a uniformly random partition, sealed.

        There are always `voters` shares of `units_per_voter` places. If the vault has fewer units, places stay
        empty; that shows nowhere.
        """
        return self.partition_to_voters(self.nearest(question, voters * units_per_voter), voters, units_per_voter)

    def nearest(self, question: str, count: int) -> Private[Found]:
        """The nearest units, nearest first, sealed; to be dealt to a public number of places."""
        return self._sealed(self.scored(question).nearest(count), REPLACE_ONE)

    def above(self, question: str, similarity: float) -> Private[Found]:
        """Every unit at least as similar to the question as a public threshold, nearest first, sealed.

        Whether a unit is among them depends on no other unit.
        """
        return self._sealed(self.scored(question).above(similarity))

    def bins(self, question: str, edges: Sequence[float]) -> Iterator[Private[Found]]:
        """The units by similarity: those above the first edge, then those between it and the second, and so on.

        All bins are of one moment, and the vectors are read once for all of them. A unit is in one bin at most.
        Edges are public, the highest first.
        """
        scored = self.scored(question)
        for number, edge in enumerate(edges):
            yield self._sealed(scored.between(edge, edges[number - 1]) if number else scored.above(edge))

    def scored(self, question: str) -> Scored:
        """All units by their similarity to a question, as they are now, in the clear: for this class."""
        return self._store.scored(self.embed(question))

    def partition_to_voters(
        self, found: Private[Found], voters: int, units_per_voter: int
    ) -> Private[tuple[Passage, ...]]:
        """The first units dealt to voters, in a uniformly random partition (MuRAG's Algorithm 3).

        Texts are read now, for those that were dealt. A unit that was erased since it was found leaves its place
        empty, as if there were fewer units; no other takes it.
        """
        return partition_to_voters(found, voters, units_per_voter, lambda hit: hit.unit).map_batch(self._read)

    def texts(self, found: Private[Hit]) -> Private[str]:
        """What each unit says, for those who read all that were found; nothing if it was erased since."""
        return found.map_batch(lambda hits: [near.text if near else "" for near in self._store.passages(hits)])

    def unsealed_passages(self, question: str, count: int) -> list[Passage]:
        """The nearest passages in the clear, for baselines without a guarantee."""
        return self._store.nearest_units(self.embed(question), count)

    def made_once(self, name: str, make: Callable[[list[StoredText]], T]) -> Private[T]:
        """What `make` makes of all chunks of all documents, sealed as one share; made once, until documents change.

        Any unit may change all of it: for baselines without a guarantee.
        """
        state = self._store.state()
        if name not in self._made or self._made[name][0] != state:
            self._made[name] = (state, make(self._store.texts()))
        return Private([self._made[name][1]], REPLACE_ONE)

    def index(
        self,
        documents: Iterable[Document],
        batch: int | None = None,
        progress: Callable[[int], None] | None = None,
        *,
        files: int = 0,
        at_once: int = 256,
    ) -> Counts:
        """Add what is new, replace what changed, skip the rest without embedding it.

        A document never takes the place of one about another individual: one person's records would erase others'.
        An individual that was erased does not come back. So many `at_once`, each time durably: interrupted, it goes on
        where it stopped when run again. All are of one `batch`; a new one, out of so many `files`, if none is given.
        """
        counts = Counts()
        met: dict[str, bytes] = {}
        for group in _groups(documents, at_once):
            fresh = self._fresh(group, met, counts)
            if progress:
                progress(len(group) - len(fresh))
            if fresh:
                batch = counts.batch = self._store.begin_batch(files) if batch is None else batch
                self._add(fresh, batch, progress)
        self._store.settle()  # once for all that was replaced; after an interruption, when the store is next opened
        return counts

    def embed(self, question: str) -> Vector:
        """A question's vector."""
        vector: Vector = self._embedder.embed([question])[0]
        return vector

    def _sealed(self, hits: Sequence[Hit], change: Change = ADD_REMOVE_ONE) -> Private[Found]:
        return Private([Member(unit_key(hit.unit, self.secret), hit) for hit in hits], change)

    def _read(self, shares: Sequence[tuple[Hit, ...]]) -> list[tuple[Passage, ...]]:
        """The passages of each share, in an order that follows from them alone."""
        passages = iter(self._store.passages([hit for share in shares for hit in share]))
        read = [[near for near in islice(passages, len(share)) if near] for share in shares]
        return [tuple(sorted(share, key=lambda passage: (passage.text, passage.unit))) for share in read]

    def _fresh(self, group: Sequence[Document], met: dict[str, bytes], counts: Counts) -> list[Document]:
        """Those documents of `group` that have to be stored; counts the others."""
        stored = self._store.digests([document.id for document in group])
        about = self._store.units([document.id for document in group])
        buried = self._store.buried({document.unit for document in group})
        fresh = []
        for document in group:
            if document.unit in buried:
                counts.buried[document.unit, buried[document.unit][0]] += 1
                continue
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
            if about.get(document.id, document.unit) != document.unit:
                (counts.nameless if document.own_unit else counts.taken).append(document.id)
                continue
            counts.replaced += document.id in stored
            counts.added += document.id not in stored
            fresh.append(document)
        return fresh

    def _add(self, documents: Sequence[Document], batch: int, progress: Callable[[int], None] | None) -> None:
        chunks = [chunk(document.text) for document in documents]
        vectors = iter(np.asarray(self._embedder.embed([text for texts in chunks for text in texts])))
        with self._store.batch():
            for document, texts in zip(documents, chunks, strict=True):
                self._store.put(document, [Piece(text, next(vectors)) for text in texts], batch)
        if progress:
            progress(len(documents))


def unit_key(unit: str, secret: bytes) -> bytes:
    """The name of a unit in the ledger: 16 bytes that say nothing about it without the vault's secret."""
    return hashlib.blake2b(unit.encode(), key=secret, digest_size=16).digest()


def _groups(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    iterator = iter(documents)
    while group := list(islice(iterator, size)):
        yield group

"""From a question to sealed documents, and from documents to an index."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from discreet.privacy.change import Change
from discreet.privacy.individual import PLACE, PRESENCE, Member, deal
from discreet.privacy.private import Private
from discreet.retrieval.documents import Document, Passage, StoredText, chunk
from discreet.retrieval.embedding import Embedder
from discreet.retrieval.store import Piece, Store, Vector, digest

TOP_UNITS = PLACE
"""What one unit changes in the nearest units: without it, another takes its place, in one share."""

Found = Member[Passage]
T = TypeVar("T")


@dataclass
class Counts:
    """What indexing did: how many documents, and the ids of those that were left out.

    Attributes:
        conflicts: that came twice with different content.
        nameless: that name nobody, and are stored as documents about somebody.
        taken: that are stored as documents about another individual.
    """

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    conflicts: list[str] = field(default_factory=list)
    nameless: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)


class Corpus:
    """A store together with the embedder that its vectors come from.

    Attributes:
        secret: the vault's key, from which the units' keys in the ledger are made.
        public: what was released before that may help with the question at hand.
        folder: where a baseline may keep what it makes of all documents, private as they are; None for nowhere.
    """

    def __init__(
        self, store: Store, embedder: Embedder, secret: bytes = b"", public: str = "", folder: Path | None = None
    ) -> None:
        self._store, self._embedder, self.secret, self.public, self.folder = store, embedder, secret, public, folder
        self._made: dict[str, tuple[object, Any]] = {}

    def knowing(self, public: str) -> Self:
        """The same corpus for a question to which this was released before."""
        other = type(self)(self._store, self._embedder, self.secret, public, self.folder)
        other._made = self._made
        return other

    def top_units(self, question: str, voters: int, units_per_voter: int = 1) -> Private[tuple[Passage, ...]]:
        """The voters' documents: the nearest units, in a uniformly random partition, sealed.

        There are always `voters` shares of `units_per_voter` places. If the vault has fewer units, places stay
        empty; that shows nowhere.
        """
        return deal_passages(self.nearest(question, voters * units_per_voter), voters, units_per_voter)

    def nearest(self, question: str, count: int) -> Private[Found]:
        """The nearest units, nearest first, sealed; to be dealt to a public number of places."""
        return self._sealed(self._nearest(question, count), PLACE)

    def above(self, question: str, similarity: float) -> Private[Found]:
        """Every unit at least as similar to the question as a public threshold, nearest first, sealed.

        Whether a unit is among them depends on no other unit.
        """
        return self._sealed(self._store.units_above(self.embed(question), similarity))

    def bins(self, question: str, edges: Sequence[float]) -> Iterator[Private[Found]]:
        """The units by similarity: those above the first edge, then those between it and the second, and so on.

        Each is looked for when it is asked for. Every unit is in one bin only, even if documents come and go while
        bins are visited. Edges are public, the highest first.
        """
        vector, seen = self.embed(question), set[str]()
        for edge in edges:
            found = [passage for passage in self._store.units_above(vector, edge) if passage.unit not in seen]
            seen.update(passage.unit for passage in found)
            yield self._sealed(found)

    def unsealed_passages(self, question: str, count: int) -> list[Passage]:
        """The nearest passages in the clear, for baselines without a guarantee."""
        return self._nearest(question, count)

    def made_once(self, name: str, make: Callable[[list[StoredText]], T]) -> Private[T]:
        """What `make` makes of all chunks of all documents, sealed as one share; made once, until documents change.

        Any unit may change all of it: for baselines without a guarantee.
        """
        state = self._store.state()
        if name not in self._made or self._made[name][0] != state:
            self._made[name] = (state, make(self._store.texts()))
        return Private([self._made[name][1]], PLACE)

    def index(
        self, documents: Iterable[Document], batch: int = 256, progress: Callable[[int], None] | None = None
    ) -> Counts:
        """Add what is new, replace what changed, skip the rest without embedding it.

        A document never takes the place of one about another individual: one person's records would erase others'.
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
        return self._store.nearest_units(self.embed(question), count)

    def embed(self, question: str) -> Vector:
        """A question's vector."""
        vector: Vector = self._embedder.embed([question])[0]
        return vector

    def _sealed(self, passages: Sequence[Passage], change: Change = PRESENCE) -> Private[Found]:
        return Private([Member(unit_key(passage.unit, self.secret), passage) for passage in passages], change)

    def _fresh(self, group: Sequence[Document], met: dict[str, bytes], counts: Counts) -> list[Document]:
        """Those documents of `group` that have to be stored; counts the others."""
        stored = self._store.digests([document.id for document in group])
        about = self._store.units([document.id for document in group])
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
            if about.get(document.id, document.unit) != document.unit:
                (counts.nameless if document.own_unit else counts.taken).append(document.id)
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


def unit_key(unit: str, secret: bytes) -> bytes:
    """The name of a unit in the ledger: 16 bytes that say nothing about it without the vault's secret."""
    return hashlib.blake2b(unit.encode(), key=secret, digest_size=16).digest()


def deal_passages(found: Private[Found], voters: int, units_per_voter: int) -> Private[tuple[Passage, ...]]:
    """The first units dealt to voters, in a uniformly random partition (MuRAG's Algorithm 3)."""
    return deal(found, voters, units_per_voter, lambda passage: (passage.text, passage.unit))


def _groups(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    iterator = iter(documents)
    while group := list(islice(iterator, size)):
        yield group

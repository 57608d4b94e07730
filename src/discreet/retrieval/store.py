"""What a store of documents must do, whatever keeps them. The one that there is: `embedded_store`."""

import hashlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from discreet.retrieval.documents import Document, Passage, StoredText
from discreet.retrieval.vectors import Vector as Vector


@dataclass(frozen=True)
class Piece:
    """A document's chunk with its vector (of length one), to be stored."""

    text: str
    vector: Vector


class Store(Protocol):
    """Keeps documents and finds the units nearest to a vector.

    A unit's score is that of its best chunk. Search is exact, and its answer is a function of the documents that are
    stored and the store's key: not of their order, of what was removed, or of other documents' scores. A store that
    is searched approximately, or ranks by statistics of its own content, must not implement this.
    """

    def digests(self, ids: Sequence[str]) -> dict[str, bytes]:
        """For those of `ids` that are stored, the `digest` of the document."""

    def units(self, ids: Sequence[str]) -> dict[str, str]:
        """For those of `ids` that are stored, the unit that the document is about."""

    def batch(self) -> AbstractContextManager[None]:
        """All that is put within becomes visible together, durably, or not at all."""

    def put(self, document: Document, pieces: Sequence[Piece]) -> None:
        """Store a document, in place of one with the same id; within a `batch`."""

    def settle(self) -> None:
        """Overwrite what replaced documents left in the files."""

    def remove(self, document_id: str) -> int:
        """Erase a document, also from the files; how many there were."""

    def remove_unit(self, unit: str) -> int:
        """Erase all documents of a unit, also from the files; how many there were."""

    def nearest_units(self, vector: Vector, count: int) -> list[Passage]:
        """The best chunk of each of the `count` nearest units (fewer if there are fewer), nearest first.

        Ties between units are broken by a keyed hash of the unit, those between chunks of a unit by their text.
        """

    def units_above(self, vector: Vector, threshold: float) -> list[Passage]:
        """The best chunk of every unit whose similarity is at least `threshold`, nearest first."""

    def texts(self) -> list[StoredText]:
        """Every chunk of every document, in a fixed order: for what reads the whole vault."""

    def state(self) -> object:
        """Something that is another whenever documents have changed."""

    def count_documents(self) -> int:
        """How many documents there are: for the custodian."""

    def count_units(self) -> int:
        """How many units there are: for the custodian."""


def digest(document: Document) -> bytes:
    """What tells a changed document from an unchanged one."""
    return hashlib.sha256(f"{len(document.unit)}:{document.unit}{document.text}".encode()).digest()

"""The protocol of a store: it keeps documents and finds the units nearest to a vector; the entries of its lists.

The built-in stores are those of `sql_store`. Other packages add stores by the entry point `discreet.stores`
(`store_registry`). All entries of lists are private: no released answer depends on batches, sources or tombstones.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.store.documents import Document, Passage, StoredText

Vector = NDArray[np.float32]

ALL = -1
"""As a limit: no limit."""


@dataclass(frozen=True)
class StoreEntry:
    """What a list of a store has of a batch, a unit or a document."""

    def describe(self) -> dict[str, Any]:
        """Return the entry as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class BatchEntry(StoreEntry):
    """The documents of one addition.

    Attributes:
        number: the number of the batch, from 1.
        time: the time of its beginning, UTC, ISO 8601.
        files: the number of its files.
        documents: the number of documents whose current text is from this batch.
        replaced: the number of these documents that replaced an earlier text.
        sources: the files of these documents.
    """

    number: int
    time: str
    files: int
    documents: int
    replaced: int
    sources: tuple[str, ...]


@dataclass(frozen=True)
class UnitEntry(StoreEntry):
    """A unit of a vault.

    Attributes:
        unit: its name.
        documents: the number of its documents.
        first, last: the number of its first and of its last batch; 0: none.
    """

    unit: str
    documents: int
    first: int
    last: int


@dataclass(frozen=True)
class DocumentEntry(StoreEntry):
    """A document without its text.

    Attributes:
        id: its identifier.
        unit: the name of its unit.
        batch: the number of its batch; 0: none.
        source: the file it came from.
        fields: the values of declared fields, by name.
    """

    id: str
    unit: str
    batch: int
    source: str
    fields: dict[str, str | int | float]


@dataclass(frozen=True)
class Piece:
    """A chunk of a document with its vector of length one."""

    text: str
    vector: Vector


@dataclass(frozen=True, slots=True)
class Hit:
    """A unit that a search found, without its text.

    Attributes:
        unit: the name of the unit.
        where: the location of its text; only the store that made the hit can read it.
    """

    unit: str = field(repr=False)
    where: Any = field(repr=False)


class Scored(Protocol):
    """The units of a store by their similarity to one vector, at one moment.

    Documents that are added or removed later do not change it. Ties between units are broken by a keyed hash of the
    unit. No text is read before `Store.passages` is called.
    """

    def above(self, threshold: float) -> list[Hit]:
        """Return every unit whose similarity is at least `threshold`, nearest first."""

    def between(self, low: float, high: float) -> list[Hit]:
        """Return every unit that is above `low` and not above `high`, nearest first."""

    def nearest(self, count: int) -> list[Hit]:
        """Return the `count` nearest units (fewer if there are fewer), nearest first."""


class StoreCatalog(Protocol):
    """Lists of the contents of a store, for the custodian. No released answer depends on them."""

    def list_units(self, limit: int = ALL, skip: int = 0) -> list[UnitEntry]:
        """Return the units by name."""

    def list_documents(self, unit: str | None = None, limit: int = ALL, skip: int = 0) -> list[DocumentEntry]:
        """Return the documents by id; those of one unit, if it is named."""

    def list_batches(self, limit: int = ALL, skip: int = 0) -> list[BatchEntry]:
        """Return the batches, the last first, including those without a document."""


class Store(Protocol):
    """A keeper of documents that finds the units nearest to a vector.

    A unit's score is that of its best chunk. Search is exact. Its result is a function of the stored documents and
    the store's key alone: not of their order, of removed documents, or of other documents' scores. A store with
    approximate search, or with ranks from statistics of its content, must not implement this protocol.

    A store that inherits from this class gets `nearest_units` and `units_above`.
    """

    # -- documents -------------------------------------------------------------------------------------------

    def batch(self) -> AbstractContextManager[None]:
        """Make all documents that are put within visible together and durably, or none of them."""

    def begin_batch(self, files: int = 0) -> int:
        """Begin a batch of documents from so many files, and return its number."""

    def put(self, document: Document, pieces: Sequence[Piece], batch: int = 0) -> None:
        """Store a document, in place of one with the same id; within a `batch`, whose number is `batch`.

        Raises:
            StoreError: if the document's unit is buried.
        """

    def digests(self, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the `digest` of each document of `ids` that is stored, by id."""

    def units(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the unit of each document of `ids` that is stored, by id."""

    def count_documents(self) -> int:
        """Return the number of documents: for the custodian."""

    def count_units(self) -> int:
        """Return the number of units: for the custodian."""

    def texts(self) -> list[StoredText]:
        """Return every chunk of every document, in a fixed order: for readers of the whole vault."""

    @property
    def catalog(self) -> StoreCatalog | None:
        """The lists of units, documents and batches; None if the store has none."""

    # -- erasure ---------------------------------------------------------------------------------------------

    def remove(self, document_id: str) -> int:
        """Erase a document, also from the files; return 1, or 0 if it is not stored."""

    def remove_unit(self, unit: str) -> int:
        """Erase all documents of a unit, also from the files; return their number."""

    def remove_batch(self, number: int) -> int:
        """Erase all documents whose current text is from a batch, also from the files; return their number."""

    def remove_source(self, source: str) -> int:
        """Erase all documents that came from a file, also from the store's files; return their number."""

    def bury(self, unit: str, *, anyway: bool = False) -> int:
        """Erase all documents of a unit and refuse later ones; return their number.

        A unit without documents is not buried, unless `anyway`.
        """

    def join(self, unit: str, into: str, pay: Callable[[], None]) -> int:
        """Give all documents of a unit to another one, and bury the first name; return their number.

        `pay` moves the payments of the unit in the ledger. It is called before the change becomes visible. If it fails,
        nothing changes.
        """

    def readmit(self, unit: str) -> bool:
        """Accept documents of a buried unit again; return whether it was buried."""

    def buried(self, units: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Return those of `units` that are buried: the time (UTC), and the number of documents erased."""

    def settle(self) -> None:
        """Overwrite the remains of replaced and removed documents in the files."""

    def unsettled(self) -> bool:
        """Return whether the files may hold parts of removed documents: a process stopped before `settle`."""

    # -- search ----------------------------------------------------------------------------------------------

    def scored(self, vector: Vector) -> Scored:
        """Return all units by their similarity to a vector, at this moment."""

    def passages(self, hits: Sequence[Hit]) -> list[Passage | None]:
        """Return the best chunk of each found unit, in their order, read at one moment.

        None stands for a unit whose best chunk was erased after the search. It depends on this unit alone.
        """

    def nearest_units(self, vector: Vector, count: int) -> list[Passage]:
        """Return the best chunk of each of the `count` nearest units (fewer if there are fewer), nearest first.

        Ties between units are broken by a keyed hash of the unit, those between chunks of a unit by their text.
        """
        return [passage for passage in self.passages(self.scored(vector).nearest(count)) if passage is not None]

    def units_above(self, vector: Vector, threshold: float) -> list[Passage]:
        """Return the best chunk of every unit whose similarity is at least `threshold`, nearest first."""
        return [passage for passage in self.passages(self.scored(vector).above(threshold)) if passage is not None]

    # -- the store itself ------------------------------------------------------------------------------------

    @property
    def scale(self) -> float:
        """The length that a vector of length one has in `StoredText.vector`."""

    def tag(self, content: bytes, size: int = 8) -> str:
        """Return a name of `size` bytes, in hex, that reveals nothing about `content` without the store's key."""

    def state(self) -> object:
        """Return a token that changes whenever the documents change; tokens of two objects cannot be compared."""

    def close(self) -> None:
        """Close the files and connections."""


class StoreType(Protocol):
    """The type of a store, such as the class `EmbeddedStore`. The entry points `discreet.stores` name such types."""

    def __call__(self, folder: Path, dimension: int) -> Store:
        """Open the store in a folder, or create it.

        Args:
            folder: VAULT/store. A store that keeps its documents elsewhere keeps their address there.
            dimension: the length of vectors.

        Raises:
            StoreError: if the store cannot be read, is damaged, or holds vectors of another length.
        """

    def stored_dimension(self, folder: Path) -> int | None:
        """Return the length of the stored vectors; None if nothing was ever added.

        Raises:
            StoreError: if the store cannot be read, or is damaged.
        """


def digest(document: Document) -> bytes:
    """Return a hash of a document's unit, text and fields (if any). It differs for a changed document."""
    content = f"{len(document.unit)}:{document.unit}{document.text}"
    if document.fields:  # the content begins with a letter, unlike that of a document without fields
        fields = json.dumps(dict(document.fields), sort_keys=True)
        content = f"fields {len(fields)}:{fields}{content}"
    return hashlib.sha256(content.encode()).digest()

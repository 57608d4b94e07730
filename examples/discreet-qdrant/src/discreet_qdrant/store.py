"""A store with its vectors in Qdrant. Texts, units and all else are in the vault's folder, as in the embedded store.

A search needs of Qdrant one product for each point. Which points count, the best of each unit, ranks and ties are
computed here, from the tables of the embedded store. README.md says what must hold, and why.

Erasure takes two steps, as in the embedded store. `settle` copies the vectors that remain to a new collection, and
removes the old one with its files: a point that Qdrant deletes stays in its segments and in its log of writes.
"""

import re
from contextlib import closing
from pathlib import Path

import numpy as np

from discreet.errors import BadData, StoreError, UsageError
from discreet.store.embedded_store import EmbeddedStore
from discreet.store.sql_tables import StoreDatabase
from discreet.store.vectors import ChunkScores, Ranks, Vector, whole_numbers
from discreet_qdrant.address import read_address
from discreet_qdrant.engine import Engine, check_shape
from discreet_qdrant.nearest import Stored, read_all, read_nearest
from discreet_qdrant.points import Points
from discreet_qdrant.scores import LookedUp, PointScores

_NAME = re.compile(r"store_[0-9a-f]{1,57}")
_CHANGED = "The documents changed during a question. Ask again."
_OVER = (
    "An individual has more chunks of text than the address of the store allows ({cap:,}). Set the former ?chunks= in "
    "vault.json while no process uses the vault."
)


class QdrantStore(EmbeddedStore):
    """A `Store` whose vectors are in Qdrant. Processes of one machine may share it; threads take turns.

    Raises:
        StoreError: if the folder or the server cannot be used, is damaged, or holds vectors of another dimension.
        VaultVersionError: if the store has another format.
    """

    def __init__(self, folder: Path, dimension: int, engine: Engine, prefix: str, cap: int = 0) -> None:
        """Open the store, or create it.

        Args:
            folder: the folder of texts.
            dimension: the length of the vectors.
            engine: the server.
            prefix: the beginning of the names of the store's collections, which no other store has.
            cap: the most chunks that a unit may have: public; 0 for no cap. With a cap, the nearest units need
                one request for `cap` points a unit, in place of all points.
        """
        self._engine, self._prefix, self._cap = engine, prefix, cap
        self._dimension = dimension
        self._known: tuple[int, Stored] | None = None
        super().__init__(folder, dimension)

    def _open_vectors(self, database: StoreDatabase, folder: Path, dimension: int) -> Points:
        self._points = Points(database, self._engine, self._prefix, dimension)
        return self._points

    def close(self) -> None:
        """Close the files and the connection."""
        super().close()
        self._engine.close()

    # -- writing ---------------------------------------------------------------------------------------------

    def _check_unit(self, unit: int) -> None:
        """Refuse the documents of a unit that has more chunks than the cap. It depends on this unit alone."""
        if not self._cap:
            return
        statement = "select count(*) from chunk where document in (select number from document where unit = ?)"
        chunks = self._database.rows(statement, [unit])[0][0]
        if chunks > self._cap:
            raise BadData(
                f"An individual has {chunks:,} chunks of text; the vault's store holds {self._cap:,} of one "
                f"(?chunks={self._cap} in its address). Make a vault with a larger cap, or without one."
            )

    # -- searching -------------------------------------------------------------------------------------------

    def scored(self, vector: Vector) -> PointScores:  # type: ignore[override]
        """Return all units by their similarity to a vector. Its moment is that of its first use."""
        question = whole_numbers(vector, self._dimension)
        return PointScores(lambda count, since: self._look(question, count, since), capped=bool(self._cap))

    def _look(self, question: Vector, count: int, since: int | None) -> LookedUp:
        """Read the scores of all points, or of those that decide the `count` nearest units, at one moment."""
        with self._database.reading():
            changes = int(self._database.only("changes")[0])
            if since is not None and since != changes:
                raise StoreError(_CHANGED)
            if self._known is None or self._known[0] != changes:
                self._known = (changes, self._points.stored())
            stored, name = self._known[1], self._points.name
            check_shape(self._engine, name, self._dimension)
            if count:
                most = np.unique(stored.units, return_counts=True)[1].max(initial=0)
                if most > self._cap:
                    raise StoreError(_OVER.format(cap=self._cap))
                read = read_nearest(self._engine, name, question, stored, count, self._cap)
            else:
                read = read_all(self._engine, name, question, stored)
            found = ChunkScores(stored.chunks[read.rows], stored.units[read.rows], read.scores)
            numbers, best = found.best()
            self._units = units = self._units.following(numbers, lambda fresh: self._points.read_units(found, fresh))
        return LookedUp(Ranks(found, best, units, self.scale**2), changes, read.whole)


class QdrantStoreType:
    """The `StoreType` of the store at one address. Texts are in the vault's folder.

    Args:
        address: the address of the server.
        name: the beginning of the names of the store's collections: "store_" and up to 57 of the digits 0-9a-f.

    Raises:
        UsageError: if the address or the name is invalid.
    """

    def __init__(self, address: str, name: str) -> None:
        # Collections of other names that begin so are removed, so the name must be the vault's own.
        if not _NAME.fullmatch(name):
            raise UsageError("The name of the store's collections is invalid. Restore vault.json from a backup.")
        self._address, self._prefix = read_address(address), f"{name}-"

    def __call__(self, folder: Path, dimension: int) -> QdrantStore:
        """Open the store."""
        return QdrantStore(folder, dimension, self._connect(), self._prefix, self._address.chunks)

    def stored_dimension(self, folder: Path) -> int | None:
        """Return the length of the stored vectors; None if nothing was ever added.

        Raises:
            StoreError: if the store cannot be read, or is damaged.
        """
        return EmbeddedStore.stored_dimension(folder)

    def make(self) -> None:
        """Check that the server can be reached. The first document makes the collection.

        Raises:
            StoreError: if it cannot.
        """
        with closing(self._connect()) as engine:
            engine.names(self._prefix)

    def drop(self) -> None:
        """Remove the collections, after a vault could not be made."""
        with closing(self._connect()) as engine:
            for name in engine.names(self._prefix):
                engine.drop(name)

    def _connect(self) -> Engine:
        from discreet_qdrant.client import Client

        return Client(self._address)

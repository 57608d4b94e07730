"""A store with its vectors in Qdrant. Texts, units and all else are in the vault's folder, as in the embedded store.

A search needs of Qdrant one product for each point. Which points count, the best of each unit, ranks and ties are
computed here, from the tables of the embedded store. README.md says what must hold, and why.

Erasure takes two steps, as in the embedded store. `settle` copies the vectors that remain to a new collection, and
removes the old one with its files: a point that Qdrant deletes stays in its segments and in its log of writes.
"""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from discreet.errors import BadData, StoreError, UsageError
from discreet.retrieval.documents import StoredText
from discreet.retrieval.embedded_store import EmbeddedStore
from discreet.retrieval.row_changes import State
from discreet.retrieval.search import FREE, Snapshot
from discreet.retrieval.sqlite_errors import rolled_back_on_error
from discreet.retrieval.store_metadata import read_dimension
from discreet.retrieval.vectors import Vector, whole_numbers
from discreet_qdrant.address import read_address
from discreet_qdrant.engine import Engine, check_shape
from discreet_qdrant.nearest import Stored, read_all, read_nearest
from discreet_qdrant.points import Points
from discreet_qdrant.scores import LookedUp, PointScores

_PATIENCE = 30_000
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
        self._known: tuple[State, Stored] | None = None
        self._patient = False
        super().__init__(folder, dimension)
        self._patient = True

    def _open_vectors(self, folder: Path, dimension: int) -> Points:
        self._points = Points(self._database, self._engine, self._prefix, dimension)
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
        statement = "select count(*) from chunk where document in (select id from document where unit = ?)"
        chunks = self._rows(statement, unit)[0][0]
        if chunks > self._cap:
            raise BadData(
                f"An individual has {chunks:,} chunks of text; the vault's store holds {self._cap:,} of one "
                f"(?chunks={self._cap} in its address). Make a vault with a larger cap, or without one."
            )

    def _make_up(self) -> bool:
        if not (self._due() and self._has_begun()):
            return False
        with rolled_back_on_error(self._database):
            due = self._due()
            if due:
                self._live.erase_kept()
                size = self._rows("select coalesce(max(row), -1) + 1 from chunk")[0][0]
                self._run("delete from free_row where row >= ?", size)
                self._points.rewrite()
                self._known = None
            self._run("commit")
        if due:  # else another process has settled meanwhile
            self._run("vacuum")
            self._drop_others(due)
        return bool(due)

    def _drop_others(self, due: str) -> None:
        """Remove older collections, under the write lock: another process may be filling its new one."""
        if not self._has_begun():
            return
        with rolled_back_on_error(self._database):
            self._points.drop_others()
            self._run("update meta set value = '' where name = 'due' and value = ?", due)
            self._run("commit")

    def _has_begun(self) -> bool:
        """Take the write lock. An opening does not wait for it: the erasure of another process takes long."""
        self._run(f"pragma busy_timeout = {_PATIENCE * self._patient}")
        try:
            self._run("begin immediate")
        except sqlite3.OperationalError:
            if self._patient:
                raise
            return False  # the step stays due
        finally:
            self._run(f"pragma busy_timeout = {_PATIENCE}")
        return True

    # -- searching -------------------------------------------------------------------------------------------

    def scored(self, vector: Vector) -> PointScores:  # type: ignore[override]
        """Return all units by their similarity to a vector. Its moment is that of its first use."""
        question = whole_numbers(vector, self._dimension)
        return PointScores(lambda count, since: self._look(question, count, since), capped=bool(self._cap))

    def _look(self, question: Vector, count: int, since: State | None) -> LookedUp:
        """Read the scores of all points, or of those that decide the `count` nearest units, at one moment."""
        with self._reading():
            before, index = self._live.index, self._live.refresh(self.state())
            if since is not None and since != index.state:
                raise StoreError(_CHANGED)
            if self._known is None or self._known[0] != index.state:
                self._known = (index.state, self._points.stored())
            stored, name = self._known[1], self._points.name
            check_shape(self._engine, name, self._dimension)
            if count:
                most = np.bincount(index.unit_of_row[stored.rows]).max() if len(stored.rows) else 0
                if most > self._cap:
                    raise StoreError(_OVER.format(cap=self._cap))
                read = read_nearest(self._engine, name, question, stored, index.unit_of_row, count, self._cap)
            else:
                read = read_all(self._engine, name, question, stored)
        if index is not before:
            self._keep_index()
        scores = np.full(len(index.unit_of_row), -np.inf, dtype=np.float32)
        scores[read.rows] = read.scores
        if (index.unit_of_row[read.rows] == FREE).any():
            raise StoreError(_CHANGED)
        return LookedUp(Snapshot(index, scores, index.best(scores), self.scale**2), index.state, read.whole)

    def texts(self) -> list[StoredText]:
        """Return every chunk of every document, in a fixed order: for readers of the whole vault."""
        with self._reading():
            rows = self._rows(
                "select unit.name, document.digest, chunk.text, row from chunk join document "
                "on document.id = document join unit on unit.id = chunk.unit order by document.id, row"
            )
            vectors = self._points.rows()
        return [
            StoredText(unit, self.tag(content), vectors[row].astype(np.int64), text)
            for unit, content, text, row in rows
        ]


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
        return read_dimension(folder)

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

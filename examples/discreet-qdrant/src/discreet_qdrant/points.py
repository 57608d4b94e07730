"""The vectors of a store as points of a collection in Qdrant, in place of a file of vectors.

Table `point` of the store's database has the number of the point of each row. A point that no row of a committed chunk
refers to does not count. Points are never changed, and their numbers never used again. So the database alone decides
which points a question sees: its transaction is the moment of the question.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from discreet.errors import StoreError
from discreet.retrieval.sqlite_errors import damaged, rolled_back_on_error
from discreet.retrieval.vectors import Blocks, Vector, VectorFile
from discreet_qdrant.engine import MISSING, Engine, check_shape, draw_ids
from discreet_qdrant.nearest import Stored

_AT_ONCE = 2**19
"""The number of numbers in one request: some 4 MB of text, of 32 MB that a server accepts by default."""
_TABLE = "create table if not exists point (row integer primary key, id integer not null)"
_NAME = "select value from meta where name = 'collection'"


class Points(VectorFile):
    """The vectors of a store in a collection of Qdrant.

    Args:
        database: the store's database.
        engine: the server.
        prefix: the beginning of the names of the store's collections, which no other store has.
        dimension: the length of the vectors.
    """

    def __init__(self, database: sqlite3.Connection, engine: Engine, prefix: str, dimension: int) -> None:
        super().__init__(Path(), dimension)
        self._database, self._engine, self._prefix = database, engine, prefix
        database.execute(_TABLE)
        if not database.execute(_NAME).fetchone():
            self._begin()
        check_shape(engine, self.name, dimension)

    @property
    def name(self) -> str:
        """The name of the collection."""
        found = self._database.execute(_NAME).fetchone()
        if not (found and isinstance(found[0], str) and found[0].startswith(self._prefix)):
            raise damaged()
        return str(found[0])

    def _begin(self) -> None:
        """Make the first collection. Another process may do this at the same time."""
        self._database.execute("begin immediate")
        with rolled_back_on_error(self._database):
            if not self._database.execute(_NAME).fetchone():
                self._point_to(self._made())
            self._database.execute("commit")

    def _made(self) -> str:
        name = f"{self._prefix}{draw_ids(1)[0]:016x}"
        self._engine.make(name, self._dimension)
        return name

    def _point_to(self, name: str) -> None:
        self._database.execute("insert or replace into meta values ('collection', ?)", (name,))

    def write(self, rows: Sequence[int], vectors: Sequence[Vector]) -> None:
        """Add points for rows, durably, within a transaction of the database."""
        ids, step, name = draw_ids(len(rows)), max(1, _AT_ONCE // self._dimension), self.name
        for start in range(0, len(rows), step):
            whole = [self._whole(vector) for vector in vectors[start : start + step]]
            self._engine.add(name, ids[start : start + step], np.array(whole))
        self._database.executemany("insert or replace into point values (?, ?)", zip(rows, ids, strict=True))

    def blocks(self, size: int, known: Blocks) -> Blocks:
        """Return no blocks: the rows are elsewhere."""
        return Blocks((), self.height, size)

    def stored(self) -> Stored:
        """Return the points of this moment, within a transaction.

        Raises:
            StoreError: if a chunk has no point: the store is damaged.
        """
        found = self._database.execute("select id, chunk.row from chunk left join point on point.row = chunk.row")
        pairs = found.fetchall()
        if any(type(number) is not int for number, _ in pairs):
            raise damaged()
        both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        both = both[np.argsort(both[:, 0])]
        if len(both) > 1 and not np.diff(both[:, 0]).all():
            raise damaged()
        return Stored(np.ascontiguousarray(both[:, 0]), both[:, 1].astype(np.intp))

    def rows(self) -> dict[int, Vector]:
        """Return the vector of each row, within a transaction.

        Raises:
            StoreError: if one is missing.
        """
        stored = self.stored()
        row_of = dict(zip(stored.ids.tolist(), stored.rows.tolist(), strict=True))
        found = {
            row_of[number]: vector
            for ids, vectors in self._engine.pages(self.name)
            for number, vector in zip(ids.tolist(), vectors, strict=True)
            if number in row_of
        }
        if len(found) != len(row_of):
            raise StoreError(MISSING)
        return found

    def rewrite(self) -> None:
        """Copy the points of committed chunks to a new collection, within a transaction of the database.

        Raises:
            StoreError: if a vector is missing.
        """
        self._database.execute("delete from point where row not in (select row from chunk)")
        wanted, old, copied = self.stored().ids, self.name, 0
        new = self._made()
        for ids, vectors in self._engine.pages(old):
            kept = np.isin(ids, wanted)
            if kept.any():
                self._engine.add(new, ids[kept].tolist(), vectors[kept])
            copied += int(kept.sum())
        if copied != len(wanted) or self._engine.count(new) != copied:
            raise StoreError(MISSING)
        self._point_to(new)

    def drop_others(self) -> None:
        """Remove all collections of the store but the present one, within a transaction that holds the write lock."""
        for name in self._engine.names(self._prefix):
            if name != self.name:
                self._engine.drop(name)

"""The vectors of a store as points of a collection in Qdrant, in place of a file of vectors.

Table `point` of the store's database has the number of the point of each chunk. A point that no committed chunk has
does not count. Points are never changed, and their numbers never used again. So the database alone decides which points
a question sees: its transaction is the moment of the question.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import StoreError
from discreet.store.protocol import Piece
from discreet.store.sql_store import Freed, NamedUnit
from discreet.store.sql_tables import StoreDatabase, parts
from discreet.store.vectors import ChunkScores, Numbers, UnitNames, Vector, whole_numbers
from discreet_qdrant.engine import MISSING, Engine, check_shape, draw_ids
from discreet_qdrant.nearest import Stored

_AT_ONCE = 2**19
"""The number of numbers in one request: some 4 MB of text, of 32 MB that a server accepts by default."""
_TABLES = (
    "create table if not exists point (chunk integer primary key, id integer not null)",
    "create table if not exists collection (name text not null)",
)
_NAME = "select name from collection"


class Points:
    """The `Vectors` of a store in a collection of Qdrant.

    Args:
        database: the store's database.
        engine: the server.
        prefix: the beginning of the names of the store's collections, which no other store has.
        dimension: the length of the vectors.
    """

    def __init__(self, database: StoreDatabase, engine: Engine, prefix: str, dimension: int) -> None:
        self._database, self._engine, self._prefix, self._dimension = database, engine, prefix, dimension
        if not database.rows("select 1 from sqlite_master where name = 'collection'") or not database.rows(_NAME):
            self._begin()
        check_shape(engine, self.name, dimension)

    @property
    def name(self) -> str:
        """The name of the collection."""
        found = self._database.rows(_NAME)
        if not (len(found) == 1 and isinstance(found[0][0], str) and found[0][0].startswith(self._prefix)):
            raise self._database.damaged()
        return str(found[0][0])

    def _begin(self) -> None:
        """Make the first collection. Another process may do this at the same time."""
        with self._database.alone(), self._database.writing():
            for table in _TABLES:
                self._database.rows(table)
            if not self._database.rows(_NAME):
                self._point_to(self._made())

    def _made(self) -> str:
        name = f"{self._prefix}{draw_ids(1)[0]:016x}"
        self._engine.make(name, self._dimension)
        return name

    def _point_to(self, name: str) -> None:
        self._database.rows("delete from collection")
        self._database.rows("insert into collection values (?)", [name])

    def write(self, pieces: Sequence[Piece], chunks: range, units: Sequence[NamedUnit]) -> Sequence[int | None]:
        """Add points for new chunks, durably, within a transaction of the database."""
        ids, step, name = draw_ids(len(chunks)), max(1, _AT_ONCE // self._dimension), self.name
        for start in range(0, len(chunks), step):
            whole = [whole_numbers(piece.vector, self._dimension) for piece in pieces[start : start + step]]
            self._engine.add(name, ids[start : start + step], np.array(whole))
        for chunk, number in zip(chunks, ids, strict=True):
            self._database.rows("insert into point values (?, ?)", [chunk, number])
        return [None] * len(chunks)

    def free(self, chunks: Freed) -> None:
        """Forget the points of chunks."""
        for part in parts([chunk for chunk, _ in chunks]):
            self._database.rows(f"delete from point where chunk in ({', '.join(map(str, part))})")

    def move(self, old: int, new: NamedUnit) -> None:
        """Leave the points: they do not tell of which unit they are."""

    def overwrite(self) -> bool:
        """Copy the points of committed chunks to a new collection, and remove the old one with its files.

        Raises:
            StoreError: if a vector is missing.
        """
        with self._database.writing():
            self._rewrite()
        self._database.run("vacuum")
        with self._database.writing():
            for name in self._engine.names(self._prefix):
                if name != self.name:
                    self._engine.drop(name)
        return True

    def search(self, vector: Vector) -> ChunkScores:
        """Return nothing: the store looks itself (`QdrantStore.scored`)."""
        raise NotImplementedError

    def read_units(self, found: ChunkScores, numbers: Numbers) -> UnitNames:
        """Return units."""
        rows = []
        for part in parts(numbers.tolist()):
            rows += self._database.rows(f"select id, tie, name from unit where id in ({', '.join(map(str, part))})")
        if len(rows) != len(numbers):
            raise self._database.damaged()
        return UnitNames.of_rows(sorted(rows))

    def stored(self) -> Stored:
        """Return the points of this moment, within a transaction.

        Raises:
            StoreError: if a chunk has no point: the store is damaged.
        """
        found = "select point.id, chunk.id, unit from chunk left join point on point.chunk = chunk.id"
        rows = [tuple(row) for row in self._database.rows(found)]
        if any(type(number) is not int for number, _, _ in rows):
            raise self._database.damaged()
        ids, chunks, units = np.array(sorted(rows), dtype=np.int64).reshape(-1, 3).T.copy()
        if len(ids) > 1 and not np.diff(ids).all():
            raise self._database.damaged()
        return Stored(ids, chunks, units)

    def reader(self) -> Callable[[int], NDArray[Any]]:
        """Return what reads the vector of a chunk, within a transaction.

        Raises:
            StoreError: if one is missing.
        """
        stored = self.stored()
        chunk_of = dict(zip(stored.ids.tolist(), stored.chunks.tolist(), strict=True))
        found = {
            chunk_of[number]: vector
            for ids, vectors in self._engine.pages(self.name)
            for number, vector in zip(ids.tolist(), vectors, strict=True)
            if number in chunk_of
        }
        if len(found) != len(chunk_of):
            raise StoreError(MISSING)
        return lambda chunk: found[chunk].astype(np.int64)

    def _rewrite(self) -> None:
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

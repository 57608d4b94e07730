"""Where documents are kept, and searched exactly.

Texts are in SQLite, vectors in a file (see `vectors`). SQLite is the truth: a row of vectors counts once a committed
chunk points at it, and no row is written while one does, so a crash leaves nothing half visible.

Erasing takes two steps. The commit hides a document from every later question. `settle` then overwrites what the
files still hold of it; it is marked in the database as due before anything is written, and made up for when the
store is opened after a crash. Bytes in free blocks of the disk and in backups are beyond its reach.
"""

import hashlib
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import StoreError, VaultVersionError
from discreet.retrieval.documents import Document, Passage, StoredText, canonical_name, canonical_unit
from discreet.retrieval.failures import explained
from discreet.retrieval.store import Piece, digest
from discreet.retrieval.tables import MIGRATIONS, TABLES, VERSION
from discreet.retrieval.vectors import Vector, VectorFile


@dataclass(frozen=True)
class _Index:
    """What a search needs in memory: no texts.

    Attributes:
        matrix: the vectors, shape (rows, dimension).
        units: the number of each unit that has chunks, shape (units,).
        ties: 128 bits of keyed hash a unit, shape (units, 2).
        unit_of_row: for each row the place of its unit in `units`; for free rows, one place past the end.
    """

    matrix: Vector
    units: NDArray[np.int64]
    ties: NDArray[np.uint64]
    unit_of_row: NDArray[np.intp]


@dataclass
class _Pending:
    """What a batch does beside the database: where the file of vectors ends, what it will write, what it freed."""

    end: int
    rows: list[int] = field(default_factory=list)
    vectors: list[Vector] = field(default_factory=list)
    freed: list[int] = field(default_factory=list)
    erased: bool = False


def check_dimension(stored: int | None, made: int) -> None:
    """Nothing, if an embedder makes such vectors as a store holds, if it holds any.

    Raises:
        StoreError: it does not.
    """
    if stored not in (None, made):
        raise StoreError(
            f"The store holds vectors of {stored} numbers; the embedder makes {made}. "
            "Open the vault with the embedder that it was made with."
        )


class EmbeddedStore:
    """A `Store` in a folder: `store.sqlite` and `vectors.f32`. One thread an object; any number of processes.

    Raises:
        StoreError: the folder cannot be read or written, or is damaged, or holds vectors of another dimension.
        VaultVersionError: it was written by another version.
    """

    def __init__(self, folder: Path, dimension: int) -> None:
        self._vectors = VectorFile(folder / "vectors.f32", dimension)
        self._scale = self._vectors.scale
        self._state: object = None
        with explained():
            folder.mkdir(parents=True, exist_ok=True)
            if (folder / "vectors.f32").exists() and not (folder / "store.sqlite").exists():
                raise StoreError("The store has vectors but no texts. Restore the vault from a copy.")
            self._database = sqlite3.connect(folder / "store.sqlite", timeout=30, isolation_level=None)
            self._key = self._prepare(dimension)
        self.settle()

    def close(self) -> None:
        """Let go of the files."""
        self._database.close()

    def count_documents(self) -> int:
        """How many documents there are."""
        return int(self._rows("select count(*) from document")[0][0])

    def count_units(self) -> int:
        """How many units there are."""
        return int(self._rows("select count(*) from unit")[0][0])

    def digests(self, ids: Sequence[str]) -> dict[str, bytes]:
        """For those of `ids` that are stored, the `digest` of the document."""
        found = (self._rows("select digest from document where id = ?", name) for name in ids)
        return {name: rows[0][0] for name, rows in zip(ids, found, strict=True) if rows}

    def units(self, ids: Sequence[str]) -> dict[str, str]:
        """For those of `ids` that are stored, the unit that the document is about."""
        query = "select unit.name from document join unit on unit.id = document.unit where document.id = ?"
        found = ((name, self._rows(query, name)) for name in ids)
        return {name: rows[0][0] for name, rows in found if rows}

    # -- writing ---------------------------------------------------------------------------------------------

    @contextmanager
    def batch(self) -> Iterator[None]:
        """All that is put within becomes visible together, durably, or not at all.

        `settle` is due from before the first byte is written until everything went well and nothing was erased.
        Each writer marks that with a token of its own, so that none takes another's mark away.
        """
        with explained():
            before = self._due()
            while True:
                mine = self._mark()
                self._run("begin immediate")
                if self._due():
                    break
                self._run("rollback")  # another process settled in between
            with self._rolled_back_on_error():
                self._pending = _Pending(self._end())
                yield
                self._vectors.write(self._pending.rows, self._pending.vectors)
                for row in self._pending.freed:
                    self._run("insert into free values (?)", row)
                if self._pending.erased:
                    self._mark()
                elif not before:
                    self._run("update meta set value = '' where name = 'due' and value = ?", mine)
                self._run("commit")

    def put(self, document: Document, pieces: Sequence[Piece]) -> None:
        """Store a document, in place of one with the same id; within a `batch`."""
        self._erase("id", document.id)
        unit = self._unit(document.unit)
        self._run("insert into document values (?, ?, ?)", document.id, unit, digest(document))
        rows = self._free_rows(len(pieces))
        for row, piece in zip(rows, pieces, strict=True):
            self._run("insert into chunk values (?, ?, ?, ?)", row, document.id, unit, piece.text)
        self._pending.rows += rows
        self._pending.vectors += [piece.vector for piece in pieces]

    def remove(self, document_id: str) -> int:
        """Erase a document, also from the files; how many there were."""
        return self._remove("id", canonical_name(document_id))

    def remove_unit(self, unit: str) -> int:
        """Erase all documents of a unit, also from the files; how many there were."""
        found = self._rows("select id from unit where name = ?", canonical_unit(unit))
        return self._remove("unit", found[0][0]) if found else 0

    def settle(self) -> None:
        """Overwrite what documents that are gone, or never quite came, left in the files."""
        with explained():
            due = self._due()
            if not due:
                return
            self._run("begin immediate")
            with self._rolled_back_on_error():
                size = self._rows("select coalesce(max(row), -1) + 1 from chunk")[0][0]
                self._run("delete from free where row >= ?", size)
                self._vectors.erase([row for (row,) in self._rows("select row from free")], size)
                self._run("commit")
            # Pages that SQLite rearranged keep copies that `secure_delete` does not reach; a rewrite drops them.
            self._run("vacuum")
            self._run("update meta set value = '' where name = 'due' and value = ?", due)

    def unsettled(self) -> bool:
        """Whether something may be left of documents that are gone: an interruption came before `settle`."""
        return bool(self._due())

    def _remove(self, column: str, value: object) -> int:
        with self.batch():
            erased = self._erase(column, value)
        self.settle()
        return erased

    @contextmanager
    def _rolled_back_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            if self._database.in_transaction:  # a full disk may have ended it already
                self._run("rollback")
            raise

    def _due(self) -> str:
        found = self._rows("select value from meta where name = 'due'")
        return str(found[0][0]) if found else ""

    def _mark(self) -> str:
        token = secrets.token_hex(8)
        self._run("insert or replace into meta values ('due', ?)", token)
        return token

    def _erase(self, column: str, value: object) -> int:
        found = self._rows(f"select id, unit from document where {column} = ?", value)
        for name, unit in found:
            self._pending.freed += [row for (row,) in self._rows("select row from chunk where document = ?", name)]
            self._run("delete from chunk where document = ?", name)
            self._run("delete from document where id = ?", name)
            self._run("delete from unit where id = ? and id not in (select unit from document)", unit)
        self._pending.erased |= bool(found)
        return len(found)

    def _free_rows(self, count: int) -> list[int]:
        """Rows that no committed chunk points at: none that this batch has freed, for a crash would bring it back."""
        rows = [row for (row,) in self._rows("select row from free order by row limit ?", count)]
        for row in rows:
            self._run("delete from free where row = ?", row)
        fresh = range(self._pending.end, self._pending.end + count - len(rows))
        self._pending.end = fresh.stop
        return rows + list(fresh)

    def _end(self) -> int:
        """One past the last row that is in use or free."""
        tops = (self._rows(f"select max(row) from {table}")[0][0] for table in ("chunk", "free"))
        return max(-1 if top is None else int(top) for top in tops) + 1

    def _unit(self, name: str) -> int:
        found = self._rows("select id from unit where name = ?", name)
        if found:
            return int(found[0][0])
        tie = hashlib.blake2b(name.encode(), key=self._key, digest_size=16).digest()
        return int(self._run("insert into unit (name, tie) values (?, ?)", name, tie).lastrowid or 0)

    # -- searching -------------------------------------------------------------------------------------------

    def nearest_units(self, vector: Vector, count: int) -> list[Passage]:
        """The best chunk of each of the `count` nearest units, nearest first."""
        with self._reading():
            scores, best = self._scores(vector)
            count = min(max(count, 0), len(best))
            if not count:
                return []
            least = np.partition(best, len(best) - count)[len(best) - count]
            return self._passages(scores, best, self._ranked(best, best >= least)[:count])

    def units_above(self, vector: Vector, threshold: float) -> list[Passage]:
        """The best chunk of every unit whose similarity is at least `threshold`, nearest first."""
        with self._reading():
            scores, best = self._scores(vector)
            return self._passages(scores, best, self._ranked(best, best >= threshold * self._scale**2))

    def _ranked(self, best: Vector, chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Places of the chosen units, nearest first; equally near ones by a keyed hash of the unit."""
        places = np.flatnonzero(chosen)
        ties = self._index.ties[places]
        order: NDArray[np.intp] = np.lexsort((ties[:, 1], ties[:, 0], -best[places]))
        return places[order]

    def _scores(self, vector: Vector) -> tuple[Vector, Vector]:
        """Exact scores of all rows, shape (rows,), and the best score of each unit, shape (units,)."""
        self._refresh()
        scores = self._vectors.scores(self._index.matrix, vector)
        best = np.full(len(self._index.units) + 1, -np.inf, dtype=np.float32)
        np.maximum.at(best, self._index.unit_of_row, scores)  # free rows fall into the last place
        return scores, best[:-1]

    def _passages(self, scores: Vector, best: Vector, chosen: NDArray[np.intp]) -> list[Passage]:
        """The best chunk of each of the `chosen` units, in their order; of equal chunks the first by its text."""
        units, unit_of_row = self._index.units, self._index.unit_of_row
        wanted = np.zeros(len(units) + 1, dtype=bool)
        wanted[chosen] = True
        rows = np.flatnonzero(wanted[unit_of_row])
        rows = rows[scores[rows] == best[unit_of_row[rows]]]
        texts: dict[int, str] = {}
        for row, place in zip(rows.tolist(), unit_of_row[rows].tolist(), strict=True):
            text = self._rows("select text from chunk where row = ?", row)[0][0]
            texts[place] = min(text, texts.get(place, text))
        names = [self._rows("select name from unit where id = ?", number)[0][0] for number in units[chosen].tolist()]
        return [Passage(name, texts[place]) for name, place in zip(names, chosen.tolist(), strict=True)]

    def tag(self, content: bytes, size: int = 8) -> str:
        """A name of so many bytes for something, that tells nothing about it without this store's key."""
        return hashlib.blake2b(content, key=self._key, digest_size=size).hexdigest()

    def texts(self) -> list[StoredText]:
        """Every chunk of every document, in a fixed order: for what reads the whole vault."""
        with self._reading():
            self._refresh()
            rows = self._rows(
                "select unit.name, document.digest, chunk.text, row from chunk join document "
                "on document.id = document join unit on unit.id = chunk.unit order by document.id, row"
            )
            matrix = self._index.matrix
            return [
                StoredText(unit, self.tag(content), np.array(matrix[row], np.int64), text)
                for unit, content, text, row in rows
            ]

    def state(self) -> object:
        """Something that is another whenever documents have changed; it holds for this object alone."""
        return self._rows("pragma data_version")[0][0], self._database.total_changes

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """A transaction: while it lasts no other process can commit, so texts and rows in use do not change."""
        with explained():
            self._run("begin")
            try:
                self._rows("select 1 from meta")
                yield
            finally:
                self._run("rollback")

    def _refresh(self) -> None:
        """Read anew which rows belong to which unit, if anything was committed since."""
        state = self.state()
        if state == self._state:
            return
        rows = np.array(self._rows("select row, unit from chunk"), dtype=np.int64).reshape(-1, 2)
        ties = dict(self._rows("select id, tie from unit"))
        size = int(rows[:, 0].max()) + 1 if len(rows) else 0
        units, places = np.unique(rows[:, 1], return_inverse=True)
        unit_of_row = np.full(size, len(units), dtype=np.intp)
        unit_of_row[rows[:, 0]] = places
        hashes = np.frombuffer(b"".join(ties[unit] for unit in units.tolist()), dtype=">u8").astype(np.uint64)
        self._index = _Index(self._vectors.open(size), units, hashes.reshape(-1, 2), unit_of_row)
        self._state = state

    # -- the database ----------------------------------------------------------------------------------------

    def _prepare(self, dimension: int) -> bytes:
        """Make the tables if there are none; check that they are ours. Returns the key of ties."""
        # The journal stays in its default mode: it vanishes at each commit, and a reader keeps writers from commits.
        for pragma in ("secure_delete = on", "synchronous = full", "temp_store = memory"):
            self._run(f"pragma {pragma}")
        if not self._rows("select 1 from sqlite_master where name = 'meta'"):
            self._run("begin immediate")
            with self._rolled_back_on_error():
                for table in TABLES:
                    self._run(f"create {table}")
                for name, value in (("version", VERSION), ("dimension", dimension), ("key", secrets.token_bytes(32))):
                    self._run("insert or ignore into meta values (?, ?)", name, value)
                self._run("commit")
        meta = dict(self._rows("select name, value from meta"))
        if meta.get("version") in MIGRATIONS:
            self._migrate(int(meta["version"]))
        elif meta.get("version") != VERSION:
            raise VaultVersionError(
                f"The store has format {meta.get('version')}; this program reads format {VERSION}. "
                "Open the vault with the version of discreet that made it."
            )
        check_dimension(meta["dimension"], dimension)
        return bytes(meta["key"])

    def _migrate(self, version: int) -> None:
        """Bring the tables of an older version to this one, whole or not at all."""
        self._run("begin immediate")
        with self._rolled_back_on_error():
            for step in range(version, VERSION):
                MIGRATIONS[step](self._database)
            self._run("update meta set value = ? where name = 'version'", VERSION)
            self._run("commit")

    def _run(self, statement: str, *values: object) -> sqlite3.Cursor:
        return self._database.execute(statement, values)

    def _rows(self, statement: str, *values: object) -> list[Any]:
        with explained():
            return self._run(statement, *values).fetchall()

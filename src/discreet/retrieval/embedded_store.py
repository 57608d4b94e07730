"""The built-in store of documents, with exact search.

Texts are in SQLite, vectors in a file (see `vectors`). SQLite is authoritative: a row of vectors is valid when a
committed chunk refers to it. No row is written while a chunk refers to it, so a crash leaves no partial document.

Erasure takes two steps. The commit hides a document from every later question. `settle` then overwrites its remains in
the files. The database marks this step as due before any write, so that a store that is opened after a crash makes up
for it. Bytes in free blocks of the disk and in backups are out of reach. The index of a search is in memory
(`live_index`), and in a file that `settle` overwrites, too.
"""

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import StoreError
from discreet.retrieval import row_changes, tombstones
from discreet.retrieval.catalog import SqlCatalog
from discreet.retrieval.documents import Document, Passage, StoredText, canonical_name, canonical_unit
from discreet.retrieval.live_index import LiveIndex
from discreet.retrieval.schema import prepare
from discreet.retrieval.search import Snapshot
from discreet.retrieval.sql_unit_texts import read_moment
from discreet.retrieval.sqlite_errors import explained, rolled_back_on_error
from discreet.retrieval.store import Hit, Piece, Store, digest
from discreet.retrieval.store_metadata import read_dimension
from discreet.retrieval.tombstones import now, tie
from discreet.retrieval.unit_texts import Moment
from discreet.retrieval.vectors import Vector, VectorFile


@dataclass
class _Pending:
    """The part of a batch outside the database: the end of the file of vectors, rows to write, and freed rows."""

    end: int
    rows: list[int] = field(default_factory=list)
    vectors: list[Vector] = field(default_factory=list)
    freed: list[int] = field(default_factory=list)
    erased: bool = False


class EmbeddedStore(Store):
    """A `Store` in a folder: `store.sqlite` and `vectors.f32`. Processes may share it; threads take turns.

    Raises:
        StoreError: if the folder cannot be read or written, is damaged, or holds vectors of another dimension.
        VaultVersionError: if the store has another format.
    """

    def __init__(self, folder: Path, dimension: int) -> None:
        """Open the store, or create it.

        Args:
            folder: the folder.
            dimension: the length of the vectors.
        """
        with explained():
            folder.mkdir(parents=True, exist_ok=True)
            if (folder / "vectors.f32").exists() and not (folder / "store.sqlite").exists():
                raise StoreError("The store has vectors but no texts. Restore the vault from a copy.")
            self._database = sqlite3.connect(
                folder / "store.sqlite", timeout=30, isolation_level=None, check_same_thread=False
            )
            self._key = prepare(self._database, dimension)
            self._vectors = self._open_vectors(folder, dimension)
            self._live = LiveIndex(self._database, self._vectors, folder)
            made_up = self._make_up()
        if made_up:
            self._keep_index()

    def _open_vectors(self, folder: Path, dimension: int) -> VectorFile:
        return VectorFile(folder / "vectors.f32", dimension)

    def close(self) -> None:
        """Close the files."""
        self._database.close()

    @staticmethod
    def stored_dimension(folder: Path) -> int | None:
        """Return the length of the vectors in the store in `folder`; None if nothing was ever added.

        Raises:
            StoreError: if the store cannot be read, or is damaged.
        """
        return read_dimension(folder)

    @property
    def scale(self) -> float:
        """The length that a vector of length one is stored with."""
        return self._vectors.scale

    @property
    def catalog(self) -> SqlCatalog:
        """The lists of units, documents and batches."""
        return SqlCatalog(self.select)

    def count_documents(self) -> int:
        """Return the number of documents."""
        return int(self._rows("select count(*) from document")[0][0])

    def count_units(self) -> int:
        """Return the number of units."""
        return int(self._rows("select count(*) from unit")[0][0])

    def digests(self, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the `digest` of each document of `ids` that is stored, by id."""
        found = (self._rows("select digest from document where id = ?", name) for name in ids)
        return {name: rows[0][0] for name, rows in zip(ids, found, strict=True) if rows}

    def units(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the unit of each document of `ids` that is stored, by id."""
        query = "select unit.name from document join unit on unit.id = document.unit where document.id = ?"
        found = ((name, self._rows(query, name)) for name in ids)
        return {name: rows[0][0] for name, rows in found if rows}

    # -- writing ---------------------------------------------------------------------------------------------

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Make all documents that are put within visible together and durably, or none of them.

        `settle` is due from before the first byte is written until the commit, and longer if a document was erased.
        Each writer marks this with a token of its own, and removes no other writer's mark.
        """
        with explained():
            before = self._due()
            while True:
                mine = self._mark()
                self._run("begin immediate")
                if self._due():
                    break
                self._run("rollback")  # another process has settled meanwhile
            with rolled_back_on_error(self._database):
                self._pending = _Pending(self._end())
                yield
                self._vectors.write(self._pending.rows, self._pending.vectors)
                for row in self._pending.freed:
                    self._run("insert into free_row values (?)", row)
                if self._pending.erased:
                    self._mark()
                elif not before:
                    self._run("update meta set value = '' where name = 'due' and value = ?", mine)
                self._run("commit")

    def begin_batch(self, files: int = 0) -> int:
        """Begin a batch of documents from so many files, and return its number."""
        with explained():
            return int(self._run("insert into batch (time, files) values (?, ?)", now(), files).lastrowid or 0)

    def put(self, document: Document, pieces: Sequence[Piece], batch: int = 0) -> None:
        """Store a document, in place of one with the same id; within a `batch`, whose number is `batch`.

        Raises:
            StoreError: if its unit was erased, and later documents are refused.
        """
        if self.buried([document.unit]):
            raise StoreError("An individual was erased while documents were added. Run the command again; it resumes.")
        since = self._rows("select since from document where id = ?", document.id)
        self._erase("id", document.id)
        unit = self._unit(document.unit)
        brought = (batch, since[0][0] if since else batch, document.source, json.dumps(dict(document.fields)))
        self._run("insert into document values (?, ?, ?, ?, ?, ?, ?)", document.id, unit, digest(document), *brought)
        if not pieces:
            row_changes.note_rowless(self._database)
        rows = self._free_rows(len(pieces))
        for row, piece in zip(rows, pieces, strict=True):
            self._run("insert into chunk values (?, ?, ?, ?)", row, document.id, unit, piece.text)
        self._pending.rows += rows
        self._pending.vectors += [piece.vector for piece in pieces]
        self._check_unit(unit)

    def _check_unit(self, unit: int) -> None:
        """Refuse a unit, within a batch: a store may hold only so much of one unit."""

    def remove(self, document_id: str) -> int:
        """Erase a document, also from the files; return 1, or 0 if it is not stored."""
        return self._remove("id", canonical_name(document_id))

    def remove_unit(self, unit: str) -> int:
        """Erase all documents of a unit, also from the files; return their number."""
        found = self._rows("select id from unit where name = ?", canonical_unit(unit))
        return self._remove("unit", found[0][0]) if found else 0

    def remove_batch(self, number: int) -> int:
        """Erase all documents whose current text is from a batch, also from the files; return their number."""
        return self._remove("batch", number)

    def remove_source(self, source: str) -> int:
        """Erase all documents that came from a file, also from the store's files; return their number."""
        return self._remove("source", source) if source else 0

    def bury(self, unit: str, *, anyway: bool = False) -> int:
        """Erase all documents of a unit and refuse later ones; return their number.

        A unit without documents is refused later only with `anyway`.
        """
        with self.batch():
            found = self._rows("select id from unit where name = ?", canonical_unit(unit))
            erased = self._erase("unit", found[0][0]) if found else 0
            if erased or anyway:
                tombstones.bury(self._database, self._key, unit, erased)
        self.settle()
        return erased

    def join(self, unit: str, into: str, pay: Callable[[], None]) -> int:
        """Give all documents of a unit to another one, and refuse later ones under its name; return their number.

        `pay` moves the payments in the ledger, before the commit.
        """
        with self.batch():
            found = self._rows("select id from unit where name = ?", canonical_unit(unit))
            moved = self._move(found[0][0], self._unit(canonical_unit(into))) if found else 0
            tombstones.bury(self._database, self._key, unit, 0)
            pay()
        self.settle()
        return moved

    def _move(self, old: int, new: int) -> int:
        self._run("update chunk set unit = ? where document in (select id from document where unit = ?)", new, old)
        moved = self._run("update document set unit = ? where unit = ?", new, old).rowcount
        self._run("delete from unit where id = ?", old)
        row_changes.note_rowless(self._database)  # there may be documents without a chunk
        self._pending.erased = True  # the file of the index has the name
        self._check_unit(new)
        return moved

    def readmit(self, unit: str) -> bool:
        """Accept documents of an erased unit again; return whether it was erased."""
        with explained():
            return tombstones.readmit(self._database, self._key, unit)

    def buried(self, units: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Return those of `units` that are refused: the time of erasure (UTC), and the number of erased documents."""
        with explained():
            return tombstones.find(self._database, self._key, units)

    def select(self, statement: str, *values: object) -> list[Any]:
        """Return rows of the tables (`schema`), for lists."""
        return self._rows(statement, *values)

    def settle(self) -> None:
        """Overwrite the remains of removed and of partially written documents in the files."""
        with explained():
            self._make_up()
        self._keep_index()

    def _make_up(self) -> bool:
        due = self._due()
        if not due:
            return False
        if self._live.can_load():
            with suppress(StoreError):
                self._index()  # the file is overwritten, and can be written anew from memory
        self._run("begin immediate")
        with rolled_back_on_error(self._database):
            self._live.erase_kept()
            size = self._rows("select coalesce(max(row), -1) + 1 from chunk")[0][0]
            self._run("delete from free_row where row >= ?", size)
            self._vectors.erase([row for (row,) in self._rows("select row from free_row")], size)
            self._run("commit")
        # SQLite keeps copies in pages that it rearranged, and `secure_delete` misses them. A rewrite drops them.
        self._run("vacuum")
        self._run("update meta set value = '' where name = 'due' and value = ?", due)
        return True

    def unsettled(self) -> bool:
        """Return whether the files may hold parts of removed documents: a process stopped before `settle`."""
        return bool(self._due())

    def _remove(self, column: str, value: object) -> int:
        with self.batch():
            erased = self._erase(column, value)
        self.settle()
        return erased

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
            rows = [row for (row,) in self._rows("select row from chunk where document = ?", name)]
            self._pending.freed += rows
            if not rows:
                row_changes.note_rowless(self._database)
            self._run("delete from chunk where document = ?", name)
            self._run("delete from document where id = ?", name)
            if not self._rows("select 1 from document where unit = ? limit 1", unit):
                self._run("delete from unit where id = ?", unit)
        self._pending.erased |= bool(found)
        return len(found)

    def _free_rows(self, count: int) -> list[int]:
        """Return rows that no committed chunk refers to. A crash would restore the rows that this batch freed."""
        rows = [row for (row,) in self._rows("select row from free_row order by row limit ?", count)]
        for row in rows:
            self._run("delete from free_row where row = ?", row)
        fresh = range(self._pending.end, self._pending.end + count - len(rows))
        self._pending.end = fresh.stop
        return rows + list(fresh)

    def _end(self) -> int:
        """Return the first row after all rows that are in use or free."""
        tops = (self._rows(f"select max(row) from {table}")[0][0] for table in ("chunk", "free_row"))
        return max(-1 if top is None else int(top) for top in tops) + 1

    def _unit(self, name: str) -> int:
        found = self._rows("select id from unit where name = ?", name)
        if found:
            return int(found[0][0])
        added = self._run("insert into unit (name, tie) values (?, ?)", name, tie(name, self._key))
        return int(added.lastrowid or 0)

    # -- searching -------------------------------------------------------------------------------------------

    def scored(self, vector: Vector) -> Snapshot:
        """Return all units by their similarity to a vector, at this moment. Read the vectors once."""
        with self._reading():
            before, index = self._live.index, self._live.refresh(self.state())
            scores = self._vectors.scores(self._live.blocks, vector)
        if index is not before:
            self._keep_index()
        return Snapshot(index, scores, index.best(scores), self.scale**2)

    def passages(self, hits: Sequence[Hit]) -> list[Passage | None]:
        """Return the best chunk of each found unit, read at one moment. Of equal chunks, take the first by its text."""
        with self._reading():
            return [self._passage(hit) for hit in hits]

    def _passage(self, hit: Hit) -> Passage | None:
        """Return the text in the rows of a hit; None if these rows belong to other units now."""
        number, rows = hit.where
        found = (self._rows("select text from chunk where row = ? and unit = ?", row, number) for row in rows)
        texts = [text for ((text,),) in filter(None, found)]
        return Passage(hit.unit, min(texts)) if texts else None

    def tag(self, content: bytes, size: int = 8) -> str:
        """Return a name of `size` bytes, in hex, that reveals nothing about `content` without the store's key."""
        return hashlib.blake2b(content, key=self._key, digest_size=size).hexdigest()

    def texts(self) -> list[StoredText]:
        """Return every chunk of every document, in a fixed order: for readers of the whole vault."""
        with self._reading():
            self._live.refresh(self.state())
            rows = self._rows(
                "select unit.name, document.digest, chunk.text, row from chunk join document "
                "on document.id = document join unit on unit.id = chunk.unit order by document.id, row"
            )
            matrix = self._live.blocks
            return [
                StoredText(unit, self.tag(content), np.array(matrix[row], np.int64), text)
                for unit, content, text, row in rows
            ]

    def unit_texts(self, since: object = None) -> Moment:
        """Return what is stored of each unit, or of those that changed since the moment with this mark."""
        with self._reading():
            return read_moment(self._database, self._live.refresh(self.state()), since)

    def state(self) -> object:
        """Return a token that changes whenever the documents change; tokens of two objects cannot be compared."""
        return self._rows("pragma data_version")[0][0], self._database.total_changes

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Hold a transaction. No other process can commit meanwhile, so texts and rows do not change."""
        with explained():
            self._run("begin")
            try:
                self._rows("select 1 from meta")
                yield
            finally:
                self._run("rollback")

    def _index(self) -> None:
        with self._reading():
            self._live.refresh(self.state())

    def _keep_index(self) -> None:
        """Write the index to its file if this spares other processes much reading. It may fail: a search works without.

        A full disk or a busy store is no reason to withhold a result, and damage is found by the next search.
        """
        with suppress(StoreError), explained():
            if self._live.is_worth_keeping():
                self._index()
                self._live.keep()

    # -- the database --------------------------------------------------------------------------------------------------

    def _run(self, statement: str, *values: object) -> sqlite3.Cursor:
        return self._database.execute(statement, values)

    def _rows(self, statement: str, *values: object) -> list[Any]:
        with explained():
            return self._run(statement, *values).fetchall()

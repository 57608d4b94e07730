"""The built-in store: texts, fields, batches and tombstones in SQLite or PostgreSQL, and vectors beside them.

The database is authoritative: a vector counts when a committed chunk refers to it. No vector is written in place of one
that a chunk refers to, so a crash leaves no partial document. The two databases differ in their connection
(`sql_tables.StoreDatabase`) and in where vectors are (`Vectors`): `embedded_store`, `postgres_store`.

Erasure takes two steps. The commit hides a document from every later question. `settle` then overwrites its remains in
the files. The database marks this step as due before any write, so that a store that is opened after a crash makes up
for it. Bytes in free blocks of the disk and in backups are out of reach.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray
from sqlalchemy import ColumnElement, case, delete, func, insert, literal, select, update

from discreet.errors import StoreError
from discreet.store.documents import Document, Passage, StoredText, canonical_name, canonical_unit
from discreet.store.protocol import ALL, BatchEntry, DocumentEntry, Hit, Piece, Store, UnitEntry, Vector, digest
from discreet.store.sql_tables import (
    BATCH,
    CHANGE,
    CHUNK,
    DOCUMENT,
    NAMES,
    TOMBSTONE,
    UNIT,
    StoreDatabase,
    among,
    check_store,
    parts,
)
from discreet.store.unit_records import Moment, StoredUnit, gather
from discreet.store.vectors import ChunkScores, Numbers, Ranks, UnitNames, scale_of

_CHANGES = 1024
"""The number of commits of which the changed units are known: a reader that is older reads all units."""
_SHARE = 8
"""One over the share of units that may change before all texts are read: a scan reads a row faster than a look-up."""
_NO_FIELDS = "{}"
_TEXTS_OF = """select chunk.id, chunk.unit, chunk.text, unit.id
from chunk left join unit on unit.id = chunk.unit where chunk.id in ({})"""


@dataclass(frozen=True)
class Mark:
    """A moment of a store: the number of changes until then. Only the object that made it can read on from it."""

    store: "SqlStore"
    changes: int


class NamedUnit(NamedTuple):
    """A unit: its number, its keyed hash, which breaks ties, and its name."""

    number: int
    tie: bytes
    name: str


Freed = Sequence[tuple[int, int | None]]
"""The numbers of chunks that are no more, and their rows in the file of vectors."""


class Vectors(Protocol):
    """The vectors of the chunks of a store. All methods but `overwrite` are called within a transaction."""

    def write(self, pieces: Sequence[Piece], chunks: range, units: Sequence[NamedUnit]) -> Sequence[int | None]:
        """Write the vectors of new chunks, durably. Return the row of each, for `CHUNK`.

        Args:
            pieces: the chunks.
            chunks: their numbers.
            units: the unit of each.
        """

    def free(self, chunks: Freed) -> None:
        """Let go of the vectors of chunks."""

    def move(self, old: int, new: NamedUnit) -> None:
        """Give the vectors of a unit to another one. Its chunks in `CHUNK` are still those of the old unit."""

    def overwrite(self) -> bool:
        """Overwrite the remains of erased documents in all files. Return whether none is left."""

    def search(self, vector: Vector) -> ChunkScores:
        """Return the scores of all chunks."""

    def read_units(self, found: ChunkScores, numbers: Numbers) -> UnitNames:
        """Return the units of these numbers, which ascend."""

    def reader(self) -> Callable[[int], NDArray[Any]]:
        """Return what reads the vector of a chunk, in whole numbers."""


@dataclass
class _Change:
    """What a transaction changes: the units that it touches, and whether it erases anything."""

    units: set[int] = field(default_factory=set)
    erased: bool = False


class SqlStore(Store):
    """A `Store` in a database. Processes may share it; threads take turns.

    Raises:
        StoreError: if the database cannot be used, is damaged, or holds vectors of another dimension.
        VaultVersionError: if the store has another format.
    """

    def __init__(self, database: StoreDatabase, vectors: Vectors, dimension: int) -> None:
        """Open the store in tables that exist."""
        self._database, self._vectors, self._dimension = database, vectors, dimension
        self._key = check_store(database, dimension)
        self._units = UnitNames.none()
        self._pending: dict[str, tuple[Document, Sequence[Piece], int]] = {}
        self._change = _Change()
        self._names: dict[int, str] = {}
        self._names_since = 0
        # An opening does not wait for the erasure of another process, which may take long: the step stays due.
        with suppress(StoreError):  # a full disk, or a folder that may only be read: it stays due
            self._settle(wait=False)

    def close(self) -> None:
        """Close the files and the connection."""
        self._database.close()

    @property
    def scale(self) -> float:
        """The length that a vector of length one is stored with."""
        return scale_of(self._dimension)

    @property
    def catalog(self) -> "SqlCatalog":
        """The lists of units, documents and batches."""
        return SqlCatalog(self._database)

    def count_documents(self) -> int:
        """Return the number of documents."""
        return int(self._rows(select(func.count()).select_from(DOCUMENT))[0][0])

    def count_units(self) -> int:
        """Return the number of units."""
        return int(self._rows(select(func.count()).select_from(UNIT))[0][0])

    def digests(self, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the `digest` of each document of `ids` that is stored, by id."""
        return dict(self._of_names("digest", "document", ids))

    def units(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the unit of each document of `ids` that is stored, by id."""
        with self._database.reading():
            owners = dict(self._of_names("unit", "document", ids))
            names = self._read_names(sorted(set(owners.values())))
        return {name: names[unit] for name, unit in owners.items() if unit in names}

    def _of_names(self, columns: str, table: str, names: Iterable[str]) -> Iterator[Any]:
        """Yield the name and columns of the units or documents that have one of some names."""
        if self._database.has_names:
            keys = [name.encode("utf-8", "surrogatepass") for name in names]  # half a character is in no stored name
            yield from self._database.of_keys(columns, table, NAMES[table], keys)
        else:
            hashed = _tie if table == "unit" else _document_tie
            by_tie = {hashed(name, self._key): name for name in names}
            rows = self._database.of_keys(columns, table, "tie", by_tie)
            yield from ((by_tie[key], *values) for key, *values in rows)

    # -- writing ---------------------------------------------------------------------------------------------

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Make all documents that are put within visible together and durably, or none of them."""
        with self._database.turn:
            self._pending = {}
            try:
                yield
                if self._pending:
                    with self._writing():
                        self._write(list(self._pending.values()))
            finally:
                self._pending = {}

    def begin_batch(self, files: int = 0) -> int:
        """Begin a batch of documents from so many files, and return its number."""
        with self._database.alone(), self._database.writing():
            (number,) = self._take("batches", 1)
            self._rows(insert(BATCH).values(number=number, time=_now(), files=files))
        return number

    def put(self, document: Document, pieces: Sequence[Piece], batch: int = 0) -> None:
        """Store a document, in place of one with the same id; within a `batch`, whose number is `batch`.

        The end of the batch writes it. An error of the document is raised there.
        """
        self._pending[document.id] = document, pieces, batch

    def _write(self, added: Sequence[tuple[Document, Sequence[Piece], int]]) -> None:
        """Write documents in place of those with the same ids.

        Raises:
            StoreError: if a unit was erased, and later documents are refused.
        """
        units = {document.unit for document, _, _ in added}  # in their canonical spelling
        if any(self._database.of_keys("time", "tombstone", "unit", [_tombstone(self._key, unit) for unit in units])):
            raise StoreError("An individual was erased while documents were added. Run the command again; it resumes.")
        names = [document.id for document, _, _ in added]
        old = {name: rest for name, *rest in self._of_names("since, number", "document", names)}
        since = {name: batch for name, (batch, _) in old.items()}
        freed = list[Any]()
        for part in parts([number for _, number in old.values()]):
            freed += self._erase(among(DOCUMENT.c.number, part))[1]
        named = self._named(units)
        documents = self._take("documents", len(added))
        self._database.add(
            DOCUMENT,
            [
                {
                    "number": number,
                    "tie": _document_tie(document.id, self._key),
                    "id": document.id,
                    "unit": named[document.unit].number,
                    "digest": digest(document),
                    "batch": batch,
                    "since": since.get(document.id, batch),
                    "source": document.source,
                    "fields": json.dumps(dict(document.fields)),
                }
                for number, (document, _, batch) in zip(documents, added, strict=True)
            ],
        )
        owned = [
            (number, named[document.unit], piece)
            for number, (document, pieces, _) in zip(documents, added, strict=True)
            for piece in pieces
        ]
        chunks = self._take("chunks", len(owned))
        rows = self._vectors.write([piece for *_, piece in owned], chunks, [unit for _, unit, _ in owned])
        self._database.add(
            CHUNK,
            [
                {"id": chunk, "document": number, "unit": unit.number, "row": row, "text": piece.text}
                for chunk, row, (number, unit, piece) in zip(chunks, rows, owned, strict=True)
            ],
        )
        self._vectors.free(freed)  # after the new rows were chosen: a crash would restore the old ones
        for one in named.values():
            self._change.units.add(one.number)
            self._check_unit(one.number)

    def _check_unit(self, unit: int) -> None:
        """Refuse a unit, within a batch: a store may hold only so much of one unit."""

    def _named(self, names: Iterable[str]) -> dict[str, NamedUnit]:
        """Return units by name. Make those that are missing."""
        wanted = sorted(names)
        units = {name: NamedUnit(number, tie, name) for name, number, tie in self._of_names("id, tie", "unit", wanted)}
        fresh = [name for name in wanted if name not in units]
        numbers = self._take("units", len(fresh))
        new_units = [
            NamedUnit(number, _tie(name, self._key), name) for number, name in zip(numbers, fresh, strict=True)
        ]
        self._database.add(UNIT, [{"id": one.number, "tie": one.tie, "name": one.name} for one in new_units])
        return units | {one.name: one for one in new_units}

    def _take(self, counter: str, count: int) -> range:
        """Return so many numbers that were never given before, within a transaction."""
        if not count:
            return range(0)
        taken = f"update store set {counter} = {counter} + {count} returning {counter}"
        last = int(self._database.rows(taken)[0][0])
        return range(last - count + 1, last + 1)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Run the block as the only writer, in one transaction.

        `settle` is due from before the first byte is written until the commit, and longer if a document was erased.
        """
        with self._database.alone():
            before, self._change = self.unsettled(), _Change()
            if not before:
                self._database.rows("update store set due = true")
            with self._database.writing():
                yield
                due = before or self._change.erased
                changed = f"update store set changes = changes + 1, due = {str(due).lower()} returning changes"
                number = int(self._database.rows(changed)[0][0])
                self._database.add(CHANGE, [{"number": number, "unit": unit} for unit in self._change.units])
                self._database.rows(f"delete from change where number <= {number - _CHANGES}")

    # -- erasure ---------------------------------------------------------------------------------------------

    def remove(self, document_id: str) -> int:
        """Erase a document, also from the files; return 1, or 0 if it is not stored."""
        return self._remove(lambda: self._is_named(canonical_name(document_id)))

    def remove_unit(self, unit: str) -> int:
        """Erase all documents of a unit, also from the files; return their number."""
        return self._remove(lambda: self._is_of(unit))

    def remove_batch(self, number: int) -> int:
        """Erase all documents whose current text is from a batch, also from the files; return their number."""
        return self._remove(lambda: DOCUMENT.c.batch == number)

    def remove_source(self, source: str) -> int:
        """Erase all documents that came from a file, also from the store's files; return their number."""
        return self._remove(lambda: DOCUMENT.c.source == source) if source else 0

    def bury(self, unit: str, *, anyway: bool = False) -> int:
        """Erase all documents of a unit and refuse later ones; return their number.

        A unit without documents is refused later only with `anyway`.
        """
        with self._writing():
            erased, freed = self._erase(self._is_of(unit))
            self._vectors.free(freed)
            if erased or anyway:
                self._refuse(unit, erased)
        self.settle()
        return erased

    def join(self, unit: str, into: str, pay: Callable[[], None]) -> int:
        """Give all documents of a unit to another one, and refuse later ones under its name; return their number.

        `pay` moves the payments in the ledger, before the commit.
        """
        moved, name = 0, canonical_unit(into)
        if canonical_unit(unit) == name:
            return 0
        with self._writing():
            if self.buried([into]):
                raise StoreError("The unit that is to get the documents was erased. Readmit it, or name another.")
            for _, old in list(self._of_names("id", "unit", [canonical_unit(unit)])):
                (named,) = self._named({name}).values()
                self._vectors.move(old, named)
                new = named.number
                of_old = select(DOCUMENT.c.number).where(DOCUMENT.c.unit == old)
                self._rows(update(CHUNK).where(CHUNK.c.document.in_(of_old)).values(unit=new))
                given = update(DOCUMENT).where(DOCUMENT.c.unit == old).values(unit=new)
                moved = len(self._rows(given.returning(DOCUMENT.c.number)))
                self._rows(delete(UNIT).where(UNIT.c.id == old))
                self._change.units |= {old, new}
                self._change.erased = True  # files have the name
                self._check_unit(new)
            self._refuse(unit, 0)
            pay()
        self.settle()
        return moved

    def readmit(self, unit: str) -> bool:
        """Accept documents of an erased unit again; return whether it was erased."""
        gone = (
            delete(TOMBSTONE)
            .where(TOMBSTONE.c.unit == _tombstone(self._key, canonical_unit(unit)))
            .returning(TOMBSTONE.c.unit)
        )
        return bool(self._rows(gone))

    def buried(self, units: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Return those of `units` that are refused: the time of erasure (UTC), and the number of erased documents."""
        hashes = {unit: _tombstone(self._key, canonical_unit(unit)) for unit in units}
        tombstones = dict[bytes, tuple[str, int]]()
        for key, time, documents in self._database.of_keys("time, documents", "tombstone", "unit", hashes.values()):
            if not (isinstance(time, str) and isinstance(documents, int)):
                raise self._database.damaged()
            tombstones[key] = time, documents
        return {unit: tombstones[key] for unit, key in hashes.items() if key in tombstones}

    def settle(self) -> None:
        """Overwrite the remains of removed and of partially written documents in the files.

        It remains due in PostgreSQL if another transaction in the database is so old that it may still read them.
        """
        self._settle(wait=True)

    def _settle(self, *, wait: bool) -> None:
        if not self.unsettled():
            return
        with self._database.alone(wait=wait) as held:
            # Another process may have settled meanwhile.
            if held and self.unsettled() and self._vectors.overwrite():
                self._database.rows("update store set due = false")

    def unsettled(self) -> bool:
        """Return whether the files may hold parts of removed documents: a process stopped before `settle`."""
        return bool(self._database.only("due")[0])

    def _is_named(self, document: str) -> ColumnElement[bool]:
        rows = self._of_names("number", "document", [document])
        return among(DOCUMENT.c.number, [number for _, number in rows])

    def _is_of(self, unit: str) -> ColumnElement[bool]:
        rows = self._of_names("id", "unit", [canonical_unit(unit)])
        return among(DOCUMENT.c.unit, [number for _, number in rows])

    def _refuse(self, unit: str, erased: int) -> None:
        """Record that a unit was erased now, with its number of documents. A repeated erasure adds to that number."""
        before = self.buried([unit]).get(unit)
        key, values = (
            _tombstone(self._key, canonical_unit(unit)),
            {"time": _now(), "documents": erased + (before[1] if before else 0)},
        )
        if before:
            self._rows(update(TOMBSTONE).where(TOMBSTONE.c.unit == key).values(**values))
        else:
            self._rows(insert(TOMBSTONE).values(unit=key, **values))

    def _remove(self, find: Callable[[], ColumnElement[bool]]) -> int:
        if not self._rows(select(DOCUMENT.c.number).where(find()).limit(1)):
            self.settle()  # an erasure before may have been broken off
            return 0
        with self._writing():
            erased, freed = self._erase(find())  # found again: another process may have replaced it meanwhile
            self._vectors.free(freed)
        self.settle()
        return erased

    def _erase(self, condition: ColumnElement[bool]) -> tuple[int, Freed]:
        """Delete the documents that meet a condition, and units without documents.

        Return the number of documents, and the chunks whose vectors are to be freed.
        """
        rows = self._rows(select(DOCUMENT.c.number, DOCUMENT.c.unit).where(condition))
        freed = list[Any]()
        for part in parts([number for number, _ in rows]):
            gone = delete(CHUNK).where(among(CHUNK.c.document, part))
            freed += self._rows(gone.returning(CHUNK.c.id, CHUNK.c.row))
            self._rows(delete(DOCUMENT).where(among(DOCUMENT.c.number, part)))
        units = sorted({unit for _, unit in rows})
        for part in parts(units):
            others = select(literal(1)).where(DOCUMENT.c.unit == UNIT.c.id).exists()
            self._rows(delete(UNIT).where(among(UNIT.c.id, part), ~others))
        self._change.units |= set(units)
        self._change.erased |= bool(rows)
        return len(rows), freed

    # -- searching -------------------------------------------------------------------------------------------

    def scored(self, vector: Vector) -> Ranks:
        """Return all units by their similarity to a vector, at this moment. Read the vectors once."""
        with self._database.reading():
            scores = self._vectors.search(vector)
            numbers, best = scores.best()
            self._units = units = self._units.following(numbers, lambda fresh: self._vectors.read_units(scores, fresh))
        return Ranks(scores, best, units, self.scale**2)

    def passages(self, hits: Sequence[Hit]) -> list[Passage | None]:
        """Return the best chunk of each found unit, read at one moment. Of equal chunks, take the first by its text."""
        wanted = sorted({chunk for hit in hits for chunk in hit.where[1]})
        texts: dict[int, tuple[int, str]] = {}
        with self._database.reading():
            for part in parts(wanted):
                for chunk, unit, text, fields in self._database.rows(_TEXTS_OF.format(", ".join(map(str, part)))):
                    if fields is None or isinstance(text, str) is not self._database.has_names:
                        raise self._database.damaged()
                    texts[chunk] = unit, text if self._database.has_names else text.decode()
        return [_passage(hit, texts) for hit in hits]

    def texts(self) -> list[StoredText]:
        """Return every chunk of every document, in a fixed order: for readers of the whole vault."""
        joined = CHUNK.join(DOCUMENT, DOCUMENT.c.number == CHUNK.c.document).join(UNIT, UNIT.c.id == CHUNK.c.unit)
        statement = select(UNIT.c.name, DOCUMENT.c.digest, CHUNK.c.text, CHUNK.c.id).select_from(joined)
        with self._database.reading():
            rows = self._rows(statement.order_by(DOCUMENT.c.id, CHUNK.c.id))
            read = self._vectors.reader()
            return [StoredText(unit, self.tag(content), read(chunk), text) for unit, content, text, chunk in rows]

    def tag(self, content: bytes, size: int = 8) -> str:
        """Return a name of `size` bytes, in hex, that reveals nothing about `content` without the store's key."""
        return hashlib.blake2b(content, key=self._key, digest_size=size).hexdigest()

    def state(self) -> object:
        """Return a token that changes whenever the documents change; tokens of two objects cannot be compared."""
        return self._database.only("changes")[0]

    # -- units without vectors -------------------------------------------------------------------------------

    def unit_texts(self, since: object = None) -> Moment:
        """Return what is stored of each unit, or of those that changed since the moment with this mark."""
        with self._database.reading():
            mark = Mark(self, int(self._database.only("changes")[0]))
            changed = self._changed(since, mark) if isinstance(since, Mark) and since.store is self else None
            if changed is None:
                moment = self._gathered(mark, None)
                # Names that went before are not known: a reader with an older mark reads all, too.
                self._names, self._names_since = self._read_names(None), mark.changes
                return moment
            there = self._read_names(changed)
            before = {number: self._names.pop(number, None) for number in changed if number not in there}
            if before:  # an earlier mark may need these names
                self._names_since = mark.changes
            self._names |= there
            texts = {name: StoredUnit(()) for name in before.values() if name is not None}
            texts |= {name: StoredUnit(()) for name in there.values()}
            return Moment(mark, texts | dict(self._gathered(mark, list(there)).units), whole=False)

    def _changed(self, since: Mark, now: Mark) -> list[int] | None:
        """Return the numbers of the units that changed since; None if all texts must be read."""
        if since.changes < self._names_since:
            return None
        units = changed_units(self._database, since.changes, now.changes)
        return None if units is None or len(units) * _SHARE > len(self._names) else units

    def _read_names(self, numbers: Sequence[int] | None) -> dict[int, str]:
        return dict(self._selected(select(UNIT.c.id, UNIT.c.name), UNIT.c.id, numbers))

    def _gathered(self, mark: Mark, numbers: Sequence[int] | None) -> Moment:
        """Return what is stored of the units of some numbers; None for all units."""
        owned = DOCUMENT.join(UNIT, UNIT.c.id == DOCUMENT.c.unit)
        declared = select(UNIT.c.name, DOCUMENT.c.fields, DOCUMENT.c.id).select_from(owned)
        declared = declared.where(DOCUMENT.c.fields != _NO_FIELDS)
        stated = sorted(self._selected(declared, UNIT.c.id, numbers), key=lambda row: row[2])
        fields = [(unit, parse_fields(content, self._database), name) for unit, content, name in stated]
        # The ids are read even if no document has fields: what is known of a unit must not depend on other units.
        joined = owned.join(CHUNK, CHUNK.c.document == DOCUMENT.c.number)
        texts = self._selected(select(UNIT.c.name, CHUNK.c.text, DOCUMENT.c.id).select_from(joined), UNIT.c.id, numbers)
        if not all(isinstance(text, str) for _, text, _ in texts):
            raise self._database.damaged()
        return gather(texts, fields, mark)

    def _selected(self, statement: Any, column: ColumnElement[Any], numbers: Sequence[int] | None) -> list[Any]:
        if numbers is None:
            return self._rows(statement)
        return [row for part in parts(numbers) for row in self._rows(statement.where(among(column, part)))]

    def _rows(self, statement: Any) -> list[Any]:
        return self._database.rows(statement)


def changed_units(database: StoreDatabase, since: int, now: int) -> list[int] | None:
    """Return the numbers of the units that changed since a number of changes; None if they are not known any more."""
    if not 0 <= now - since <= (_CHANGES if since >= 0 else -1):
        return None
    rows = database.rows(select(CHANGE.c.unit).distinct().where(CHANGE.c.number > since)) if since != now else []
    return [number for (number,) in rows]


class SqlCatalog:
    """The `Catalog` of a store: lists of its units, documents and batches, for the custodian."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database

    def list_units(self, limit: int = ALL, skip: int = 0) -> list[UnitEntry]:
        """Return the units by name."""
        joined = DOCUMENT.join(UNIT, UNIT.c.id == DOCUMENT.c.unit)
        counted = (UNIT.c.name, func.count(), func.min(DOCUMENT.c.since), func.max(DOCUMENT.c.batch))
        statement = select(*counted).select_from(joined).group_by(UNIT.c.id).order_by(UNIT.c.name)
        return [UnitEntry(*row) for row in self._page((str, int, int, int), statement, limit, skip)]

    def list_documents(self, unit: str | None = None, limit: int = ALL, skip: int = 0) -> list[DocumentEntry]:
        """Return the documents by id; those of one unit, if it is named."""
        columns = (DOCUMENT.c.id, UNIT.c.name, DOCUMENT.c.batch, DOCUMENT.c.source, DOCUMENT.c.fields)
        statement = select(*columns).select_from(DOCUMENT.join(UNIT, UNIT.c.id == DOCUMENT.c.unit))
        if unit is not None:
            statement = statement.where(UNIT.c.name == canonical_unit(unit))
        rows = self._page((str, str, int, str, str), statement.order_by(DOCUMENT.c.id), limit, skip)
        return [
            DocumentEntry(name, of, batch, source, dict(parse_fields(content, self._database)))
            for name, of, batch, source, content in rows
        ]

    def list_batches(self, limit: int = ALL, skip: int = 0) -> list[BatchEntry]:
        """Return the batches, the last first, including those without a document."""
        joined = BATCH.outerjoin(DOCUMENT, DOCUMENT.c.batch == BATCH.c.number)
        replaced = func.coalesce(func.sum(case((DOCUMENT.c.since != DOCUMENT.c.batch, 1), else_=0)), 0)
        columns = (BATCH.c.number, BATCH.c.time, BATCH.c.files)
        statement = select(*columns, func.count(DOCUMENT.c.number), replaced).select_from(joined).group_by(*columns)
        rows = self._page((int, str, int, int, int), statement.order_by(BATCH.c.number.desc()), limit, skip)
        sources: dict[int, list[str]] = {number: [] for number, *_ in rows}
        for part in parts(list(sources)):
            own = select(DOCUMENT.c.batch, DOCUMENT.c.source).where(among(DOCUMENT.c.batch, part)).distinct()
            for number, source in self._database.rows(own.where(DOCUMENT.c.source != "")):
                sources[number].append(source)
        return [
            BatchEntry(number, time, files, documents, again, tuple(sorted(sources[number])))
            for number, time, files, documents, again in rows
        ]

    def _page(self, kinds: tuple[type, ...], statement: Any, limit: int, skip: int) -> list[Any]:
        """Return rows whose columns have these types: a damaged file may still be a database."""
        rows = self._database.rows(statement.limit(None if limit < 0 else limit).offset(skip))
        if any(type(value) is not kind for row in rows for value, kind in zip(row, kinds, strict=True)):
            raise self._database.damaged()
        return rows


def parse_fields(text: str, database: StoreDatabase) -> Mapping[str, str | float]:
    """Return the declared fields in a row of `DOCUMENT`."""
    try:
        fields = json.loads(text)
    except (TypeError, ValueError):
        fields = None
    if not (isinstance(fields, dict) and all(isinstance(value, str | int | float) for value in fields.values())):
        raise database.damaged()
    return fields


def _passage(hit: Hit, texts: Mapping[int, tuple[int, str]]) -> Passage | None:
    """Return the text of a hit; None if its chunks are gone, or belong to another unit now."""
    unit, chunks = hit.where
    own = [texts[chunk][1] for chunk in chunks if chunk in texts and texts[chunk][0] == unit]
    return Passage(hit.unit, min(own)) if own else None


def _now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _tie(name: str, key: bytes) -> bytes:
    """Return the keyed hash of a unit, which breaks ties."""
    return hashlib.blake2b(name.encode(), key=key, digest_size=16).digest()


def _document_tie(name: str, key: bytes) -> bytes:
    """Return the keyed hash of a document's id."""
    content = name.encode("utf-8", "surrogatepass")  # no stored id has half a character
    return hashlib.blake2b(content, key=key, digest_size=16, person=b"document").digest()


def _tombstone(key: bytes, unit: str) -> bytes:
    """Return the keyed hash of a unit's name in its canonical spelling, for the list of erased units."""
    return hashlib.blake2b(unit.encode(), key=key, digest_size=16, person=b"tombstone").digest()

"""A store in a schema of a PostgreSQL database, with exact search by pgvector. Several machines may share it.

Texts, vectors and tombstones are in one database, so that a commit adds or removes a document as a whole. There is no
index of vectors: a store with one is refused (`tables`).

Erasure takes two steps. The commit hides a document from every later question. `settle` then writes the tables to new
files without it. The store marks this step as due before any write, so that a process that opens the store after a
crash makes up for it. The server's write-ahead log, its copies and its backups are out of reach (docs/erasure.md).
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from discreet.errors import StoreError
from discreet.retrieval.documents import Document, Passage, StoredText, canonical_name, canonical_unit
from discreet.retrieval.postgres.catalog import PostgresCatalog
from discreet.retrieval.postgres.scores import BEST, SCORES, PostgresScores, Seen, Units, halves, unpacked
from discreet.retrieval.postgres.server import Server
from discreet.retrieval.postgres.stored_texts import read_moment, read_texts
from discreet.retrieval.postgres.tables import (
    REWRITTEN,
    drop_store,
    find_extension,
    make_store,
    prepare,
    read_dimension,
    read_last,
)
from discreet.retrieval.store import Hit, Piece, Store, digest
from discreet.retrieval.tombstones import now, tie, unit_hash
from discreet.retrieval.unit_texts import Moment
from discreet.retrieval.vectors import Vector, half_numbers, scale_of
from discreet.system.database_url import check_no_password

SEARCH = "set local enable_indexscan = off; set local jit = off"
"""The settings of the transaction of a search."""


class PostgresStore(Store):
    """A `Store` in a schema of a database. Processes may share it; threads take turns.

    Raises:
        StoreError: if the database cannot be reached, is damaged, or holds vectors of another dimension.
        VaultVersionError: if the store has another format.
    """

    def __init__(self, url: str, name: str, dimension: int) -> None:
        """Open a store that `make_store` made.

        Args:
            url: the URL of the database. No error shows it.
            name: the name of the schema.
            dimension: the length of the vectors.
        """
        self._server, self._dimension = Server(url, name), dimension
        self._extension = find_extension(self._server)
        self._key = prepare(self._server, dimension)
        self._units = Units.none()
        self._pending: dict[str, tuple[Document, Sequence[Piece], int]] = {}
        self.settle()

    def close(self) -> None:
        """Close the connection."""
        self._server.close()

    @property
    def scale(self) -> float:
        """The length that a vector of length one is stored with."""
        return scale_of(self._dimension)

    @property
    def catalog(self) -> PostgresCatalog:
        """The lists of units, documents and batches."""
        return PostgresCatalog(self._server)

    def count_documents(self) -> int:
        """Return the number of documents."""
        return int(self._rows("select count(*) from document")[0][0])

    def count_units(self) -> int:
        """Return the number of units."""
        return int(self._rows("select count(*) from unit")[0][0])

    def digests(self, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the `digest` of each document of `ids` that is stored, by id."""
        return dict(self._of(ids, "digest"))

    def units(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the unit of each document of `ids` that is stored, by id."""
        return {name: unit.decode() for name, unit in self._of(ids, "name")}

    def _of(self, ids: Sequence[str], column: str) -> list[tuple[str, bytes]]:
        by_tie = {self._document_tie(name): name for name in ids}
        statement = (
            f"select document.tie, {column} from document join unit on unit.id = document.unit "
            "where document.tie = any(%s)"
        )
        return [(by_tie[key], value) for key, value in self._rows(statement, list(by_tie))]

    # -- writing ---------------------------------------------------------------------------------------------

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Make all documents that are put within visible together and durably, or none of them."""
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
        statement = "insert into batch (time, files) values (%s, %s) returning number"
        return int(self._rows(statement, now(), files)[0][0])

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
        if self.buried(document.unit for document, _, _ in added):
            raise StoreError("An individual was erased while documents were added. Run the command again; it resumes.")
        ties = [self._document_tie(document.id) for document, _, _ in added]
        since = dict(self._rows("select tie, since from document where tie = any(%s)", ties))
        self._erase("tie = any(%s)", ties)
        units = self._numbers({document.unit for document, _, _ in added})
        self._server.copy(
            "copy document (tie, id, unit, digest, batch, since, source, fields) from stdin",
            (
                (
                    *(key, document.id.encode(), units[document.unit], digest(document), batch, since.get(key, batch)),
                    *(document.source.encode(), json.dumps(dict(document.fields))),
                )
                for key, (document, _, batch) in zip(ties, added, strict=True)
            ),
        )
        pieces = [
            (key, units[document.unit], piece)
            for key, (document, own, _) in zip(ties, added, strict=True)
            for piece in own
        ]
        taken = "update store set next = next + %s returning next"
        first = int(self._rows(taken, len(pieces))[0][0]) - len(pieces)
        self._server.copy(
            "copy chunk (id, document, unit, text) from stdin",
            ((row, key, unit, piece.text.encode()) for row, (key, unit, piece) in enumerate(pieces, first)),
        )
        self._server.copy(
            "copy vector (id, unit, v) from stdin",
            ((row, unit, self._halves(piece.vector)) for row, (_, unit, piece) in enumerate(pieces, first)),
        )

    def _numbers(self, names: Iterable[str]) -> dict[str, int]:
        """Return the numbers of units, by name. Make those that are missing."""
        ties = {tie(name, self._key): name for name in sorted(names)}
        self._rows(
            "insert into unit (tie, name) select * from unnest(%s::bytea[], %s::bytea[]) on conflict do nothing",
            list(ties),
            [name.encode() for name in ties.values()],
        )
        return {
            ties[key]: number for key, number in self._rows("select tie, id from unit where tie = any(%s)", list(ties))
        }

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Run the block as the only writer, in one transaction.

        `settle` is due from before the first byte is written until the commit, and longer if a document was erased.
        """
        with self._server.alone():
            before, self._erased = self.unsettled(), False
            self._rows("update store set due = true where not due")
            with self._server.transaction():
                yield
                self._rows(
                    "update store set changes = changes + 1, erasures = erasures + %s, due = %s",
                    *(int(self._erased), before or self._erased),
                )

    # -- erasure ---------------------------------------------------------------------------------------------

    def remove(self, document_id: str) -> int:
        """Erase a document, also from the files; return 1, or 0 if it is not stored."""
        return self._remove("tie = %s", self._document_tie(canonical_name(document_id)))

    def remove_unit(self, unit: str) -> int:
        """Erase all documents of a unit, also from the files; return their number."""
        return self._remove(_OF_UNIT, tie(canonical_unit(unit), self._key))

    def remove_batch(self, number: int) -> int:
        """Erase all documents whose current text is from a batch, also from the files; return their number."""
        return self._remove("batch = %s", number)

    def remove_source(self, source: str) -> int:
        """Erase all documents that came from a file, also from the store's files; return their number."""
        return self._remove("source = %s", source.encode()) if source else 0

    def bury(self, unit: str, *, anyway: bool = False) -> int:
        """Erase all documents of a unit and refuse later ones; return their number.

        A unit without documents is refused later only with `anyway`.
        """
        with self._writing():
            erased = self._erase(_OF_UNIT, tie(canonical_unit(unit), self._key))
            if erased or anyway:
                self._refuse(unit, erased)
        self.settle()
        return erased

    def _refuse(self, unit: str, erased: int) -> None:
        self._rows(
            "insert into tombstone values (%s, %s, %s) on conflict (unit) do update set time = excluded.time, "
            "documents = tombstone.documents + excluded.documents",
            *(unit_hash(self._key, unit), now(), erased),
        )

    def join(self, unit: str, into: str, pay: Callable[[], None]) -> int:
        """Give all documents of a unit to another one, and refuse later ones under its name; return their number.

        `pay` moves the payments in the ledger, before the commit.
        """
        moved = 0
        with self._writing():
            found = self._rows("select id from unit where tie = %s", tie(canonical_unit(unit), self._key))
            for (old,) in found:
                (new,) = self._numbers({canonical_unit(into)}).values()
                moved = len(self._rows("update document set unit = %s where unit = %s returning 1", new, old))
                for table in ("chunk", "vector"):
                    self._rows(f"update {table} set unit = %s where unit = %s", new, old)
                self._rows("delete from unit where id = %s", old)
                self._erased = True  # readers of units read all of them again
            self._refuse(unit, 0)
            pay()
        self.settle()
        return moved

    def readmit(self, unit: str) -> bool:
        """Accept documents of an erased unit again; return whether it was erased."""
        return bool(self._rows("delete from tombstone where unit = %s returning 1", unit_hash(self._key, unit)))

    def buried(self, units: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Return those of `units` that are refused: the time of erasure (UTC), and the number of erased documents."""
        hashes = {unit: unit_hash(self._key, unit) for unit in units}
        statement = "select unit, time, documents from tombstone where unit = any(%s)"
        found = {key: (time, documents) for key, time, documents in self._rows(statement, list(hashes.values()))}
        return {unit: found[key] for unit, key in hashes.items() if key in found}

    def settle(self) -> None:
        """Write the tables to new files without removed documents.

        It remains due if another transaction in the database is so old that it may still read them.
        """
        if not self.unsettled():
            return
        with self._server.alone():
            if not self.unsettled():  # another process has settled meanwhile
                return
            if not sum([self._server.rewrite(table) for table in REWRITTEN]):
                self._rows("update store set due = false")

    def unsettled(self) -> bool:
        """Return whether the files may hold parts of removed documents."""
        return bool(self._rows("select due from store")[0][0])

    @property
    def erasures(self) -> int:
        """The number of times that documents were erased or replaced, by any process on any machine."""
        return int(self._rows("select erasures from store")[0][0])

    def _remove(self, condition: str, value: object) -> int:
        if not self._rows(f"select 1 from document where {condition} limit 1", value):
            return 0
        with self._writing():
            erased = self._erase(condition, value)
        self.settle()
        return erased

    def _erase(self, condition: str, value: object) -> int:
        """Delete the documents that meet a condition, and units without documents. Return the number of documents."""
        found = self._rows(f"delete from document where {condition} returning tie, unit", value)
        if found:
            statement = "delete from chunk where document = any(%s) returning id"
            rows = [row for (row,) in self._rows(statement, [key for key, _ in found])]
            self._rows("delete from vector where id = any(%s)", rows)
            self._rows(
                "delete from unit where id = any(%s) "
                "and not exists (select 1 from document where document.unit = unit.id)",
                list({unit for _, unit in found}),
            )
            self._erased = True
        return len(found)

    # -- searching -------------------------------------------------------------------------------------------

    def scored(self, vector: Vector) -> PostgresScores:
        """Return all units by their similarity to a vector, at this moment. Read the vectors once."""
        question = self._halves(vector)
        with self._server.transaction(reading=True, settings=SEARCH):
            last = read_last(self._server)
            found = self._rows(SCORES.format(extension=self._extension), question)
            numbers, best = unpacked(found[0][0])
            self._units = units = self._units.of(numbers, self._read_units)
        return PostgresScores(units, best, self.scale**2, Seen(question, last))

    def _read_units(self, numbers: Sequence[int]) -> list[Any]:
        return self._rows("select id, tie, name from unit where id = any(%s)", list(numbers)) if numbers else []

    def passages(self, hits: Sequence[Hit]) -> list[Passage | None]:
        """Return the best chunk of each found unit, read at one moment. Of equal chunks, take the first by its text."""
        texts: dict[tuple[Seen, int], str] = {}
        searches = {hit.where[2] for hit in hits}
        # The hits of one search need one statement, which reads at one moment by itself.
        with self._server.transaction(reading=True) if len(searches) > 1 else nullcontext():
            for seen in searches:
                own = [hit.where for hit in hits if hit.where[2] == seen]
                numbers, least = [number for number, _, _ in own], [-score for _, score, _ in own]
                statement = BEST.format(extension=self._extension)
                for number, text in self._rows(statement, numbers, least, seen.last, seen.question):
                    texts[seen, number] = text.decode()
        found = ((hit, texts.get((hit.where[2], hit.where[0]))) for hit in hits)
        return [None if text is None else Passage(hit.unit, text) for hit, text in found]

    def texts(self) -> list[StoredText]:
        """Return every chunk of every document, in a fixed order: for readers of the whole vault."""
        return read_texts(self._server, self._extension, self.tag)

    def unit_texts(self, since: object = None) -> Moment:
        """Return what is stored of each unit, or of those with new documents, read at one moment."""
        return read_moment(self._server, since)

    def tag(self, content: bytes, size: int = 8) -> str:
        """Return a name of `size` bytes, in hex, that reveals nothing about `content` without the store's key."""
        return hashlib.blake2b(content, key=self._key, digest_size=size).hexdigest()

    def state(self) -> object:
        """Return a token that changes whenever the documents change; tokens of two objects cannot be compared."""
        return self._rows("select changes from store")[0][0]

    def _halves(self, vector: Vector) -> str:
        return halves(half_numbers(vector, self._dimension))

    def _document_tie(self, name: str) -> bytes:
        content = name.encode("utf-8", "surrogatepass")  # no stored id has half a character
        return hashlib.blake2b(content, key=self._key, digest_size=16, person=b"document").digest()

    def _rows(self, statement: str, *values: object) -> list[Any]:
        return self._server.rows(statement, *values)


_OF_UNIT = "unit in (select id from unit where tie = %s)"


class PostgresStoreType:
    """The `StoreType` of the store at one address. The folder in a vault stays empty.

    Args:
        url: the URL of the database.
        name: the name of the schema.
    """

    def __init__(self, url: str, name: str) -> None:
        self._url, self._name = url, name

    def __call__(self, folder: Path, dimension: int) -> PostgresStore:
        """Open the store."""
        return PostgresStore(self._url, self._name, dimension)

    def stored_dimension(self, folder: Path) -> int | None:
        """Return the length of the stored vectors; None if nothing was ever added.

        Raises:
            StoreError: if the store cannot be read, or is damaged.
        """
        with closing(Server(self._url, self._name)) as server:
            return read_dimension(server)

    def make(self) -> None:
        """Make the schema and tables, without documents.

        Raises:
            UsageError: if the URL is invalid or has a password, or if the database has no pgvector.
            StoreError: if the database cannot be reached or written.
        """
        check_no_password(self._url, "store")
        with closing(Server(self._url, self._name)) as server:
            make_store(server)

    def drop(self) -> None:
        """Remove the schema, after a vault could not be made."""
        with closing(Server(self._url, self._name)) as server:
            drop_store(server)

"""The store in a schema of a PostgreSQL database, with exact search by pgvector. Several machines may share it.

Vectors are in a table beside the others, so that a commit adds or removes a document as a whole. There is no index of
vectors: a store with one is refused. The server computes the score of each chunk. A score is a sum of products of whole
numbers, which float32 holds without rounding (`vectors`), so that no order of rows, no number of parallel workers and
no instruction set changes a bit. One statement reads all vectors, and returns 20 bytes each. It asks for all rows in no
order, so that no index of vectors could serve it.

Erasure writes the tables to new files. The server's write-ahead log, its copies and its backups are out of reach
(docs/files.md). The server keeps no statistics of the columns about individuals (`statistics 0`), since these would
hold names and texts after an erasure.
"""

import hashlib
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Table, create_engine, select, update
from sqlalchemy.pool import NullPool

from discreet.config import check_format
from discreet.errors import MissingPart, StoreError, UsageError
from discreet.store.protocol import Piece, Vector
from discreet.store.sql_store import Freed, NamedUnit, SqlStore
from discreet.store.sql_tables import (
    PATIENCE,
    STORE,
    TABLES,
    UNIT,
    StoreDatabase,
    Words,
    among,
    first_row,
    parts,
)
from discreet.store.vectors import ChunkScores, Numbers, UnitNames, half_numbers
from discreet.system.databases import LINK, check_no_password, is_postgres

if TYPE_CHECKING:
    from psycopg.errors import Diagnostic

SEARCH = "set local enable_indexscan = off; set local jit = off"
"""The settings of the transaction of a search."""
# The operator <#> returns minus the score.
SCORES = (
    "select string_agg(int8send(id) || int8send(unit) || "
    "float4send((v operator({extension}.<#>) %s::{extension}.halfvec)::real), ''::bytea) from vector"
)
_ROW = np.dtype([("chunk", ">i8"), ("unit", ">i8"), ("score", ">f4")])
_MANY = 20_000
"""The units from which all of them are read: one scan is faster than many look-ups."""

_SESSION = (
    f"set lock_timeout = '{PATIENCE:.0f}s'; set idle_in_transaction_session_timeout = '120s'; "
    "set client_encoding = 'UTF8'; set synchronous_commit = on; "
    # A cut link does not close a connection. These probes of the server free the writers' lock within a minute.
    "set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3"
)
_NAME = re.compile(r"store_[0-9a-f]{1,57}")

_INVALID = "The URL of the store is invalid. Expected: postgresql://user@host/database."
_SAID = {
    "unreached": "The store's database cannot be reached, or the connection broke. Check that the server is running, "
    "and run the command again.",
    "refused": "The store's database refuses the connection, or does not exist. Check its URL, its role, and "
    "PGPASSWORD or the .pgpass file.",
    "missing": "The database has no such store, or tables of it are missing. Restore them from a dump of the database: "
    "pg_restore.",
    "unwritable": "The role may not write the store. Use the role that made the vault, or grant it the store's schema.",
    "damaged": "The store is damaged. Restore its schema from a dump of the database: pg_restore.",
    "busy": f"Other processes have held the store for {PATIENCE:.0f} s. Wait for them to end, and run the command "
    "again.",
    "full": "The disk of the store's server is full. Nothing that was stored before is lost: free some space, and try "
    "again.",
    "crowded": "The store's database accepts no more connections, or has no memory left. Try again.",
    "disk": "The disk of the store's server reports an error. Check the disk.",
}
_OTHER = "The store cannot be used ({}). If it is damaged, restore it from a dump."
_NO_VECTORS = (
    "The database has no pgvector of version 0.7 or later. Install pgvector on the server. Its administrator then "
    "runs, in this database: create extension vector"
)
_APPROXIMATE = (
    "The store's table of vectors has an index of another kind than btree. A search by such an index is approximate, "
    "and no guarantee covers it. Drop the index: in psql, \\d {name}.vector shows its name."
)

REWRITTEN = ("vector", "chunk", "document", "unit")
"""The tables that hold data of individuals; `PostgresDatabase.rewrite` removes the bytes of erased rows."""
_PLAIN = 3900
"""The largest dimension whose vectors fit into a page of 8 KiB with the rest of their row."""
_MOST = 16_000
"""The largest dimension of pgvector's vectors in half precision."""
# Vectors have a table of their own: a search reads it, and no text.
_VECTOR = (
    "create table vector (id bigint primary key, unit bigint not null, v {extension}.halfvec not null)",
    "create index vector_unit on vector (unit)",
)
_PRIVATE = {
    "unit": ("tie", "name"),
    "document": ("number", "tie", "id", "digest", "source", "fields"),
    "chunk": ("document", "row", "text"),
    "vector": ("v",),
}
_EXTENSION = (
    "select extnamespace::regnamespace::text, extversion from pg_extension where extname = 'vector' "
    "and to_regtype(extnamespace::regnamespace::text || '.halfvec') is not null"
)
_INDEXES = (
    "select 1 from pg_index join pg_class on pg_class.oid = indexrelid join pg_am on pg_am.oid = relam "
    "where indrelid = 'vector'::regclass and amname != 'btree'"
)


class PostgresDatabase(StoreDatabase):
    """The connection to the schema of a store.

    Args:
        url: the URL of the database. No error shows it.
        name: the name of the schema: "store_" and up to 57 of the digits 0-9a-f.

    Raises:
        UsageError: if the URL or the name is invalid.
        MissingPart: if the driver is not installed.
    """

    def __init__(self, url: str, name: str) -> None:
        # Statements contain the name without quoting, so it must be a plain name.
        if not _NAME.fullmatch(name):
            raise UsageError("The name of the store's schema is invalid. Restore vault.json from a backup.")
        self.name = name
        connect = _connector(url)

        def connected() -> Any:
            connection = connect()
            connection.execute(f"{_SESSION}; set search_path to {name}", prepare=False)
            return connection

        engine = create_engine(
            *("postgresql+psycopg://",),
            creator=connected,
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            hide_parameters=True,
            use_native_hstore=False,
        )
        super().__init__(engine.connect, _SAID, _OTHER)
        digest = hashlib.blake2b(f"discreet {name}".encode(), digest_size=8).digest()
        self._lock = int.from_bytes(digest, "big", signed=True)

    @contextmanager
    def alone(self, *, wait: bool = True) -> Iterator[bool]:
        """Hold the writers' lock of the store during the block. The server frees it if the connection ends."""
        with self.explained(), self.turn:
            self.opened()
            held = self.driver
            try:
                how = "advisory" if wait else "try_advisory"
                got_it = held.execute(f"select pg_{how}_lock({self._lock})").fetchone()[0]
                with self.uninterrupted():
                    yield got_it is not False
            finally:
                with suppress(Exception):  # a broken connection holds no lock, nor does one that waited in vain
                    held.execute(f"select pg_advisory_unlock({self._lock})")

    def begin(self, *, reading: bool) -> None:
        """Begin a transaction. A reader sees the rows of its first statement."""
        how = "repeatable read, read only" if reading else "read committed"
        self.run(f"begin isolation level {how}")

    def add(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows to a table by a `copy ... from stdin`."""
        if not rows:
            return
        coded = {name for name in rows[0] if isinstance(table.c[name].type, Words)}
        values = ([value.encode() if name in coded else value for name, value in row.items()] for row in rows)
        columns = ", ".join(f'"{name}"' for name in rows[0])
        self.copy(f"copy {table.name} ({columns}) from stdin", values)

    def literal(self, value: bytes, *, is_text: bool) -> str:
        """Return bytes as they stand in a statement. Texts are bytes, too."""
        return f"'\\x{value.hex()}'::bytea"

    def copy(self, statement: str, rows: Iterator[Sequence[object]]) -> None:
        """Write rows by a `copy ... from stdin`."""
        with self.explained(), self.turn:
            self.opened()
            with self.driver.cursor().copy(statement) as copy:
                for row in rows:
                    copy.write_row(row)

    def rewrite(self, table: str) -> int:
        """Write a table to new files without the removed rows, and delete the old files.

        Return the number of removed rows that the new files still have, because an older transaction may read them.
        """
        with self.explained(), self.turn:
            self.opened()
            details = list[str]()

            def keep(notice: "Diagnostic") -> None:
                details.append(notice.message_detail or "")

            self.driver.add_notice_handler(keep)
            try:
                self.driver.execute(f"vacuum (full, verbose, analyze) {table}")
            finally:
                self.driver.remove_notice_handler(keep)
        # The detail of the first notice with one: "2 dead row versions cannot be removed yet." in some language.
        counts = [re.match(r"\D*(\d+)", detail) for detail in details if detail]
        return int(counts[0][1]) if counts and counts[0] else 1  # a server that does not say it may have kept rows

    def is_alive(self) -> bool:
        """Return whether the server is there. After its restart this costs a round trip, and no question."""
        import psycopg

        if self.driver.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:  # Ctrl-C left a transaction
            self.driver.close()
            return False
        try:
            self.driver.execute("select 1")
        except psycopg.OperationalError:
            return False
        return True


def _connector(url: str) -> Callable[[], Any]:
    """Return a function that connects to the database at `url`."""
    if not is_postgres(url):
        raise UsageError(_INVALID)
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise MissingPart("A store in PostgreSQL needs psycopg", "postgres") from None
    try:
        _ = urlsplit(url).port  # psycopg does not check it
        options: dict[str, Any] = {**LINK, **conninfo_to_dict(url)}
    except (psycopg.Error, ValueError):
        raise UsageError(_INVALID) from None
    return lambda: psycopg.connect(autocommit=True, **options)


class TableVectors:
    """The `Vectors` of a store in PostgreSQL: a table of half-precision numbers."""

    def __init__(self, database: PostgresDatabase, extension: str, dimension: int) -> None:
        self._database, self._extension, self._dimension = database, extension, dimension

    def write(self, pieces: Sequence[Piece], chunks: range, units: Sequence[NamedUnit]) -> Sequence[int | None]:
        """Write the vectors of new chunks. They have no rows of a file."""
        rows = zip(
            chunks, (unit.number for unit in units), (self.halves(piece.vector) for piece in pieces), strict=True
        )
        if pieces:
            self._database.copy("copy vector (id, unit, v) from stdin", rows)
        return [None] * len(pieces)

    def free(self, chunks: Freed) -> None:
        """Delete the vectors of chunks."""
        for part in parts([chunk for chunk, _ in chunks]):
            self._database.rows(f"delete from vector where id in ({', '.join(map(str, part))})")

    def move(self, old: int, new: NamedUnit) -> None:
        """Give the vectors of a unit to another one."""
        self._database.rows("update vector set unit = %s where unit = %s", [new.number, old])

    def overwrite(self) -> bool:
        """Write the tables to new files without removed documents. Return whether no older transaction prevents it."""
        return not sum([self._database.rewrite(table) for table in REWRITTEN])

    def search(self, vector: Vector) -> ChunkScores:
        """Return the scores of all chunks."""
        question = self.halves(vector)
        self._database.run(SEARCH)
        check_exact(self._database)
        found = self._database.rows(SCORES.format(extension=self._extension), [question])
        rows = np.frombuffer(found[0][0] or b"", _ROW)
        chunks, units = (rows[name].astype(np.int64) for name in ("chunk", "unit"))
        return ChunkScores(chunks, units, -rows["score"].astype(np.float32))

    def read_units(self, found: ChunkScores, numbers: Numbers) -> UnitNames:
        """Return units.

        Raises:
            StoreError: if a number has no unit: the store is damaged.
        """
        statement = select(UNIT.c.id, UNIT.c.tie, UNIT.c.name)
        if len(numbers) > _MANY:
            wanted = set(numbers.tolist())
            rows = [row for row in self._database.rows(statement) if row[0] in wanted]
        else:
            some = parts(numbers.tolist())
            rows = [row for part in some for row in self._database.rows(statement.where(among(UNIT.c.id, part)))]
        if len(rows) != len(numbers):
            raise self._database.damaged()
        return UnitNames.of_rows(sorted(rows))

    def reader(self) -> Callable[[int], NDArray[Any]]:
        """Return what reads the vector of a chunk, in whole numbers."""
        # The binary form is the dimension in four bytes, then the numbers.
        vectors = dict(self._database.rows(f"select id, {self._extension}.halfvec_send(v) from vector"))
        return lambda chunk: np.frombuffer(vectors[chunk], ">f2", offset=4).astype(np.int64)

    def halves(self, vector: Vector) -> str:
        """Return a vector of length one as pgvector reads it."""
        return f"[{','.join(map(str, half_numbers(vector, self._dimension).astype(int).tolist()))}]"


class PostgresStore(SqlStore):
    """A `Store` in a schema of a database. Processes may share it; threads take turns.

    Raises:
        StoreError: if the database cannot be reached, is damaged, or holds vectors of another dimension.
        VaultVersionError: if the store has another format.
    """

    _database: PostgresDatabase
    _vectors: TableVectors

    def __init__(self, url: str, name: str, dimension: int) -> None:
        """Open a store that `make_store` made.

        Args:
            url: the URL of the database. No error shows it.
            name: the name of the schema.
            dimension: the length of the vectors.
        """
        database = PostgresDatabase(url, name)
        extension = find_extension(database)
        _set_dimension(database, dimension)
        super().__init__(database, TableVectors(database, extension, dimension), dimension)

    @property
    def erasures(self) -> int:
        """The number of documents that were erased or replaced, from any folder: numbers are not given twice."""
        return int(self._database.only("documents - (select count(*) from document)")[0])


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
        with closing(PostgresDatabase(self._url, self._name)) as database:
            return read_dimension(database)

    def make(self) -> None:
        """Make the schema and tables, without documents.

        Raises:
            UsageError: if the URL is invalid or has a password, or if the database has no pgvector.
            StoreError: if the database cannot be reached or written.
        """
        check_no_password(self._url, "store")
        with closing(PostgresDatabase(self._url, self._name)) as database:
            make_store(database)

    def drop(self) -> None:
        """Remove the schema, after a vault could not be made."""
        with closing(PostgresDatabase(self._url, self._name)) as database:
            database.rows(f"drop schema {self._name} cascade")


def make_store(database: PostgresDatabase) -> None:
    """Make the schema and tables of a store, and a new key.

    Raises:
        UsageError: if the database has no pgvector, or if the role may not make schemas.
        StoreError: if the schema exists, or if the database cannot be reached or written.
    """
    if not database.rows(_EXTENSION):
        with suppress(StoreError):  # most roles may not
            database.rows("create extension if not exists vector schema public")
    extension = find_extension(database)
    if not database.rows("select has_database_privilege(current_database(), 'create')")[0][0]:
        raise UsageError(
            "The role may not make schemas in the database. Its owner permits it: grant create on database."
        )
    with database.writing():
        database.rows(f"create schema {database.name}")
        common = [table for table in TABLES.sorted_tables if not table.info]
        TABLES.create_all(database.opened(), tables=common, checkfirst=False)
        for statement in _VECTOR:
            database.rows(statement.format(extension=extension))
        for table, columns in _PRIVATE.items():
            for column in columns:
                database.rows(f"alter table {table} alter column {column} set statistics 0")
        database.add(STORE, [first_row(None, secrets.token_bytes(32))])


def find_extension(database: StoreDatabase) -> str:
    """Return the schema of pgvector, quoted where needed.

    Raises:
        UsageError: if the database has no pgvector with half-precision vectors.
    """
    rows = database.rows(_EXTENSION)
    if not rows:
        raise UsageError(_NO_VECTORS)
    return str(rows[0][0])


def read_dimension(database: StoreDatabase) -> int | None:
    """Return the length of the stored vectors; None if nothing was ever added.

    Raises:
        StoreError: if the store cannot be read, or is damaged.
        VaultVersionError: if it has another format.
    """
    version, dimension = database.only("version, dimension")
    check_format("The store", version)
    return None if dimension is None else int(dimension)


def _set_dimension(database: PostgresDatabase, dimension: int) -> None:
    """Check that the search is exact, and set the length of vectors in a new store."""
    check_exact(database)
    if dimension > _MOST:
        raise StoreError(
            f"The embedder makes vectors of {dimension:,} numbers; pgvector holds {_MOST:,}. Use another embedder, or "
            "a vault with its documents in its folder."
        )
    if read_dimension(database) is None:
        with database.alone(), database.writing():
            how = "plain" if dimension <= _PLAIN else "external"
            database.rows(f"alter table vector alter column v set storage {how}")
            database.rows(update(STORE).where(STORE.c.dimension.is_(None)).values(dimension=dimension))


def check_exact(database: PostgresDatabase) -> None:
    """Check that no index of vectors exists, as it could be approximate.

    Raises:
        StoreError: if there is one.
    """
    if database.rows(_INDEXES):
        raise StoreError(_APPROXIMATE.format(name=database.name))

"""The tables of a store in PostgreSQL: their creation, and their check at each opening.

Names, texts and fields are kept as bytes: PostgreSQL's texts hold no NUL, and its order of texts depends on the server.
Bytes in UTF-8 have the order of Python's texts. Indexes have keyed hashes of names and no names. The server keeps no
statistics of the columns about individuals (`statistics 0`), since these would hold names and texts after an erasure.
"""

import secrets
from contextlib import suppress

from discreet.config import FORMAT, check_format
from discreet.errors import StoreError, UsageError
from discreet.retrieval.postgres.server import DAMAGED, Server
from discreet.retrieval.schema import check_dimension

REWRITTEN = ("vector", "chunk", "document", "unit")
"""The tables that hold data of individuals; `Server.rewrite` removes the bytes of erased rows."""

_PLAIN = 3900
"""The largest dimension whose vectors fit into a page of 8 KiB with the rest of their row."""

_MOST = 16_000
"""The largest dimension of pgvector's vectors in half precision."""

_TABLES = (
    'create table store ("only" bigint primary key check ("only" = 1), version bigint not null, dimension bigint, '
    "key bytea not null, changes bigint not null, erasures bigint not null, next bigint not null, "
    "due boolean not null)",
    # Numbers are not reused, so that a stale number cannot name another unit.
    "create table unit (id bigint generated always as identity primary key, tie bytea unique not null, "
    "name bytea not null)",
    "create table document (tie bytea primary key, id bytea not null, unit bigint not null, digest bytea not null, "
    "batch bigint not null, since bigint not null, source bytea not null, fields text not null)",
    "create index document_unit on document (unit)",
    "create index document_batch on document (batch)",
    "create table chunk (id bigint primary key, document bytea not null, unit bigint not null, text bytea not null)",
    "create index chunk_document on chunk (document)",
    # Vectors have a table of their own: a search reads it, and no text.
    "create table vector (id bigint primary key, unit bigint not null, v {extension}.halfvec not null)",
    "create index vector_unit on vector (unit)",
    "create table batch (number bigint generated always as identity primary key, time text not null, "
    "files bigint not null)",
    "create table tombstone (unit bytea primary key, time text not null, documents bigint not null)",
)
_PRIVATE = (
    "unit (tie, name)",
    "document (tie, id, digest, source, fields)",
    "chunk (document, text)",
    "vector (v)",
)
_EXTENSION = (
    "select extnamespace::regnamespace::text, extversion from pg_extension where extname = 'vector' "
    "and to_regtype(extnamespace::regnamespace::text || '.halfvec') is not null"
)
_INDEXES = (
    "select 1 from pg_index join pg_class on pg_class.oid = indexrelid join pg_am on pg_am.oid = relam "
    "where indrelid = 'vector'::regclass and amname != 'btree'"
)

_NO_VECTORS = (
    "The database has no pgvector of version 0.7 or later. Install pgvector on the server. Its administrator then "
    "runs, in this database: create extension vector"
)
_APPROXIMATE = (
    "The store's table of vectors has an index of another kind than btree. A search by such an index is approximate, "
    "and no guarantee covers it. Drop the index: in psql, \\d {name}.vector shows its name."
)


def make_store(server: Server) -> None:
    """Make the schema and tables of a store, and a new key.

    Raises:
        UsageError: if the database has no pgvector, or if the role may not make schemas.
        StoreError: if the schema exists, or if the database cannot be reached or written.
    """
    if not server.rows(_EXTENSION):
        with suppress(StoreError):  # most roles may not
            server.rows("create extension if not exists vector schema public")
    extension = find_extension(server)
    may = "select has_database_privilege(current_database(), 'create')"
    if not server.rows(may)[0][0]:
        raise UsageError(
            "The role may not make schemas in the database. Its owner permits it: grant create on database."
        )
    with server.transaction():
        server.rows(f"create schema {server.name}")
        for statement in _TABLES:
            server.rows(statement.format(extension=extension))
        for table in _PRIVATE:
            name, columns = table.removesuffix(")").split(" (")
            for column in columns.split(", "):
                server.rows(f"alter table {name} alter column {column} set statistics 0")
        server.rows("insert into store values (1, %s, null, %s, 0, 0, 1, false)", FORMAT, secrets.token_bytes(32))


def drop_store(server: Server) -> None:
    """Drop the schema of a store."""
    server.rows(f"drop schema {server.name} cascade")


def find_extension(server: Server) -> str:
    """Return the schema of pgvector, quoted where needed.

    Raises:
        UsageError: if the database has no pgvector with half-precision vectors.
    """
    found = server.rows(_EXTENSION)
    if not found:
        raise UsageError(_NO_VECTORS)
    return str(found[0][0])


def read_dimension(server: Server) -> int | None:
    """Return the length of the stored vectors; None if nothing was ever added.

    Raises:
        StoreError: if the store cannot be read, or is damaged.
        VaultVersionError: if it has another format.
    """
    found = server.rows("select version, dimension from store")
    if len(found) != 1:
        raise StoreError(DAMAGED)
    check_format("The store", found[0][0])
    return None if found[0][1] is None else int(found[0][1])


def prepare(server: Server, dimension: int) -> bytes:
    """Check the tables, and set the length of vectors in a new store. Return the store's key.

    Raises:
        StoreError: if the store holds vectors of another length, or has an approximate index.
        VaultVersionError: if it has another format.
    """
    check_exact(server)
    if dimension > _MOST:
        raise StoreError(
            f"The embedder makes vectors of {dimension:,} numbers; pgvector holds {_MOST:,}. Use another embedder, or "
            "a vault with its documents in its folder."
        )
    if read_dimension(server) is None:
        with server.alone(), server.transaction():
            how = "plain" if dimension <= _PLAIN else "external"
            server.rows(f"alter table vector alter column v set storage {how}")
            server.rows("update store set dimension = %s where dimension is null", dimension)
    found = server.rows("select dimension, key from store")
    check_dimension(found[0][0], dimension)
    return bytes(found[0][1])


def check_exact(server: Server) -> None:
    """Check that no index of vectors exists, as it could be approximate.

    Raises:
        StoreError: if there is one.
    """
    read_last(server)


def read_last(server: Server) -> int:
    """Return the number of the last chunk that was stored, after a check that no index of vectors exists.

    Raises:
        StoreError: if there is one, or if the store is damaged.
    """
    found = server.rows(f"select next - 1, exists ({_INDEXES}) from store")
    if len(found) != 1:
        raise StoreError(DAMAGED)
    if found[0][1]:
        raise StoreError(_APPROXIMATE.format(name=server.name))
    return int(found[0][0])

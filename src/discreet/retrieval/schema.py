"""The tables of the embedded store: their creation, and their check."""

import secrets
import sqlite3

from discreet.config import FORMAT, check_format
from discreet.errors import StoreError
from discreet.retrieval import row_changes
from discreet.retrieval.sqlite_errors import rolled_back_on_error

TABLES = (
    "table if not exists meta (name text primary key, value)",
    # Numbers are not reused, so that a stale number cannot name another unit.
    "table if not exists unit (id integer primary key autoincrement, name text unique not null, tie blob not null)",
    # A document has the batch of its current text (batch), the batch of the first text under its id (since), its file,
    # and its declared fields as JSON. Batch 0: none.
    "table if not exists document (id text primary key, unit integer not null, digest blob not null, "
    "batch integer not null default 0, since integer not null default 0, source text not null default '', "
    "fields text not null default '{}')",
    "table if not exists chunk (row integer primary key, document text not null, unit integer not null, text text)",
    "table if not exists free_row (row integer primary key)",
    "index if not exists chunk_document on chunk (document)",
    "index if not exists document_unit on document (unit)",
    "index if not exists document_batch on document (batch)",
    "index if not exists document_source on document (source)",
    # Each addition, with its number of files. The names of files are kept with documents alone, and erased with them.
    "table if not exists batch (number integer primary key autoincrement, time text not null, files integer not null)",
    # Units whose later documents are refused, erased or joined to another: a keyed hash, the time, and the number of
    # erased documents.
    "table if not exists tombstone (unit blob primary key, time text not null, documents integer not null)",
    *row_changes.TABLES,
)


def prepare(database: sqlite3.Connection, dimension: int) -> bytes:
    """Make the tables if there are none, check their format, and return the store's key.

    Args:
        database: the database of the store; it gets the settings that erasure needs.
        dimension: the length of the vectors.

    Raises:
        StoreError: if the store holds vectors of another length.
        VaultVersionError: if the store has another format.
    """
    # The journal keeps its default mode: each commit removes it, and a reader blocks the commits of writers.
    for pragma in ("secure_delete = on", "synchronous = full", "temp_store = memory"):
        database.execute(f"pragma {pragma}")
    if not database.execute("select 1 from sqlite_master where name = 'meta'").fetchone():
        _make(database, dimension)
    meta = dict(database.execute("select name, value from meta").fetchall())
    check_format("The store", meta.get("version"))
    check_dimension(meta["dimension"], dimension)
    return bytes(meta["key"])


def check_dimension(stored: int | None, made: int) -> None:
    """Check that the vectors of an embedder have the length of those in a store, if it has any.

    Raises:
        StoreError: if they do not.
    """
    if stored not in (None, made):
        raise StoreError(
            f"The store holds vectors of {stored} numbers; the embedder makes {made}. "
            "Open the vault with the embedder that it was made with."
        )


def _make(database: sqlite3.Connection, dimension: int) -> None:
    """Make the tables and a key. Another process may do this at the same time."""
    database.execute("begin immediate")
    with rolled_back_on_error(database):
        for table in TABLES:
            database.execute(f"create {table}")
        for name, value in (("version", FORMAT), ("dimension", dimension), ("key", secrets.token_bytes(32))):
            database.execute("insert or ignore into meta values (?, ?)", (name, value))
        if row_changes.last_state(database) is None:
            row_changes.begin_log(database)
        database.execute("commit")

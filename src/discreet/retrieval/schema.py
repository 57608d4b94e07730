"""The tables of the embedded store: their creation, their check, and migrations from older versions."""

import secrets
import sqlite3
from collections.abc import Callable

from discreet.errors import StoreError, VaultVersionError
from discreet.retrieval import row_changes
from discreet.retrieval.respelling import rename_units, respell
from discreet.retrieval.spelling import former_unit
from discreet.retrieval.sqlite_errors import rolled_back_on_error

VERSION = 4

_SINCE_3 = (
    # Each addition, with its number of files. The names of files are kept with documents alone, and erased with them.
    "table if not exists batch (number integer primary key autoincrement, time text not null, files integer not null)",
    # Erased units whose later documents are refused: a keyed hash, the time, and the number of documents.
    "table if not exists tombstone (unit blob primary key, time text not null, documents integer not null)",
    # Units with a new name after a migration: whether the ledger merged them (paid), and the custodian knows (told).
    "table if not exists spelling (former text primary key, present text not null, paid integer not null, "
    "told integer not null)",
    "index if not exists spelling_present on spelling (present)",
    "index if not exists document_batch on document (batch)",
    "index if not exists document_source on document (source)",
)

TABLES = (
    "table if not exists meta (name text primary key, value)",
    # Numbers are not reused, so that a stale number cannot name another unit.
    "table if not exists unit (id integer primary key autoincrement, name text unique not null, tie blob not null)",
    # A document has the batch of its current text (batch), the batch of the first text under its id (since), its file,
    # and its declared fields as JSON. Batch 0: the text was added before batches were recorded.
    "table if not exists document (id text primary key, unit integer not null, digest blob not null, "
    "batch integer not null default 0, since integer not null default 0, source text not null default '', "
    "fields text not null default '{}')",
    "table if not exists chunk (row integer primary key, document text not null, unit integer not null, text text)",
    "table if not exists free_row (row integer primary key)",
    "index if not exists chunk_document on chunk (document)",
    "index if not exists document_unit on document (unit)",
    *_SINCE_3,
    *row_changes.TABLES,
)


def one_spelling(database: sqlite3.Connection) -> None:
    """Migrate from version 1, in which one unit with two spellings was two units: merge them."""
    respell(database, former_unit)


def batches_and_tombstones(database: sqlite3.Connection) -> None:
    """Migrate from version 2, which had neither batches nor tombstones, and an older canonical spelling."""
    for column in ("batch integer not null default 0", "since integer not null default 0"):
        database.execute(f"alter table document add column {column}")
    for column in ("source text not null default ''", "fields text not null default '{}'"):
        database.execute(f"alter table document add column {column}")
    for table in _SINCE_3:
        database.execute(f"create {table}")
    rename_units(database)


def log_of_changes(database: sqlite3.Connection) -> None:
    """Migrate from version 3, which had no log of changed rows."""
    # The new name makes a running program of version 3 fail: it would not erase the file of the index.
    database.execute("alter table free rename to free_row")
    for table in row_changes.TABLES:
        database.execute(f"create {table}")
    row_changes.begin_log(database)


MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {
    1: one_spelling,
    2: batches_and_tombstones,
    3: log_of_changes,
}
"""The migrations, by the version that they start from."""


def prepare(database: sqlite3.Connection, dimension: int) -> bytes:
    """Make the tables if there are none, check their version, and return the store's key.

    Args:
        database: the database of the store; it gets the settings that erasure needs.
        dimension: the length of the vectors.

    Raises:
        StoreError: if the store holds vectors of another length.
        VaultVersionError: if another version wrote the store.
    """
    # The journal keeps its default mode: each commit removes it, and a reader blocks the commits of writers.
    for pragma in ("secure_delete = on", "synchronous = full", "temp_store = memory"):
        database.execute(f"pragma {pragma}")
    if not database.execute("select 1 from sqlite_master where name = 'meta'").fetchone():
        _make(database, dimension)
    meta = dict(database.execute("select name, value from meta").fetchall())
    if meta.get("version") in MIGRATIONS:
        _migrate(database)
    elif meta.get("version") != VERSION:
        raise VaultVersionError(
            f"The store has format {meta.get('version')}; this program reads format {VERSION}. "
            "Open the vault with the version of discreet that made it."
        )
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
        for name, value in (("version", VERSION), ("dimension", dimension), ("key", secrets.token_bytes(32))):
            database.execute("insert or ignore into meta values (?, ?)", (name, value))
        if row_changes.last_state(database) is None:
            row_changes.begin_log(database)
        database.execute("commit")


def _migrate(database: sqlite3.Connection) -> None:
    """Migrate the tables of an older version in one transaction."""
    database.execute("begin immediate")
    with rolled_back_on_error(database):
        # The version is read again, since another process may have migrated meanwhile.
        version = int(database.execute("select value from meta where name = 'version'").fetchone()[0])
        for step in range(version, VERSION):
            MIGRATIONS[step](database)
        database.execute("update meta set value = ? where name = 'version'", (VERSION,))
        database.execute("commit")

"""Checks of a store: its texts and their vectors."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from discreet.config import DEFAULT_STORE, VaultConfig, check_format
from discreet.errors import StoreError
from discreet.operations.findings import Finding, problem, sound, warning
from discreet.operations.read_only import looking
from discreet.retrieval.embedding import EMBEDDERS
from discreet.retrieval.sqlite_errors import explained
from discreet.system.database_url import is_postgres

TEXTS, VECTORS = "store.sqlite", "vectors.f32"
_NUMBER = 4
_AGAIN = "Restore the vault from a backup, or make a new vault and add the documents again."
_OPEN = "Open the store, which removes them: discreet budget VAULT."


def check_store(folder: Path, settings: VaultConfig) -> Iterator[Finding]:
    """Check the store: it opens, it is whole, no erased documents remain in it, and its vectors are complete."""
    store = folder / "store"
    if is_postgres(settings.store):
        from discreet.operations.check_postgres_store import check_postgres_store

        yield from check_postgres_store(settings)
        return
    if settings.store != DEFAULT_STORE:
        name = settings.store.partition(":")[0]
        yield warning("store", f"discreet has no checks for the store '{name}'.", "Use the checks of that store.")
        return
    if not store.is_dir():
        yield problem("store", f"The folder {store} with the documents is missing.", _AGAIN)
        return
    if not (store / TEXTS).exists():
        if (store / VECTORS).exists():
            yield problem("store", "The store has vectors but no texts.", _AGAIN)
        else:
            yield warning("store", "The vault has no documents yet.", "Add documents: discreet add VAULT FILES.")
        return
    try:
        with explained(), looking(store / TEXTS) as database:
            found = list(look_at_tables(database))
            yield from found
            if not any(one.level == "problem" for one in found):
                dimension = database.execute("select value from meta where name = 'dimension'").fetchone()
                yield _vectors(database, store, dimension[0] if dimension else None, settings)
    except StoreError as error:
        yield unreadable(store, error)


def unreadable(store: Path, error: StoreError) -> Finding:
    """Return why the file of texts cannot be read."""
    if (store / f"{TEXTS}-journal").exists():
        return warning("store", "A process was interrupted while it wrote to the store. Its writes remain.", _OPEN)
    return problem("store", str(error), _AGAIN)


def look_at_tables(database: sqlite3.Connection) -> Iterator[Finding]:
    """Check the file of texts: it is whole, has this format, and no bytes of erased documents."""
    found = [str(row[0]) for row in database.execute("pragma integrity_check(1)")]
    if found != ["ok"]:
        yield problem("store", "SQLite reports that the file of texts is damaged.", _AGAIN)
        return
    meta = dict(database.execute("select name, value from meta"))
    check_format("The store", meta.get("version"))
    yield sound("store", "The store opens, and SQLite reports no damage.")
    if meta.get("due"):
        yield warning(
            "settled",
            "The files may still have bytes of erased or replaced documents, or documents are being added now.",
            _OPEN,
        )
    else:
        yield sound("settled", "The store's files have no bytes of erased documents.")


def _vectors(database: sqlite3.Connection, store: Path, dimension: object, settings: VaultConfig) -> Finding:
    if not isinstance(dimension, int):
        return problem("vectors", "The store does not state the dimension of its vectors.", _AGAIN)
    made = getattr(EMBEDDERS.get(settings.embedder), "dimension", dimension)
    if made != dimension:
        return problem(
            "vectors",
            f"The store has vectors of dimension {dimension}; the vault's embedder has dimension {made}.",
            "Restore vault.json and the store from one backup.",
        )
    rows = int(database.execute("select coalesce(max(row), -1) + 1 from chunk").fetchone()[0])
    wanted, path = rows * dimension * _NUMBER, store / VECTORS
    size = path.stat().st_size if path.exists() else 0
    if size < wanted:
        return problem("vectors", f"The file of vectors has {size:,} bytes; its texts need {wanted:,}.", _AGAIN)
    return sound("vectors", "The file of vectors has a vector for each text.")

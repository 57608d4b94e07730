"""Checks of a store: its texts and their vectors."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from discreet.config import DEFAULT_STORE, VaultConfig, check_format
from discreet.errors import StoreError
from discreet.operations.findings import Finding, problem, sound, warning
from discreet.operations.read_only import looking
from discreet.retrieval.embedded_store import TEXTS, VECTORS, explained
from discreet.retrieval.embedding import EMBEDDERS
from discreet.retrieval.vectors import VectorFile
from discreet.system.database_url import is_postgres

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
            problems = list(look_at_tables(database))
            yield from problems
            if not any(one.level == "problem" for one in problems):
                dimension, rows = database.execute("select dimension, rows from store").fetchone()
                yield _vectors(store, dimension, rows, settings)
    except StoreError as error:
        yield unreadable(store, error)


def unreadable(store: Path, error: StoreError) -> Finding:
    """Return why the file of texts cannot be read."""
    if (store / f"{TEXTS}-journal").exists():
        return warning("store", "A process was interrupted while it wrote to the store. Its writes remain.", _OPEN)
    return problem("store", str(error), _AGAIN)


def look_at_tables(database: sqlite3.Connection) -> Iterator[Finding]:
    """Check the file of texts: it is whole, has this format, and no bytes of erased documents."""
    defects = [str(row[0]) for row in database.execute("pragma integrity_check(1)")]
    if defects != ["ok"]:
        yield problem("store", "SQLite reports that the file of texts is damaged.", _AGAIN)
        return
    version, due = database.execute("select version, due from store").fetchone() or (None, None)
    check_format("The store", version)
    yield sound("store", "The store opens, and SQLite reports no damage.")
    if due:
        yield warning(
            "settled",
            "The files may still have bytes of erased or replaced documents, or documents are being added now.",
            _OPEN,
        )
    else:
        yield sound("settled", "The store's files have no bytes of erased documents.")


def _vectors(store: Path, dimension: object, rows: object, settings: VaultConfig) -> Finding:
    if not (isinstance(dimension, int) and isinstance(rows, int)):
        return problem("vectors", "The store does not state the dimension of its vectors.", _AGAIN)
    expected_dimension = getattr(EMBEDDERS.get(settings.embedder), "dimension", dimension)
    if expected_dimension != dimension:
        return problem(
            "vectors",
            f"The store has vectors of dimension {dimension}; the vault's embedder has dimension {expected_dimension}.",
            "Restore vault.json and the store from one backup.",
        )
    for path, size in VectorFile(store / VECTORS, dimension).sizes.items():
        bytes_there = path.stat().st_size if path.exists() else 0
        if bytes_there < rows * size:
            return problem("vectors", f"{path.name} has {bytes_there:,} bytes; its texts need {rows * size:,}.", _AGAIN)
    return sound("vectors", "The file of vectors has a vector for each text.")

"""The store, looked over: its texts, and the vectors that belong to them."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from discreet.config import DEFAULT_STORE, VaultConfig
from discreet.errors import StoreError
from discreet.operations.findings import Finding, problem, sound, warning
from discreet.operations.read_only import looking
from discreet.retrieval.embedding import EMBEDDERS
from discreet.retrieval.schema import MIGRATIONS, VERSION
from discreet.retrieval.sqlite_errors import explained

TEXTS, VECTORS = "store.sqlite", "vectors.f32"
_NUMBER = 4
_AGAIN = "Restore the vault from a backup, or make a new one and add the documents again."
_OPEN = "Any command that opens the store does it: discreet budget VAULT."


def check_store(folder: Path, settings: VaultConfig) -> Iterator[Finding]:
    """Look over the store: it opens, it is whole, nothing is left of erased documents, vectors are complete."""
    store = folder / "store"
    if settings.store != DEFAULT_STORE:
        yield warning(
            "store", f"There are no checks for the store '{settings.store}'.", "Use the checks of that store."
        )
        return
    if not store.is_dir():
        yield problem("store", f"{store} is gone, and the documents with it.", _AGAIN)
        return
    if not (store / TEXTS).exists():
        if (store / VECTORS).exists():
            yield problem("store", "The store has vectors but no texts.", _AGAIN)
        else:
            yield warning("store", "The vault holds no documents yet.", "Add some: discreet add VAULT FILES.")
        return
    try:
        with explained(), looking(store / TEXTS) as database:
            yield from _look(database, store, settings)
    except StoreError as error:
        if (store / f"{TEXTS}-journal").exists():
            yield warning("store", "A process that wrote to the store was ended. What it wrote is taken back.", _OPEN)
        else:
            yield problem("store", str(error), _AGAIN)


def _look(database: sqlite3.Connection, store: Path, settings: VaultConfig) -> Iterator[Finding]:
    found = [str(row[0]) for row in database.execute("pragma integrity_check(1)")]
    if found != ["ok"]:
        yield problem("store", "SQLite finds the file of texts damaged.", _AGAIN)
        return
    meta = dict(database.execute("select name, value from meta"))
    version, dimension = meta.get("version"), meta.get("dimension")
    if version in MIGRATIONS:
        yield warning(
            "store",
            f"The store has format {version}; the next command that opens it brings it to {VERSION}.",
            "Back the vault up first: discreet backup VAULT COPY.",
        )
    elif version != VERSION:
        yield problem(
            "store",
            f"The store has format {version}; this program reads format {VERSION}.",
            "Open the vault with the version of discreet that made it, or a later one.",
        )
        return
    else:
        yield sound("store", "The store opens, and SQLite finds it whole.")
    if meta.get("due"):
        yield warning(
            "settled",
            "Bytes of erased or replaced documents may still be in the files, or documents are being added now.",
            _OPEN,
        )
    else:
        yield sound("settled", "Nothing of erased documents is left in the store's files.")
    yield _vectors(database, store, dimension, settings)


def _vectors(database: sqlite3.Connection, store: Path, dimension: object, settings: VaultConfig) -> Finding:
    if not isinstance(dimension, int):
        return problem("vectors", "The store does not say how long its vectors are.", _AGAIN)
    made = getattr(EMBEDDERS.get(settings.embedder), "dimension", dimension)
    if made != dimension:
        return problem(
            "vectors",
            f"The store holds vectors of {dimension} numbers; the vault's embedder makes {made}.",
            "Put vault.json and the store back from one backup.",
        )
    rows = int(database.execute("select coalesce(max(row), -1) + 1 from chunk").fetchone()[0])
    wanted, path = rows * dimension * _NUMBER, store / VECTORS
    size = path.stat().st_size if path.exists() else 0
    if size < wanted:
        return problem("vectors", f"The file of vectors has {size:,} bytes; its texts need {wanted:,}.", _AGAIN)
    return sound("vectors", "The file of vectors is as long as its texts need.")

"""What a store says of itself, without the embedder that made its vectors: loading that takes seconds."""

import sqlite3
from contextlib import closing
from pathlib import Path

from discreet.errors import StoreError
from discreet.retrieval.embedded_store import EmbeddedStore
from discreet.retrieval.failures import explained


def count_units(folder: Path) -> int:
    """How many units the store in `folder` holds; none if nothing was ever added.

    Raises:
        StoreError: it cannot be read, or is damaged.
        VaultVersionError: it was written by another version.
    """
    dimension = stored_dimension(folder)
    if dimension is None:
        return 0
    with closing(EmbeddedStore(folder, dimension)) as store:
        return store.count_units()


def stored_dimension(folder: Path) -> int | None:
    """How long the vectors are, as the store itself says; None if nothing was ever added.

    Raises:
        StoreError: it cannot be read, or is damaged.
    """
    if not (folder / "store.sqlite").exists():
        if (folder / "vectors.f32").exists():
            raise StoreError("The store has vectors but no texts. Restore the vault from a copy.")
        return None
    with explained(), closing(sqlite3.connect(folder / "store.sqlite", timeout=30)) as database:
        if not database.execute("select 1 from sqlite_master where name = 'meta'").fetchone():
            return None  # its making was broken off
        found = database.execute("select value from meta where name = 'dimension'").fetchone()
    if found is None or not isinstance(found[0], int):
        raise StoreError("The store does not say what vectors it holds. Restore the vault from a copy.")
    return found[0]

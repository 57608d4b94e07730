"""Metadata of an embedded store, read without the embedder: loading an embedder takes seconds."""

import sqlite3
from contextlib import closing
from pathlib import Path

from discreet.errors import StoreError
from discreet.retrieval.sqlite_errors import explained

_FILE = "store.sqlite"
_LONGEST = 2**20
"""The upper limit of the length of vectors: no embedder makes longer ones."""


def read_dimension(folder: Path) -> int | None:
    """Return the length of the vectors in the store in `folder`; None if nothing was ever added.

    Raises:
        StoreError: if the store cannot be read, or is damaged.
    """
    if not (folder / _FILE).exists():
        if (folder / "vectors.f32").exists():
            raise StoreError("The store has vectors but no texts. Restore the vault from a copy.")
        return None
    with explained(), closing(sqlite3.connect(folder / _FILE, timeout=30)) as database:
        if not database.execute("select 1 from sqlite_master where name = 'meta'").fetchone():
            return None  # the creation of the tables was interrupted
        found = database.execute("select value from meta where name = 'dimension'").fetchone()
    if found is None or not isinstance(found[0], int) or not 0 < found[0] <= _LONGEST:
        raise StoreError("The store has no valid length of vectors. Restore the vault from a copy.")
    return found[0]


def replace_key(folder: Path, key: bytes) -> None:
    """Give an empty, closed store another key, so that ties between units are broken in a reproducible order.

    Raises:
        StoreError: if the store holds a unit, or cannot be written.
    """
    with explained(), closing(sqlite3.connect(folder / _FILE, timeout=30)) as database, database:
        if database.execute("select 1 from unit").fetchone():
            raise StoreError("The store holds documents. Its key can be replaced only while it is empty.")
        database.execute("update meta set value = ? where name = 'key'", (key,))

"""Who was erased and is not to come back: a keyed hash of each name, with a time; nothing that can be read.

With the store's key, which lies in the same file, it can be tried whether a known name is among them. Only the
custodian's commands look here: nothing that is released depends on it.
"""

import hashlib
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime

from discreet.retrieval.spelling import canonical_unit
from discreet.retrieval.sqlite_errors import damaged


def bury(database: sqlite3.Connection, key: bytes, unit: str, documents: int) -> None:
    """Note that a unit was erased now, with so many documents; once more, if it was before."""
    database.execute(
        "insert into tombstone values (?, ?, ?) on conflict (unit) do update set time = excluded.time, "
        "documents = documents + excluded.documents",
        (_hash(key, unit), now(), documents),
    )


def readmit(database: sqlite3.Connection, key: bytes, unit: str) -> bool:
    """Let a unit come back; whether it was erased."""
    return database.execute("delete from tombstone where unit = ?", (_hash(key, unit),)).rowcount > 0


def find(database: sqlite3.Connection, key: bytes, units: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Those of `units` that were erased, by the name that was asked for: when (UTC), and how many documents."""
    found = {}
    for unit in units:
        row = database.execute("select time, documents from tombstone where unit = ?", (_hash(key, unit),)).fetchone()
        if row is not None:
            if not (isinstance(row[0], str) and isinstance(row[1], int)):
                raise damaged()
            found[unit] = (row[0], row[1])
    return found


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _hash(key: bytes, unit: str) -> bytes:
    return hashlib.blake2b(canonical_unit(unit).encode(), key=key, digest_size=16, person=b"tombstone").digest()

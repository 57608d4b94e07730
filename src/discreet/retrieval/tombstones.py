"""Tombstones of units that were erased or joined to others: a keyed hash of each name, with a time.

They hold no readable name. The store's key is in the same file, so its reader can test a known name. Only the
custodian's commands read tombstones: no release depends on them.
"""

import hashlib
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime

from discreet.retrieval.spelling import canonical_unit
from discreet.retrieval.sqlite_errors import damaged


def bury(database: sqlite3.Connection, key: bytes, unit: str, documents: int) -> None:
    """Record that a unit was erased now, with its number of documents. A repeated erasure adds to that number."""
    database.execute(
        "insert into tombstone values (?, ?, ?) on conflict (unit) do update set time = excluded.time, "
        "documents = documents + excluded.documents",
        (unit_hash(key, unit), now(), documents),
    )


def readmit(database: sqlite3.Connection, key: bytes, unit: str) -> bool:
    """Accept a unit again; return whether it was erased."""
    return database.execute("delete from tombstone where unit = ?", (unit_hash(key, unit),)).rowcount > 0


def find(database: sqlite3.Connection, key: bytes, units: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Return those of `units` that were erased, by the given name: the time (UTC), and the number of documents."""
    found = {}
    for unit in units:
        row = database.execute(
            "select time, documents from tombstone where unit = ?", (unit_hash(key, unit),)
        ).fetchone()
        if row is not None:
            if not (isinstance(row[0], str) and isinstance(row[1], int)):
                raise damaged()
            found[unit] = (row[0], row[1])
    return found


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def tie(name: str, key: bytes) -> bytes:
    """Return the keyed hash of a unit, which breaks ties."""
    return hashlib.blake2b(name.encode(), key=key, digest_size=16).digest()


def unit_hash(key: bytes, unit: str) -> bytes:
    """Return the keyed hash of a unit's name, in any spelling."""
    return hashlib.blake2b(canonical_unit(unit).encode(), key=key, digest_size=16, person=b"tombstone").digest()

"""The tables of the embedded store, and how those of older versions are brought up to date."""

import sqlite3
from collections.abc import Callable

from discreet.retrieval.documents import canonical_unit

VERSION = 2

TABLES = (
    "table if not exists meta (name text primary key, value)",
    # Numbers are never used again, so that a stale one cannot name another unit.
    "table if not exists unit (id integer primary key autoincrement, name text unique not null, tie blob not null)",
    "table if not exists document (id text primary key, unit integer not null, digest blob not null)",
    "table if not exists chunk (row integer primary key, document text not null, unit integer not null, text text)",
    "table if not exists free (row integer primary key)",
    "index if not exists chunk_document on chunk (document)",
    "index if not exists document_unit on document (unit)",
)


def one_spelling(database: sqlite3.Connection) -> None:
    """From version 1, in which a unit spelled in two ways was two units: they become one."""
    known: dict[str, int] = {}
    for number, name in database.execute("select id, name from unit order by id").fetchall():
        spelling = canonical_unit(name)
        first = known.setdefault(spelling, number)
        if first != number:
            database.execute("update document set unit = ? where unit = ?", (first, number))
            database.execute("update chunk set unit = ? where unit = ?", (first, number))
            database.execute("delete from unit where id = ?", (number,))
    # In two steps, since a name may pass through another's.
    for number in known.values():
        database.execute("update unit set name = 'unit ' || id where id = ?", (number,))
    for spelling, number in known.items():
        database.execute("update unit set name = ? where id = ?", (spelling, number))


MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {1: one_spelling}
"""By the version that they start from."""

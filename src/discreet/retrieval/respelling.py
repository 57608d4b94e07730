"""New spellings of units in older vaults. Units with the same new spelling are merged.

The rename is one transaction of the store. Payments are in the ledger, under the names of units. Each rename is
recorded as pending (`paid = 0`) until the ledger has merged the payments. A process that opens a store to ask questions
merges first. A crash leaves pending records, and a second merge changes nothing, so no unit gains budget.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Sequence

from discreet.retrieval.spelling import canonical_unit
from discreet.retrieval.sqlite_errors import damaged

Merge = Callable[[Sequence[tuple[str, str]]], None]
"""Moves the payments under the first name of each pair to the second name."""


def respell(database: sqlite3.Connection, spell: Callable[[str], str]) -> dict[str, list[str]]:
    """Give each unit the spelling of `spell`. Merge units of one spelling into the first of them.

    Returns:
        The old names by the new name, for each name that changed.
    """
    known: dict[str, int] = {}
    names: dict[str, list[str]] = {}
    for number, name in database.execute("select id, name from unit order by id").fetchall():
        if not isinstance(name, str):
            raise damaged()
        spelled = spell(name)
        names.setdefault(spelled, []).append(name)
        first = known.setdefault(spelled, number)
        if first != number:
            database.execute("update document set unit = ? where unit = ?", (first, number))
            database.execute("update chunk set unit = ? where unit = ?", (first, number))
            database.execute("delete from unit where id = ?", (number,))
    changed = {spelled: old for spelled, old in names.items() if old != [spelled]}
    # In two steps, since a new name may be the old name of another unit.
    for spelled in changed:
        database.execute("update unit set name = 'unit ' || id where id = ?", (known[spelled],))
    for spelled in changed:
        database.execute("update unit set name = ? where id = ?", (spelled, known[spelled]))
    return changed


def rename_units(database: sqlite3.Connection) -> None:
    """Give all units their canonical spelling, and record it as pending."""
    key = database.execute("select value from meta where name = 'key'").fetchone()[0]
    database.execute("create index chunk_unit on chunk (unit)")  # without it, each merged unit reads all chunks
    for new, names in respell(database, canonical_unit).items():
        database.execute("update unit set tie = ? where name = ?", (tie(new, key), new))
        for old in names:
            database.execute("insert into spelling values (?, ?, 0, 0)", (old, new))
    database.execute("drop index chunk_unit")


def tell_ledger(database: sqlite3.Connection, merge: Merge) -> None:
    """Merge payments in the ledger for all pending renames. Keep the records of merged units."""
    pairs = database.execute("select former, present from spelling where not paid").fetchall()
    if not pairs:
        return
    if not all(isinstance(name, str) for pair in pairs for name in pair):
        raise damaged()
    merge([(old, new) for old, new in pairs if old != new])
    database.execute("begin immediate")
    database.executemany("update spelling set paid = 1 where former = ?", [(old,) for old, _ in pairs])
    database.execute(
        "delete from spelling where paid and (present not in (select name from unit) "
        "or present in (select present from spelling group by present having count(*) = 1))"
    )
    database.execute("commit")


def tie(name: str, key: bytes) -> bytes:
    """Return the keyed hash of a unit, which breaks ties."""
    return hashlib.blake2b(name.encode(), key=key, digest_size=16).digest()

"""Units of older vaults whose names are spelled otherwise now; some fall together, and are one from then on.

The rename is one transaction of the store. What units paid lies in a ledger elsewhere, by their names, so each rename
is noted (`paid = 0`) until the ledger was told; whoever opens a store to ask questions tells it first. A crash in
between leaves notes, and telling twice changes nothing: no unit ever has a budget that it did not have before.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Sequence

from discreet.retrieval.spelling import canonical_unit
from discreet.retrieval.sqlite_errors import damaged

Merge = Callable[[Sequence[tuple[str, str]]], None]
"""Has what units paid under the first name of each pair count as paid under the second."""


def respell(database: sqlite3.Connection, spell: Callable[[str], str]) -> dict[str, list[str]]:
    """Give all units the spelling that `spell` says; those that fall together become the first of them.

    Returns the names that there were, by the new name, where one changed.
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
    # In two steps, since a name may pass through another's.
    for spelled in changed:
        database.execute("update unit set name = 'unit ' || id where id = ?", (known[spelled],))
    for spelled in changed:
        database.execute("update unit set name = ? where id = ?", (spelled, known[spelled]))
    return changed


def rename_units(database: sqlite3.Connection) -> None:
    """Give all units their canonical spelling, and note it."""
    key = database.execute("select value from meta where name = 'key'").fetchone()[0]
    database.execute("create index chunk_unit on chunk (unit)")  # or each unit that falls together reads all chunks
    for new, names in respell(database, canonical_unit).items():
        database.execute("update unit set tie = ? where name = ?", (tie(new, key), new))
        for old in names:
            database.execute("insert into spelling values (?, ?, 0, 0)", (old, new))
    database.execute("drop index chunk_unit")


def tell_ledger(database: sqlite3.Connection, merge: Merge) -> None:
    """Have the ledger told what was renamed, if it was not; those names are kept that fell together."""
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
    """The keyed hash of a unit by which ties are broken."""
    return hashlib.blake2b(name.encode(), key=key, digest_size=16).digest()

"""What the built-in store holds of each unit, read from its tables: all of it, or what changed since a former moment.

The log of changed rows (row_changes.py) and the index of that moment name the units that changed. A document without
a chunk leaves no row in the log, so it leaves an entry without a row, and everything is read anew.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from discreet.retrieval import row_changes
from discreet.retrieval.catalog import parse_fields
from discreet.retrieval.row_changes import NO_ROW
from discreet.retrieval.search import FREE, Index
from discreet.retrieval.sqlite_errors import damaged
from discreet.retrieval.unit_texts import Fields, Moment, UnitTexts, gather

_SHARE = 8
"""One over the share of rows that may change before all texts are read: a scan reads a row faster than a look-up."""
_NO_FIELDS = "{}"
_TEXTS = "select unit.name, chunk.text, {} from chunk join unit on unit.id = chunk.unit"
"""The documents of all chunks take memory, and are read only if a document has fields."""
_FIELDS = "select unit.name, fields, document.id from document join unit on unit.id = document.unit"
_TEXTS_OF = (
    "select unit.name, chunk.text, chunk.document from unit join document on document.unit = unit.id "
    "join chunk on chunk.document = document.id where unit.name = ?"
)


def read_moment(database: sqlite3.Connection, index: Index, since: object) -> Moment:
    """Return what the store holds, within a transaction.

    Args:
        database: the store.
        index: the index of this moment; it marks the moment.
        since: the mark of a former moment, to read only the units that changed; any other value for all units.

    Raises:
        StoreError: if the store is damaged.
    """
    names = _changed(database, index, since) if isinstance(since, Index) else None
    if names is None:
        fields = list(_parsed(database.execute(f"{_FIELDS} where fields != ? order by document.id", (_NO_FIELDS,))))
        texts = database.execute(_TEXTS.format("chunk.document" if fields else "null"))
        return gather(_owned(texts), fields, index)
    return Moment(index, {name: _of_unit(database, name) for name in names}, whole=False)


def _changed(database: sqlite3.Connection, index: Index, since: Index) -> list[str] | None:
    """Return the names of the units with a row that changed; None if all texts must be read."""
    if since is index or since.state == index.state:
        return []
    if not row_changes.has_state(database, since.state):
        return None
    rows = row_changes.rows_since(database, since.state)
    numbers = [row for row, _, _, _ in rows]
    if NO_ROW in numbers or len(rows) * _SHARE > len(since.unit_of_row):
        return None
    before = (_name(since, row) for row in numbers)
    after = (name for _, _, _, name in rows)
    return sorted({name for name in (*before, *after) if name is not None})


def _name(index: Index, row: int) -> str | None:
    """Return the name of the unit that had a row; None if the row was free."""
    place = int(index.unit_of_row[row]) if row < len(index.unit_of_row) else FREE
    if place == FREE:
        return None
    start = int(index.ends[place - 1]) if place else 0
    return index.names[start : int(index.ends[place])].decode()


def _of_unit(database: sqlite3.Connection, name: str) -> UnitTexts:
    found = gather(
        _owned(database.execute(_TEXTS_OF, (name,))),
        list(_parsed(database.execute(f"{_FIELDS} where unit.name = ? order by document.id", (name,)))),
    )
    return found.units.get(name, UnitTexts(()))


def _owned(rows: Iterable[Any]) -> list[tuple[str, str, object]]:
    found = list(rows)
    if not all(isinstance(text, str) for _, text, _ in found):
        raise damaged()
    return found


def _parsed(rows: Iterable[Any]) -> Iterator[tuple[str, Fields, object]]:
    for unit, content, document in rows:
        if content != _NO_FIELDS:
            yield unit, parse_fields(content), document

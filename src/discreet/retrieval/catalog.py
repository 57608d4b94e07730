"""Lists of the units, documents and batches in the embedded store, for the custodian."""

import json
from collections.abc import Callable
from typing import Any

from discreet.retrieval.documents import canonical_unit
from discreet.retrieval.entries import ALL, BatchEntry, DocumentEntry, UnitEntry
from discreet.retrieval.sqlite_errors import damaged


class SqlCatalog:
    """The `Catalog` of an embedded store.

    Args:
        select: runs one statement on the store's tables (`schema`), and returns the rows.
    """

    def __init__(self, select: Callable[..., list[Any]]) -> None:
        self._select = select

    def list_units(self, limit: int = ALL, skip: int = 0) -> list[UnitEntry]:
        """Return the units by name."""
        found = self._rows(
            (str, int, int, int),
            "select unit.name, count(*), min(since), max(batch) from document join unit on unit.id = document.unit "
            "group by unit.id order by unit.name limit ? offset ?",
            *(limit, skip),
        )
        return [UnitEntry(*row) for row in found]

    def list_documents(self, unit: str | None = None, limit: int = ALL, skip: int = 0) -> list[DocumentEntry]:
        """Return the documents by id; those of one unit, if it is named."""
        found = self._rows(
            (str, str, int, str, str),
            "select document.id, unit.name, batch, source, fields from document join unit on unit.id = document.unit "
            "where ? is null or unit.name = ? order by document.id limit ? offset ?",
            *([None if unit is None else canonical_unit(unit)] * 2),
            *(limit, skip),
        )
        return [DocumentEntry(name, of, batch, source, parse_fields(text)) for name, of, batch, source, text in found]

    def list_batches(self, limit: int = ALL, skip: int = 0) -> list[BatchEntry]:
        """Return the batches, the last first, including those without a document."""
        found = self._rows(
            (int, str, int, int, int),
            "select number, time, files, count(document.id), coalesce(sum(since != batch), 0) from batch "
            "left join document on document.batch = number group by number order by number desc limit ? offset ?",
            *(limit, skip),
        )
        return [
            BatchEntry(number, time, files, documents, replaced, self._sources(number))
            for number, time, files, documents, replaced in found
        ]

    def _sources(self, batch: int) -> tuple[str, ...]:
        found = self._rows(
            (str,), "select distinct source from document where batch = ? and source != '' order by source", batch
        )
        return tuple(source for (source,) in found)

    def _rows(self, kinds: tuple[type, ...], statement: str, *values: object) -> list[Any]:
        """Return rows whose columns have these types: a damaged file may still be a database."""
        found = self._select(statement, *values)
        if any(type(value) is not kind for row in found for value, kind in zip(row, kinds, strict=True)):
            raise damaged()
        return found


def parse_fields(text: str) -> dict[str, str | float]:
    """Return the declared fields in a row of the table `document`."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not (isinstance(found, dict) and all(isinstance(value, str | int | float) for value in found.values())):
        raise damaged()
    return found

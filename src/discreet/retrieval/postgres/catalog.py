"""Lists of the units, documents and batches in a store in PostgreSQL, for the custodian."""

import json

from discreet.retrieval.documents import canonical_unit
from discreet.retrieval.entries import ALL, BatchEntry, DocumentEntry, UnitEntry
from discreet.retrieval.postgres.server import Server


class PostgresCatalog:
    """The `Catalog` of a store in PostgreSQL."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def list_units(self, limit: int = ALL, skip: int = 0) -> list[UnitEntry]:
        """Return the units by name."""
        found = self._server.rows(
            "select name, count(*), min(since), max(batch) from document join unit on unit.id = document.unit "
            "group by unit.id order by name limit %s offset %s",
            *_page(limit, skip),
        )
        return [UnitEntry(name.decode(), documents, first, last) for name, documents, first, last in found]

    def list_documents(self, unit: str | None = None, limit: int = ALL, skip: int = 0) -> list[DocumentEntry]:
        """Return the documents by id; those of one unit, if it is named."""
        chosen, values = ("", []) if unit is None else ("where name = %s ", [canonical_unit(unit).encode()])
        found = self._server.rows(
            "select document.id, name, batch, source, fields from document join unit on unit.id = document.unit "
            f"{chosen}order by document.id limit %s offset %s",
            *(*values, *_page(limit, skip)),
        )
        return [
            DocumentEntry(name.decode(), of.decode(), batch, source.decode(), json.loads(fields))
            for name, of, batch, source, fields in found
        ]

    def list_batches(self, limit: int = ALL, skip: int = 0) -> list[BatchEntry]:
        """Return the batches, the last first, including those without a document."""
        found = self._server.rows(
            "select number, time, files, count(document.id), count(document.id) filter (where since != batch), "
            "array_agg(distinct source) filter (where length(source) > 0) "
            "from batch left join document on document.batch = number "
            "group by number order by number desc limit %s offset %s",
            *_page(limit, skip),
        )
        return [
            BatchEntry(number, time, files, documents, replaced, tuple(sorted(one.decode() for one in sources or ())))
            for number, time, files, documents, replaced, sources in found
        ]


def _page(limit: int, skip: int) -> tuple[int | None, int]:
    return (None if limit < 0 else limit), skip

"""Entries of the custodian's lists: units, documents and batches.

All entries are private. No released answer depends on batches, sources or tombstones.
"""

from dataclasses import asdict, dataclass
from typing import Any

ALL = -1
"""As a limit: no limit."""


@dataclass(frozen=True)
class BatchEntry:
    """The documents of one addition.

    Attributes:
        number: the number of the batch, from 1.
        time: the time of its beginning, UTC, ISO 8601.
        files: the number of its files.
        documents: the number of documents whose current text is from this batch.
        replaced: the number of these documents that replaced an earlier text.
        sources: the files of these documents.
    """

    number: int
    time: str
    files: int
    documents: int
    replaced: int
    sources: tuple[str, ...]

    def describe(self) -> dict[str, Any]:
        """Return the entry as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class UnitEntry:
    """A unit of a vault.

    Attributes:
        unit: its name.
        documents: the number of its documents.
        first, last: the number of its first and of its last batch; 0: none.
    """

    unit: str
    documents: int
    first: int
    last: int

    def describe(self) -> dict[str, Any]:
        """Return the entry as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class DocumentEntry:
    """A document without its text.

    Attributes:
        id: its identifier.
        unit: the name of its unit.
        batch: the number of its batch; 0: none.
        source: the file it came from.
        fields: the values of declared fields, by name.
    """

    id: str
    unit: str
    batch: int
    source: str
    fields: dict[str, str | int | float]

    def describe(self) -> dict[str, Any]:
        """Return the entry as plain data."""
        return asdict(self)

"""Entries of the lists that a custodian sees: units, documents, batches, and units that became one.

All of it is private. No released answer depends on batches, sources or tombstones.
"""

from dataclasses import asdict, dataclass
from typing import Any

ALL = -1
"""As a limit: no limit."""


@dataclass(frozen=True)
class BatchEntry:
    """One `add`.

    Attributes:
        number: counts from 1.
        time: when it began, UTC, ISO 8601.
        files: how many files were named.
        documents: how many documents have the text that it brought.
        replaced: how many of these took the place of an earlier text, which is gone.
        sources: the files that these came from.
    """

    number: int
    time: str
    files: int
    documents: int
    replaced: int
    sources: tuple[str, ...]

    def describe(self) -> dict[str, Any]:
        """The entry as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class UnitEntry:
    """A unit, with the number of its documents and the first and the last batch that brought one (0: unknown)."""

    unit: str
    documents: int
    first: int
    last: int

    def describe(self) -> dict[str, Any]:
        """The entry as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class DocumentEntry:
    """A document without its text; `batch` brought it (0: it came before batches were counted)."""

    id: str
    unit: str
    batch: int
    source: str
    fields: dict[str, str | float]

    def describe(self) -> dict[str, Any]:
        """The entry as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Respelled:
    """A unit that was several, before their names were spelled alike."""

    unit: str
    names: tuple[str, ...]

    def describe(self) -> dict[str, Any]:
        """The entry as plain data."""
        return asdict(self)

"""What is known of each unit: its texts, its declared fields, and the statements that a model read in its texts.

Statistics (`algorithms.statistics`) are about all units, so they need no search. The records are built once for each
state of the store. A record is a function of the documents of one unit alone.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Protocol

from discreet.retrieval.store import Store

Value = str | float
"""The value of a declared field: a date such as 2026-01-31, a category, or a number."""


@dataclass(frozen=True)
class Statement:
    """A statement that the model read in a text: "the treatment is warm oil".

    Attributes:
        attribute: its kind, in words without case: "treatment"; empty if the sentence names none.
        value: its value: "warm oil". All of its words stand in the text.
    """

    attribute: str = field(repr=False)
    value: str = field(repr=False)


@dataclass(frozen=True)
class UnitRecord:
    """All that is known of one unit, in an order that depends on it alone.

    Attributes:
        texts: its texts.
        fields: its declared fields: the fields of each document, by the id of the document.
        statements: the statements that were read in its texts.
    """

    texts: tuple[str, ...] = field(repr=False)
    fields: tuple[dict[str, Value], ...] = field(default=(), repr=False)
    statements: tuple[Statement, ...] = field(default=(), repr=False)

    @cached_property
    def plain(self) -> tuple[str, ...]:
        """The texts without case, for a first look at all of them."""
        return tuple(text.casefold() for text in self.texts)

    def values(self, name: str) -> list[Value]:
        """Return the values of a declared field."""
        return [of_one[name] for of_one in self.fields if name in of_one]


class Statements(Protocol):
    """The statements that a model read in texts."""

    def of(self, text: str) -> Sequence[Statement]:
        """Return the statements of a text; none if it was not read."""

    @property
    def done(self) -> object:
        """A value that changes with each reading."""


class UnitRecords:
    """The records of all units of a store, kept until the documents change."""

    def __init__(self, store: Store, statements: Statements | None = None) -> None:
        self._store, self._statements = store, statements
        self._state: object = None
        self._records: dict[str, UnitRecord] = {}
        self._kinds: tuple[frozenset[str], object] | None = None
        self._building = Lock()

    def all(self) -> dict[str, UnitRecord]:
        """Return the record of each unit, by its name."""
        with self._building:
            # Before the documents are listed: a change meanwhile is seen the next time.
            state = (self._store.state(), self._statements and self._statements.done)
            if self._state is None or self._state != state:
                self._records, self._state = self._build(), state
            return self._records

    def of(self, text: str) -> Sequence[Statement]:
        """Return the statements that were read in a text."""
        return self._statements.of(text) if self._statements else ()

    def kinds(self) -> tuple[frozenset[str], object]:
        """Return the kinds of all statements, and a value that changes with them."""
        kinds = (one.attribute for record in self.all().values() for one in record.statements)
        with self._building:
            if self._kinds is None or self._kinds[1] != self._state:
                self._kinds = (frozenset(kinds), self._state)
            return self._kinds

    def _build(self) -> dict[str, UnitRecord]:
        texts: dict[str, list[str]] = defaultdict(list)
        fields: dict[str, list[dict[str, Value]]] = defaultdict(list)
        for stored in self._store.texts():
            texts[stored.unit].append(stored.text)
        for entry in self._store.catalog.list_documents() if self._store.catalog else ():
            fields[entry.unit].append(entry.fields)
        return {unit: self._record(own, fields[unit]) for unit, own in texts.items()}

    def _record(self, texts: Sequence[str], fields: Sequence[dict[str, Value]]) -> UnitRecord:
        ordered = sorted(texts)
        read = dict.fromkeys(one for text in ordered for one in self.of(text))
        return UnitRecord(tuple(ordered), tuple(fields), tuple(read))

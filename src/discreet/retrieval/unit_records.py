"""What is known of each unit: its texts, its declared fields, and the statements that a model read in its texts.

Statistics (`algorithms.statistics`) are about all units, so they need no search. The records are built once for each
state of the store. A record is a function of the documents of one unit alone.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Protocol

from discreet.retrieval.attribute_schema import AttributeSchema
from discreet.retrieval.store import Store

Value = str | float
"""The value of a declared field: a date such as 2026-01-31, a category, or a number."""


@dataclass(frozen=True)
class Statement:
    """A statement that the model read in a text: "the treatment is warm oil". Its subject is the unit of the text.

    Attributes:
        attribute: its kind, in words without case: "treatment"; empty if the sentence names none.
        value: its value: "warm oil". All of its words stand in the text.
        negated: whether the text denies it: "no fever". Known only if the text was read under a schema.
        number: the number of a value that is one; None if it is none.
        unit: the unit of the number; empty if it has none.
    """

    attribute: str = field(repr=False)
    value: str = field(repr=False)
    negated: bool = field(default=False, repr=False)
    number: float | None = field(default=None, repr=False)
    unit: str = field(default="", repr=False)


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
        """The texts without case and with each letter in its one form (NFKC), for a first look at all of them."""
        return tuple(unicodedata.normalize("NFKC", text).casefold() for text in self.texts)

    def values(self, name: str) -> list[Value]:
        """Return the values of a declared field."""
        return [of_one[name] for of_one in self.fields if name in of_one]


class Lookup(Protocol):
    """The statements that a model read, at one moment."""

    def of(self, unit: str, text: str) -> Sequence[Statement]:
        """Return the statements of a unit's text; none if it was not read."""


class Statements(Protocol):
    """The statements that a model read in texts."""

    @property
    def version(self) -> object:
        """A value that changes with each reading and each erasure."""

    @property
    def schema(self) -> AttributeSchema | None:
        """The schema of the reading that counts: public; None if it has none."""

    def load(self) -> Lookup:
        """Return the statements of this moment."""


@dataclass(frozen=True)
class Built:
    """The records of one moment.

    Attributes:
        state: a value that differs for other documents or statements.
        records: the record of each unit, by its name.
        lookup: the statements.
    """

    state: object
    records: dict[str, UnitRecord] = field(repr=False)
    lookup: Lookup | None = field(repr=False)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of all statements."""
        return frozenset(one.attribute for record in self.records.values() for one in record.statements)

    def of(self, unit: str, text: str) -> Sequence[Statement]:
        """Return the statements of a unit's text."""
        return self.lookup.of(unit, text) if self.lookup else ()


class UnitRecords:
    """The records of all units of a store, kept until the documents or the statements change."""

    def __init__(self, store: Store, statements: Statements | None = None) -> None:
        self._store, self._statements = store, statements
        self._built: Built | None = None
        self._building = Lock()

    @property
    def schema(self) -> AttributeSchema | None:
        """The schema under which the texts were read: public; None if there is none."""
        return self._statements.schema if self._statements else None

    def now(self) -> Built:
        """Return the records of this moment."""
        with self._building:
            # Before the documents are listed: a change meanwhile is seen the next time.
            state = (self._store.state(), self._statements.version if self._statements else None)
            if self._built is None or self._built.state != state:
                self._built = self._build(state)
            return self._built

    def _build(self, state: object) -> Built:
        lookup = self._statements.load() if self._statements else None
        texts: dict[str, list[str]] = defaultdict(list)
        fields: dict[str, list[dict[str, Value]]] = defaultdict(list)
        for stored in self._store.texts():
            texts[stored.unit].append(stored.text)
        for entry in self._store.catalog.list_documents() if self._store.catalog else ():
            fields[entry.unit].append(entry.fields)
        records = {unit: _record(unit, own, fields[unit], lookup) for unit, own in texts.items()}
        return Built(state, records, lookup)


def _record(unit: str, texts: Sequence[str], fields: Sequence[dict[str, Value]], lookup: Lookup | None) -> UnitRecord:
    ordered = sorted(texts)
    read = dict.fromkeys(one for text in ordered for one in (lookup.of(unit, text) if lookup else ()))
    return UnitRecord(tuple(ordered), tuple(fields), tuple(read))

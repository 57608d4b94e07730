"""What is stored of each unit at one moment, without vectors: for readers of the whole vault.

A reader keeps what it read, and reads only the units that changed since, if the store can name them (`TextReader`).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from discreet.retrieval.store import Store

Value = str | float
"""The value of a declared field: a date such as 2026-01-31, a category, or a number."""
Fields = Mapping[str, Value]
"""The declared fields of one document, by name."""
Owned = tuple[str, str]
"""A unit, and one of its texts."""


@dataclass(frozen=True)
class UnitTexts:
    """What is stored of one unit, in an order that depends on it alone.

    Attributes:
        texts: its texts, sorted.
        fields: the declared fields of its documents, by the id of the document.
        fields_of: the declared fields of the document of each text; empty if no document has any.
        document_of: a number for the document of each text; empty if the store cannot tell.
    """

    texts: tuple[str, ...] = field(repr=False)
    fields: tuple[Fields, ...] = field(default=(), repr=False)
    fields_of: tuple[Fields, ...] = field(default=(), repr=False)
    document_of: tuple[int, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Moment:
    """What a store held at one moment.

    Attributes:
        mark: names the moment for a later call; None if the store cannot tell what changed since.
        units: what is stored of each unit that has texts; if not `whole`, of the units that changed. A unit that was
            erased has no texts.
        whole: whether all units are there.
    """

    mark: object
    units: Mapping[str, UnitTexts] = field(repr=False)
    whole: bool = True


@runtime_checkable
class TextReader(Protocol):
    """A store that reads texts without vectors."""

    def unit_texts(self, since: object = None) -> Moment:
        """Return what is stored of each unit, or of those that changed since the moment with this mark."""


def read_unit_texts(store: Store, since: object = None) -> Moment:
    """Return what a store holds; with the mark of a former moment, only what changed since if the store can tell it."""
    if isinstance(store, TextReader):
        return store.unit_texts(since)
    return gather([(stored.unit, stored.text, None) for stored in store.texts()], _fields_of(store))


def owned_texts(store: Store) -> list[Owned]:
    """Return the units and their texts."""
    units = read_unit_texts(store).units
    return [(unit, text) for unit, own in units.items() for text in own.texts]


def gather(
    texts: Sequence[tuple[str, str, object]], fields: Sequence[tuple[str, Fields, object]], mark: object = None
) -> Moment:
    """Return the moment at which a store held these texts, and these fields of documents in the order of their ids.

    Args:
        texts: the unit and the text of each chunk, and what names its document; None if the store cannot tell.
        fields: the unit and the fields of each document that has any, and what names it.
        mark: the mark of the moment.
    """
    texts_of: dict[str, list[tuple[str, object]]] = defaultdict(list)
    fields_of: dict[str, list[Fields]] = defaultdict(list)
    named = {document: own for _, own, document in fields}
    for unit, text, document in texts:
        texts_of[unit].append((text, document))
    for unit, own, _ in fields:
        fields_of[unit].append(own)

    def of_unit(unit: str, own: list[tuple[str, object]]) -> UnitTexts:
        own.sort(key=lambda one: (one[0], str(one[1])))
        numbers = {document: number for number, document in enumerate(dict.fromkeys(document for _, document in own))}
        documents = () if None in numbers else tuple(numbers[document] for _, document in own)
        beside = tuple(named.get(document, {}) for _, document in own) if unit in fields_of else ()
        return UnitTexts(tuple(text for text, _ in own), tuple(fields_of.get(unit, ())), beside, documents)

    return Moment(mark, {unit: of_unit(unit, own) for unit, own in texts_of.items()})


def _fields_of(store: Store) -> list[tuple[str, Fields, object]]:
    documents = store.catalog.list_documents() if store.catalog else []
    return [(entry.unit, entry.fields, entry.id) for entry in documents if entry.fields]

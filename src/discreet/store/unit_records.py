"""What is known of each unit: its texts, its declared fields, its codes, and the statements that a model read.

A code (`codebook`) is a field of a record, beside the declared ones: the values that a coder found in the texts of this
record alone. A record that was not coded yet lacks the field. One in which nothing was found has no value in it.

Statistics (`statistics`) are about all units, so they need no search and no vectors. The records are built
once for each state of the store. A record is a function of the documents of one unit alone. A reader keeps what it
read, and reads only the units that changed since, if the store can name them (`TextReader`).
"""

import gc
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from threading import RLock
from typing import Protocol, overload, runtime_checkable

from discreet.store.codebook import Codebook
from discreet.store.protocol import Store
from discreet.system.words import as_read

Value = str | float
"""The value of a declared field: a date such as 2026-01-31, a category, or a number."""
Fields = Mapping[str, Value | tuple[str, ...]]
"""The declared fields of one document and its codes, by name."""
_MOST_KEPT = 64
"""So many phrases are kept of each record."""
Owned = tuple[str, str]
"""A unit, and one of its texts."""


@dataclass(frozen=True)
class StoredUnit:
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
    units: Mapping[str, StoredUnit] = field(repr=False)
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

    def of_unit(unit: str, own: list[tuple[str, object]]) -> StoredUnit:
        own.sort(key=lambda one: (one[0], str(one[1])))
        numbers = {document: number for number, document in enumerate(dict.fromkeys(document for _, document in own))}
        documents = () if None in numbers else tuple(numbers[document] for _, document in own)
        beside = tuple(named.get(document, {}) for _, document in own) if unit in fields_of else ()
        return StoredUnit(tuple(text for text, _ in own), tuple(fields_of.get(unit, ())), beside, documents)

    return Moment(mark, {unit: of_unit(unit, own) for unit, own in texts_of.items()})


def _fields_of(store: Store) -> list[tuple[str, Fields, object]]:
    documents = store.catalog.list_documents() if store.catalog else []
    return [(entry.unit, entry.fields, entry.id) for entry in documents if entry.fields]


@dataclass(frozen=True)
class TextStatement:
    """A statement that the model read in a text: "the treatment is warm oil". Its subject is the unit of the text.

    Attributes:
        attribute: its kind, in words without case: "treatment"; empty if the sentence names none.
        value: its value: "warm oil". All of its words stand in the text.
        negated: whether the text denies it each time that it says it: "no fever".
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
        fields_of: the declared fields of the document of each text; empty if no document has any.
        document_of: a number for the document of each text; empty if the store cannot tell.
        said: whether phrases hold of this record, by their key: some of them, kept as long as the record.
    """

    texts: tuple[str, ...] = field(repr=False)
    fields: tuple[Fields, ...] = field(default=(), repr=False)
    statements: Sequence[TextStatement] = field(default=(), repr=False)
    fields_of: tuple[Fields, ...] = field(default=(), repr=False)
    document_of: tuple[int, ...] = field(default=(), repr=False)
    said: dict[str, bool] = field(default_factory=dict, init=False, repr=False, compare=False)

    @staticmethod
    def of(unit: str, stored: StoredUnit, looked: "Looked") -> "UnitRecord":
        """Return the record of a unit from its texts, and from the codes and statements that were read in them."""
        statements = () if looked.lookup is None else LazyStatements(unit, stored.texts, looked.lookup)
        fields, beside = stored.fields, stored.fields_of
        if looked.codes is not None:
            fields, beside = _with_codes(unit, stored, looked.codes)
        return UnitRecord(stored.texts, fields, statements, beside, stored.document_of)

    @cached_property
    def plain(self) -> str:
        """Its texts and categories as a person reads them, without case: a word that is not in it is in none."""
        categories = (f"{one} {name}" for own in self.fields for name, one in own.items() if isinstance(one, str))
        return as_read("\n \n".join((*self.texts, *categories)).replace("\u2019", "'")).casefold()

    def keep(self, phrase: str, holds: bool) -> None:
        """Keep whether a phrase holds; if many are kept, begin anew."""
        if len(self.said) >= _MOST_KEPT:
            self.said.clear()
        self.said[phrase] = holds

    def part(self, passes: Callable[[Fields], bool]) -> "UnitRecord":
        """Return the part of the record that stands in the documents whose declared fields pass a test."""
        fields = tuple(filter(passes, self.fields))
        if not fields:
            return _NOTHING
        kept = [place for place, own in enumerate(self.fields_of) if passes(own)]
        if len(fields) == len(self.fields) and len(kept) == len(self.texts):
            return self
        return self._of(kept, fields)

    def documents(self) -> "list[UnitRecord]":
        """Return the record of each document by itself; the whole record if the store cannot tell them apart."""
        if len(set(self.document_of)) < 2:
            return [self]
        places: dict[int, list[int]] = {}
        for place, document in enumerate(self.document_of):
            places.setdefault(document, []).append(place)
        return [
            self._of(own, tuple(self.fields_of[place] for place in own[:1] if self.fields_of))
            for own in places.values()
        ]

    def _of(self, places: Sequence[int], fields: tuple[Fields, ...]) -> "UnitRecord":
        """Return the part of the record with the texts at some places, and with some of its fields."""
        texts = tuple(self.texts[place] for place in places)
        beside = tuple(self.fields_of[place] for place in places if self.fields_of)
        documents = tuple(self.document_of[place] for place in places if self.document_of)
        statements = self.statements
        if isinstance(statements, LazyStatements):
            statements = statements.within(texts)
        return UnitRecord(texts, fields, statements, beside, documents)

    def values(self, name: str) -> list[Value]:
        """Return the values of a declared field, or of a code."""
        lists = (own[name] for own in self.fields if name in own)
        return [one for value in lists for one in (value if isinstance(value, tuple) else (value,))]


_NOTHING = UnitRecord(())
"""The part of a record of which no document passes."""


def values_in(own: Fields, name: str) -> tuple[str, ...]:
    """Return the values of a category or a code in the fields of one record."""
    values = own.get(name, ())
    return values if isinstance(values, tuple) else (str(values),)


def _with_codes(unit: str, stored: StoredUnit, codes: "Codes") -> tuple[tuple[Fields, ...], tuple[Fields, ...]]:
    """Return the fields of each record of a unit, and those beside each text, with the codes of the record's texts."""
    numbers = stored.document_of or range(len(stored.texts))
    codes_of: dict[int, Mapping[str, tuple[str, ...]]] = {}
    for number, text in zip(numbers, stored.texts, strict=True):
        own, before = codes.coded(unit, text), codes_of.get(number)
        if own is not None and before is not None:
            own = {name: tuple(dict.fromkeys((*before[name], *values))) for name, values in own.items()}
        if own is not None:
            codes_of[number] = own
    if not codes_of:
        return stored.fields, stored.fields_of
    declared = stored.fields_of or ({},) * len(stored.texts)
    beside = tuple({**own, **codes_of.get(number, {})} for own, number in zip(declared, numbers, strict=True))
    if not stored.document_of:  # the store does not tell to which text the declared fields belong
        return (*stored.fields, *codes_of.values()), beside
    return tuple(own for own in dict(zip(numbers, beside, strict=True)).values() if own), beside


class Lookup(Protocol):
    """The statements that a model read, at one moment."""

    @property
    def kinds(self) -> Set[str]:
        """The kinds of all statements. No result depends on kinds that a text lacks."""

    def of(self, unit: str, text: str) -> Sequence[TextStatement]:
        """Return the statements of a unit's text; none if it was not read."""


class Codes(Protocol):
    """The codes that a coder found, at one moment."""

    def coded(self, unit: str, text: str) -> Mapping[str, tuple[str, ...]] | None:
        """Return the values of each code of a unit's text, by the names of fields; None if it was not coded."""


class CodedTexts(Protocol):
    """The codes that a coder found in texts."""

    @property
    def version(self) -> object:
        """A value that changes with each coding and each erasure; None before the first one."""

    def load(self) -> Codes:
        """Return the codes of this moment."""


class Statements(Protocol):
    """The statements that a model read in texts."""

    @property
    def version(self) -> object:
        """A value that changes with each reading and each erasure."""

    @property
    def schema(self) -> Codebook | None:
        """The schema of the reading that counts: public; None if it has none."""

    def load(self) -> Lookup:
        """Return the statements of this moment."""


class LazyStatements(Sequence[TextStatement]):
    """The statements that were read in the texts of one unit, each once; looked up at first use."""

    def __init__(self, unit: str, texts: Sequence[str], lookup: Lookup) -> None:
        self._unit, self._texts, self._lookup = unit, texts, lookup

    def within(self, texts: Sequence[str]) -> "LazyStatements":
        """Return those that were read in some of the texts."""
        return LazyStatements(self._unit, texts, self._lookup)

    @cached_property
    def _found(self) -> tuple[TextStatement, ...]:
        return tuple(dict.fromkeys(one for text in self._texts for one in self._lookup.of(self._unit, text)))

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, place: int) -> TextStatement: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[TextStatement]: ...

    def __getitem__(self, place: int | slice) -> TextStatement | Sequence[TextStatement]:
        return self._found[place]


@dataclass(frozen=True)
class Built:
    """The records of one moment.

    Attributes:
        state: the state of the store, and the version of the statements and codes.
        mark: the moment of the documents, for `read_unit_texts`.
        records: the record of each unit, by its name, in the order of names.
    """

    state: tuple[object, object]
    mark: object = field(repr=False)
    records: dict[str, UnitRecord] = field(repr=False)


@dataclass(frozen=True)
class Looked:
    """The statements and the codes of one version."""

    version: object
    lookup: Lookup | None = field(default=None, repr=False)
    codes: Codes | None = field(default=None, repr=False)

    @property
    def kinds(self) -> Set[str]:
        """The kinds of all statements."""
        return self.lookup.kinds if self.lookup else frozenset()

    def of(self, unit: str, text: str) -> Sequence[TextStatement]:
        """Return the statements of a unit's text."""
        return self.lookup.of(unit, text) if self.lookup else ()


@contextmanager
def _without_collections() -> Iterator[None]:
    """Look for no garbage: no record is any, and to look through a million again and again takes half of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class UnitRecords:
    """The records of all units of a store, kept until the documents, the statements or the codes change."""

    def __init__(self, store: Store, statements: Statements | None = None, codes: CodedTexts | None = None) -> None:
        self._store, self._statements, self._codes = store, statements, codes
        self._built: Built | None = None
        self._looked = Looked(None)
        self._building = RLock()

    @property
    def tells_documents(self) -> bool:
        """Whether the store tells of which document each text is: public."""
        return isinstance(self._store, TextReader)

    @property
    def schema(self) -> Codebook | None:
        """The book under which the texts were read: public; None if there is none."""
        return self._statements.schema if self._statements else None

    def looked(self) -> Looked:
        """Return the statements and codes of this moment. They need no records."""
        with self._building:
            statements, codes = self._statements, self._codes
            # Before they are loaded: a change meanwhile is seen the next time.
            version = (statements.version if statements else None, codes.version if codes else None)
            if version != self._looked.version:
                read = statements.load() if statements else None
                coded = codes.load() if codes and version[1] is not None else None
                self._looked = Looked(version, read, coded)
            return self._looked

    def now(self) -> Built:
        """Return the records of this moment."""
        with self._building:
            looked = self.looked()
            state = (self._store.state(), looked.version)  # before the documents are listed, likewise
            if self._built is None or self._built.state != state:
                with _without_collections():
                    self._built = self._build(state, looked)
            return self._built

    def _build(self, state: tuple[object, object], looked: Looked) -> Built:
        """Return the records. Read only the units that changed since the last ones, if the store can tell them."""
        before = self._built if self._built and self._built.state[1] == looked.version else None
        moment = read_unit_texts(self._store, before.mark if before else None)
        kept = before.records if before and not moment.whole else {}
        changed = {unit: UnitRecord.of(unit, own, looked) for unit, own in moment.units.items()}
        records = {unit: record for unit, record in (kept | changed).items() if record.texts}
        return Built(state, moment.mark, dict(sorted(records.items(), key=itemgetter(0))))

"""From records to documents: whose each one is, and the name it has in the vault."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time

from discreet.reading.fields import Value, WrongField, is_empty, read_fields
from discreet.reading.records import BadRecord, Record
from discreet.retrieval.documents import Document, canonical_name, canonical_unit
from discreet.system.unicode import is_unicode

NO_UNIT = "names no individual: the field '{}' is empty or missing"
"""Why a record without a unit is refused, where others of its file have one."""


@dataclass(frozen=True)
class Fields:
    """The names of a record's fields.

    Attributes:
        text: what the record says.
        unit: the individual that it is about.
        id: its name in the vault, if it has one.
        declared: the vault's declared fields, with their types.
    """

    text: str = "text"
    unit: str = "unit"
    id: str = "id"
    declared: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Read:
    """A document as it was read.

    Attributes:
        document: the document.
        where: its place, for messages.
        repeated: whether it repeats, in text and fields, a record of the same unit in the same file.
    """

    document: Document
    where: str
    repeated: bool = False


class Reader:
    """Makes documents of the records of one file, in their order.

    A record without an id is named by what it holds: its unit, its text and its declared fields. What the records of
    other units hold changes nothing there. If a unit repeats a record, a number is added, so that both are kept; and
    the same file, added again, gives the same names.

    Args:
        fields: the names of the fields.
        own_units: whether a record that names no unit is a unit of its own; it is refused if not.
        stored_unit: the unit of the stored document of that id; empty if there is none. For vaults in which documents
            without an id were named by their text alone.
    """

    def __init__(
        self, fields: Fields, *, own_units: bool = False, stored_unit: Callable[[str], str] = lambda _: ""
    ) -> None:
        self._fields, self._own_units, self._stored_unit = fields, own_units, stored_unit
        self._copies: Counter[str] = Counter()

    def read(self, record: Record) -> Read | BadRecord:
        """Make a document of a record, or say why there is none. The reason never holds a value."""
        fields, values = self._fields, record.values
        text = values.get("text" if record.whole else fields.text)
        if (reason := _no_text(text, fields.text)) or not isinstance(text, str):
            return BadRecord(record.where, reason)
        named = {name: _name(values.get(name)) for name in (fields.id, fields.unit)}
        for name, value in named.items():
            if value is None:
                return BadRecord(record.where, f"the field '{name}' is neither a text nor a number")
            if not is_unicode(value):
                return BadRecord(record.where, "not UTF-8")
        identity, unit = named[fields.id] or "", canonical_unit(named[fields.unit] or "")
        if not unit and not self._own_units:
            return BadRecord(record.where, NO_UNIT.format(fields.unit))
        try:
            declared = read_fields(values, fields.declared)
        except WrongField as error:
            return BadRecord(record.where, str(error))
        repeated = False
        if not identity and record.whole:
            identity = record.source
        elif not identity:
            identity, repeated = self._made_id(unit, text, declared)
        # As the file has it: a document knows under which other spellings an older ledger may know its unit.
        about = (named[fields.unit] or identity) if unit else identity
        document = Document(identity, about, text, not unit, record.source, declared)
        return Read(document, record.where, repeated)

    def _made_id(self, unit: str, text: str, declared: Mapping[str, Value]) -> tuple[str, bool]:
        made = made_id(unit, text, declared)
        self._copies[made] += 1
        copy = self._copies[made]
        if copy > 1:
            return made_id(unit, text, declared, copy), True
        old = id_by_text(text)
        stored = self._stored_unit(old)
        return (old if stored and stored == (unit or old) else made), False


def made_id(unit: str, text: str, declared: Mapping[str, Value], copy: int = 1) -> str:
    """The id of a record without one: from its unit, its text, its declared fields and its number among equal ones."""
    content = json.dumps([unit, text, dict(sorted(declared.items())), copy])
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def id_by_text(text: str) -> str:
    """The id that a record without one had until version 0.1: from its text alone."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _no_text(text: object, name: str) -> str:
    if text is None:
        return f"no field '{name}'"
    if not isinstance(text, str):
        return f"the field '{name}' is not a text"
    if not text.strip():
        return "empty"
    return "" if is_unicode(text) else "not UTF-8"


def _name(value: object) -> str | None:
    """A value as a name, empty if there is none; None if it cannot be one. One number has one name, and one day."""
    if is_empty(value):
        return ""
    if isinstance(value, (list, tuple, dict, set, bytes)):
        return None
    if isinstance(value, float) and value.is_integer():  # a table with gaps has 7 as 7.0
        value = int(value)
    if isinstance(value, datetime) and not value.tzinfo and value.time() == time():  # a day, as workbooks keep it
        value = value.date()
    return canonical_name(str(value))

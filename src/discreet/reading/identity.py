"""Documents from records: the unit and the id of each."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time

from discreet.reading.fields import Value, WrongField, is_empty, read_fields
from discreet.reading.records import BadRecord, Record
from discreet.retrieval.documents import Document, canonical_name, canonical_unit
from discreet.system.words import is_unicode

NO_UNIT = "names no individual: the field '{}' is empty or missing"
"""The reason to refuse a record without a unit if others of its file have one."""


@dataclass(frozen=True)
class Fields:
    """The names of a record's fields.

    Attributes:
        text: the field with the text.
        unit: the field with the individual.
        id: the field with the document's id.
        declared: the vault's declared fields, with their types.
        more: further fields with text, which follow the first one's after an empty line.
    """

    text: str = "text"
    unit: str = "unit"
    id: str = "id"
    declared: Mapping[str, str] = field(default_factory=dict)
    more: tuple[str, ...] = ()


@dataclass(frozen=True)
class Read:
    """A document that was read.

    Attributes:
        document: the document.
        where: the position of the record, for messages.
        repeated: whether the text and fields are equal to those of an earlier record of the unit in the file.
    """

    document: Document
    where: str
    repeated: bool = False


class Reader:
    """A converter of the records of one file to documents, in their order.

    A record without an id gets one from its unit, its text and its declared fields. Records of other units do not
    change this id. Repeated records of a unit get a number, so that all are kept. The same file gives the same ids when
    it is added again.

    Args:
        fields: the names of the fields.
        own_units: whether a record without a unit becomes a unit. Otherwise it is refused.
    """

    def __init__(self, fields: Fields, *, own_units: bool = False) -> None:
        self._fields, self._own_units = fields, own_units
        self._copies: Counter[str] = Counter()

    def read(self, record: Record) -> Read | BadRecord:
        """Return the document of a record, or the reason to refuse it. The reason never contains a value."""
        fields, values = self._fields, record.values
        names = ("text",) if record.whole else (fields.text, *fields.more)
        texts = {name: values[name] for name in names if not is_empty(values.get(name))}
        texts = texts or {fields.text: values.get(names[0])}
        for name, value in texts.items():
            if reason := _no_text(value, name):
                return BadRecord(record.where, reason)
        text = "\n\n".join(map(str, texts.values()))
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
        document = Document(identity, unit or identity, text, not unit, record.source, declared)
        return Read(document, record.where, repeated)

    def _made_id(self, unit: str, text: str, declared: Mapping[str, Value]) -> tuple[str, bool]:
        made = made_id(unit, text, declared)
        self._copies[made] += 1
        copy = self._copies[made]
        return made_id(unit, text, declared, copy), copy > 1


def made_id(unit: str, text: str, declared: Mapping[str, Value], copy: int = 1) -> str:
    """Return the id of a record that has none, from its unit, text, declared fields and number among equal records."""
    content = json.dumps([unit, text, dict(sorted(declared.items())), copy])
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def _no_text(text: object, name: str) -> str:
    if text is None:
        return f"no field '{name}'"
    if not isinstance(text, str):
        return f"the field '{name}' is not a text"
    if not text.strip():
        return "empty"
    return "" if is_unicode(text) else "not UTF-8"


def _name(value: object) -> str | None:
    """Return a value as a name, "" if it is empty, or None if it cannot be a name. Equal values have one name."""
    if is_empty(value):
        return ""
    if isinstance(value, (list, tuple, dict, set, bytes)):
        return None
    if isinstance(value, float) and value.is_integer():  # a table with empty cells has 7 as 7.0
        value = int(value)
    if isinstance(value, datetime) and not value.tzinfo and value.time() == time():  # workbooks store a day like this
        value = value.date()
    return canonical_name(str(value))

"""Documents from records: the unit and the id of each."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time

from discreet.reading.fields import Value, WrongField, is_empty, means_nothing, read_fields, value_of
from discreet.reading.records import BadRecord, NoText, Record
from discreet.reading.sandboxed.markup import text_of_html
from discreet.retrieval.documents import Document, canonical_name, canonical_unit
from discreet.system.words import is_unicode

NO_UNIT = "names no individual: the field '{}' is empty or missing, or says so (a name all the same: --unit-may-be)"
"""The reason to refuse a record without a unit if others of its file have one."""


@dataclass(frozen=True)
class Fields:
    """The names of a record's fields. A name such as `subject.reference` is a part of a field.

    Attributes:
        text: the field with the text.
        unit: the field with the individual.
        id: the field with the document's id; "" for none.
        declared: the vault's declared fields, with their types.
        more: further fields with text, which follow the first one's after an empty line.
        date_format: the form of dates, as of `strptime`; "" for all forms with one meaning.
        drop_bad: whether a declared field with a wrong value is left out, and not its record.
    """

    text: str = "text"
    unit: str = "unit"
    id: str = "id"
    declared: Mapping[str, str] = field(default_factory=dict)
    more: tuple[str, ...] = ()
    date_format: str = ""
    drop_bad: bool = False


@dataclass(frozen=True)
class Read:
    """A document that was read.

    Attributes:
        document: the document.
        where: the position of the record, for messages.
        repeated: whether the text and fields are equal to those of an earlier record of the unit in the file.
        nameless: whether the record has no id of its own.
        dropped: the declared fields that were left out, because their values have another type.
    """

    document: Document
    where: str
    repeated: bool = False
    nameless: bool = False
    dropped: tuple[str, ...] = ()


class Reader:
    """A converter of the records of one file to documents, in their order.

    A record without an id gets one from its unit, its text and its declared fields. Records of other units do not
    change this id. Repeated records of a unit get a number, so that all are kept. The same file gives the same ids when
    it is added again.

    Args:
        fields: the names of the fields.
        own_units: whether a record without a unit becomes a unit. Otherwise it is refused.
        may_be: names that are names, although they look like words for nothing or like rounded numbers.
    """

    def __init__(self, fields: Fields, *, own_units: bool = False, may_be: Collection[str] = ()) -> None:
        self._fields, self._own_units = fields, own_units
        self._may_be = {canonical_unit(name) for name in may_be}
        self._copies: Counter[str] = Counter()

    def read(self, record: Record) -> Read | BadRecord:
        """Return the document of a record, or the reason to refuse it. The reason never contains a value."""
        fields, values = self._fields, record.values
        texts = []
        for name in ("text",) if record.whole else (fields.text, *fields.more):
            text = _text(value_of(values, name), is_file=record.whole)
            if text is None:
                return BadRecord(record.where, f"the field '{name}' is not a text")
            if not is_unicode(text):
                return BadRecord(record.where, "not UTF-8")
            texts += [text] * bool(text.strip())
        named = {name: _name(value_of(values, name), self._may_be) for name in (fields.id, fields.unit) if name}
        for name, found in named.items():
            if isinstance(found, _NoName):
                return BadRecord(record.where, f"the field '{name}' {found.reason}")
            if not is_unicode(found):
                return BadRecord(record.where, "not UTF-8")
        identity, unit = (str(named.get(name, "")) for name in (fields.id, fields.unit))
        identity, unit = "" if means_nothing(identity) else identity, canonical_unit(unit)
        if means_nothing(unit) and unit not in self._may_be:
            unit = ""
        if not texts:
            wanted = ("text",) if record.whole else (fields.text, *fields.more)
            if any(name in values or "." in name for name in wanted):
                return NoText(record.where, "no text")
            return BadRecord(record.where, f"no field '{wanted[0]}'")
        if not unit and not self._own_units:
            return BadRecord(record.where, NO_UNIT.format(fields.unit))
        dropped: list[str] | None = [] if fields.drop_bad else None
        try:
            declared = read_fields(values, fields.declared, fields.date_format, dropped)
        except WrongField as error:
            return BadRecord(record.where, str(error))
        text, repeated, nameless = "\n\n".join(texts), False, not identity and not record.whole
        if nameless:
            identity, repeated = self._made_id(unit, text, declared)
        identity = identity or record.source
        document = Document(identity, unit or identity, text, not unit, record.source, declared)
        return Read(document, record.where, repeated, nameless, tuple(dropped or ()))

    def _made_id(self, unit: str, text: str, declared: Mapping[str, Value]) -> tuple[str, bool]:
        made = made_id(unit, text, declared)
        self._copies[made] += 1
        copy = self._copies[made]
        return made_id(unit, text, declared, copy), copy > 1


def made_id(unit: str, text: str, declared: Mapping[str, Value], copy: int = 1) -> str:
    """Return the id of a record that has none, from its unit, text, declared fields and number among equal records."""
    content = json.dumps([unit, text, dict(sorted(declared.items())), copy])
    return hashlib.sha256(content.encode()).hexdigest()[:32]


_LARGEST_PAGE = 2**20  # the reader of HTML is slow for damaged pages
_A_PAGE = re.compile(r"\s*<(!doctype|html|body|div|p|table|span|ul|ol|br|h[1-6])\b.*>\s*", re.IGNORECASE | re.DOTALL)


def _text(value: object, *, is_file: bool = False) -> str | None:
    """Return the text of a field, of HTML without its tags; "" if it is empty, and None if it is not a text."""
    if is_empty(value):
        return ""
    if isinstance(value, list):
        texts = [text for one in value if (text := _text(one)) is None or text.strip()]
        return None if None in texts else "\n\n".join(map(str, texts))
    if not isinstance(value, str):
        return None
    return text_of_html(value) if not is_file and len(value) < _LARGEST_PAGE and _A_PAGE.fullmatch(value) else value


@dataclass(frozen=True)
class _NoName:
    """A value that cannot be a name.

    Attributes:
        reason: why.
    """

    reason: str


_ROUNDED = re.compile(r"[+-]?\d([.,]\d+)?e\+\d{2,}", re.IGNORECASE | re.ASCII)
"""A large number as spreadsheets and programs write it: 1.23E+15. Without the sign it is an id such as 7e12."""
_SHARED = "is a number that was rounded, so that several individuals may have it: export it as a text"
_EXACT = 2**53
"""From here on, not every whole number is a floating-point number."""


def _name(value: object, may_be: Collection[str] = ()) -> "str | _NoName":
    """Return a value as a name, "" if it is empty. Equal values have one name. Those in `may_be` are names."""
    if isinstance(value, list):
        names = [name for one in value if (name := _name(one, may_be))]
        if any(isinstance(name, _NoName) for name in names) or len({canonical_unit(str(name)) for name in names}) < 2:
            return next((name for name in names if isinstance(name, _NoName)), names[0] if names else "")
        return _NoName("names several individuals, but a record belongs to one")
    if is_empty(value):
        return ""
    if isinstance(value, (bool, tuple, dict, set, bytes)):
        return _NoName("is neither a text nor a number")
    if isinstance(value, float) and abs(value) >= _EXACT:
        return _NoName(_SHARED)
    if isinstance(value, str) and _ROUNDED.fullmatch(value.strip()) and canonical_unit(value) not in may_be:
        return _NoName(f"{_SHARED} (a name all the same: --unit-may-be)")
    if isinstance(value, float) and value.is_integer():  # a table with empty cells has 7 as 7.0
        value = int(value)
    if isinstance(value, datetime) and not value.tzinfo and value.time() == time():  # workbooks store a day like this
        value = value.date()
    return canonical_name(str(value))

"""Declared fields of a record: dates, categories and numbers, checked when the record is read."""

import math
import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal

from discreet.config import FIELD_TYPES, field_type, field_values
from discreet.errors import UnknownName, UsageError
from discreet.reading.dates import FORMS, read_date
from discreet.retrieval.documents import canonical_name, canonical_unit
from discreet.system.words import is_unicode

EXPECTED = {
    "date": f"a date such as {FORMS}",
    "category": "a text of at most 100 characters",
    "number": "a number such as 12 or 12.5",
}
"""The form of a value, by the type of its field."""
_LONGEST_CATEGORY, _MOST_VALUES = 100, 1000
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)

Value = str | float
"""The value of a field in a document: a date such as 2026-01-31, a category in one spelling, or a number."""


class WrongField(ValueError):  # noqa: N818 - it is a record's, and becomes a `BadRecord`
    """A value that has another type than its field. The message has the field and the form, never the value."""


def check_types(declared: Mapping[str, str], unit_field: str) -> dict[str, str]:
    """Check the declared fields of a new vault. Return them with names in one spelling.

    Raises:
        UsageError: if a name is empty or is the unit field, or if a type is unknown.
    """
    checked: dict[str, str] = {}
    for name, kind in declared.items():
        if not is_unicode(name) or not (spelled := canonical_name(name)):
            raise UsageError("A declared field has no name. Give the field a name: --field NAME:TYPE.")
        if spelled == unit_field:
            raise UsageError(f"The field '{spelled}' is the unit field, which cannot be declared. Omit its --field.")
        if field_type(kind) not in FIELD_TYPES:
            raise UnknownName("type of field", kind, FIELD_TYPES)
        values = field_values(kind)
        words = [one.casefold() for value, labels in values.items() for one in (value, *labels)]
        if len(set(words)) < len(words) or not all(values) or (values and kind.count(",") + 1 > len(values)):
            raise UsageError(
                f"The values of the field '{spelled}' are not told apart. Write each value once, with other words for "
                f"it: --field '{spelled}:category(w=women/female, m=men/male)'."
            )
        if len(values) > _MOST_VALUES or any(len(word) > _LONGEST_CATEGORY for word in words):
            raise UsageError(
                f"A field has at most {_MOST_VALUES} declared values, each of at most {_LONGEST_CATEGORY} characters."
            )
        checked[spelled] = kind
    labels = [label.casefold() for kind in checked.values() for named in field_values(kind).values() for label in named]
    if len(set(labels)) < len(labels):
        raise UsageError("Two declared fields have the same word for a value. Give each word to one of them.")
    return checked


def read_fields(values: Mapping[str, object], declared: Mapping[str, str]) -> dict[str, Value]:
    """Return the declared fields of one record, without missing and empty fields.

    Raises:
        WrongField: if a value has another type than its field.
    """
    found: dict[str, Value] = {}
    for name, kind in declared.items():
        value = values.get(name)
        if is_empty(value):
            continue
        read: Value | None = _READERS[field_type(kind)](value)
        if read is None:
            raise WrongField(f"the field '{name}' is not {EXPECTED[field_type(kind)]}")
        if known := field_values(kind):
            read = next((one for one in known if one.casefold() == str(read).casefold()), None)
            if read is None:
                raise WrongField(f"the field '{name}' is none of its declared values: {', '.join(known)}")
        found[name] = read
    return found


def is_empty(value: object) -> bool:
    """Return whether a field has no value: it is missing, blank or NaN, which tables have for an empty cell."""
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def _date(value: object) -> str | None:
    if isinstance(value, date):  # a datetime is a date, too
        return value.strftime("%Y-%m-%d") if value.year > 999 else None
    return read_date(value) if isinstance(value, str) else None


def _category(value: object) -> str | None:
    if not isinstance(value, str | int | float | Decimal):
        return None
    if not is_unicode(text := str(value)):
        return None
    spelled = canonical_unit(text)
    return spelled if 0 < len(spelled) <= _LONGEST_CATEGORY else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return None
    if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


_READERS = {"date": _date, "category": _category, "number": _number}

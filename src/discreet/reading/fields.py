"""Declared fields of a record: dates, categories and numbers, checked when the record is read.

Dates have forms with one meaning: 2026-01-31, 31.01.2026, 31/01/2026, 31 Jan 2026, January 31, 2026. 03/01/2026 is a
day of January or of March, and 31.01.26 has no century: the custodian must name the form of such dates.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal

from discreet.config import FIELD_TYPES, field_type, field_values
from discreet.errors import UnknownName, UsageError
from discreet.retrieval.documents import canonical_name, canonical_unit
from discreet.system.words import is_unicode

FORMS = "2026-01-31, 31.01.2026, 31 January 2026 or Jan 31, 2026"
"""The forms, for messages."""
_MONTHS = {
    word: number
    for number, words in enumerate(
        (
            "january jan januar janvier enero ene",
            "february feb februar février fev febrero",
            "march mar märz mrz mars marzo",
            "april apr avril avr abril abr",
            "may mai mayo",
            "june jun juni juin junio",
            "july jul juli juillet julio",
            "august aug août agosto ago",
            "september sep sept septembre septiembre",
            "october oct oktober okt octobre octubre",
            "november nov novembre noviembre",
            "december dec dezember dez décembre diciembre dic",
        ),
        1,
    )
    for word in words.split()
}
_NAME = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?"
_TIME = r"(?:,? ?\d{1,2}:\d{2}.*)?"
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?", re.ASCII)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?"
_NAMED = tuple(
    re.compile(rf"(?<!\w){form}(?!\w)", re.IGNORECASE)
    for form in (
        rf"{_DAY} (?:of |de )?{_NAME}(?: de)?,? (?P<year>[0-9]{{4}})",
        rf"{_NAME} {_DAY},? (?P<year>[0-9]{{4}})",
    )
)
_YEAR_FIRST = re.compile(rf"((?:19|20)\d\d)(?:([-/.])(\d{{1,2}})\2(\d{{1,2}})|(\d\d)(\d\d)){_TIME}", re.ASCII)
_YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}){_TIME}", re.ASCII)
_IN_TEXT = re.compile(r"(?<![\w-])\d{4}-\d{2}-\d{2}(?!\d)", re.ASCII)


def read_date(text: str, form: str = "") -> str | None:
    """Return the day that a text names, such as 2026-01-31; None if it names none, or has another form.

    Args:
        text: the text.
        form: the form of days that is read beside 2026-01-31, as of `strptime`; "" for all forms with one meaning.
    """
    plain = " ".join(text.split())
    if _ISO.fullmatch(plain):
        return _iso(plain)
    if form:
        try:
            return datetime.strptime(plain, form).date().isoformat()
        except ValueError:
            return None
    if found := _YEAR_FIRST.fullmatch(plain):
        return _day(found[1], found[3] or found[5], found[4] or found[6])
    if found := _YEAR_LAST.fullmatch(plain):
        first, mark, second, year = found.groups()
        if mark == "." or int(first) > 12 or first == second:
            return _day(year, second, first)
        return _day(year, first, second) if int(second) > 12 else None
    return next((_named(found) for form in _NAMED if (found := form.fullmatch(plain))), None)


def dates_in(text: str) -> Iterator[str]:
    """Yield the days that stand in a text in one of these forms."""
    plain = " ".join(text.split())
    found = [day for form in _NAMED for one in form.finditer(plain) if (day := _named(one))]
    yield from dict.fromkeys([*found, *(day for one in _IN_TEXT.findall(plain) if (day := _iso(one)))])


def _iso(text: str) -> str | None:
    try:
        return datetime.fromisoformat(text).date().isoformat()
    except ValueError:
        return None


def _named(found: re.Match[str]) -> str | None:
    return _day(found["year"], _MONTHS[found["month"].casefold()], found["day"])


def _day(year: str, month: str | int, day: str) -> str | None:
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None


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


def read_fields(
    values: Mapping[str, object], declared: Mapping[str, str], date_form: str = "", dropped: list[str] | None = None
) -> dict[str, Value]:
    """Return the declared fields of one record, without missing and empty fields.

    Args:
        values: the values by the names of their fields.
        declared: the types by the names of the fields.
        date_form: the form of dates (`read_date`).
        dropped: receives the fields whose values have another type, in place of the error.

    Raises:
        WrongField: if a value has another type than its field.
    """
    found: dict[str, Value] = {}
    for name, kind in declared.items():
        value = value_of(values, name)
        if is_empty(value) or (field_type(kind) != "category" and is_null(value)):
            continue
        try:
            found[name] = _read(name, kind, value, date_form)
        except WrongField:
            if dropped is None:
                raise
            dropped.append(name)
    return found


def _read(name: str, kind: str, value: object, date_form: str) -> Value:
    of = field_type(kind)
    read: Value | None = _date(value, date_form) if of == "date" else _READERS[of](value)
    if read is None:
        other = "; if its dates have one form, give it: --date-format %d/%m/%Y" if of == "date" else ""
        raise WrongField(f"the field '{name}' is not {EXPECTED[of]}{other}")
    if known := field_values(kind):
        read = next((one for one in known if one.casefold() == str(read).casefold()), None)
        if read is None:
            raise WrongField(f"the field '{name}' is none of its declared values: {', '.join(known)}")
    return read


def is_empty(value: object) -> bool:
    """Return whether a field has no value: it is missing, blank or NaN, which tables have for an empty cell."""
    return value is None or value != value or (isinstance(value, str) and not value.strip())


_NOTHING = frozenset(
    "nan nat null none nil na n/a n.a. n.a #n/a #na <na> <null> (null) (none) (blank) (leer) \\n undefined unknown "
    "missing unbekannt k.a.".split()
)


def is_null(value: object) -> bool:
    """Return whether a value is a word for nothing, as programs and people write for an empty cell."""
    return isinstance(value, str) and canonical_unit(value) in _NOTHING


def means_nothing(value: object) -> bool:
    """Return whether a value is empty, a word for nothing, or only marks."""
    return is_empty(value) or is_null(value) or (isinstance(value, str) and not any(char.isalnum() for char in value))


def value_of(values: Mapping[str, object], name: str) -> object:
    """Return the value of a field; `a.b` is the part `b` of the field `a`, or of each item of a list in it.

    Several values are returned as a list.
    """
    if name in values or "." not in name:
        return values.get(name)
    found = list(_parts(values, name.split(".")))
    return found if len(found) > 1 else found[0] if found else None


def _parts(value: object, names: Sequence[str]) -> Iterator[object]:
    if isinstance(value, list | tuple):
        for one in value:
            yield from _parts(one, names)
    elif not names:
        yield value
    elif isinstance(value, Mapping) and names[0] in value:
        yield from _parts(value[names[0]], names[1:])


def _date(value: object, form: str = "") -> str | None:
    if isinstance(value, date):  # a datetime is a date, too
        return value.strftime("%Y-%m-%d") if value.year > 999 else None
    return read_date(value, form) if isinstance(value, str) else None


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


_READERS = {"category": _category, "number": _number}

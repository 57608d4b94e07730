"""The fields of a record, and its document: its text, its individual, its id, and its declared fields.

Declared fields are dates, categories and numbers. Dates have forms with one meaning: 2026-01-31, 31.01.2026,
31/01/2026, 31 Jan 2026, January 31, 2026. 03/01/2026 is a day of January or of March, and 31.01.26 has no century: the
custodian must name the form of such dates.
"""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal

from discreet.config import FIELD_TYPES, field_type, field_values
from discreet.errors import UnknownName, UsageError
from discreet.files.documents import Page
from discreet.files.records import BadRecord, NoText, ReadingOptions, Record, Unreadable
from discreet.store.documents import Document, canonical_name, canonical_unit
from discreet.system.words import is_unicode

FORMS = "2026-01-31, 31.01.2026, 31 January 2026 or Jan 31, 2026"
"""The forms, for messages."""
_MONTHS = {
    word: number
    for number, words in enumerate(
        """january jan januar janvier enero ene|february feb februar février fev febrero|march mar märz mrz mars marzo
        |april apr avril avr abril abr|may mai mayo|june jun juni juin junio|july jul juli juillet julio
        |august aug août agosto ago|september sep sept septembre septiembre|october oct oktober okt octobre octubre
        |november nov novembre noviembre|december dec dezember dez décembre diciembre dic""".split("|"),
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
    if match := _YEAR_FIRST.fullmatch(plain):
        return _day(match[1], match[3] or match[5], match[4] or match[6])
    if match := _YEAR_LAST.fullmatch(plain):
        first, mark, second, year = match.groups()
        if mark == "." or int(first) > 12 or first == second:
            return _day(year, second, first)
        return _day(year, first, second) if int(second) > 12 else None
    return next((_named(match) for form in _NAMED if (match := form.fullmatch(plain))), None)


def dates_in(text: str) -> Iterator[str]:
    """Yield the days that stand in a text in one of these forms."""
    plain = " ".join(text.split())
    dates = [day for form in _NAMED for one in form.finditer(plain) if (day := _named(one))]
    yield from dict.fromkeys([*dates, *(day for one in _IN_TEXT.findall(plain) if (day := _iso(one)))])


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
            what = "type of field (values stand in brackets: 'ward:category(north,south)')"
            raise UnknownName(what, kind, FIELD_TYPES)
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
        Unreadable: if a value has another type than its field.
    """
    fields: dict[str, Value] = {}
    for name, kind in declared.items():
        value = value_of(values, name)
        if is_empty(value) or (field_type(kind) != "category" and is_null(value)):
            continue
        try:
            fields[name] = _read(name, kind, value, date_form)
        except Unreadable:
            if dropped is None:
                raise
            dropped.append(name)
    return fields


def _read(name: str, kind: str, value: object, date_form: str) -> Value:
    of = field_type(kind)
    read: Value | None = _date(value, date_form) if of == "date" else _READERS[of](value)
    if read is None:
        other = "; if its dates have one form, give it: --date-format %d/%m/%Y" if of == "date" else ""
        raise Unreadable(f"the field '{name}' is not {EXPECTED[of]}{other}")
    if values := field_values(kind):
        read = next((one for one in values if one.casefold() == str(read).casefold()), None)
        if read is None:
            raise Unreadable(f"the field '{name}' is none of its declared values: {', '.join(values)}")
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
    parts = list(_parts(values, name.split(".")))
    return parts if len(parts) > 1 else parts[0] if parts else None


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


# --- documents -------------------------------------------------------------------------------------------------------

_MAY_BE = "(a name all the same: --unit-may-be)"
NO_UNIT = f"names no individual: the field '{{}}' is empty or missing, or says so {_MAY_BE}"
"""The reason to refuse a record without a unit if others of its file have one."""


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
        options: the names of the fields.
        own_units: whether a record without a unit becomes a unit. Otherwise it is refused.
    """

    def __init__(self, options: ReadingOptions, *, own_units: bool = False) -> None:
        self._options, self._own_units = options, own_units
        self._copies: Counter[str] = Counter()

    def read(self, record: Record) -> Read | BadRecord:
        """Return the document of a record, or the reason to refuse it. The reason never contains a value."""
        try:
            return self._read(record)
        except Unreadable as error:
            return BadRecord(record.where, str(error))
        except RecursionError:
            return BadRecord(record.where, "a field has lists in lists, too many to be read")

    def _read(self, record: Record) -> Read | BadRecord:
        options, values = self._options, record.values
        wanted = ("text",) if record.whole else (options.text_field, *options.more_text)
        texts = [_sound(_text(value_of(values, name), name, is_file=record.whole)) for name in wanted]
        names = [
            _sound(_name(value_of(values, field), field, options.may_be)) if field else ""
            for field in (options.id_field, options.unit_field)
        ]
        identity, unit = "" if means_nothing(names[0]) else names[0], canonical_unit(names[1])
        if means_nothing(unit) and unit not in options.may_be:
            unit = ""
        if not any(map(str.strip, texts)):
            if any(name in values or "." in name for name in wanted):
                return NoText(record.where, "no text")
            raise Unreadable(f"no field '{wanted[0]}'")
        if not unit and not self._own_units:
            raise Unreadable(NO_UNIT.format(options.unit_field))
        dropped: list[str] | None = [] if options.drop_bad_fields else None
        declared = read_fields(values, options.declared, options.date_format, dropped)
        text, copy = "\n\n".join(text for text in texts if text.strip()), 1
        nameless = not identity and not record.whole
        if nameless:
            identity = made_id(unit, text, declared)
            self._copies[identity] += 1
            copy = self._copies[identity]
            identity = made_id(unit, text, declared, copy)
        identity = identity or record.source
        document = Document(identity, unit or identity, text, not unit, record.source, declared)
        return Read(document, record.where, copy > 1, nameless, tuple(dropped or ()))


def made_id(unit: str, text: str, declared: Mapping[str, Value], copy: int = 1) -> str:
    """Return the id of a record that has none, from its unit, text, declared fields and number among equal records."""
    content = json.dumps([unit, text, dict(sorted(declared.items())), copy])
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def _sound(text: str) -> str:
    if not is_unicode(text):
        raise Unreadable("not UTF-8")
    return text


_LARGEST_PAGE = 2**20  # the reader of HTML is slow for damaged pages
_A_PAGE = re.compile(r"\s*<(!doctype|html|body|div|p|table|span|ul|ol|br|h[1-6])\b.*>\s*", re.IGNORECASE | re.DOTALL)


def _text(value: object, field: str, *, is_file: bool = False) -> str:
    """Return the text of a field, of HTML without its tags; "" if it is empty."""
    if is_empty(value):
        return ""
    if isinstance(value, list):
        texts = [text for one in value if (text := _text(one, field)).strip()]
        return "\n\n".join(texts)
    if not isinstance(value, str):
        raise Unreadable(f"the field '{field}' is not a text")
    return Page(value).text if not is_file and len(value) < _LARGEST_PAGE and _A_PAGE.fullmatch(value) else value


_ROUNDED = re.compile(r"[+-]?\d([.,]\d+)?e\+\d{2,}", re.IGNORECASE | re.ASCII)
"""A large number as spreadsheets and programs write it: 1.23E+15. Without the sign it is an id such as 7e12."""
_SHARED = "is a number that was rounded, so that several individuals may have it: export it as a text"
_EXACT = 2**53
"""From here on, not every whole number is a floating-point number."""


def _name(value: object, field: str, may_be: Collection[str]) -> str:
    """Return a value as a name, "" if it is empty. Equal values have one name. Those in `may_be` are names."""
    if isinstance(value, list):
        names = [name for one in value if (name := _name(one, field, may_be))]
        if len(set(map(canonical_unit, names))) > 1:
            raise Unreadable(f"the field '{field}' names several individuals, but a record belongs to one")
        return names[0] if names else ""
    if is_empty(value):
        return ""
    if isinstance(value, (bool, tuple, dict, set, bytes)):
        raise Unreadable(f"the field '{field}' is neither a text nor a number")
    if isinstance(value, float) and abs(value) >= _EXACT:
        raise Unreadable(f"the field '{field}' {_SHARED}")
    if isinstance(value, str) and _ROUNDED.fullmatch(value.strip()) and canonical_unit(value) not in may_be:
        raise Unreadable(f"the field '{field}' {_SHARED} {_MAY_BE}")
    if isinstance(value, float) and value.is_integer():  # a table with empty cells has 7 as 7.0
        value = int(value)
    if isinstance(value, datetime) and not value.tzinfo and value.time() == time():  # workbooks store a day like this
        value = value.date()
    return canonical_name(str(value))

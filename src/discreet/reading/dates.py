"""Dates in forms that have one meaning: 2026-01-31, 31 Jan 2026, January 31, 2026.

03/01/2026 is a day of January or of March, and 31.01.26 has no century. Such forms are not guessed at: another form in
the same file would be read otherwise.
"""

import re
from collections.abc import Iterator
from datetime import date, datetime

FORMS = "2026-01-31, 31 January 2026 or Jan 31, 2026"
"""The forms, for messages."""
_MONTHS = "january february march april may june july august september october november december".split()
_NAME = rf"(?P<month>{'|'.join(_MONTHS)}|{'|'.join(name[:3] for name in _MONTHS)}|sept)\.?"
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?", re.ASCII)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_NAMED = tuple(
    re.compile(rf"(?<!\w){form}(?!\w)", re.ASCII | re.IGNORECASE)
    for form in (rf"{_DAY} (?:of )?{_NAME},? (?P<year>\d{{4}})", rf"{_NAME} {_DAY},? (?P<year>\d{{4}})")
)
_IN_TEXT = re.compile(r"(?<![\w-])\d{4}-\d{2}-\d{2}(?!\d)", re.ASCII)


def read_date(text: str) -> str | None:
    """Return the day that a text names, such as 2026-01-31; None if it names none, or has another form."""
    plain = " ".join(text.split())
    if _ISO.fullmatch(plain):
        return _iso(plain)
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
    month = next(number for number, name in enumerate(_MONTHS, 1) if name[:3] == found["month"][:3].casefold())
    try:
        return date(int(found["year"]), month, int(found["day"])).isoformat()
    except ValueError:
        return None

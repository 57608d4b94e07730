"""The period of a question: "since March 2024", "by month"."""

import datetime
import re

from discreet.query.requests.phrases import FLAGS, Nouns

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = r"(?P<{0}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
_MONTH += r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
_DATES = (
    r"(?P<y>\d{4})(?:-(?P<m>\d\d?)(?:-(?P<d>\d\d?))?)?(?![-./\d])",
    r"(?P<d>\d\d?)\.(?P<m>\d\d?)\.(?P<y>\d{4})(?!\d)",
    r"(?P<m>\d\d?)[/.](?P<y>\d{4})(?!\d)",
    r"q(?P<quarter>[1-4])[ /-]?(?P<y>\d{4})(?!\d)",
    rf"(?:the )?(?P<d>\d\d?)(?:st|nd|rd|th)?(?: of)? {_MONTH.format('name')},? (?P<y>\d{{4}})(?!\d)",
    rf"{_MONTH.format('name')} (?P<d>\d\d?)(?:st|nd|rd|th)?,? (?P<y>\d{{4}})(?!\d)",
    rf"{_MONTH.format('name')},?(?: of)? (?P<y>\d{{4}})(?!\d)",
)
_SINCE = re.compile(
    r"(?:^|[\s,])(?:since|as of|starting (?:in|from|on)|from|beginning (?:in|on))(?: the)?"
    r"(?: (?:year|start of|beginning of|first of))?\s+(?=\w*\d|[a-z]+\.?,? (?:of )?\d|\d)",
    FLAGS,
)
_UNTIL = re.compile(r"\s*(?:to|until|till|and|through|-|\u2013)(?! (?:now|today|date)\b)(?=\W|$)", FLAGS)
_ONWARDS = re.compile(r"\s*(?:onwards?|on\b|until (?:today|now)|to date)", FLAGS)


def since(text: str) -> tuple[str, str]:
    """Return a text without its "since ..." and the date in ISO form, or the text and "" if it has no such date."""
    for found in _SINCE.finditer(text):
        for pattern in _DATES:
            date = re.compile(pattern, FLAGS).match(text, found.end())
            if date and (iso := _iso(date)) and not _UNTIL.match(text, date.end()):
                end = date.end()
                onwards = _ONWARDS.match(text, end)
                if found[0].strip(" ,").casefold().startswith("from") and not onwards:
                    continue
                after = text[onwards.end() if onwards else end :]
                return " ".join(f"{text[: found.start()]} {after}".replace(" ,", " ").split()), iso
    return text, ""


def _iso(found: re.Match[str]) -> str:
    parts = found.groupdict()
    name = (parts.get("name") or "")[:3].casefold()
    month = next((i for i, one in enumerate(_MONTHS, 1) if name and one.startswith(name)), int(parts.get("m") or 0))
    month = 3 * int(parts["quarter"]) - 2 if parts.get("quarter") else month
    day = int(parts.get("d") or 0)
    try:
        date = datetime.date(int(parts["y"]), month or 1, day or 1)
    except ValueError:
        return ""
    return date.isoformat()[: 10 if day else 7 if month else 4]


_EACH = (
    r"(?:by|per|each|every|for each|in each|for every|in every|broken down by|split by|grouped by|over the|across the"
)
_EACH += r"|for the last few|from|by calendar)"
_PERIOD = re.compile(
    rf"[\s,]+{_EACH}\s+(?:calendar )?(?P<by>month|quarter|year)s?(?: (?:to|by|on|over|after) (?P=by))?(?=$|[\s,])",
    FLAGS,
)
_BY_EACH = re.compile(r"[\s,]+(?P<by>month|quarter|year) (?:by|after) (?P=by)(?=$|[\s,])", FLAGS)
_OVER_TIME = re.compile(r"[\s,]+(?:over (?:the course of )?time|in recent times)$", FLAGS)
_ADJECTIVE = re.compile(
    r"\b(?P<by>monthly|quarterly|yearly|annual)\s+(?=number|count|share|percentage|trend|rate)", FLAGS
)
_ADVERB = re.compile(
    r"[\s,]+(?P<by>month over month|year over year|year on year|monthly|quarterly|yearly|annually)$", FLAGS
)
_BY_FIELD = re.compile(rf"[\s,]+{_EACH}\s+(?:the )?(?P<by>[^,?]{{1,40}})$", FLAGS)
_NAMED = {"mont": "month", "quar": "quarter", "year": "year", "annu": "year"}


def split_by(text: str, nouns: Nouns) -> tuple[str, str, bool]:
    """Return a text without its "by ...", the period or field that it names, and whether it asks for a course."""
    for pattern in (_BY_EACH, _PERIOD, _ADJECTIVE, _ADVERB):
        found = pattern.search(text)
        if found and not re.match(r"[\s,]*(?:and|or)\b", text[found.end() :], FLAGS):
            rest = f"{text[: found.start()]} {text[found.end() :]}"
            return " ".join(rest.split()), _NAMED[found["by"][:4].casefold()], True
    if found := _OVER_TIME.search(text):
        return text[: found.start()], "", True
    if found := _BY_FIELD.search(text):
        name = nouns.field(found["by"])
        if name:
            return text[: found.start()], name, True
    return text, "", False

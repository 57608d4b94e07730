"""Requests in German, French and Spanish: patterns of one table for each language, and what all of them share.

A pattern has named parts: `who` (the units that count), `what` (the condition), `attr`, `a` and `b` (groups), `without`
and `no` (denials), `mean` (a word for a statistic). A phrase stays in the language of the question, since the texts are
in it, too. Patterns are whole sentences. So a question of another form is no request.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from discreet.query.requests.dates import since as english_since
from discreet.query.requests.phrases import FLAGS, LONGEST
from discreet.query.requests.wording import Kind, Statistic, Wording

_ORDER: tuple[Kind, ...] = ("compare", "typical", "list", "share", "count", "trend")


@dataclass(frozen=True)
class Table:
    """What the rules know of a language.

    Attributes:
        units: a pattern of the words for units.
        parts: fragments of patterns, by the names with which `{NAME}` stands for them. `U` are the units.
        patterns: the sentences of each kind.
        articles: a pattern of the words that may stand before a phrase.
        no: a pattern of a denial at the start of a condition.
        without: the word that denies a group: "ohne".
        joins: a pattern of the words between units and a group: "mit".
        by: patterns of "by month", "by quarter" and "by year".
        since: a pattern of "since", and the names of the months.
        attributes: the names of attributes in English, which readings and statistics have.
        statistics: the statistics by their names.
        vague: a pattern that no phrase may hold: a comparison, a second question, a pronoun.
        polite: a pattern of polite words at both ends.
    """

    units: str
    parts: dict[str, str]
    patterns: dict[Kind, Sequence[str]]
    articles: str
    no: str
    without: str
    joins: str
    by: dict[str, str]
    since: str
    months: str
    attributes: dict[str, str]
    statistics: dict[str, Statistic]
    vague: str
    polite: str
    compiled: dict[str, dict[Kind, list[re.Pattern[str]]]] = field(default_factory=dict, compare=False, repr=False)

    def units_of(self, unit: str) -> str:
        """Return the pattern of units, with the vault's own word."""
        own = "" if unit.casefold() in ("", "unit", "id", "name") else rf"|{re.escape(unit)}(?:s|es|e|en|n)?"
        return f"(?:{self.units}{own})"

    def of(self, unit: str) -> dict[Kind, list[re.Pattern[str]]]:
        """Return the patterns of a vault whose word for one individual is `unit`."""
        if unit not in self.compiled:
            if len(self.compiled) > 8:
                self.compiled.clear()
            parts = {"U": self.units_of(unit)}
            for name, text in self.parts.items():
                parts[name] = _filled(text, parts)
            self.compiled[unit] = {
                kind: [re.compile(_filled(one, parts), FLAGS) for one in patterns]
                for kind, patterns in self.patterns.items()
            }
        return self.compiled[unit]


def _filled(text: str, parts: dict[str, str]) -> str:
    return re.sub(r"\{([A-Z]+)\}", lambda found: parts[found[1]], text)


def request_in(table: Table, language: str, question: str, unit: str, fields: Sequence[str]) -> Wording | None:
    """Return the request that a question makes in a language, or None."""
    text = _sentence(question, table.polite)
    if not text or len(text) > LONGEST:
        return None
    text, date = _since(text, table)
    text, by = _by(text, table)
    for kind in _ORDER:
        for pattern in table.of(unit).get(kind, ()):
            found = pattern.fullmatch(text)
            request = found and _made(kind, found, table, unit, fields)
            if request and not _is_vague(request, table):
                request = replace(request, language=language, since=date)
                asks = request.kind in ("count", "share", "trend")
                return replace(request, kind="trend", by=by) if by and asks else replace(request, by=by)
    return None


_THOSE = "ceux|celles|denen|solchen|diejenigen|aquellos|aquellas"
_ENDS = " \t\u00a0\u202f?.!,;:\u00bf\u00a1\u2026"


def _sentence(question: str, polite: str) -> str:
    plain = " ".join(question.translate(_MARKS).split())
    some = [one.strip(_ENDS) for one in re.split(r"(?<=[.?!])\s+(?=[\w\u00bf\u00a1])", plain)]
    text = next((one for one in reversed(some) if re.search(r"\w", one) and not re.fullmatch(polite, one, FLAGS)), "")
    text = re.sub(rf"^(?:{polite})[\s,:]+|[\s,]+(?:{polite})$", "", text, flags=FLAGS)
    return text.strip(_ENDS).replace("%", "prozent" if "prozent" in polite else "%")


_MARKS = str.maketrans(dict.fromkeys('"\u201c\u201d\u201e\u00ab\u00bb`*', "") | {"\u2019": "'"})


def _since(text: str, table: Table) -> tuple[str, str]:
    """Return a text without its "since 2024", and the date in ISO form."""
    found = re.search(
        rf"(?:^|\s)(?:{table.since})\s+(?:{table.months}\s+(?:de\s+)?)?\d{{4}}(?:-\d\d)?(?=$|[\s,])", text, FLAGS
    )
    if not found:
        return text, ""
    year = re.search(r"\d{4}(?:-\d\d)?", found[0])
    assert year
    month = next(
        (n for n, one in enumerate(table.months[3:-1].split("|"), 1) if re.search(rf"\b{one}\b", found[0], FLAGS)), 0
    )
    iso = f"{year[0]}-{month:02}" if month and len(year[0]) == 4 else year[0]
    _, date = english_since(f"x since {iso}")
    rest = " ".join(f"{text[: found.start()]} {text[found.end() :]}".split()).strip(_ENDS)
    return (rest, date) if date else (text, "")


def _by(text: str, table: Table) -> tuple[str, str]:
    """Return a text without its "by month", and the period."""
    for period, pattern in table.by.items():
        found = re.search(rf"(?:^|[\s,]+)(?:{pattern})(?=$|[\s,])", text, FLAGS)
        if found:
            return " ".join(f"{text[: found.start()]} {text[found.end() :]}".split()).strip(_ENDS), period
    return text, ""


def _made(kind: Kind, found: re.Match[str], table: Table, unit: str, fields: Sequence[str]) -> Wording | None:
    part = {name: value or "" for name, value in found.groupdict().items()}
    who = _group(f"{table.without} {part['who']}" if part.get("without") else part.get("who", ""), table, unit)
    what, negated = _condition(part.get("what", ""), table)
    negated = negated != bool(part.get("no"))
    if kind == "compare":
        groups = tuple(_group(part[name], table, unit) for name in ("a", "b"))
        return Wording("compare", condition=what, groups=groups, negated=negated) if all(groups) else None
    if kind in ("list", "typical"):
        attribute = _attribute(part.get("attr", "age"), table, fields)
        if kind == "list":
            return Wording("list", who, attribute=attribute)
        return Wording("typical", who, attribute=attribute, statistic=_statistic(part.get("mean", ""), table))
    if not what:  # "how many patients with fever": the group is the condition
        bare = who.removeprefix(f"{table.without} ")
        return Wording(kind, condition=bare, negated=bare != who) if bare or kind == "count" else None
    return Wording(kind, who, what, negated=negated)


def _condition(text: str, table: Table) -> tuple[str, bool]:
    """Return a condition, and whether it is denied: "kein Fieber"."""
    denied = re.match(table.no, text, FLAGS)
    return _phrase(text[denied.end() :] if denied else text, table), bool(denied)


def _phrase(text: str, table: Table) -> str:
    return re.sub(rf"^(?:{table.articles})+", "", text.strip(" ,;:'()"), flags=FLAGS)


def _group(text: str, table: Table, unit: str) -> str:
    """Return the phrase of a group: "Winterhand" for "den Patienten mit Winterhand"."""
    text = _phrase(text, table)
    units = rf"(?:(?:{table.units_of(unit)}|{_THOSE}),? )?"
    people = re.fullmatch(
        rf"{table.units_of(unit)}|{units}(?:(?:{table.joins}) ?(?P<who>.+)|{table.without} (?P<not>.+))", text, FLAGS
    )
    if not people:
        return text
    if people["not"]:
        return f"{table.without} {_phrase(people['not'], table)}"
    return _phrase(people["who"] or "", table)


def _attribute(text: str, table: Table, fields: Sequence[str]) -> str:
    """Return the name of an attribute: that of a field, or the English word that readings have."""
    low = text.casefold()
    named = next((name for name in fields if name.casefold().replace("_", " ") == low), "")
    return named or table.attributes.get(low, text)


def _statistic(text: str, table: Table) -> Statistic:
    return next((named for word, named in table.statistics.items() if text.casefold().startswith(word)), "")


def _is_vague(request: Wording, table: Table) -> bool:
    parts = (request.population, request.condition, *request.groups)
    return any(re.search(table.vague, part, FLAGS) for part in parts if part)


@lru_cache(1)
def _tables() -> dict[str, Table]:
    from discreet.query.requests.french import FRENCH
    from discreet.query.requests.german import GERMAN
    from discreet.query.requests.spanish import SPANISH

    return {"de": GERMAN, "fr": FRENCH, "es": SPANISH}


def foreign_request(question: str, unit: str = "", fields: Sequence[str] = ()) -> Wording | None:
    """Return the request for a statistic that a question in German, French or Spanish makes, or None.

    Args:
        question: the text of the question.
        unit: the vault's word for one individual.
        fields: the names of declared fields.
    """
    found = (request_in(table, name, question, unit, fields) for name, table in _tables().items())
    return next((one for one in found if one), None)

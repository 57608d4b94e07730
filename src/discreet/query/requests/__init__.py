"""A question as a request for a statistic, from its public text alone.

Each kind has a module of rules. They are tried in an order in which the more particular kind comes first. In doubt, a
question is no request.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from discreet.algorithms.text.normalize import plain_question
from discreet.query.question_kinds import recognise
from discreet.query.requests.comparisons import COMPARES, compared
from discreet.query.requests.counts import counted
from discreet.query.requests.dates import since, split_by
from discreet.query.requests.differences import differs
from discreet.query.requests.foreign import foreign_request
from discreet.query.requests.lists import listed
from discreet.query.requests.phrases import Nouns, nouns_of, points_back, sentence_of
from discreet.query.requests.summaries import summarised
from discreet.query.requests.trends import trended
from discreet.query.requests.typical import typical
from discreet.query.requests.wording import KINDS, Kind, Statistic, Wording

__all__ = ["KINDS", "Kind", "Statistic", "Wording", "request_of"]

_OTHERS = frozenset(("person", "follow-up", "other-language"))
_SECOND = (
    r"\b(?:how (?:many|often|much|common|old|long)|what (?:is|are|share|percentage)|which of)\b|"
    r"\b(?:versus|vs|compared)\b|\bwho (?:do|does|did|is|are|was|were|has|have|had)$|^(?:when|if|because|while|that)\b|"
    r"(?<!older)(?<!younger)(?<!longer)(?<!shorter)(?<!higher)(?<!lower)(?<!more)(?<!less)(?<!fewer)(?<!rather)"
    r"(?<!other)(?<!later)(?<!earlier) than\b"
)
_LONGEST = 2_000
"""A longer text is no request: it is a document with a question."""


def request_of(question: str, unit: str = "", fields: Sequence[str] = ()) -> Wording | None:
    """Return the request for a statistic that a question makes, or None if it asks for another thing.

    Args:
        question: the text of the question.
        unit: the vault's word for one individual, such as "patient".
        fields: the names of declared fields.
    """
    if len(question) <= _LONGEST and (foreign := foreign_request(question, unit, fields)):
        return foreign
    text = sentence_of(plain_question(question)) if len(question) <= _LONGEST else ""
    kinds = {recognise(question, unit=unit).name, recognise(text, unit=unit).name}
    if not text or kinds & _OTHERS:
        return None
    nouns = nouns_of(unit, fields)
    request = summarised(text, nouns) if "summary" in kinds else _parsed(text, nouns)
    return None if request is None or _is_vague(request, fields) else request


def _parsed(text: str, nouns: Nouns) -> Wording | None:
    text, date = since(text)
    core, by, course = split_by(text, nouns)
    measured = typical(core, nouns) if course else None
    if measured:
        return replace(measured, by=by, since=date)
    trend = None if COMPARES.match(text) else trended(core, by, course, date, nouns)
    if trend:
        return trend
    difference = differs(text, nouns)
    if difference:
        return replace(difference, by=by, since=date)
    compares = compared(text, nouns)
    if compares:
        return compares if not date else replace(compares, since=date)
    found = typical(core, nouns) or (counted(core, nouns) if not course else None) or listed(core, nouns)
    return found and replace(found, by=by, since=date)


def _is_vague(request: Wording, fields: Sequence[str]) -> bool:
    """Return whether a phrase is a pronoun, or still holds a second question, a comparison or a "by"."""
    parts = (request.population, request.condition, request.attribute, *request.groups)
    names = "|".join(["month", "quarter", "year", *(re.escape(name) for name in fields if name.strip())])
    left = re.compile(rf"{_SECOND}|\b(?:by|per|each|every) (?:{names})\b", re.IGNORECASE)
    return any(points_back(part) or left.search(part) for part in parts)

"""Synonyms: other words for a thing, which the custodian names. They are public.

    hypertension = HTN = high blood pressure = Bluthochdruck@de

A question in words for one of them asks for all: `count: "hypertension" or "HTN" or ...`. So what is counted is shown,
it costs what one phrase costs, and no text has any influence on it. A phrase in quotes is asked unchanged.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from discreet.algorithms.statistics.conditions import Condition, Says, any_of, each_phrase, says
from discreet.errors import UsageError
from discreet.questions.request import Request

MOST_WORDS, MOST_THINGS = 20, 2000
Synonyms = Mapping[str, Sequence[str]]
"""The other words for each thing, "Bluthochdruck@de" is a German one."""


def parse_synonyms(text: str) -> dict[str, list[str]]:
    """Return the synonyms that a text names, one thing a line; empty lines and those that begin with # are left out.

    Raises:
        UsageError: with the number of the line, if it names no other word, too many, or one of another line.
    """
    found: dict[str, list[str]] = {}
    homes: dict[tuple[str, ...], int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = list(dict.fromkeys(one.strip() for one in line.split("=") if one.strip()))
        if not words or words[0].startswith("#"):
            continue
        if not 2 <= len(words) <= MOST_WORDS or len(found) == MOST_THINGS:
            raise UsageError(
                f"Line {number} has {len(words)} words for a thing: '{line.strip()[:80]}'. Write 2 to {MOST_WORDS} of "
                f"them, such as: hypertension = HTN = Bluthochdruck@de. At most {MOST_THINGS} lines are read."
            )
        for phrase in map(_says, words):
            if (home := homes.setdefault(_key(phrase), number)) != number:
                raise UsageError(f"{phrase} stands in line {home} and in line {number}. Write both lines as one.")
        found[words[0]] = words[1:]
    return found


def widen(request: Request, synonyms: Synonyms, quoted: str = "") -> Request:
    """Return the request in which each phrase is any of its synonyms, but for phrases that stand in `quoted`."""
    known = _known(tuple((name, *others) for name, others in synonyms.items()))
    if not known:
        return request

    def wider(phrase: Says) -> Condition:
        others = () if phrase.says in quoted else known.get(_key(phrase), ())
        every = {_key(one): one for one in (phrase, *others)}
        return any_of(*every.values()) if len(every) > 1 else phrase

    def of(condition: Condition | None) -> Condition | None:
        return condition and each_phrase(condition, wider)

    groups = tuple(each_phrase(one, wider) for one in request.groups)
    changed = {"of": of(request.of), "among": of(request.among), "groups": groups}
    return request.model_copy(update={name: value for name, value in changed.items() if value})


def _says(text: str) -> Says:
    words, mark, language = text.rpartition("@")
    return says(words, language) if mark and language in ("en", "de", "fr", "es") else says(text)


def _key(phrase: Says) -> tuple[str, ...]:
    """What decides of which units a phrase holds, in any language."""
    return phrase.phrase.decides[1:]


@lru_cache(8)
def _known(things: tuple[tuple[str, ...], ...]) -> Mapping[tuple[str, ...], tuple[Says, ...]]:
    """Return all words for the thing of each word."""
    every = [tuple(map(_says, words)) for words in things]
    return {_key(one): phrases for phrases in every for one in phrases}

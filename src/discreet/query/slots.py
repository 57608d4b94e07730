"""The parts of a question as conditions: "fever or chills" is two things, of which one holds.

A part is split at the words that join things ("or", "and", "but not", "neither ... nor"). What a part says is then
looked for in the texts, each word and each sign of it. A part that no condition states is refused unpaid, with a way to
ask: a comparison with a number, a month, a second question, or joins that can be read in two ways.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from discreet.algorithms.statistics.conditions import (
    AnyOf,
    Condition,
    FieldTest,
    all_of,
    any_of,
    is_text_form,
    narrowed,
    parse,
    says,
)
from discreet.algorithms.statistics.statistic import Statistic
from discreet.errors import CannotAnswer
from discreet.query.requests import Wording
from discreet.query.requests.phrases import sentences_of

_MONTHS = {
    "": "january february march april may june july august september october november december jan feb apr jun jul aug "
    "sep sept oct nov dec",
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
}
_MEASURED = re.compile(
    r"\b(?:over|under|above|below|older|younger|before|after|until|between|more than|less than|at (?:least|most))\b.*\d"
    r"|\b(?:in|during|from|of) (?:\w+ )?(?:19|20)\d\d\b|\bon (?:the )?\d|[<>=\u2264\u2265]|\bpercent\b"
    r"|\b(?:by|per|each|every) (?:day|week|weekday|hour|decade|age|sex|gender|ward|department|"
    r"doctor|street|city|region)$",
    re.IGNORECASE,
)
"""A comparison with a number or a date, or a division by something that is no declared field: no phrase of a text."""
_PEOPLE = re.compile(
    r"(women|men|girls|boys|children|adults|females?|males?)"
    r"(?: (?:with|who|having|over|under|aged|in|on|of|from|without)\b.*)?",
    re.IGNORECASE,
)
_LOST = re.compile(
    r"\b(?:still|sometimes|only|again|once|no longer|any ?more|currently|can(?:no|')t|could(?:n't| not))\b",
    re.IGNORECASE,
)
_BEFORE = r"\b(on|off|before|after|during|since|until|under|over|against|within|A) (?:(?:an?|the|their) )*"
_ASKS = re.compile(
    r"(?:what|which|how|who|whose|when|where|why|do|does|did|is|are|was|were|they|we|he|she|it)\b", re.IGNORECASE
)
_MODIFIES = re.compile(
    r"(?:left|right|upper|lower|high|low|mild|moderate|severe|acute|chronic|early|late|old|young|new|type|stage|grade|"
    r"\w* ?\d+)",
    re.IGNORECASE,
)
"""What is no thing without the noun after the next one: "left or right knee pain"."""
_OTHER_JOINS = re.compile(
    r"\b(?:versus|vs|except|than|yet|though|although|while|nor)\b|(?<![\d\W])/(?!\d)|;", re.IGNORECASE
)


@dataclass(frozen=True)
class _Joins:
    """The words of a language that join things, as patterns."""

    either: str
    both: str
    but: str
    denies: str
    neither: str
    lead: str
    drop: str = "with|having|a|an|the|any|some"


_LANGUAGES = {
    "": _Joins("or", "and|plus|&|\\+", "but", "not|no|without|never", r"neither (.+?) nor (.+)", "either|both"),
    "de": _Joins(
        "oder", "und", "aber|jedoch", r"keine?[nrms]?|ohne|nicht", r"weder (.+?) noch (.+)", "entweder|sowohl", "mit"
    ),
    "fr": _Joins(
        "ou", "et", "mais", r"pas de|pas d'|sans|aucune?", r"ni (.+?) ni (.+)", "soit", "avec|de la|du|des|une?|l[ae]"
    ),
    "es": _Joins("o|u", "y|e", "pero", r"sin|no|ning[uú]na?", r"ni (.+?) ni (.+)", "sea", "con"),
}


def keep_words(question: str, request: Wording) -> Wording:
    """Return the request with the words before its parts that change them: "dialysis" becomes "on dialysis".

    Raises:
        CannotAnswer: if the question has a part that the rules left out, and that changes its answer.
    """
    spoken = " ".join(question.split())
    if not request.language and len(sentences_of(question)) > 1:
        raise CannotAnswer("two-things", "Only one of its sentences would be asked. Ask each by itself, in whole.")
    lost = _LOST.search(spoken)
    if lost and request.kind in ("count", "share", "trend"):
        raise left_out(lost[0], spoken, request.condition or request.population)
    if request.kind == "summary":
        return request

    def whole(part: str) -> str:
        before = re.search(rf"{_BEFORE}{re.escape(part)}(?!\w)", spoken, re.IGNORECASE) if part else None
        if before is None or before[1] == "a" or (before[1] == "A" and spoken.isupper()):
            return part
        return f"{before[1]} {part}"

    return replace(
        request,
        population=whole(request.population),
        condition=whole(request.condition),
        groups=tuple(map(whole, request.groups)),
    )


def as_condition(part: str, language: str, question: str, labels: Mapping[str, FieldTest] | None = None) -> str:
    """Return a part of a question as a condition in its text form; a phrase alone unchanged.

    Args:
        part: such as "fever or chills"; "" for every unit.
        language: "de", "fr" or "es"; English if empty.
        question: the question, for the advice of an error.
        labels: the tests of declared values by the words for these: "women".

    Raises:
        CannotAnswer: if it states none.
    """
    for label, test in (labels or {}).items():
        more = r"(?:\s+(?:with|having|who have|who had)\s+(.+))?"
        if named := re.fullmatch(re.escape(label) + more, part, re.IGNORECASE):
            rest = as_condition(named[1], language, question) if named[1] else ""
            return str(narrowed(test, parse(rest)))
    found = _read(part, language, question) if part else None
    if found is None:
        return part
    if is_text_form(part):  # a mark that the text form uses: the phrase goes in quotes
        return str(found)
    return str(found) if isinstance(found, AnyOf) or " and " in str(found) or str(found).startswith("not ") else part


def _read(part: str, language: str, question: str) -> Condition | None:
    """Return the condition of a part; None for one phrase."""
    joins, whole = _LANGUAGES[language], " ".join(part.split()).strip(" ,")
    _check_phrase(whole, language, question)
    if found := re.fullmatch(joins.neither, whole, re.IGNORECASE):
        return all_of(*(~says(_bare(one, joins)) for one in found.groups()))
    join = rf"\s*(?:,\s*)?(?<![\w'-])({joins.either}|{joins.both}|{joins.but})(?![\w'-])\s*|\s*(,)\s*"
    pieces = re.split(join, re.sub(rf"^(?:{joins.lead})\s+", "", whole, flags=re.IGNORECASE), flags=re.IGNORECASE)
    parts, between = pieces[::3], [one or two for one, two in zip(pieces[1::3], pieces[2::3], strict=True)]
    if len(parts) == 1:
        return None
    kinds = {_kind(one, joins) for one in between} - {","}
    wrong = [one for one in parts if not one.strip() or _ASKS.match(one) or _MODIFIES.fullmatch(one.strip())]
    if wrong or len(kinds) != 1 or any("," in part for part in parts):
        raise _two_things(whole, parts, between, question)
    said = [_one(one, joins) for one in parts]
    return any_of(*said) if kinds == {"or"} else all_of(*said)


def _kind(join: str, joins: _Joins) -> str:
    if join == ",":
        return ","
    return "or" if re.fullmatch(joins.either, join, re.IGNORECASE) else "and"


def _one(part: str, joins: _Joins) -> Condition:
    if found := re.match(rf"(?:{joins.denies})(?:\s+|(?<='))(?=\w)", part.strip(), re.IGNORECASE):
        return ~says(_bare(part.strip()[found.end() :], joins))
    return says(_bare(part, joins))


def _bare(part: str, joins: _Joins) -> str:
    return re.sub(rf"^(?:(?:{joins.drop})\s+)+", "", part.strip(), flags=re.IGNORECASE)


def check_plain(statistic: Statistic, question: str) -> None:
    """Refuse a statistic with a plain phrase that is several things. It depends on public values alone.

    Raises:
        CannotAnswer: if it has one; a condition in its text form says what is meant.
    """
    language = statistic.language.replace("en", "")
    named = (statistic.population, getattr(statistic, "condition", ""), *getattr(statistic, "groups", ()))
    for part in filter(None, named):
        if is_text_form(part):
            continue
        meant = _read(part, language, question)
        if meant is not None:
            raise CannotAnswer("two-things", f"'{part}' is two things. Write it as a condition: {meant}")
    for attribute in statistic.attributes:
        if len(parts := re.split(r"\s*(?:\b(?:and|or)\b|[,&/+])\s*", attribute)) > 1:
            raise _two_things(attribute, parts, (), question)


def _check_phrase(part: str, language: str, question: str) -> None:
    """Refuse what no text says in these words."""
    if _MEASURED.search(part) or (language and re.search(r"\d", part)):
        raise CannotAnswer(
            "left-out",
            f"Texts do not say '{part}' in these words. Leave out the number, the date or the 'by ...', and test a "
            "declared field: --where 'age>=60'.",
        )
    if who := _PEOPLE.fullmatch(part):
        raise CannotAnswer(
            "population",
            f"Texts rarely say '{who[1]}' of one individual, and which values the declared fields have is not "
            "public. Test a field by a value that it has: --where sex=w.",
        )
    if joined := _OTHER_JOINS.search(part):
        raise _two_things(part, (part[: joined.start()], part[joined.end() :]), (joined[0],), question)
    for word in re.findall(r"\w+", part):
        if word.casefold() in _MONTHS[language].split():
            raise left_out(
                word, part, " ".join(re.sub(rf"(?:\b(?:in|since|on) )?\b{word}\b", "", part).split()), question
            )


def _two_things(part: str, parts: Sequence[str], joins: Sequence[str], question: str) -> CannotAnswer:
    pieces = [one.strip() for one in parts if one.strip()]
    found = [one if _ASKS.match(one) else question.replace(part, one) for one in pieces]
    asked = " And: ".join(found) if part in question else " And: ".join(pieces)
    sign = "', '".join(dict.fromkeys(one.strip() for one in joins)) or "and"
    return CannotAnswer(
        "two-things",
        f"'{part}' is two things, or a comparison, by '{sign}', and can be read in several ways. Ask about each by "
        f'itself: {asked} Or write what is meant as a condition, with quotes: --condition \'"fever" and not '
        "\"chills\"'. Numbers and dates are tested by declared fields: --where 'age>=60'.",
    )


def left_out(word: str, part: str, rest: str, question: str = "") -> CannotAnswer:
    """Return the error for a word that no text is searched for."""
    asked = f": {question.replace(part, rest)}" if part in question else ""
    return CannotAnswer(
        "left-out",
        f"Texts would not be searched for '{word}' of '{part}'. If '{rest}' alone is what you mean, ask for that"
        f"{asked}. A time or a number is tested by a declared field: --where 'day>=2026-03-01'.",
    )

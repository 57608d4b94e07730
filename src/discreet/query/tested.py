"""What a statistic would not test of its question: it is refused unpaid, with a way to ask.

A condition is a phrase whose every word is looked for in the texts. The rule of phrases drops words of grammar, signs
and general nouns, so it holds of units that another question is about: "on dialysis" of all that mention dialysis,
"HIV+" of all that mention HIV. A word may be left out only if it changes nothing: "shortness of breath".
"""

import re
from collections.abc import Sequence

from discreet.algorithms.statistics.statistic import Statistic
from discreet.algorithms.text.tongues import tongue_of
from discreet.errors import CannotAnswer
from discreet.query.requests import Request
from discreet.query.requests.phrases import sentences_of

_TOKEN = re.compile(r"\w+(?:['.,-]\w+)*|[^\w\s]")
_SIGNS = frozenset("'\".:!?-()\u2013\u2014\u2026\u201c\u201d\u201e\u00ab\u00bb`\u00bf\u00a1")
"""Signs that change nothing. All others join or compare, such as "/", "&", "+", "<", "=" and a comma."""
_JOINS = "and or but either both neither nor plus versus vs except than yet though although while percent"
_HARMLESS = (
    "a an the of in at to for with by from about into onto out up down off that which who is are was were be been "
    "being has have had having do does did their his her its my our your himself herself themselves mention mentioned "
    "patient patients people note notes document documents record records me us"
)
_DETERMINERS = frozenset("a an the their his her its my our your".split())
"""Words after which "on" is a place, as in "a rash on the arm"."""
_MONTHS = {
    "": "january february march april may june july august september october november december jan feb apr jun jul aug "
    "sep sept oct nov dec",
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
}
_FOREIGN = {
    "de": "vor nach seit über unter weder noch ohne",
    "fr": "avant après depuis ni sans",
    "es": "antes después desde ni sin",
}
"""Words of grammar that change a phrase; the last two also make two things of one. The others change nothing."""
_MEASURED = re.compile(
    r"\b(?:over|under|above|below|older|younger|before|after|until|between|more than|less than|at (?:least|most))\b.*\d"
    r"|\b(?:in|during|from|of) (?:\w+ )?(?:19|20)\d\d\b|\bon (?:the )?\d"
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
_LOST_BEFORE = r"\b(on|off|before|after|during|since|until|under|over|against|within|A) (?:(?:an?|the|their) )*"
_ASKS = re.compile(r"(?:what|which|how|who|whose|when|where|why|do|does|did|is|are|was|were)\b", re.IGNORECASE)
_ONE_WITHOUT = {
    False: "'How many patients with fever have no chills?'",
    True: "'Wie viele Patienten mit Fieber haben keinen Husten?', 'Combien de patients avec de la fièvre n'ont pas de "
    "toux ?', '¿Cuántos pacientes con fiebre no tienen tos?'",
}


def check_asked(question: str, request: Request) -> None:
    """Refuse a question of which the rules left out a part that changes its answer.

    Raises:
        CannotAnswer: if they did.
    """
    spoken = " ".join(question.split())
    if not request.language and len(sentences_of(question)) > 1:
        raise CannotAnswer("two-things", "Only one of its sentences would be asked. Ask each by itself, in whole.")
    for part in filter(None, (request.population, request.condition, *request.groups)):
        before = re.search(rf"{_LOST_BEFORE}{re.escape(part)}(?!\w)", spoken, re.IGNORECASE)
        if before and request.kind != "summary" and (before[1] != "a" and (before[1] != "A" or not spoken.isupper())):
            raise _left_out(before[1], f"{before[1]} {part}", part)
    lost = _LOST.search(spoken)
    if lost and request.kind in ("count", "share", "trend"):
        raise _left_out(lost[0], spoken, request.condition or request.population)


def check_tested(statistic: Statistic, question: str) -> None:
    """Refuse a statistic with a phrase of which a part would not be looked for. It depends on public values alone.

    Raises:
        CannotAnswer: if it has one.
    """
    named = (statistic.population, getattr(statistic, "condition", ""), *getattr(statistic, "groups", ()))
    for part in filter(None, named):
        _check_phrase(part, statistic.language.replace("en", ""), question)
        if who := _PEOPLE.fullmatch(part):
            raise CannotAnswer(
                "population",
                f"Texts rarely say '{who[1]}' of one individual, and which values the declared fields have is not "
                "public. Test a field by a value that it has: --where sex=w.",
            )
    for attribute in statistic.attributes:
        _check_joins(attribute, _TOKEN.findall(attribute), "", question)


def _check_phrase(part: str, language: str, question: str) -> None:
    tongue, tokens = tongue_of(language), _TOKEN.findall(part)
    if _MEASURED.search(part) or (language and re.search(r"\d", part)):
        raise CannotAnswer(
            "left-out",
            f"Texts do not say '{part}' in these words. Leave out the number, the date or the 'by ...', and test a "
            "declared field: --where 'age>=60'.",
        )
    _check_joins(part, tokens, language, question)
    low = [token.casefold() for token in tokens]
    for place, (token, word) in enumerate(zip(tokens, low, strict=True)):
        after = low[place + 1] if place + 1 < len(low) else ""
        letter = word in ("a", "i") and (not after or (place > 0 and token.isupper() and not part.isupper()))
        if language:
            harmless = word in tongue.empty and word not in _FOREIGN[language].split()
        else:
            harmless = word in _HARMLESS.split() or (word == "on" and place > 0 and after in _DETERMINERS)
        tested = word in _SIGNS or word in tongue.negations or bool(tongue.content(token))
        if word in _MONTHS[language].split() or letter or not (harmless or tested):
            raise _left_out(token, part, " ".join((*tokens[:place], *tokens[place + 1 :])), question)


def _check_joins(part: str, tokens: Sequence[str], language: str, question: str) -> None:
    """Refuse a phrase of several things, or with a sign that compares."""
    joins = tongue_of(language).joins | set(_FOREIGN[language].split()[-2:]) if language else set(_JOINS.split())
    for place, token in enumerate(tokens):
        second = place > 0 or token.casefold() not in tongue_of(language).forward  # "ohne Fieber" is one thing
        if (token.casefold() in joins and second) or not (token[0].isalnum() or token in _SIGNS):
            each = " ".join(tokens[:place]), " ".join(tokens[place + 1 :])
            found = [one if _ASKS.match(one) else question.replace(part, one) for one in each if one]
            asked = " And: ".join(found) if part in question else " And: ".join(filter(None, each))
            raise CannotAnswer(
                "two-things",
                f"'{part}' is two things, or a comparison, by '{token}', and texts do not say it in these words. Ask "
                f"about each by itself: {asked} For one without the other: {_ONE_WITHOUT[bool(language)]}. Or test "
                "declared fields (--where 'age>=60'), or name public answers (--choice A --choice B).",
            )


def _left_out(word: str, part: str, rest: str, question: str = "") -> CannotAnswer:
    asked = f": {question.replace(part, rest)}" if part in question else ""
    return CannotAnswer(
        "left-out",
        f"Texts would not be searched for '{word}' of '{part}'. If '{rest}' alone is what you mean, ask for that"
        f"{asked}. A time or a number is tested by a declared field: --where 'day>=2026-03-01'.",
    )

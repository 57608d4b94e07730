"""The parts of a question as conditions: "fever or chills" is two things, of which one holds.

A part is split at the words that join things ("or", "and", "but not", "neither ... nor"). What a part says is then
looked for in the texts, each word and each sign of it. A part that no condition states is refused unpaid, with a way to
ask: a comparison with a number, a month, a second question, or joins that can be read in two ways.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from discreet.algorithms.statistics.conditions import Condition, all_of, any_of, is_text_form, says
from discreet.algorithms.statistics.statistic import Statistic
from discreet.errors import CannotAnswer
from discreet.questions.marks import MONTHS
from discreet.questions.statements import holds

_MEASURED = re.compile(
    r"\b(?:over|under|above|below|older|younger|before|after|until|between|more than|less than|at (?:least|most))\b.*\d"
    r"|\b(?:more|less|fewer) than (?:once|twice|one|two|three|four|five)\b"
    r"|\b(?:least|most|exactly) (?:once|twice|one|two|three|four|five)\b"
    r"|\b(?:last|past|next) (?:\d+|few|two|three|six|twelve) (?:day|week|month|year)s?\b"
    r"|\b(?:last|this|next|past) (?:day|week|month|year|quarter)s?\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|\b(?:in|during|from|of) (?:\w+ )?(?:19|20)\d\d\b|\bon (?:the )?\d|[<>=\u2264\u2265]|\bpercent\b"
    r"|\b(?:by|per|each|every) (?:day|week|weekday|hour|decade|age|sex|gender|ward|department|"
    r"doctor|street|city|region)$",
    re.IGNORECASE,
)
"""A comparison with a number or a date, or a division by something that is no declared field: no phrase of a text."""
_PEOPLE = re.compile(
    (
        r"\b(women|men|girls|boys|children|kids|teenagers?|infants?|babies|toddlers|minors|seniors|pensioners|the "
        r"elderly|adults|females?|males?)\b(?!')"
    ),
    re.IGNORECASE,
)
_PLAIN = re.compile(
    r"(?:(?!(?:of|in|at|to|for|with|by|from|about|into|onto|on|off|before|after|during|since|until|under|over|against|"
    r"within|without|than|any|all|both|each|every|some|several|two|three|four|five|more|most|less|least|nothing|times|"
    r"deny|denies|denied|refuse[sd]?|stop(?:s|ped)?|lack(?:s|ed)?|have|has|had|having|is|are|was|were|be|get|gets|got|"
    r"take[sn]?|took|not|no|never|nor|at|together|last|next|same|left|right|upper|lower|mild|moderate|severe|acute|"
    r"chronic|type|stage|grade)\b)[\w'.&+-]+(?:\s+|$))+",
    re.IGNORECASE,
)
"""A piece that says the same alone as beside others: names of things, and nothing that may belong to another piece."""
_LOST = re.compile(
    r"\b(?:new(?= cases\b)|still|sometimes|only|again|once|no longer|any ?more|currently|can(?:no|')t|"
    r"could(?:n't| not)|(?:how many|number of) times|distinct|unique|(?:how many|number of) different)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:no|not|without|never|neither|nor|kein\w*|ohne|weder|nicht|pas|sans|sin|ni)\b|n't\b", re.IGNORECASE
)
_ASKS = re.compile(
    r"(?:what|which|how|who|whose|when|where|why|do|does|did|is|are|was|were|they|we|he|she|it)\b", re.IGNORECASE
)
_OTHER_JOINS = re.compile(
    r"\b(?:versus|vs|except|than|though|although|while|nor|along with|together|at the same time|"
    r"on the same day)\b|(?<![\d\W])/(?!\d)|;",
    re.IGNORECASE,
)
_OTHER_JOINS_OF = {
    "de": re.compile(r"\b(?:sowohl|sowie|noch)\b|\w- ", re.IGNORECASE),
    "fr": re.compile(r"\b(?:ni|soit)\b", re.IGNORECASE),
    "es": re.compile(r"\b(?:ni|sea)\b", re.IGNORECASE),
}


@dataclass(frozen=True)
class _Joins:
    """The words of a language that join things, as patterns."""

    either: str
    both: str
    but: str
    denies: str
    neither: str
    lead: str
    drop: str = "with|having|a|an|the|any(?! of)|some(?! of)"


_LANGUAGES = {
    "": _Joins(
        "or",
        "and|plus|&|\\+|as well as",
        "but|yet",
        "(?:did|do|does|have|has|had|are|is|was|were)(?: not|n't)|(?:have|has|had) no|not|no|without|never",
        r"neither (?P<a>.+?) n?or (?P<b>.+)",
        "either|both",
    ),
    "de": _Joins(
        "oder",
        "und",
        "aber|jedoch",
        r"keine?[nrms]?|ohne|nicht",
        r"weder (?:(?:an|unter|über|von) )?(?P<a>.+?) noch (?:(?:an|unter|über|von) )?(?P<b>.+)",
        "entweder|sowohl",
        "mit|eine?[nmrs]?|d(?:er|ie|as|en|em|es)",
    ),
    "fr": _Joins(
        "ou",
        "et",
        "mais",
        r"pas de|pas d'|sans|aucune?",
        r"ni (?P<a>.+?) ni (?P<b>.+)",
        "soit",
        "avec|de la|du|des|une?|l[ae]",
    ),
    "es": _Joins(
        "o|u", "y|e", "pero", r"sin|no|ning[uú]na?", r"ni (?P<a>.+?) ni (?P<b>.+)", "sea", "con|una?|el|l[oa]s?"
    ),
}


def check_words(part: str, question: str) -> None:
    """Refuse a part with a word that no text is searched for.

    Raises:
        CannotAnswer: if it has one.
    """
    if lost := _LOST.search(part):
        asked = " ".join(re.sub(rf"\b{re.escape(lost[0])}\b", "", question, count=1).split()).rstrip(".")
        raise CannotAnswer(
            "left-out",
            f"Texts would not be searched for '{lost[0]}'. A time or a number is tested by a declared field: --where "
            f"'day>=2026-03-01'. If the rest alone is what you mean, ask: {asked}{'' if asked[-1:] == '?' else '.'}",
        )


def as_condition(part: str, language: str, question: str, things: Collection[str] = ()) -> Condition:
    """Return a part of a question as a condition.

    Args:
        part: such as "fever or chills".
        language: "de", "fr" or "es"; English if empty.
        question: the question, for the advice of an error.
        things: names of things, in lower case: a piece that is one lacks no word of another piece.

    Raises:
        CannotAnswer: if it states none.
    """
    found = _read(part, language, question, things)
    return says(_without_articles(part, _LANGUAGES[language]), language) if found is None else found


def _without_articles(part: str, joins: "_Joins") -> str:
    return _bare(part, joins) or part


def _read(part: str, language: str, question: str, things: Collection[str] = ()) -> Condition | None:
    """Return the condition of a part; None for one phrase."""
    joins, whole = _LANGUAGES[language], " ".join(part.split()).strip(" ,")
    neither = re.fullmatch(rf"(?:(?P<first>.+?),? (?:{joins.but}|{joins.both}) )?{joins.neither}", whole, re.IGNORECASE)
    if neither and not re.search(r",| (?:noch|ni|nor|or) ", neither["b"]):
        pieces = [_bare(one, joins) for one in (neither["a"], neither["b"])]
        if not all(one.casefold() in things for one in pieces):
            _check_pieces(whole, pieces, ["or"], question, language)
        first = neither["first"]
        begun = [_read(first, language, question, things) or says(_bare(first, joins), language)] if first else []
        return all_of(*begun, *(~says(one, language) for one in pieces))
    _check_phrase(whole, language, question)
    join = rf"\s*(?:,\s*)?(?<![\w'-])({joins.either}|{joins.both}|{joins.but})(?![\w'-])\s*|\s*(,)\s*"
    split = re.split(join, re.sub(rf"^(?:{joins.lead})\s+", "", whole, flags=re.IGNORECASE), flags=re.IGNORECASE)
    parts, between = split[::3], [one or two for one, two in zip(split[1::3], split[2::3], strict=True)]
    if len(parts) == 1:
        return None
    kinds = {_kind(one, joins) for one in between} - {","}
    denied = [re.match(rf"(?:{joins.denies})(?:\s+|(?<='))(?=\w)", one.strip(), re.IGNORECASE) for one in parts]
    pieces = [_bare(one.strip()[no.end() if no else 0 :], joins) for one, no in zip(parts, denied, strict=True)]
    if not language:
        pieces = [holds(one)[0] or one for one in pieces]
    if not all(pieces) or len(kinds) != 1 or (denied[0] and not all(denied) and kinds != {"or"}):
        raise _two_things(whole, parts, between, question)
    apart = [
        bool(re.match(r"(?:an?|the|no|without|not|did|do|does|have|has|had|were|was|are|is)\b|\w+ed\b", one.strip()))
        for one in parts
    ]
    shared = len(parts) == 2 and len(pieces[-1].split()) > len(pieces[0].split()) and not denied[-1]
    alike = language or not all(apart[1:]) or shared or not (len(parts) == 2 or all(apart)) or denied[0]
    if alike and not all(one.casefold() in things for one in pieces):
        _check_pieces(whole, pieces, between, question, language)
    if denied[0] and not any(denied[1:]):  # "no asthma or eczema": neither
        return ~any_of(*(says(one, language) for one in pieces))
    said = [~says(one, language) if no else says(one, language) for one, no in zip(pieces, denied, strict=True)]
    return any_of(*said) if kinds == {"or"} else all_of(*said)


def _check_pieces(whole: str, pieces: Sequence[str], between: Sequence[str], question: str, language: str = "") -> None:
    """Refuse pieces of which one may lack a word that stands in another: "breast or ovarian cancer".

    A piece stands alone if it is a plain name of a thing. All have as many words, or differ as names do: "fever or
    Winter Hand"; or an article begins each shorter one: "numb thumbs or a fever". Capitalised words that "and" joins
    may be one name: "Trinidad and Tobago".
    """
    lengths = {len(one.split()) for one in pieces}
    names = [one for one in pieces if all(word[0].isupper() for word in one.split())]
    longer = [one for one in pieces if len(one.split()) > 1]
    named = 0 < len(names) < len(pieces) and all(one in names for one in longer)
    begun = len(pieces[0].split()) == max(lengths) and all(
        re.search(rf"\b(?:an?|the) {re.escape(one)}$", whole.split(pieces[0], 1)[-1].partition(one)[0] + one)
        for one in pieces[1:]
    )
    alike = len(lengths) == 1 or named or begun
    one_name = not language and len(names) == len(pieces) and lengths == {1} and "or" not in map(str.casefold, between)
    letters = any(len(one.split()[0]) < 2 or one[0].isdigit() for one in pieces[1:] if one)
    plain = all(one and (bool(language) or _PLAIN.fullmatch(one)) and not _ASKS.match(one) for one in pieces)
    if not (plain and alike) or letters or one_name:
        raise _two_things(whole, pieces, between, question)


def _kind(join: str, joins: _Joins) -> str:
    if join == ",":
        return ","
    return "or" if re.fullmatch(joins.either, join, re.IGNORECASE) else "and"


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
    if not language and (who := _PEOPLE.search(part)):
        raise CannotAnswer(
            "population",
            f"Texts rarely say '{who[1]}' of one individual, and which values the declared fields have is not "
            "public. Test a field by a value that it has: --where sex=w.",
        )
    other = _OTHER_JOINS_OF.get(language)
    if joined := _OTHER_JOINS.search(part) or (other.search(part) if other else None):
        raise _two_things(part, (part[: joined.start()], part[joined.end() :]), (joined[0],), question)
    for word in re.findall(r"\w+", part):
        if word.casefold() in MONTHS[language].split():
            raise left_out(
                word, part, " ".join(re.sub(rf"(?:\b(?:in|since|on) )?\b{word}\b", "", part).split()), question
            )


def _two_things(part: str, parts: Sequence[str], joins: Sequence[str], question: str) -> CannotAnswer:
    pieces = [one.strip() for one in parts if one.strip()]
    found = [one if _ASKS.match(one) else question.replace(part, one) for one in pieces]
    asked = " And: ".join(found) if part in question else " And: ".join(pieces)
    sign = "', '".join(dict.fromkeys(one.strip() for one in joins)) or "and"
    request = _readings(part, pieces, {one.strip().casefold() for one in joins})
    return CannotAnswer(
        "two-things",
        f"'{part}' is two things, or a comparison, by '{sign}', and can be read in several ways. Ask about each by "
        f"itself: {asked} Or write what is meant as a request, with quotes, such as count: {request}. Numbers and "
        "dates are tested by declared fields: --where 'age>=60'.",
    )


def _readings(part: str, pieces: Sequence[str], joins: set[str]) -> str:
    """Return the conditions that a part may mean, as examples; another one if a denial or mixed joins leave it open."""
    for language, known in _LANGUAGES.items():
        for sign, pattern in ((" and ", known.both), (" or ", rf"{known.either}|/|;")):
            if joins and len(pieces) > 1 and all(re.fullmatch(pattern, one) for one in joins):
                said = [pieces] if all(len(one) > 1 for one in pieces) else []
                said += [shared] if (shared := _shared_words(pieces)) else []
                at = f"@{language}" if language else ""
                made = (sign.join(f'"{one}"{at}' for one in some) for some in said)
                if not _DENIED.search(part) and said:
                    return ", or count: ".join(made)
    return '"thing A" and not ("thing B" or "thing C")'


def _shared_words(pieces: Sequence[str]) -> list[str]:
    """Return two pieces, of which the shorter one has words of the other: "breast or ovarian cancer", "taste"."""
    first, last = pieces[0].split(), pieces[-1].split()
    if len(pieces) != 2 or len(first) == len(last):
        return []
    if len(first) < len(last):
        return [" ".join(first + last[len(first) :]), " ".join(last)]
    return [" ".join(first), " ".join(first[: -len(last)] + last)]


def left_out(word: str, part: str, rest: str, question: str = "") -> CannotAnswer:
    """Return the error for a word that no text is searched for."""
    asked = f": {question.replace(part, rest)}" if part in question else ""
    asked += "" if asked.endswith("?") else "."
    return CannotAnswer(
        "left-out",
        f"Texts would not be searched for '{word}' of '{part}'. If '{rest}' alone is what you mean, ask for that"
        f"{asked} A time or a number is tested by a declared field: --where 'day>=2026-03-01'.",
    )

"""The parts of a question as conditions: "fever or chills" is two things, of which one holds.

A part is split at the words that join things ("or", "and", "but not", "neither ... nor"). What a part says is then
looked for in the texts, each word and each sign of it. A part that no condition states is refused unpaid, with a way to
ask: a comparison with a number, a month, a second question, or joins that can be read in two ways.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial

from discreet.errors import CannotAnswer
from discreet.questions.marks import MONTHS
from discreet.questions.sentences import FLAGS, Section, refusal, table
from discreet.questions.statements import holds
from discreet.statistics.conditions import Condition, all_of, any_of, is_text_form, says
from discreet.statistics.statistic import Statistic

_JOINS = Section("joins")


_LANGUAGES = {name: table(f"joins.languages.{name or 'en'}") for name in ("", "de", "fr", "es")}
"""The words of a language that join things, as patterns; `other` are those that no condition is made of."""


def check_words(part: str, question: str) -> None:
    """Refuse a part with a word that no text is searched for.

    Raises:
        CannotAnswer: if it has one.
    """
    if lost := _JOINS.lost.search(part):
        raise _left_out(lost[0], question)


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
    return says(_bare(part, _LANGUAGES[language]) or part, language) if found is None else found


def _read(part: str, language: str, question: str, things: Collection[str] = ()) -> Condition | None:
    """Return the condition of a part; None for one phrase."""
    joins, whole = _LANGUAGES[language], " ".join(part.split()).strip(" ,")
    doubt, sure = partial(_doubt, whole, language, question), partial(_certain_things, language, things)
    neither = re.fullmatch("(?:(?P<first>.+?),? (?:{but}|{both}) )?{neither}".format(**joins), whole, FLAGS)
    if neither and not re.search(r",| (?:noch|ni|nor|or) ", neither["b"]):
        pieces = [_bare(one, joins) for one in (neither["a"], neither["b"])]
        if not (found := sure(pieces, "or")):
            raise doubt(pieces, ["or"], "or")
        begun = [as_condition(neither["first"], language, question, things)] if neither["first"] else []
        return all_of(*begun, *(~says(one, language) for one in found))
    _check_phrase(whole, language, question)
    join = r"\s*(?:,\s*)?(?<![\w'-])({either}|{both}|{but})(?![\w'-])\s*|\s*(,)\s*".format(**joins)
    split = re.split(join, re.sub(rf"^(?:{joins['lead']})\s+", "", whole, flags=FLAGS), flags=FLAGS)
    parts, between = split[::3], [one or two for one, two in zip(split[1::3], split[2::3], strict=True)]
    if len(parts) == 1:
        return None
    signs = {"or" if re.fullmatch(joins["either"], one, FLAGS) else "and" for one in between if one != ","}
    sign = signs.pop() if len(signs) == 1 else ""
    denied = [re.match(rf"(?:{joins['denies']})(?:\s+|(?<='))(?=\w)", one.strip(), FLAGS) for one in parts]
    pieces = [_bare(one.strip()[no.end() if no else 0 :], joins) for one, no in zip(parts, denied, strict=True)]
    if not language:
        pieces = [holds(one).removeprefix("not ") or one for one in pieces]
    if not all(pieces) or not sign or (denied[0] and not all(denied) and sign != "or"):
        raise doubt(parts, between, sign)
    longer = len(pieces[-1].split()) > len(pieces[0].split()) and not denied[-1]
    if language or denied[0] or longer or not all(_JOINS.begun.match(one.strip()) for one in parts[1:]):
        if not (found := sure(pieces, sign)):
            raise doubt(pieces, between, sign)
        pieces = found
    said = [says(one, language) for one in pieces]
    if denied[0] and not any(denied[1:]):  # "no asthma or eczema": neither
        return ~any_of(*said)
    return (any_of if sign == "or" else all_of)(*(~one if no else one for one, no in zip(said, denied, strict=True)))


def _readings(pieces: Sequence[str]) -> list[list[str]]:
    """Return the things that may be meant: the pieces, and of two also those to which the shorter one lacks words.

    "breast or ovarian cancer" may be "breast" or "breast cancer".
    """
    found = [[one.strip() for one in pieces if one.strip()]]
    words = [one.split() for one in found[0]]
    if len(words) == 2 and len(words[0]) < len(words[1]):
        found.append([" ".join(words[0] + words[1][len(words[0]) :]), found[0][1]])
    elif len(words) == 2 and len(words[0]) > len(words[1]):
        found.append([found[0][0], " ".join(words[0][: -len(words[1])] + words[1])])
    return found


def _doubt(
    whole: str, language: str, question: str, pieces: Sequence[str], between: Sequence[str], sign: str
) -> CannotAnswer:
    """Return the refusal of a part, with what may be meant as requests, and its pieces as questions of their own.

    An example stands for the requests if a denial or mixed joins leave them open.

    Args:
        whole: the part.
        language: its language; English if empty.
        question: the question.
        pieces: the things.
        between: the words between them.
        sign: "or" or "and"; "" if they are of both kinds, or join in another way.
    """
    some, at = _readings(pieces), f"@{language}" if language else ""
    asked = [one if _JOINS.asks.match(one) else question.replace(whole, one) for one in some[0]]
    offered = [one for one in some if sign and len(one) > 1 and all(len(word) > 1 for word in one)]
    requests = [f" {sign} ".join(f'"{word}"{at}' for word in one) for one in offered]
    if _JOINS.denied.search(whole) or not offered:
        requests = ['"thing A" and not ("thing B" or "thing C")']
    return refusal(
        "two-things.joined",
        whole=whole,
        joins="', '".join(dict.fromkeys(one.strip() for one in between)) or "and",
        alone=" And: ".join(asked if whole in question else some[0]),
        requests=", or count: ".join(requests),
    )


def _certain_things(language: str, things: Collection[str], pieces: Sequence[str], sign: str) -> list[str]:
    """Return the things that are meant for certain; none if a piece may lack a word of another one.

    A reading is certain if all of it are names of things, or if each piece stands alone as a plain name. Then all have
    as many words, or differ as names do: "fever or Winter Hand". Capitalised words that "and" joins may be one name:
    "Trinidad and Tobago".
    """
    if known := [some for some in _readings(pieces) if all(one.casefold() in things for one in some)]:
        return known[0]
    lengths = {len(one.split()) for one in pieces}
    names = [one for one in pieces if all(word[0].isupper() for word in one.split())]
    named = 0 < len(names) < len(pieces) and all(one in names for one in pieces if " " in one)
    one_name = not language and len(names) == len(pieces) and lengths == {1} and sign == "and"
    plain = all(language or _JOINS.plain.fullmatch(one) for one in pieces)
    cut = any(len(one.split()[0]) < 2 or one[0].isdigit() for one in pieces[1:])  # "factor 5 or 8 deficiency"
    return [] if cut or one_name or not plain or not (len(lengths) == 1 or named) else list(pieces)


def _bare(part: str, joins: Mapping[str, str]) -> str:
    return re.sub(rf"^(?:(?:{joins['drop']})\s+)+", "", part.strip(), flags=FLAGS)


def check_plain(statistic: Statistic, question: str) -> None:
    """Refuse a statistic with a plain phrase that is several things. It depends on public values alone.

    Raises:
        CannotAnswer: if it has one; a condition in its text form says what is meant.
    """
    language = statistic.language.replace("en", "")
    named = (statistic.population, getattr(statistic, "condition", ""), *getattr(statistic, "groups", ()))
    for part in filter(None, named):
        if not is_text_form(part) and (meant := _read(part, language, question)) is not None:
            raise refusal("two-things.plain", part=part, meant=meant)
    for attribute in statistic.attributes:
        if len(parts := re.split(r"\s*(?:\b(?:and|or)\b|[,&/+])\s*", attribute)) > 1:
            raise _doubt(attribute, "", question, parts, (), "")


def _check_phrase(part: str, language: str, question: str) -> None:
    """Refuse what no text says in these words."""
    if _JOINS.measured.search(part) or (language and re.search(r"\d", part)):
        raise refusal("left-out.measured", part=part)
    if not language and (who := _JOINS.people.search(part)):
        raise refusal("population.who", who=who[1])
    if joined := _JOINS.other_joins.search(part) or re.search(_LANGUAGES[language]["other"], part, FLAGS):
        pieces, sign = (part[: joined.start()], part[joined.end() :]), "or" if joined[0] in "/;" else ""
        raise _doubt(part, language, question, pieces, [joined[0]], sign)
    for word in re.findall(r"\w+", part):
        if word.casefold() in MONTHS[language].split():
            raise _left_out(word, question)


def _left_out(word: str, question: str) -> CannotAnswer:
    """Return the refusal of a question with a word that no text is searched for."""
    rest = " ".join(re.sub(rf"(?:\b(?:in|since|on) )?\b{re.escape(word)}\b", "", question, count=1).split())
    return refusal("left-out.word", word=word, rest=rest if rest[-1:] in ("?", ".") else f"{rest}.")

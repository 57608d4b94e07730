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
from discreet.questions.sentences import pattern, table
from discreet.questions.statements import holds

_MEASURED = pattern("joins.measured")
"""A comparison with a number or a date, or a division by something that is no declared field: no phrase of a text."""
_PEOPLE = pattern("joins.people")
_PLAIN = pattern("joins.plain")
"""A piece that says the same alone as beside others: names of things, and nothing that may belong to another piece."""
_LOST = pattern("joins.lost")
_DENIED = pattern("joins.denied")
_ASKS = pattern("joins.asks")
_OTHER_JOINS = pattern("joins.other_joins")


@dataclass(frozen=True)
class _Joins:
    """The words of a language that join things, as patterns; `other` are those that no condition is made of."""

    either: str
    both: str
    but: str
    denies: str
    neither: str
    lead: str
    drop: str = "with|having|a|an|the|any(?! of)|some(?! of)"
    other: str = r"(?!)"


_LANGUAGES = {name: _Joins(**table(f"joins.languages.{name or 'en'}")) for name in ("", "de", "fr", "es")}


def check_words(part: str, question: str) -> None:
    """Refuse a part with a word that no text is searched for.

    Raises:
        CannotAnswer: if it has one.
    """
    if lost := _LOST.search(part):
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
    neither = re.fullmatch(rf"(?:(?P<first>.+?),? (?:{joins.but}|{joins.both}) )?{joins.neither}", whole, re.IGNORECASE)
    if neither and not re.search(r",| (?:noch|ni|nor|or) ", neither["b"]):
        pieces = [_bare(one, joins) for one in (neither["a"], neither["b"])]
        pieces = _certain(_Said(whole, pieces, ["or"], "or", question, language), things)
        begun = [as_condition(neither["first"], language, question, things)] if neither["first"] else []
        return all_of(*begun, *(~says(one, language) for one in pieces))
    _check_phrase(whole, language, question)
    join = rf"\s*(?:,\s*)?(?<![\w'-])({joins.either}|{joins.both}|{joins.but})(?![\w'-])\s*|\s*(,)\s*"
    split = re.split(join, re.sub(rf"^(?:{joins.lead})\s+", "", whole, flags=re.IGNORECASE), flags=re.IGNORECASE)
    parts, between = split[::3], [one or two for one, two in zip(split[1::3], split[2::3], strict=True)]
    if len(parts) == 1:
        return None
    signs = {"or" if re.fullmatch(joins.either, one, re.IGNORECASE) else "and" for one in between if one != ","}
    sign = signs.pop() if len(signs) == 1 else ""
    denied = [re.match(rf"(?:{joins.denies})(?:\s+|(?<='))(?=\w)", one.strip(), re.IGNORECASE) for one in parts]
    pieces = [_bare(one.strip()[no.end() if no else 0 :], joins) for one, no in zip(parts, denied, strict=True)]
    if not language:
        pieces = [holds(one).removeprefix("not ") or one for one in pieces]
    if not all(pieces) or not sign or (denied[0] and not all(denied) and sign != "or"):
        raise _Said(whole, parts, between, sign, question, language).refusal()
    longer = len(pieces[-1].split()) > len(pieces[0].split()) and not denied[-1]
    if language or denied[0] or longer or not all(_BEGUN.match(one.strip()) for one in parts[1:]):
        pieces = _certain(_Said(whole, pieces, between, sign, question, language), things)
    if denied[0] and not any(denied[1:]):  # "no asthma or eczema": neither
        return ~any_of(*(says(one, language) for one in pieces))
    said = [~says(one, language) if no else says(one, language) for one, no in zip(pieces, denied, strict=True)]
    return any_of(*said) if sign == "or" else all_of(*said)


_BEGUN = re.compile(r"(?:an?|the|no|without|not|did|do|does|have|has|had|were|was|are|is)\b|\w+ed\b")
"""What begins a piece that lacks no word of the piece before it: "numb thumbs and a weak grip"."""


@dataclass(frozen=True)
class _Said:
    """A part of a question that joins things.

    Attributes:
        whole: the part.
        pieces: the things.
        between: the words between them.
        sign: "or" or "and"; "" if they are of both kinds, or join in another way.
        question: the question.
        language: the language of the part; English if empty.
    """

    whole: str
    pieces: Sequence[str]
    between: Sequence[str]
    sign: str
    question: str
    language: str

    @property
    def readings(self) -> list[list[str]]:
        """The things that may be meant: the pieces, and of two also those to which the shorter one lacks words.

        "breast or ovarian cancer" may be "breast" or "breast cancer".
        """
        pieces = [one.strip() for one in self.pieces if one.strip()]
        found, words = [pieces], [one.split() for one in pieces]
        if len(pieces) == 2 and len(words[0]) < len(words[1]):
            found.append([" ".join(words[0] + words[1][len(words[0]) :]), pieces[1]])
        elif len(pieces) == 2 and len(words[0]) > len(words[1]):
            found.append([pieces[0], " ".join(words[0][: -len(words[1])] + words[1])])
        return found

    def refusal(self) -> CannotAnswer:
        """Return the refusal, with what may be meant as requests; an example if a denial or mixed joins leave it open.

        The pieces are offered as questions of their own, too.
        """
        pieces, at = self.readings[0], f"@{self.language}" if self.language else ""
        asked = [one if _ASKS.match(one) else self.question.replace(self.whole, one) for one in pieces]
        alone = " And: ".join(asked if self.whole in self.question else pieces)
        offered = [some for some in self.readings if self.sign and len(some) > 1 and all(len(one) > 1 for one in some)]
        if _DENIED.search(self.whole) or not offered:
            requests = ['"thing A" and not ("thing B" or "thing C")']
        else:
            requests = [f" {self.sign} ".join(f'"{one}"{at}' for one in some) for some in offered]
        joined = "', '".join(dict.fromkeys(one.strip() for one in self.between)) or "and"
        return CannotAnswer(
            "two-things",
            f"'{self.whole}' is two things, or a comparison, by '{joined}', and can be read in several ways. Ask about "
            f"each by itself: {alone} Or write what is meant as a request, with quotes, such as count: "
            f"{', or count: '.join(requests)}. Numbers and dates are tested by declared fields: --where 'age>=60'.",
        )


def _certain(said: _Said, things: Collection[str]) -> list[str]:
    """Return the things that are meant for certain.

    A reading is certain if all of it are names of things, or if each piece stands alone as a plain name. Then all have
    as many words, or differ as names do: "fever or Winter Hand". Capitalised words that "and" joins may be one name:
    "Trinidad and Tobago".

    Raises:
        CannotAnswer: if none is: a piece may lack a word that stands in another one, "breast or ovarian cancer".
    """
    if known := [some for some in said.readings if all(one.casefold() in things for one in some)]:
        return known[0]
    lengths = {len(one.split()) for one in said.pieces}
    names = [one for one in said.pieces if all(word[0].isupper() for word in one.split())]
    named = 0 < len(names) < len(said.pieces) and all(one in names for one in said.pieces if " " in one)
    one_name = not said.language and len(names) == len(said.pieces) and lengths == {1} and said.sign == "and"
    plain = all(said.language or _PLAIN.fullmatch(one) for one in said.pieces)
    cut = any(len(one.split()[0]) < 2 or one[0].isdigit() for one in said.pieces[1:])  # "factor 5 or 8 deficiency"
    if cut or one_name or not plain or not (len(lengths) == 1 or named):
        raise said.refusal()
    return list(said.pieces)


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
        if not is_text_form(part) and (meant := _read(part, language, question)) is not None:
            raise CannotAnswer("two-things", f"'{part}' is two things. Write it as a condition: {meant}")
    for attribute in statistic.attributes:
        if len(parts := re.split(r"\s*(?:\b(?:and|or)\b|[,&/+])\s*", attribute)) > 1:
            raise _Said(attribute, parts, (), "", question, "").refusal()


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
    if joined := _OTHER_JOINS.search(part) or re.search(_LANGUAGES[language].other, part, re.IGNORECASE):
        pieces, sign = (part[: joined.start()], part[joined.end() :]), "or" if joined[0] in "/;" else ""
        raise _Said(part, pieces, [joined[0]], sign, question, language).refusal()
    for word in re.findall(r"\w+", part):
        if word.casefold() in MONTHS[language].split():
            raise _left_out(word, question)


def _left_out(word: str, question: str) -> CannotAnswer:
    """Return the refusal of a question with a word that no text is searched for."""
    rest = " ".join(re.sub(rf"(?:\b(?:in|since|on) )?\b{re.escape(word)}\b", "", question, count=1).split())
    return CannotAnswer(
        "left-out",
        f"Texts would not be searched for '{word}'. A time or a number is tested by a declared field: --where "
        f"'day>=2026-03-01'. If the rest alone is what you mean, ask: {rest}{'' if rest[-1:] in ('?', '.') else '.'}",
    )

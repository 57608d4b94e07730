"""Sentences, names of units, phrases and named answers: the parts of a question that all kinds of request share."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, reduce
from importlib.resources import files
from operator import getitem
from typing import Any

from discreet.algorithms.base import Algorithm
from discreet.algorithms.retrieval import change_vote
from discreet.algorithms.text.normalize import claim_of, plain_question, without_choices
from discreet.algorithms.text.phrases import NO, YES
from discreet.errors import CannotAnswer, UsageError
from discreet.system.words import is_unicode

LONGEST = 300
"""A longer sentence is no request. The limit keeps the time of the patterns small."""
FLAGS = re.IGNORECASE
_ENTRIES: dict[str, Any] = tomllib.loads(files("discreet.questions").joinpath("words.toml").read_text(encoding="utf-8"))
"""The words of questions in four languages, and the patterns that are made of them."""


def look(name: str) -> Any:
    """Return what `words.toml` has under a name such as "lists.of"."""
    return reduce(getitem, name.split("."), _ENTRIES)


@cache
def entry(name: str) -> str:
    """Return an entry of `words.toml`: line breaks are left out, and other entries stand for `<name>`."""
    section = name.split(".")[0]

    def other(one: re.Match[str]) -> str:
        return entry(one[1] if "." in one[1] else f"{section}.{one[1]}")

    return re.sub(r"(?<!\?P)<([a-z_.]+)>", other, look(name).replace("\n", ""))


def pattern(name: str) -> re.Pattern[str]:
    """Return an entry as a pattern, for letters of any case."""
    return re.compile(entry(name), FLAGS)


def table(name: str) -> dict[str, str]:
    """Return the entries of a table by their names."""
    return {one: entry(f"{name}.{one}") for one in look(name)}


def strip(found: re.Pattern[str], text: str) -> str:
    """Return a text without what a pattern finds, until it finds no more."""
    while (shorter := found.sub("", text, count=1)) != text:
        text = shorter
    return text


class Section:
    """The patterns of a section of `words.toml`, by the names of its entries."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> re.Pattern[str]:
        if name.startswith("_"):
            raise AttributeError(name)
        found = pattern(f"{self._name}.{name}")
        setattr(self, name, found)
        return found


_SENTENCES = Section("sentences")


def refusal(name: str, kind: str = "", /, **said: object) -> CannotAnswer:
    """Return a refusal in the words of an entry such as "unsure.lost": of the kind before the point, or a given one."""
    return CannotAnswer(kind or name.partition(".")[0], entry(f"refusals.{name}").format(**said))


_PEOPLE = entry("sentences.people").split()
_NARROW = "women men girls boys children adults".split()
_RECORDS = entry("sentences.records").split()
_PERSONS = entry("sentences.persons").split()
FOREIGN_UNITS = entry("sentences.foreign_units")
"""Words for units in German, French and Spanish, as a pattern."""


@dataclass(frozen=True)
class Nouns:
    """The words for units, as patterns, and the names of fields.

    Attributes:
        people: words for units that add nothing: "patients".
        narrow: words for units that narrow them: "women".
        counted: all words for units and documents.
        fields: the names of declared fields.
        plural: the word for several units: "patients".
        things: names of things that the custodian's synonyms and codes have, in lower case.
    """

    people: str
    narrow: str
    counted: str
    fields: tuple[str, ...]
    plural: str = "people"
    things: frozenset[str] = frozenset()

    def field(self, text: str) -> str:
        """Return the name of the field that a text names, or ""."""
        wanted = _plain(text)
        return next((name for name in self.fields if _plain(name) in (wanted, wanted.removesuffix("s"))), "")


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).strip().casefold()


def nouns_of(unit: str, fields: Sequence[str]) -> Nouns:
    """Return the words for units of a vault."""
    named = unit.casefold() not in ("", "unit", "id", "name")
    several = unit[:-1] + "ies" if unit.endswith("y") and unit[-2:-1] not in "aeiou" else unit + "s"
    plural, own = (several, [re.escape(several), re.escape(unit)]) if named else ("people", [])
    people = "|".join([*(f"{one}s?" for one in _PEOPLE), *own, *_PERSONS])
    narrow = "|".join(_NARROW)
    counted = "|".join([people, narrow, *(f"{one}s?" for one in _RECORDS), "entry"])
    return Nouns(
        f"(?:{people})", f"(?:{narrow})", f"(?:{counted})", tuple(name for name in fields if _plain(name)), plural
    )


# --- sentences --------------------------------------------------------------------------------------------------------

_KEYWORDS = tuple(entry("sentences.keywords").split())
_OTHER = frozenset(entry("sentences.other").split())
_TYPED = {typed: meant for meant, some in table("sentences.typed").items() for typed in some.split()}
_TYPED |= {one.replace("'", ""): one for one in entry("sentences.negated").split()}
"""Words that are typed, and what they mean."""


def sentences_of(question: str) -> list[str]:
    """Return the sentences of a question that are more than polite words."""
    text = question.translate(_MARKS)
    some = [one for one in re.split(r"(?<=[.?!])\s+", _SENTENCES.short.sub(r"\1", text)) if re.search(r"\w", one)]
    return [one for one in some if not _SENTENCES.polite.fullmatch(one)]


def sentence_of(question: str) -> str:
    """Return the last sentence of a question, without polite words, in the question's own spelling."""
    kept = sentences_of(question)
    last = " ".join(kept[-1].split()) if kept else ""
    return _bare(mended(last)) if len(last) <= LONGEST else ""


_MARKS = str.maketrans(dict.fromkeys('"\u201c\u201d\u201e\u00ab\u00bb`*', "") | {"\u2019": "'", "\u2018": "'"})


def _bare(text: str) -> str:
    text = text[found.end() :] if (found := _SENTENCES.opening.match(text)) else text
    text = strip(_SENTENCES.closing, text)
    text = re.sub(r"\bw/(?!o\b) ?", "with ", text, flags=FLAGS)
    text = re.sub(r"\bw/o\b", "without", text, flags=FLAGS)
    text = re.sub(r"^# ?(?:of )?", "number of ", text)
    return text.lstrip(" ?.!,;:\u00bf\u00a1-").replace("%", " percent ").replace("  ", " ").replace(" ,", ",").strip()


def mended(text: str) -> str:
    """Return a sentence with the typing errors of frequent words mended, and abbreviations written out."""
    words = [_TYPED.get(word.casefold().rstrip("?.,!"), word) for word in text.split(" ")]
    words = re.sub(r"\b(how) may\b", r"\1 many", " ".join(words), flags=FLAGS).split(" ")
    return " ".join(word if place and _is_name(word) else _mended_word(word) for place, word in enumerate(words))


def _is_name(word: str) -> bool:
    return word != word.lower() and not word.isupper()


def _mended_word(word: str) -> str:
    bare = word.rstrip(",:;?.!")
    low = bare.casefold().rstrip("?.!")
    if len(low) < 5 or not low.isalpha() or low in _KEYWORDS or low in _OTHER:
        return word
    near = next((known for known in _KEYWORDS if known[0] == low[0] and is_near(low, known)), bare)
    return near + word[len(bare) :]


def is_near(left: str, right: str) -> bool:
    """Return whether one typing error separates two words. An error in the last letter is none: it is an ending."""
    start = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    if start >= len(right) - 1:
        return False
    a, b = left[start:], right[start:]
    return a[1:] == b or a == b[1:] or a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


# --- phrases ----------------------------------------------------------------------------------------------------------

_ARTICLE = re.compile(r"(?:(?:an?|the|any(?! of\b)|some(?! of\b)|my|our|your|their|his|her|its|each|every)\s+)+", FLAGS)


def phrase(text: str) -> str:
    """Return a phrase without leading articles and outer punctuation."""
    text = text.strip(" \t?.!,;:'()")
    found = _ARTICLE.match(text)
    return text[found.end() :] if found else text


def is_plural(text: str) -> bool:
    """Return whether a phrase ends in a plural."""
    word = text.split(" ")[-1].casefold() if text else ""
    return word in ("criteria", "media", "data") or (word.endswith("s") and not word.endswith(("ss", "us", "is", "'s")))


def points_back(text: str) -> bool:
    """Return whether a phrase is only a pronoun, whose noun stands in another question."""
    return bool(_SENTENCES.pointing.fullmatch(text))


def normalize_question(question: str) -> str:
    """Return the question without spaces around it.

    Raises:
        UsageError: if it is empty, or not valid Unicode.
    """
    question = question.strip()
    if not question:
        raise UsageError("The question is empty. Ask something in words.")
    if not is_unicode(question):
        raise UsageError("The question holds half a character (a lone surrogate). Ask it in UTF-8.")
    return question


# --- questions that name their answers --------------------------------------------------------------------------------
# Questions that name their answers: yes or no, or one of several things. Each is a vote among public choices.

NOT_SAID = "not said"
CHOICES = (YES, NO, NOT_SAID)


def is_yes_no(question: str) -> bool:
    """Return whether yes or no answers a question. A choice between two things is no yes/no question."""
    plain = plain_question(question)
    last, asks = sentence_of(plain), not plain.rstrip().endswith((".", "!"))
    return asks and bool(_SENTENCES.yes_no.match(last)) and not _SENTENCES.not_yes_no.search(last)


_PREPOSITION = entry("sentences.preposition")
_THING = r"(?:an? |the |either )?(?P<{0}>[\w'.-]+(?: [\w'.-]+)?)"
_EITHER = re.compile(
    rf"(?:is|are|was|were|do|does|did|should|can)\b[^,:]*\b{_PREPOSITION} {_THING.format('a')},? or "
    rf"(?:{_PREPOSITION} )?{_THING.format('b')}",
    re.IGNORECASE,
)


def named_choices(question: str) -> tuple[str, ...]:
    """Return the answers that a question names; none if it names none for certain.

    "Is it treated with tea or with oil?", "Which helps against gout: tea, oil or rest?"
    """
    plain = sentence_of(question)
    if found := _EITHER.fullmatch(plain):
        named = [found["a"], found["b"]]
    elif found := _SENTENCES.after_all.fullmatch(plain):
        parts = [*found["some"].split(", "), found["last"]]
        named = [re.sub(rf"^(?:{_PREPOSITION} )?(?:an?|the) ", "", one.strip(), flags=re.IGNORECASE) for one in parts]
    else:
        return ()
    alone = all(0 < len(one.split()) < 4 and not _SENTENCES.not_yes_no.search(one) for one in named)
    return tuple(named) if alone and len(set(map(str.casefold, named))) == len(named) else ()


def with_choices(algorithm: Algorithm, question: str) -> Algorithm:
    """Return the algorithm for `question`: with the choices yes, no and not said if it is a yes/no question.

    An algorithm that cannot choose, or that has choices, a prefix or a fallback, is returned unchanged.
    """
    if not is_yes_no(question):
        return algorithm
    return change_vote(algorithm, lambda vote: vote.with_choices(CHOICES, NOT_SAID))


def searched(question: str, choices: Sequence[str]) -> str:
    """Return the text that documents are compared with: public, a function of the question and the public choices.

    It is the open question of a yes/no question that is such a choice, and a question between other choices without
    them. Without choices it is the question, as in the papers.
    """
    if tuple(choices) == CHOICES:
        return claim_of(question).open or question
    return without_choices(question, choices)

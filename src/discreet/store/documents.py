"""Documents, their units with the canonical spelling of names, and the chunks of their texts.

An individual whose name has several spellings is one unit: with two units, it would have two budgets. Two individuals
with the same canonical spelling share one budget: they are protected together, and erased together.
"""

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.system.words import is_unicode

# Invisible characters outside category Cf: joiners of marks, and variation selectors.
_UNSEEN = re.compile("[\u034f\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_FORMULA = re.compile(r'="([^"]*)"')
_WHOLE_NUMBER = re.compile(r"([+-]?)(0|[1-9][0-9]*)(?:\.0*)?")


@dataclass(frozen=True)
class Document:
    """A text about one individual.

    Attributes:
        id: its name in the vault.
        unit: the individual. All documents with the same unit are protected together. `id` and `unit` get their
            canonical spelling, so that one individual is one unit.
        text: the text.
        own_unit: whether it came without a unit and became a unit of its own.
        source: the file that it came from, as the vault names it; empty if it came from a program.
        fields: the declared fields by name: texts (dates too) and finite numbers. They are as private as the text.

    Raises:
        UsageError: if `id` or `unit` is empty, if a part is not valid Unicode, or if a field is neither a text nor a
            finite number.
    """

    id: str
    unit: str
    text: str = field(repr=False)
    own_unit: bool = False
    source: str = field(default="", compare=False)
    fields: Mapping[str, str | float] = field(default_factory=dict, hash=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", canonical_name(self.id))
        object.__setattr__(self, "unit", canonical_unit(self.unit))
        for name in ("id", "unit"):
            if not getattr(self, name):
                raise UsageError(f"The {name} of a document is empty. Give each document an id and a unit.")
        object.__setattr__(self, "fields", {name: _checked(name, self.fields[name]) for name in sorted(self.fields)})
        texts = [value for value in self.fields.values() if isinstance(value, str)]
        if not all(is_unicode(part) for part in (self.id, self.unit, self.text, self.source, *self.fields, *texts)):
            raise UsageError("A document holds half a character (a lone surrogate). Decode its text again.")


def _checked(name: str, value: object) -> str | float:
    """Return the value of a declared field; an integer becomes a floating-point number."""
    if isinstance(value, str):
        return value
    with suppress(OverflowError):  # a whole number of hundreds of digits
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    raise UsageError(f"The field {name!a} of a document is neither a text nor a finite number. Correct or drop it.")


@dataclass(frozen=True)
class StoredText:
    """A chunk of a document in a store.

    Attributes:
        unit: the unit of the document.
        tag: a keyed hash of the document's content. Without the store's key it reveals nothing.
        vector: the vector, in whole numbers.
        text: the chunk.
    """

    unit: str
    tag: str
    vector: NDArray[np.int64] = field(repr=False)
    text: str = field(repr=False)


@dataclass(frozen=True)
class Passage:
    """The chunk of a unit's documents that is most similar to a question. Voters read passages.

    Attributes:
        unit: the unit.
        text: the chunk.
        stated: the value of the statement in it that fits the question best (`SealedCorpus.stated`).
    """

    unit: str = field(repr=False)
    text: str = field(repr=False)
    stated: str = field(default="", repr=False)


def canonical_name(name: str) -> str:
    """Return a name in Unicode's composed form, without white space around it."""
    return unicodedata.normalize("NFC", name).strip()


def canonical_unit(name: str) -> str:
    """Return the canonical spelling of a unit's name: without case, with single spaces, without invisible characters.

    Unicode's compatibility forms are unified (NFKC), also after case folding: "ΜΑΪ́Α" is "Μαΐα". Format characters
    (category Cf) and variation selectors are dropped. A whole number has one spelling: "7.0", "7.00" and "+7" are "7".
    Accents are kept, so Greek capitals without accents are another name. Leading zeros ("007") are kept, also if a
    table protects them from spreadsheets (`="007"`).
    """
    before, spelled = None, name
    while spelled != before:
        before = spelled
        seen = "".join(char for char in _UNSEEN.sub("", spelled) if unicodedata.category(char) != "Cf")
        folded = unicodedata.normalize("NFKC", seen).casefold()
        spelled = " ".join(unicodedata.normalize("NFKC", folded).split())
        spelled = formula[1] if (formula := _FORMULA.fullmatch(spelled)) else spelled
    number = _WHOLE_NUMBER.fullmatch(spelled)
    if number is None:
        return spelled
    sign, digits = number.groups()
    return f"-{digits}" if sign == "-" and digits != "0" else digits


_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")
_LONGEST_WORD = 16


def chunk(text: str, max_words: int = 120) -> list[str]:
    """Cut a text into chunks of at most `max_words` words, if possible at the ends of sentences and lines.

    Words keep their order, and white space becomes one space. A word of more than 16 characters counts as several
    and may be cut, so a chunk has at most 17 * `max_words` characters. The time is linear in the length of the text.
    """
    pieces: list[str] = []
    current: list[str] = []
    for sentence in _BREAK.split(text):
        words = list(_words(sentence))
        for start in range(0, len(words), max_words):
            group = words[start : start + max_words]
            if current and len(current) + len(group) > max_words:
                pieces.append("".join(current).strip())
                current = []
            current += group
    if current:
        pieces.append("".join(current).strip())
    return pieces


def _words(sentence: str) -> Iterator[str]:
    """Yield the words, each with the space before it. The later parts of a long word have no space before them."""
    for word in sentence.split():
        yield " " + word[:_LONGEST_WORD]
        for start in range(_LONGEST_WORD, len(word), _LONGEST_WORD):
            yield word[start : start + _LONGEST_WORD]

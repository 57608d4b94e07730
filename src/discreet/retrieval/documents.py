"""Documents, their units, and the chunks of their texts."""

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.retrieval.spelling import canonical_name as canonical_name
from discreet.retrieval.spelling import canonical_unit as canonical_unit
from discreet.system.words import is_unicode


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

"""The statement of a text that fits a question best: a vote that needs no model.

The kind of a statement is compared with the question by the embedder, its subject with the words of the question. All
of it is a function of the question and of one text. The vectors of all kinds in the vault are computed together, at the
first question after a change of the documents, and not for the texts of one question. Similarities are sums of whole
numbers, so no other kind changes their rounding.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.retrieval.embedding import Embedder, meaning
from discreet.retrieval.unit_records import Statement
from discreet.retrieval.vectors import Vector

LEAST_FIT = 0.2
"""The least similarity of a kind to a question: below it, a text says nothing about the question."""
SUBJECT_SHARE = 0.5
"""The part of the words of a question that a text must have."""

_ONE = 2**28
"""The length with which vectors of length one are compared: sums of their products fit into 64 bits."""

Whole = NDArray[np.int64]
Words = Callable[[str], Sequence[str]]
"""Returns the words of a phrase that have a meaning, without their endings."""
Asked = Callable[[str], bool]
"""Returns whether a kind of statement is the attribute that a question names."""
_PUBLIC = "statement"
"""A kind that is always embedded, so that there is always one."""


class KindVectors:
    """The vectors of the kinds of statements, kept until the documents change."""

    def __init__(self, embedder: Embedder) -> None:
        self._given = embedder
        self._state: object = None
        self._vectors: dict[str, Whole] = {}

    @cached_property
    def _embedder(self) -> Embedder:
        """The embedder of meanings; the given one if it knows only words. It is loaded at first use."""
        try:
            return meaning(self._given)
        except UsageError:
            return self._given

    def of(self, kinds: Iterable[str], state: object) -> dict[str, Whole]:
        """Return the vector of each kind in whole numbers; `state` changes with the documents.

        Which kinds are new depends on all texts, and may depend on one unit. So the embedder is called each time: its
        failure must not tell whether there was a new kind.
        """
        changed = self._state is None or self._state != state
        names = sorted(set(kinds) - {""}) if changed else list(self._vectors)
        known = {name: self._vectors[name] for name in names if name in self._vectors}
        fresh = [name for name in names if name not in known]
        self._vectors = known | dict(zip(fresh, map(_whole, self._embed_anew(fresh)), strict=True))
        self._state = state
        return self._vectors

    def _embed_anew(self, kinds: Sequence[str]) -> Iterable[Vector]:
        return self._embedder.embed([*kinds, _PUBLIC])[:-1]

    def embed(self, question: str) -> Vector:
        """Return the vector of a question."""
        vector: Vector = self._embedder.embed([question])[0]
        return vector


class StatementFit:
    """The fit of statements to one question.

    Args:
        question: the question.
        vector: its vector.
        kinds: the vector of each kind of statement, in whole numbers.
        words: the words of a phrase that have a meaning.
        is_asked: whether a kind is the attribute that the question names; None if it names none.
    """

    def __init__(
        self, question: str, vector: Vector, kinds: dict[str, Whole], words: Words, is_asked: Asked | None = None
    ) -> None:
        self._words = words
        self._is_asked = is_asked
        self._asked = frozenset(words(question))
        asked = _whole(vector)
        self._fit = {kind: int(np.dot(asked, own)) / _ONE**2 for kind, own in kinds.items()}

    def value(self, text: str, statements: Sequence[Statement]) -> str:
        """Return the value of the statement that fits best; "" if the text is about another subject, or none fits.

        A kind of which the question itself has a value is given, and not asked for. Such a text has the subject.
        """
        statements = [one for one in statements if not one.negated]
        given = {one.attribute for one in statements if self._is_given(one.value)}
        asked = [one for one in statements if one.attribute in self._fit and one.attribute not in given]
        best = next((one for one in asked if self._is_asked and self._is_asked(one.attribute)), None)
        if self._is_asked is None:
            best = max(asked, key=lambda one: self._fit[one.attribute], default=None)
            best = best if best and self._fit[best.attribute] >= LEAST_FIT else None
        if best is None or not (given or self._has_subject(text, best)):
            return ""
        return best.value

    def _is_given(self, value: str) -> bool:
        words = set(self._words(value))
        return bool(words) and words <= self._asked

    def _has_subject(self, text: str, best: Statement) -> bool:
        wanted = self._asked - set(self._words(best.attribute))
        there = set(self._words(text))
        return len(wanted & there) >= SUBJECT_SHARE * len(wanted)


def _whole(vector: Vector) -> Whole:
    """Return a vector of length one in whole numbers. A number that is none, of a faulty embedder, becomes 0."""
    return np.rint(np.clip(np.nan_to_num(vector.astype(np.float64)), -1, 1) * _ONE).astype(np.int64)

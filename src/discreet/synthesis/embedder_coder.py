"""The codes of a text under a public codebook, by likeness of meaning: no language model reads it.

1  The text is cut into clauses: the parts of its sentences between commas and joins ("but", "because").
2  A clause that denies, tells of a relative or of former times is left out, unless the attribute counts such.
3  A word of a value that the text says, by the rules of phrases, states the value: "HIV-" does not say "HIV+".
4  Else the likeness of a value is that of its likeliest clause: a linear function of the clause's vector. It is fitted
   on what the book says (ridge regression): 1 on name, meaning, words and examples of the value, 0 on those of others.
5  A value counts from its threshold on. "One of" takes the value that is farthest above its own, "any of" takes all
   above, as many as count for a unit, the farthest first. Of two alike, the first one in the book is before the other.

All steps are a function of this one text, of the book and of the embedder on this kind of machine. No step compares two
texts: a clause that several texts have is embedded once, since its vector is a function of the clause alone. Vectors
and functions are in whole numbers, so that no sum is rounded.

Thresholds are part of the book, which is public. `fit` fits them on texts with public labels, never on those of a
vault, nor on labels that its custodian gave them.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.algorithms.text.phrases import is_denied, is_of_another, sentences_of, tongue_of, window_of, words_in
from discreet.statistics.phrase import Phrase
from discreet.store.codebook import Attribute, Codebook, CodedValue, coder_of
from discreet.store.embedding import Embedder, meaning
from discreet.store.unit_records import UnitRecord
from discreet.store.vectors import scale_of, whole_numbers
from discreet.synthesis.statements import Found

EMBEDDER_CODER = "embedder coder"
"""The name of this coder among what codes depend on."""
CODED = 3
"""The version of the steps: codes of another version are not used."""
THRESHOLD = 0.3
"""The least likeness of a value that counts, if the book has no threshold."""
RIDGE = 1.0
"""How much a function is held back from what the book says of a value, in squares of a vector's length."""
LONGEST = 40
"""The most words of a clause. A longer one is cut, since an embedder reads the beginning of a text alone."""
BLOCK = 256
"""So many texts are cut and embedded in one call, at most."""
KEPT = 100_000
"""So many clauses are kept with their likenesses, at most."""
FOLDS = 5
"""F1 is measured in so many parts of the labelled texts, each by thresholds that are fitted on the others."""
GRID = tuple(round(0.1 + 0.01 * step, 2) for step in range(61))
"""The thresholds that are tried."""
ENOUGH, WITHIN = 30, 0.1
"""So many texts must state a value that gets a threshold of its own, which is this near to its attribute's."""
NOWHERE = -9.0
"""The likeness of a value to a text without a clause that counts."""
_ONE = 2.0**20
"""One, in the whole numbers of a function."""
_JOINS = frozenset(", but yet though although while whereas because".split())
_DENIES = re.compile(
    r"\b(?:no(?! (?:longer|more))|without|den(?:y|ies|ied|ying)|exclude[sd]|never had|negative for"
    r"|(?:not|\w+n't) (?:have|had|having|any|report|complain|mention|suffer)\w*)\b"
)
"""What denies a thing. "Cannot sleep" and "does not open" state one."""
_ITEMS = r"(?:[^, ]+ ){1,4}(?:, (?:[^, ]+ ){1,4})*"
_LIST, _REST = re.compile(rf"\bno {_ITEMS}, $"), re.compile(rf"{_ITEMS}(?:, )?n?or ")
"""What stands before an item of "no nausea, vomiting or fever" between the first and the last, and from it on."""
_FORMER = re.compile(
    r"\b(?:history of|used to|in the past|as a child|in childhood|(?:years|long) ago|last year|previous(?:ly)?"
    r"|former(?:ly)?|resolved|recovered|cured)\b"
)
_PROBE = tuple(" ".join(f"public clause {n}" for n in range(size)) for size in (1, 3, 8, 13, 20, 40))

Likeness = NDArray[np.float64]
Whole = Callable[[Sequence[str]], NDArray[np.float64]]
"""A function from texts to their vectors in whole numbers."""
Labelled = Sequence[tuple[str, Mapping[str, Collection[str]]]]
"""Public texts, each with the names of the values that it states, by the name of the attribute."""


class EmbedderCoder:
    """A coder by an embedder.

    Args:
        embedder: the embedder, whose part for meaning is used.

    Raises:
        UsageError: if it has no such part.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = meaning(embedder)
        self._books: dict[str, _Spoken] = {}

    @cached_property
    def _probe(self) -> bytes:
        return self._embedder.embed(_PROBE).tobytes()

    def about(self, book: Codebook) -> tuple[Any, ...]:
        """Return all that codes depend on beside the text, as plain data.

        A machine that rounds otherwise has another digest of what it makes of public texts and of the book. Words and
        meaning of an attribute are for questions: they change no code. A value changes the functions of all others.
        """
        functions = self._read(book).functions.tobytes() if book.coded else b""
        said = hashlib.blake2b(self._probe + functions, digest_size=16).hexdigest()
        parts = tuple(one.model_copy(update={"words": (), "meaning": ""}) for one in book.attributes)
        return (EMBEDDER_CODER, CODED, self._embedder.name, said, book.model_copy(update={"attributes": parts}).digest)

    def code(self, texts: Sequence[str], book: Codebook) -> Iterator[tuple[int, list[Found]]]:
        """Yield the position of each text, and its codes."""
        for place, likeness in enumerate(self.likenesses(texts, book)):
            yield (
                place,
                [
                    (attribute.name, attribute.names[one], False, None, "")
                    for attribute, own in zip(book.coded, likeness, strict=True)
                    for one, counts in zip(*choose(attribute, own), strict=True)
                    if counts
                ],
            )

    def likenesses(self, texts: Sequence[str], book: Codebook) -> Iterator[list[Likeness]]:
        """Yield how like each text is to the values of each attribute that has some: 0 to 1, or near to it."""
        if not book.coded:
            yield from ([] for _ in texts)
            return
        spoken = self._read(book)
        kept_likenesses: dict[str, Likeness] = {}
        for first in range(0, len(texts), BLOCK):
            block = [(text, sentences_of(text)) for text in texts[first : first + BLOCK]]
            cut = [[clause for one in sentences for clause in clauses_of(one)] for _, sentences in block]
            kept_likenesses = kept_likenesses if len(kept_likenesses) < KEPT else {}
            fresh = sorted({clause.text for own in cut for clause in own} - kept_likenesses.keys())
            kept_likenesses.update(zip(fresh, spoken.likeness(self._whole(fresh)), strict=True))
            for (text, sentences), own in zip(block, cut, strict=True):
                yield spoken.by_attribute(text, sentences, own, kept_likenesses)

    def _read(self, book: Codebook) -> "_Spoken":
        if book.digest not in self._books:
            self._books[book.digest] = _Spoken(book, self._whole, scale_of(self._embedder.dimension))
        return self._books[book.digest]

    def _whole(self, texts: Sequence[str]) -> NDArray[np.float64]:
        return whole_numbers(self._embedder.embed(texts), self._embedder.dimension).astype(np.float64)


def choose(attribute: Attribute, likeness: Likeness) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the positions of the values that may be codes, the likeliest first, and whether each one is a code.

    Args:
        attribute: the attribute.
        likeness: that of each of its values, of one text or of several, shape (..., values).
    """
    usual = THRESHOLD if attribute.threshold is None else attribute.threshold
    above = likeness - [usual if one.threshold is None else one.threshold for one in attribute.values]
    order = np.argsort(-above, axis=-1, kind="stable")[..., : attribute.each]
    return order, np.take_along_axis(above, order, -1) >= 0


@dataclass(frozen=True)
class Clause:
    """A sentence or a part of it.

    Attributes:
        text: its words.
        denied: whether it denies.
        another: whether it tells of a relative.
        former: whether it tells of former times.
    """

    text: str
    denied: bool
    another: bool
    former: bool

    @staticmethod
    def of(sentence: list[str], start: int, end: int, phrase: str = "") -> "Clause":
        """Return the part of a sentence from `start` to `end`; `phrase`: the words that it is found by."""
        text, first = " ".join(sentence[start:end]), max(0, start - LONGEST)
        sentence, start, end = sentence[first : end + LONGEST], start - first, end - first
        before, rest = (" ".join([*part, ""]) for part in (sentence[:start], sentence[start:]))
        # A negation within a clause need not deny it: "does not open". A phrase is that of a value.
        denied = is_denied(sentence, start, end, _negates(phrase or text)) or bool(not phrase and _DENIES.search(text))
        denied = denied or bool(_LIST.search(before) and _REST.match(rest))
        another = is_of_another(sentence[:end]) or "family history" in before + text
        subject = max((place + 1 for place in range(start) if sentence[place] in tongue_of("").ends), default=0)
        until = sentence.index(",", end) if "," in sentence[end:] else len(sentence)
        return Clause(text, denied, another, bool(_FORMER.search(" ".join(sentence[subject:until]))))


def clauses_of(sentence: list[str]) -> Iterator[Clause]:
    """Yield the parts of a sentence between commas and joins, each of at most `LONGEST` words."""
    start = 0
    for end, word in enumerate([*sentence, ","]):
        ended = word in _JOINS
        if end > start and (ended or end - start == LONGEST):
            yield Clause.of(sentence, start, end)
        if ended or end - start == LONGEST:
            start = end + ended


class _Spoken:
    """What a book says of its values, and how like it clauses are.

    Args:
        book: the book.
        whole: returns the vectors of texts in whole numbers.
        scale: the length of these vectors.

    Attributes:
        functions: for each value the function that it is found by, in whole numbers, shape (dimension, values).
    """

    def __init__(self, book: Codebook, whole: Whole, scale: int) -> None:
        values = [(attribute, value) for attribute in book.coded for value in attribute.values]
        self.functions = _fit_functions([value for _, value in values], whole, scale)
        self._scale = scale * _ONE
        self._ends = np.cumsum([len(attribute.values) for attribute in book.coded])[:-1]
        self._denied = np.array([attribute.denied for attribute, _ in values])
        self._family = np.array([attribute.family for attribute, _ in values])
        self._past = np.array([attribute.past for attribute, _ in values])
        self._words = [
            (place, frozenset(words), words, Phrase(word))
            for place, (_, value) in enumerate(values)
            for word in (value.name, *value.words)
            if (words := tongue_of("").content(word))
        ]

    def likeness(self, vectors: Likeness) -> Likeness:
        """Return the likeness of each value to each vector, shape (vectors, values)."""
        products: Likeness = vectors @ self.functions / self._scale  # no sum of whole numbers is rounded, in any order
        return products

    def by_attribute(
        self, text: str, sentences: Sequence[list[str]], clauses: Sequence[Clause], known: Mapping[str, Likeness]
    ) -> list[Likeness]:
        """Return the likeness of each value of each attribute to a text: that of its likeliest clause that counts.

        Args:
            text: the text.
            sentences: the sentences of the text.
            clauses: its clauses.
            known: the likeness of each value to each clause.
        """
        nearest = np.full(len(self._denied), NOWHERE)
        for clause in clauses:
            np.maximum(nearest, known[clause.text], out=nearest, where=self._counts(clause))
        stems = [list(map(tongue_of("").stem, sentence)) for sentence in sentences]
        record, by_place = UnitRecord((text,)), self._denied | self._family  # phrases count neither of the two
        for place, needed, words, phrase in self._words:
            for sentence, there in zip(sentences, stems, strict=True):
                span = window_of(sentence, words, there, tongue_of("")) if needed.issubset(there) else None
                counts = span and self._counts(Clause.of(sentence, *span, phrase.text))[place]
                if counts and (by_place[place] or phrase.holds(record)):
                    nearest[place] = max(nearest[place], 1.0)
        return np.split(nearest, self._ends)

    def _counts(self, clause: Clause) -> NDArray[np.bool_]:
        """Return for each value whether its attribute counts such a clause."""
        counted: NDArray[np.bool_] = (
            (self._denied | (not clause.denied))
            & (self._family | (not clause.another))
            & (self._past | (not clause.former))
        )
        return counted


def _fit_functions(values: Sequence[CodedValue], whole: Whole, scale: int) -> NDArray[np.float64]:
    """Return for each value a linear function that is near 1 on what the book says of it, and near 0 on the rest.

    All that is said of one value has the same weight as all that is said of another.
    """
    said = [_texts(value) for value in values]
    texts = sorted(set().union(*said))
    states = np.array([[text in own for own in said] for text in texts], dtype=np.float64)
    weights = (states / states.sum(axis=0)).sum(axis=1)
    vectors = whole(texts) / scale
    held = RIDGE * np.diag(weights.mean() / weights)
    return np.rint(vectors.T @ np.linalg.solve(vectors @ vectors.T + held, states) * _ONE)


def _texts(value: CodedValue) -> set[str]:
    """Return what states a value: its name, its words, its meaning and its examples, in clauses."""
    said = (value.name, value.meaning, *value.words, *value.examples)
    return {clause.text for text in said for sentence in sentences_of(text) for clause in clauses_of(sentence)}


def _negates(text: str) -> bool:
    return not tongue_of("").negations.isdisjoint(words_in(text.casefold()))


def fit(book: Codebook, labelled: Labelled, coder: EmbedderCoder, *, measure: bool = False) -> Codebook:
    """Return the book with the thresholds by which public labels are met best, by F1.

    An attribute with labels gets a threshold. A value gets one of its own if enough texts state it.

    Args:
        book: the book.
        labelled: texts with labels. They must be public: what thresholds say of them is not protected.
        coder: the coder.
        measure: whether the book gets the F1, too (`FOLDS`).
    """
    likenesses = list(coder.likenesses([text for text, _ in labelled], book))
    fitted, f1 = dict[str, Attribute](), dict[str, float]()
    for place, attribute in enumerate(book.coded):
        if any(attribute.name in labels for _, labels in labelled):
            likeness = np.array([own[place] for own in likenesses])
            true = [told.get(attribute.name, ()) for _, told in labelled]
            stated = np.array([[name in own for name in attribute.names] for own in true])
            fitted[attribute.name] = _fit_attribute(attribute, likeness, stated)
            if measure:
                f1[attribute.name] = _held_out(attribute, likeness, stated)
    attributes = tuple(fitted.get(attribute.name, attribute) for attribute in book.attributes)
    found = book.model_copy(update={"attributes": attributes, "f1": f1})
    return found.model_copy(update={"f1_of": coder_of(coder.about(found.part(coded=True) or found))}) if f1 else found


def _held_out(attribute: Attribute, likeness: Likeness, stated: NDArray[np.bool_]) -> float:
    coded, fold = np.zeros_like(stated), np.arange(len(stated)) % FOLDS
    for held in (fold == number for number in range(FOLDS)):
        coded[held] = coded_by(_fit_attribute(attribute, likeness[~held], stated[~held]), likeness[held])
    return round(_f1(coded, stated), 2)


def coded_by(attribute: Attribute, likeness: Likeness) -> NDArray[np.bool_]:
    """Return which values are codes of each text, shape (texts, values)."""
    coded = np.zeros(likeness.shape, dtype=np.bool_)
    np.put_along_axis(coded, *choose(attribute, likeness), -1)
    return coded


def _f1(coded: NDArray[np.bool_], stated: NDArray[np.bool_]) -> float:
    return 2 * float((coded & stated).sum()) / max(1, int(coded.sum() + stated.sum()))


def _fit_attribute(attribute: Attribute, likeness: Likeness, stated: NDArray[np.bool_]) -> Attribute:
    def with_thresholds(usual: float, own: Mapping[int, float]) -> Attribute:
        values = (
            value.model_copy(update={"threshold": None if own.get(place) == usual else own.get(place)})
            for place, value in enumerate(attribute.values)
        )
        return attribute.model_copy(update={"threshold": usual, "values": tuple(values)})

    def f1(usual: float, own: Mapping[int, float]) -> float:
        return _f1(coded_by(with_thresholds(usual, own), likeness), stated)

    usual, own = max(GRID, key=lambda one: f1(one, {})), dict[int, float]()
    near = sorted(one for one in GRID if abs(one - usual) <= WITHIN)
    near.sort(key=lambda one: abs(one - usual))  # of equally good ones, the nearest
    for place in np.flatnonzero(stated.sum(axis=0) >= ENOUGH):
        own[int(place)] = max(near, key=lambda one: f1(usual, own | {int(place): one}))
    return with_thresholds(usual, own)

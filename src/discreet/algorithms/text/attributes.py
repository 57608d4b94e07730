"""Attributes: the kinds of statements that are one attribute, and the attribute that a question or a phrase means.

"How is X treated?" asks for a "treatment", and "drug" is another word for it. The words are those of English questions
about diseases. Other attributes are alike if they have the same stem, and a question for them names none here. Under a
schema, an attribute is meant by its name, by its other words, or by its meaning.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import permutations

import numpy as np

from discreet.algorithms.text.normalize import STOP_WORDS, stem, words_of
from discreet.errors import BadData
from discreet.store.codebook import Attribute, Codebook
from discreet.store.vectors import Vector

_NOUNS = (
    "treatment therapy remedy medicine medication drug cure",
    "symptom sign complaint",
    "diagnosis diagnoses disease illness condition disorder syndrome",
)
_VERBS = (
    "treat treated prescribe prescribed prescribes give given gets get help helps take taken use used",
    "complain complains complained suffer suffers feel feels",
    "causes cause diagnosed ill",
)
_PERSON = r"(?:someone|somebody|(?:a|the|my|our) (?:patient|person|man|woman|child))"
_WHICH_DISEASE = re.compile(
    rf"\bwhat (?:could|can|may|might) (?:it|this|that) be,? (?:if|when) {_PERSON}\b"
    rf"|\bwhat(?: is|'s) wrong with {_PERSON}\b",
    re.IGNORECASE,
)
_ASKING = re.compile(r"\b(?:what|which|how|name|list|tell)\b", re.IGNORECASE)


def matches(kind: str, attribute: str) -> bool:
    """Return whether a kind of statement is an attribute: "given treatment" is a "therapy"."""
    wanted = _stems(attribute)
    return bool(wanted) and wanted <= _stems(kind)


@lru_cache(maxsize=256)
def attribute_asked(question: str) -> str:
    """Return the attribute that a question asks for: "treatment", "symptom" or "diagnosis"; "" if none is known.

    Of several, the first noun after the last question word counts, and else the first verb.
    """
    if _WHICH_DISEASE.search(question):
        return "diagnosis"
    parts = _ASKING.split(question)
    words = [stem(word) for word in words_of(parts[-1] if len(parts) > 1 else question)]
    for groups in (_NOUNS, _VERBS):
        for word in words:
            for place, group in enumerate(groups):
                if word in {stem(one) for one in group.split()}:
                    return _NOUNS[place].split()[0]
    return ""


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    stems = (stem(word) for word in words_of(text.replace("_", " ")) if word not in STOP_WORDS)
    return frozenset(_SAME.get(word, word) for word in stems)


_SAME = {stem(word): stem(group.split()[0]) for group in _NOUNS for word in group.split()}


# --- the attribute of a schema ----------------------------------------------------------------------------------------
# A phrase or a question means it by its name, by its other words, or by its meaning.

LEAST_LIKENESS = 0.55
"""The least similarity of a phrase to an attribute, by the embedder: below it, the phrase means no attribute."""

Embed = Callable[[str], Vector]


def attribute_named(schema: Codebook, phrase: str) -> Attribute | None:
    """Return the attribute that a phrase names, by its name or one of its other words; None if it names none.

    The same words count before words that are among others: "age" is not the "age of onset" if both are attributes.
    """
    wanted = _plain_stems(phrase)
    ways: tuple[Callable[[str], bool], ...] = (
        lambda called: bool(wanted) and _plain_stems(called) == wanted,
        lambda called: matches(called, phrase) and matches(phrase, called),
        lambda called: matches(phrase, called),
        lambda called: matches(called, phrase),
    )
    for way in ways:
        for one in schema.attributes:
            if any(way(called) for called in one.called):
                return one
    return None


def attribute_meant(schema: Codebook, phrase: str, embed: Embed) -> Attribute | None:
    """Return the attribute that a phrase names, or else the one that is nearest to it in meaning, if one is near.

    Args:
        schema: the schema.
        phrase: the phrase.
        embed: returns the vector of a text; called only if the phrase names no attribute.
    """
    if named := attribute_named(schema, phrase):
        return named
    vector = embed(phrase)
    likeness = [
        max(float(np.dot(vector, embed(said))) for said in (*one.called, one.meaning) if said)
        for one in schema.attributes
    ]
    best = int(np.argmax(likeness))
    return schema.attributes[best] if likeness[best] >= LEAST_LIKENESS else None


def attribute_in_question(schema: Codebook, question: str) -> Attribute | None:
    """Return the attribute that a question asks for in its words; None if it names none.

    The first one after the last question word counts: "I have a fever. Which treatment is there?" The rules of
    questions about diseases come second: "How is X treated?"
    """
    parts = _ASKING.split(question)
    said = [stem(word) for word in words_of(parts[-1] if len(parts) > 1 else question)]
    mentions: list[tuple[int, int, Attribute]] = []
    for one in schema.attributes:
        for called in one.called:
            own = [stem(word) for word in words_of(called)]
            starts = [at for at in range(len(said)) if own and said[at : at + len(own)] == own]
            mentions += [(at, -len(own), one) for at in starts[:1]]
    if mentions:
        return min(mentions, key=lambda place: place[:2])[2]
    usual = attribute_asked(question)
    return attribute_named(schema, usual) if usual else None


def check_distinct(schema: Codebook) -> None:
    """Refuse a schema of which a question could not tell two attributes apart.

    Raises:
        BadData: if the words of one name are among those of another, or mean the same.
    """
    for one, other in permutations(schema.names, 2):
        if matches(one, other):
            raise BadData(
                f"The schema has the attributes '{other}' and '{one}', which questions do not tell apart: the words of "
                "one are among those of the other, or mean the same. Give one of them another name, such as 'onset' "
                "for 'age of onset'."
            )


def _plain_stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words_of(text))

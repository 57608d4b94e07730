"""Attributes: the kinds of statements that are one attribute, and the attribute that a question asks for.

"How is X treated?" asks for a "treatment", and "drug" is another word for it. The words are those of English questions
about diseases. Other attributes are alike if they have the same stem, and a question for them names none here.
"""

import re
from functools import lru_cache

from discreet.algorithms.text.keywords import STOP_WORDS
from discreet.algorithms.text.normalize import stem, words_of

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

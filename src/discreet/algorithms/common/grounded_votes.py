"""Grounded votes: yes or no by what a voter's own documents hold, and its answer to the open question.

A small language model says "yes" to nearly every question, so no voter is asked for yes or no. The rules:

yes       its documents hold subject and value, and (for a treatment) its answer names the value, too
no        its documents deny the value; or they hold the subject and another treatment, which its answer names
not said  anything else

A vote is a function of the claim, one voter's documents and its answer alone.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from discreet.algorithms.text.keywords import STOP_WORDS
from discreet.algorithms.text.normalize import canonical
from discreet.algorithms.text.yes_no_claim import NEGATIONS, Claim, content, stem

YES, NO = "yes", "no"

_GIVING = frozenset("treatment treated treat therapy remedy cure prescribed prescribes prescribe prescription".split())
_ABOUT = frozenset("for of against".split())
_SPACES = frozenset(",|and|or|but".split("|"))
_TOKEN = re.compile(r"\w+(?:['.&+]\w+)*|,")
_SENTENCES = re.compile(r"[.!?;:()\[\]]+(?=\s|$)|[()\[\];]|\n")
_BETWEEN = 3
"""So many other words may stand between the words of a phrase; a comma, or "and", counts as so many."""


def vote(claim: Claim, texts: Sequence[str], answer: str = "") -> str:
    """Return "yes", "no", or "" for not said: what one voter makes of a claim.

    Args:
        claim: what the question claims.
        texts: the voter's documents.
        answer: what it answered to `claim.open`.
    """
    if claim.negated:
        return ""
    found = [_one(claim, text, answer) for text in texts]
    return next((said for said in found if said), "")


def _one(claim: Claim, text: str, answer: str) -> str:
    plain = unicodedata.normalize("NFKC", text).replace("\u2019", "'").casefold()
    sentences = [_TOKEN.findall(part) for part in _SENTENCES.split(plain)]
    if not claim.subject:
        return _plain(claim.value, sentences)
    if not _places(sentences, claim.subject):
        return ""
    places = _places(sentences, claim.value)
    if places and all(_denied(*place, claim.without) for place in places):
        return NO
    if not claim.open:
        about = [*places, *_places(sentences, claim.subject)]
        return "" if not places or (not claim.received and any(_given(*place) for place in about)) else YES
    said = [word for word in content(canonical(answer, claim.open)) if word not in claim.subject]
    if not said:
        return ""
    if set(said) <= set(claim.value) or set(claim.value) <= set(said):
        return YES if places else ""
    return NO if _places(sentences, said) else ""


def _plain(words: Sequence[str], sentences: Sequence[list[str]]) -> str:
    """Yes if one sentence holds all of several words, and denies nothing."""
    held = (sentence for sentence in sentences if set(words) <= {stem(word) for word in sentence})
    return YES if len(words) > 1 and any(not NEGATIONS & set(sentence) for sentence in held) else ""


Place = tuple[list[str], int, int]
"""A sentence, and from where to where in it."""


def _places(sentences: Sequence[list[str]], words: Sequence[str]) -> list[Place]:
    """Where the words stand close together: once a sentence at most."""
    found = ((sentence, _window(sentence, words)) for sentence in sentences)
    return [(sentence, *window) for sentence, window in found if window]


def _window(sentence: list[str], words: Sequence[str]) -> tuple[int, int] | None:
    """From where to where the words stand, in any order; on both sides of a comma only in the order of the phrase."""
    stems = [stem(word) for word in sentence]
    for start, first in enumerate(stems):
        missing, room = set(words), _BETWEEN
        if first not in missing:
            continue
        for place in range(start, len(stems)):
            if stems[place] in missing:
                missing.discard(stems[place])
            elif sentence[place] in _SPACES:
                in_order = missing == set(words[len(words) - len(missing) :])
                room -= _BETWEEN if in_order else _BETWEEN + 1
            elif sentence[place] not in STOP_WORDS:
                room -= 1
            if not missing and room >= 0:
                return start, place + 1
            if room < 0:
                break
    return None


def _denied(sentence: list[str], start: int, end: int, without: bool) -> bool:
    """Whether a negation stands beside it; or within it, if the question has none there, and the other way round."""
    before = list(_back(sentence[max(start - 3, 0) : start]))
    beside = NEGATIONS & {*before, *sentence[end : end + 2]}
    return bool(beside) or bool(NEGATIONS & set(sentence[start:end])) != without


def _given(sentence: list[str], start: int, end: int) -> bool:
    """Whether words for a treatment lead up to it, as to what was given, not as to what that is against."""
    return start > 0 and sentence[start - 1] not in _ABOUT and bool(_GIVING & set(_back(sentence[:start])))


def _back(words: list[str]) -> Iterator[str]:
    """From the last word back to a comma."""
    for word in reversed(words):
        if word == ",":
            return
        yield word

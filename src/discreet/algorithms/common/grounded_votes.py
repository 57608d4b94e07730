"""Grounded votes: yes or no by a voter's own documents, and by its answer to the open question.

A small language model answers "yes" to nearly every question, so no voter is asked for yes or no. The rules:

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
"""The most other words between the words of a phrase. A comma, or "and", counts as so many words."""


def vote(claim: Claim, texts: Sequence[str], answer: str = "") -> str:
    """Return one voter's vote on a claim: "yes", "no", or "" for not said.

    Args:
        claim: the claim of the question.
        texts: the voter's documents.
        answer: the voter's answer to `claim.open`.
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
    if not _spans(sentences, claim.subject):
        return ""
    spans = _spans(sentences, claim.value)
    if spans and all(_denied(*span, claim.without) for span in spans):
        return NO
    if not claim.open:
        about = [*spans, *_spans(sentences, claim.subject)]
        return "" if not spans or (not claim.received and any(_given(*span) for span in about)) else YES
    said = [word for word in content(canonical(answer, claim.open)) if word not in claim.subject]
    if not said:
        return ""
    if set(said) <= set(claim.value) or set(claim.value) <= set(said):
        return YES if spans else ""
    return NO if _spans(sentences, said) else ""


def _plain(words: Sequence[str], sentences: Sequence[list[str]]) -> str:
    """Return yes if one sentence holds all of several words, and has no negation."""
    held = (sentence for sentence in sentences if set(words) <= {stem(word) for word in sentence})
    return YES if len(words) > 1 and any(not NEGATIONS & set(sentence) for sentence in held) else ""


Span = tuple[list[str], int, int]
"""A sentence, and the start and end of a phrase in it."""


def _spans(sentences: Sequence[list[str]], words: Sequence[str]) -> list[Span]:
    """Return the spans in which the words stand close together: at most one in each sentence."""
    found = ((sentence, _window(sentence, words)) for sentence in sentences)
    return [(sentence, *window) for sentence, window in found if window]


def _window(sentence: list[str], words: Sequence[str]) -> tuple[int, int] | None:
    """Return the start and end of the words in a sentence, in any order; None if they are not close together.

    On both sides of a comma, only the order of the phrase counts.
    """
    stems = [stem(word) for word in sentence]
    for start, first in enumerate(stems):
        missing, room = set(words), _BETWEEN
        if first not in missing:
            continue
        for index in range(start, len(stems)):
            if stems[index] in missing:
                missing.discard(stems[index])
            elif sentence[index] in _SPACES:
                in_order = missing == set(words[len(words) - len(missing) :])
                room -= _BETWEEN if in_order else _BETWEEN + 1
            elif sentence[index] not in STOP_WORDS:
                room -= 1
            if not missing and room >= 0:
                return start, index + 1
            if room < 0:
                break
    return None


def _denied(sentence: list[str], start: int, end: int, without: bool) -> bool:
    """Return whether a negation stands beside the span.

    A negation within the span counts if the question has none there. If the question has one, its absence counts.
    """
    before = list(_back(sentence[max(start - 3, 0) : start]))
    beside = NEGATIONS & {*before, *sentence[end : end + 2]}
    return bool(beside) or bool(NEGATIONS & set(sentence[start:end])) != without


def _given(sentence: list[str], start: int, end: int) -> bool:
    """Return whether words for a treatment lead up to the span as the treatment that was given.

    A span after "for", "of" or "against" is the condition, not the treatment.
    """
    return start > 0 and sentence[start - 1] not in _ABOUT and bool(_GIVING & set(_back(sentence[:start])))


def _back(words: list[str]) -> Iterator[str]:
    """Yield the words from the last one back to a comma."""
    for word in reversed(words):
        if word == ",":
            return
        yield word

"""Grounded votes: yes or no by a voter's own documents, and by its answer to the open question.

A small language model answers "yes" to nearly every question, so no voter is asked for yes or no. The rules:

yes       its documents hold subject and value, and (for a treatment) its answer names the value, too
no        its documents deny the value; or they hold the subject and another treatment, which its answer names
not said  anything else; but documents that do not hold the subject do not decide, so that their voter abstains

A vote is a function of the claim, one voter's documents and its answer alone.
"""

from collections.abc import Sequence

from discreet.algorithms.text.normalize import NEGATIONS, Claim, canonical, content, stem
from discreet.algorithms.text.phrases import is_denied, sentences_of, spans_of, words_back

YES, NO = "yes", "no"

_GIVING = frozenset("treatment treated treat therapy remedy cure prescribed prescribes prescribe prescription".split())
_ABOUT = frozenset("for of against".split())


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


def is_about(claim: Claim, texts: Sequence[str]) -> bool:
    """Return whether a voter's documents decide a claim: they hold its subject, or it has none."""
    return not claim.subject or any(spans_of(sentences_of(text), claim.subject) for text in texts)


def _one(claim: Claim, text: str, answer: str) -> str:
    sentences = sentences_of(text)
    if not claim.subject:
        return _plain(claim.value, sentences)
    if not spans_of(sentences, claim.subject):
        return ""
    spans = spans_of(sentences, claim.value)
    if spans and all(is_denied(*span, claim.without) for span in spans):
        return NO
    if not claim.open:
        about = [*spans, *spans_of(sentences, claim.subject)]
        return "" if not spans or (not claim.received and any(_given(*span) for span in about)) else YES
    said = [word for word in content(canonical(answer, claim.open)) if word not in claim.subject]
    if not said:
        return ""
    if set(said) <= set(claim.value) or set(claim.value) <= set(said):
        return YES if spans else ""
    return NO if spans_of(sentences, said) else ""


def _plain(words: Sequence[str], sentences: Sequence[list[str]]) -> str:
    """Return yes if one sentence holds all of several words, and has no negation."""
    held = (sentence for sentence in sentences if set(words) <= {stem(word) for word in sentence})
    return YES if len(words) > 1 and any(not NEGATIONS & set(sentence) for sentence in held) else ""


def _given(sentence: list[str], start: int, end: int) -> bool:
    """Return whether words for a treatment lead up to the span as the treatment that was given.

    A span after "for", "of" or "against" is the condition, not the treatment.
    """
    return start > 0 and sentence[start - 1] not in _ABOUT and bool(_GIVING & set(words_back(sentence[:start])))

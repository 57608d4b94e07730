"""Measures of the quality of an answer."""

import math
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from discreet.errors import MissingPart
from discreet.query.known_answers import matches


def mean_and_margin(groups: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the mean over all values, and half the width of its 95 % confidence interval.

    Args:
        groups: one sequence for each question, with one value for each seed. Questions are the independent draws: the
            margin follows from the spread of their means.
    """
    means = [statistics.fmean(group) for group in groups]
    if len(means) < 2:
        return statistics.fmean(means), math.nan
    return statistics.fmean(means), 1.96 * statistics.stdev(means) / math.sqrt(len(means))


def score(answer: str, acceptable: Sequence[str], kind: str = "") -> float:
    """Return the match accuracy of an answer; for the kind "reference", its likeness to one (ROUGE-1)."""
    if kind != "reference":
        return float(matches(answer, acceptable))
    return max(rouge_1(answer, reference) for reference in acceptable)


@dataclass(frozen=True)
class Likeness:
    """The likeness of an answer to its nearest reference; each measure in [0, 1].

    Attributes:
        f1: the F1 of tokens.
        rouge_1: ROUGE-1.
        rouge_l: ROUGE-L.
        levenshtein: the similarity by edit distance.
    """

    f1: float
    rouge_1: float
    rouge_l: float
    levenshtein: float

    @staticmethod
    def of(answer: str, references: Sequence[str]) -> "Likeness":
        """Return the largest value of each measure over several references."""
        measures = (token_f1, rouge_1, rouge_l, levenshtein)
        return Likeness(*(max(measure(answer, reference) for reference in references) for measure in measures))


def token_f1(answer: str, reference: str) -> float:
    """Return the F1 of words, as in SQuAD: without case, punctuation and articles."""
    said, expected = (
        [word for word in re.findall(r"\w+", re.sub(r"[^\w\s]", "", text.lower())) if word not in ("a", "an", "the")]
        for text in (answer, reference)
    )
    return _f1((Counter(said) & Counter(expected)).total(), len(said), len(expected))


def rouge_1(answer: str, reference: str) -> float:
    """Return the F measure of ROUGE-1, without stemming (Lin 2004): words counted with repetitions."""
    said, expected = _rouge_words(answer), _rouge_words(reference)
    return _f1((Counter(said) & Counter(expected)).total(), len(said), len(expected))


def rouge_l(answer: str, reference: str) -> float:
    """Return the F measure of ROUGE-L, without stemming (Lin 2004): by the longest common subsequence of words."""
    said, expected = _rouge_words(answer), _rouge_words(reference)
    return _f1(_rapidfuzz().LCSseq.similarity(said, expected), len(said), len(expected))


def bleu(answer: str, reference: str) -> float:
    """Return BLEU of one sentence against one reference, without case, in [0, 1] (Papineni et al. 2002).

    For runs of two and more words, one is added to both counts, so that a sentence without a common run of four words
    has a value (Lin and Och 2004).
    """
    return float(_bleu().corpus_score([answer], [[reference]]).score) / 100


def ngram_precision(answer: str, reference: str) -> float:
    """Return BLEU without its penalty for short answers, in [0, 1]: the mean of the precisions of 1 to 4 words.

    It is the score by which S2MIA, as DPVoteRAG reports it (section IV.C), takes a document for a member.
    """
    found = _bleu().corpus_score([answer], [[reference]])
    return float(found.score / found.bp) / 100 if found.bp else 0.0


def levenshtein(answer: str, reference: str) -> float:
    """Return one minus the edit distance over the length of the longer text, ignoring case."""
    return float(_rapidfuzz().Levenshtein.normalized_similarity(answer.strip().lower(), reference.strip().lower()))


def _rouge_words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _f1(common: int, said: int, expected: int) -> float:
    return 2 * common / (said + expected) if common else 0.0


def check_installed() -> None:
    """Check that the packages for measures of likeness are installed.

    Raises:
        MissingPart: if one is not.
    """
    _bleu()
    _rapidfuzz()


@cache
def _bleu() -> Any:
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise MissingPart("BLEU needs sacrebleu", "eval") from error
    return BLEU(lowercase=True, tokenize="none", smooth_method="add-k", smooth_value=1)


def _rapidfuzz() -> Any:
    try:
        from rapidfuzz import distance
    except ImportError as error:
        raise MissingPart("Likeness to references needs rapidfuzz", "eval") from error
    return distance

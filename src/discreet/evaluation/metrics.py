"""How good an answer is."""

import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from discreet.errors import MissingPart


def matches(answer: str, acceptable: Iterable[str]) -> bool:
    """Match accuracy: whether an acceptable answer occurs in `answer`, as whole words, ignoring case."""
    return any(re.search(rf"(?<!\w){re.escape(text)}(?!\w)", answer, re.IGNORECASE) for text in acceptable)


def mean_and_margin(groups: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The mean over all values, and half the width of its 95 % confidence interval.

    Args:
        groups: one sequence a question, of one value a seed. Questions are the independent draws: the margin comes
            from the spread of their means.
    """
    means = [statistics.fmean(group) for group in groups]
    if len(means) < 2:
        return statistics.fmean(means), math.nan
    return statistics.fmean(means), 1.96 * statistics.stdev(means) / math.sqrt(len(means))


def score(answer: str, acceptable: Sequence[str], kind: str = "") -> float:
    """How good an answer is, in [0, 1]: match accuracy; of kind "reference", its likeness to one (ROUGE-1)."""
    if kind != "reference":
        return float(matches(answer, acceptable))
    return max(rouge_1(answer, reference) for reference in acceptable)


@dataclass(frozen=True)
class Likeness:
    """How like an answer is to the reference that it is most like; each in [0, 1]."""

    f1: float
    rouge_1: float
    rouge_l: float
    levenshtein: float

    @staticmethod
    def of(answer: str, references: Sequence[str]) -> "Likeness":
        """The best of each over several references."""
        measures = (token_f1, rouge_1, rouge_l, levenshtein)
        return Likeness(*(max(measure(answer, reference) for reference in references) for measure in measures))


def token_f1(answer: str, reference: str) -> float:
    """The F1 of words, as in SQuAD: without case, punctuation and articles."""
    said, expected = (
        [word for word in re.findall(r"\w+", re.sub(r"[^\w\s]", "", text.lower())) if word not in ("a", "an", "the")]
        for text in (answer, reference)
    )
    return _f1((Counter(said) & Counter(expected)).total(), len(said), len(expected))


def rouge_1(answer: str, reference: str) -> float:
    """ROUGE-1, its F measure, without stemming (Lin 2004): words counted with repetitions."""
    said, expected = _rouge_words(answer), _rouge_words(reference)
    return _f1((Counter(said) & Counter(expected)).total(), len(said), len(expected))


def rouge_l(answer: str, reference: str) -> float:
    """ROUGE-L, its F measure, without stemming (Lin 2004): by the longest common subsequence of words."""
    said, expected = _rouge_words(answer), _rouge_words(reference)
    return _f1(_rapidfuzz().LCSseq.similarity(said, expected), len(said), len(expected))


def bleu(answer: str, reference: str) -> float:
    """BLEU of one sentence against one reference, without case, in [0, 1] (Papineni et al. 2002).

    Of runs of two words and more one is added to both counts, so that a sentence without a run of four has a value (Lin
    and Och 2004).
    """
    return float(_bleu().corpus_score([answer], [[reference]]).score) / 100


def levenshtein(answer: str, reference: str) -> float:
    """One minus the edit distance over the length of the longer text, ignoring case."""
    return float(_rapidfuzz().Levenshtein.normalized_similarity(answer.strip().lower(), reference.strip().lower()))


def _rouge_words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _f1(common: int, said: int, expected: int) -> float:
    return 2 * common / (said + expected) if common else 0.0


def check_installed() -> None:
    """Nothing, if what likenesses are measured with is there.

    Raises:
        MissingPart: it is not.
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

"""How good an answer is."""

import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence


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
    """How good an answer is, in [0, 1]: match accuracy; of kind "reference", the F1 of its words (ROUGE-1)."""
    if kind != "reference":
        return float(matches(answer, acceptable))
    return max(word_f1(answer, reference) for reference in acceptable)


def word_f1(answer: str, reference: str) -> float:
    """The harmonic mean of precision and recall of words, counted with repetitions, ignoring case."""
    said, expected = (Counter(re.findall(r"\w+", text.lower())) for text in (answer, reference))
    common = (said & expected).total()
    return 2 * common / (said.total() + expected.total()) if common else 0.0

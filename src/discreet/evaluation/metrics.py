"""How good an answer is."""

import math
import re
import statistics
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

"""The count of votes, and a released answer with its noisy count: what the releases of votes with counts return."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

V = TypeVar("V", int, str)

CONFIDENCE = 0.95


@dataclass(frozen=True)
class CountedAnswer:
    """A released answer.

    Attributes:
        answer: the answer.
        count: the number of units that gave it, with noise.
        low, high: the interval. The probability that an answer is released and its true count is outside is at most
            0.05. It is no statement about released answers alone: those are the ones whose noise was high.
    """

    answer: int | str
    count: int
    low: int
    high: int


def count_votes(shares: Sequence[V | None]) -> Counter[V]:
    """Return the number of votes of each answer. Shares that are None abstain."""
    counts: Counter[V | None] = Counter(shares)  # faster than a count of those that do not abstain
    del counts[None]
    return counts  # type: ignore[return-value]

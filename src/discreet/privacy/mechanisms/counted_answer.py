"""A released answer with its noisy count: what the releases of votes with counts return."""

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

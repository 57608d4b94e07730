"""Sums of charges as the database has them: bytes for a curve, a whole number for failures."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from discreet.privacy.accounting import Spending

_MOST_TIMES = 10_000
_STEPS = 30


class Charged(Protocol):
    """A charge: `wire.Charge`, or any other object with these three values."""

    @property
    def epsilon(self) -> float:
        """What it amounts to."""

    @property
    def delta(self) -> float:
        """Its failure probability."""

    @property
    def spending(self) -> Spending:
        """The charge as a sum of costs, in whole numbers."""


def to_bytes(spending: Spending) -> bytes:
    """Return the curve of a sum as bytes."""
    return spending.loss_nano.astype("<i8").tobytes()


def from_bytes(loss: bytes, failures: int) -> Spending:
    """Return the sum of which these are the curve and the failures."""
    return Spending(np.frombuffer(loss, dtype="<i8").astype(np.int64), int(failures))


def is_nothing(spending: Spending) -> bool:
    """Return whether a sum is zero: the question is free."""
    return spending.failure_atto == 0 and not spending.loss_nano.any()


def count_fitting(fits: Callable[[Spending], bool], most: Spending) -> int:
    """Return how many charges of `most` fit one after the other; at most ten thousand."""
    low, high = 0, _MOST_TIMES
    while high > low:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(most.times(middle)) else (low, middle - 1)
    return low


def largest_part(fits: Callable[[Spending], bool], most: Spending) -> float:
    """Return the largest part of `most`, between 0 and 1, of which a charge fits.

    Curves grow at least in proportion to epsilon, so the same question with that part of its epsilon fits, too. Its
    failure probability stays the same.
    """
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(_part(most, middle)) else (low, middle)
    return low


def _part(spending: Spending, part: float) -> Spending:
    return Spending(np.ceil(spending.loss_nano * part).astype(np.int64), spending.failure_atto)

"""Sums of charges as the database has them: bytes for a curve, a whole number for failures."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from discreet.privacy.accounting import ATTO, CUT, Spending

_MOST_TIMES = 10_000
_STEPS = 30
_LARGEST = 9 * 10**18
"""The largest sum of a column. A sum that reaches it stays there."""


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
    """Return the sum of which these are the curve and the failures, cut as a `Spending` is."""
    return Spending(np.minimum(np.frombuffer(loss, dtype="<i8"), CUT).astype(np.int64), min(int(failures), ATTO))


def moved(loss: bytes, failures: int, back: Spending, extra: Spending) -> tuple[bytes, int]:
    """Return the curve and the failures of a sum from which `back` is taken, and to which `extra` is added.

    Sums are kept uncut. So a charge that is cut at an order (a Gaussian one at infinity) can be taken back there; in a
    `Spending`, it could not. While any such charge is in the sum, it reads as cut.
    """
    # A sum is at most `_LARGEST` and a charge at most `CUT`, so no step leaves the range of 64 bits.
    before = np.minimum(np.frombuffer(loss, dtype="<i8").astype(np.int64), _LARGEST)
    after = np.where(before >= _LARGEST, _LARGEST, np.minimum(before - back.loss_nano + extra.loss_nano, _LARGEST))
    failed = failures if failures >= _LARGEST else min(failures - back.failure_atto + extra.failure_atto, _LARGEST)
    return after.astype("<i8").tobytes(), failed


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

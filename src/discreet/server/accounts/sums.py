"""Sums of charges that can be taken back exactly, and how many charges still fit."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.accounting import ATTO, CUT, Spending
from discreet.privacy.costs import ORDERS

_MOST_TIMES = 10_000
_STEPS = 30
_LARGEST = 9 * 10**18
"""The largest number of a sum. A number that reaches it stays there."""


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


@dataclass(frozen=True, eq=False)
class Sum:
    """A sum of charges, uncut, and how many of them are not zero.

    A charge that is cut at an order (a Gaussian one at infinity) can be taken back there; from a `Spending`, it could
    not. While any such charge is in the sum, the sum reads as cut.

    Attributes:
        loss: the loss at each order, in billionths of a nat.
        failures: the failure probabilities, in 1e-18.
        count: the number of charges that are not zero.
    """

    loss: NDArray[np.int64]
    failures: int = 0
    count: int = 0

    @staticmethod
    def nothing() -> "Sum":
        """Return the empty sum."""
        return Sum(np.zeros(len(ORDERS), dtype=np.int64))

    @property
    def spending(self) -> Spending:
        """The sum, cut as every `Spending` is."""
        return Spending(np.minimum(self.loss, CUT), min(self.failures, ATTO))

    def moved(self, back: Spending, extra: Spending) -> "Sum":
        """Return the sum from which the charge `back` is taken, and to which `extra` is added."""
        # A sum is at most `_LARGEST` and a charge at most `CUT`, so no step leaves the range of 64 bits.
        before = np.minimum(self.loss, _LARGEST)
        after = np.where(before >= _LARGEST, _LARGEST, np.minimum(before - back.loss_nano + extra.loss_nano, _LARGEST))
        failed = self.failures
        if failed < _LARGEST:
            failed = min(failed - back.failure_atto + extra.failure_atto, _LARGEST)
        return Sum(after, failed, self.count + (not is_nothing(extra)) - (not is_nothing(back)))

    def plain(self) -> list[Any]:
        """Return the sum as plain data."""
        return [self.loss.tolist(), self.failures, self.count]

    @staticmethod
    def of(plain: list[Any]) -> "Sum":
        """Return the sum of which `plain` gave this."""
        return Sum(np.array(plain[0], dtype=np.int64), plain[1], plain[2])


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

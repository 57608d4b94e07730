"""Sums of charges that can be taken back exactly, and what part of a charge still fits."""

from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np

from discreet.privacy.accounting import Spending, Sums

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


class Sum(Sums):
    """A sum of charges, and how many of them are not zero (`count`).

    A charge that is cut at an order (a Gaussian one at infinity) can be taken back there; from a `Spending`, it could
    not. While any such charge is in the sum, the sum reads as cut.
    """

    count = 0

    def move(self, back: Spending, extra: Spending) -> None:
        """Take the charge `back` from the sum, and add `extra`."""
        self.add(back, -1)
        self.add(extra)
        self.count += (not is_nothing(extra)) - (not is_nothing(back))

    def plain(self) -> list[Any]:
        """Return the sum as plain data."""
        return [self.content.tolist(), self.failures, self.count]

    @classmethod
    def of(cls, plain: list[Any]) -> Self:
        """Return the sum of which `plain` gave this."""
        made = cls(np.array(plain[0], dtype=np.int64), plain[1])
        made.count = plain[2]
        return made


def is_nothing(spending: Spending) -> bool:
    """Return whether a sum is zero: the question is free."""
    return spending.failure_atto == 0 and not spending.loss_nano.any()


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

"""Sums of charges, and meters: what the questions of a key can have cost any one unit, and whether one more fits.

A meter counts what receipts say, which is public. It never reads what units have left. So no refusal follows a private
value.
"""

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from discreet.privacy.accounting import Budget, Spending, Sums, how_many
from discreet.server.accounts.grants import Grant, Share
from discreet.system.plain import show_as

_MOST_TIMES = 10_000


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


@dataclass(frozen=True)
class Room:
    """What a question must fit into, beside the key's cap: a share of a grant, or what is left for shared keys.

    Attributes:
        grant: whose reading counts.
        spent: what was spent of it.
        most: the most that may be spent; None if nothing limits it.
    """

    grant: Grant
    spent: Spending
    most: Share | None

    def admits(self, extra: Spending) -> bool:
        """Return whether `extra` fits."""
        return self.most is None or self.grant.read(self.spent + extra).within(self.most)


@dataclass(frozen=True)
class MeterShown:
    """What the questions of a key can have cost any one unit.

    Attributes:
        granted: the epsilon of its cap.
        delta: the delta of its cap.
        spent: the epsilon that its questions amount to; those in flight count at their ceiling.
        left: the epsilon that is left of the cap.
        part: the part of the cap that is used up.
        questions: how many of its questions paid, or are in flight.
        questions_left: how many more its cap in questions allows; None for no limit.
        note: what a cap is, and is not.
    """

    granted: float
    delta: float
    spent: float
    left: float
    part: float
    questions: int
    questions_left: int | None
    note: str


@dataclass(frozen=True)
class Meter(MeterShown):
    """An odometer of a key: of its own receipts, never of a vault's balance.

    Attributes:
        spending: what was spent, as a sum of charges.
        budget: the cap as a budget.
        rooms: by vault, what a question must fit into beside the cap.
    """

    spending: Spending
    budget: Budget
    rooms: tuple[Room, ...]

    def fits(self, extra: Spending, vault: str = "") -> bool:
        """Return whether `extra` fits the cap and, of a vault, what the key may spend there; of all vaults if ""."""
        rooms = (room for room in self.rooms if not vault or room.grant.vault == vault)
        return self.budget.admits(self.spending + extra) and all(room.admits(extra) for room in rooms)

    def more(self, most: Charged, vault: str = "") -> int | None:
        """Return how many more questions fit that cost at most `most` each; None if they are free."""
        if is_nothing(most.spending):
            return None
        count = how_many(lambda times: self.fits(most.spending.times(times), vault), _MOST_TIMES)
        return count if self.questions_left is None else min(count, self.questions_left)

    def shown(self) -> "MeterShown":
        """Return the odometer as it leaves."""
        return show_as(MeterShown, self)

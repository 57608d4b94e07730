"""How many units earlier payments may have left unable to pay: a bound from public numbers alone.

Public are the prices of earlier parts of questions, and of most parts an upper end of the number of their payers, which
follows from a noisy count that was released. Who paid, what a unit has left and how many were refused are private, and
nothing here reads them. docs/privacy-details.md, "Units that could not pay", has the proof.
"""

import math
from collections import Counter
from collections.abc import Iterable
from operator import attrgetter

from discreet.privacy.accounting import FilterState

MISSED = 1e-6
"""The probability, at most, that more units paid for one part than its upper end says."""
_DIGITS = 1000
_POINTS = 64

APART = 1_000_000
"""Parts with this number or a larger one have no unit in common. They cost any unit as much as the dearest of them."""
Paid = tuple[int | None, FilterState]
"""A part of a question: the most units that paid for it (None: not known, so it may be all), and its price."""


class Transcript:
    """The parts of questions for which single units paid.

    Attributes:
        paid: how many parts there are of each price and number of payers. Parts of a question without a common unit are
            one: with the largest price, and the sum of their payers.
        apart: the parts without a common unit of questions that are not over.
    """

    def __init__(self, paid: Iterable[tuple[Paid, int]] = ()) -> None:
        self.paid = Counter[Paid]()
        self.apart: dict[str, dict[int, Paid]] = {}
        for part, times in paid:
            self.paid[part] += times

    def reserve(self, most: FilterState, question: str = "", part: int = 0) -> None:
        """Add a part in the air. It counts with all that is reserved, and all units may pay for it."""
        self._change(question, part, None, (None, most))

    def settle(
        self, most: FilterState, spent: FilterState, payers: int | None, question: str = "", part: int = 0
    ) -> None:
        """Settle a part that reserved `most`: each payer paid `spent`, and there are at most `payers`."""
        kept = most - (most - spent)  # what was cut stays cut
        self._change(question, part, (None, most), (payers, kept))

    def _change(self, question: str, part: int, before: Paid | None, after: Paid) -> None:
        if part >= APART:
            parts = self.apart.setdefault(question, {})
            before = _as_one(parts.values()) if parts else None
            parts[part] = after
            after = _as_one(parts.values())
        if before is not None:
            self.paid[before] -= 1
            if not self.paid[before]:
                del self.paid[before]
        self.paid[_rounded_up(after[0]), after[1]] += 1

    def unable(self, limit: FilterState, common: FilterState) -> int | None:
        """Return how many units at most cannot pay now; None if it may be any number.

        Args:
            limit: the largest state that a unit may have.
            common: what all units have paid in common, and the price of the question.
        """
        curve = self._above("curve", limit.curve - common.curve)
        pure = self._above("pure", limit.pure - common.pure)
        failed = self._above("failures", limit.failures - common.failures)
        bounds = [one for one in (curve, pure) if one is not None]  # of who cannot pay, both are too large
        return None if failed is None or not bounds else failed + min(bounds)

    def _above(self, name: str, room: int) -> int | None:
        """Return how many units at most paid more than `room`; None if it may be any number."""
        if room < 0:
            return None
        prices: list[tuple[int | None, int, int]]
        prices = [(payers, getattr(state, name), times) for (payers, state), times in self.paid.items()]
        step = math.gcd(*(price for _, price, _ in prices))
        if not step:
            return 0
        # What a unit paid is a multiple of the step.
        least = step * (room // step + 1) - sum(price * times for payers, price, times in prices if payers is None)
        if least <= 0:
            return None
        payments = sorted((payers, price * times) for payers, price, times in prices if payers is not None)
        below, beyond = 0, sum(price for _, price in payments)
        # The largest m with m * least <= the sum of price * min(payers, m), which is concave, and straight in between.
        for payers, price in payments:
            if beyond < least and below // (least - beyond) < payers:
                break
            below, beyond = below + payers * price, beyond - price
        return below // (least - beyond)


def most_payers(counted: int, deviation: float, gaussian: bool, cells: int = 1) -> int:
    """Return the upper end of a number of units; there are more with probability `MISSED` at most.

    The bound is Chernoff's: discrete Gaussian noise has no larger moments than a normal law, and discrete Laplace noise
    none larger than a continuous one of the same scale.

    Args:
        counted: the sum of their noisy counts.
        deviation: the standard deviation of the noise of each count.
        gaussian: whether the noise is Gaussian; else Laplace.
        cells: the number of counts, with independent noise.
    """
    missed = math.log(1 / MISSED)
    if gaussian:
        most = deviation * math.sqrt(2 * cells * missed)
    else:
        points = ((place + 0.5) / _POINTS for place in range(_POINTS))
        most = deviation / math.sqrt(2) * min((missed - cells * math.log1p(-(t**2))) / t for t in points)
    return max(0, math.ceil(counted + most))


def _as_one(parts: Iterable[Paid]) -> Paid:
    """Return parts without a common unit as one: a unit paid for one of them, the dearest at most."""
    payers, prices = zip(*parts, strict=True)
    most = FilterState(*(max(map(attrgetter(name), prices)) for name in ("curve", "pure", "failures")))
    return (None if None in payers else _rounded_up(sum(payers))), most


def _rounded_up(payers: int | None) -> int | None:
    """Return a number with at most three digits that are not 0: so few different ones occur, and none is smaller."""
    if payers is None:
        return None
    step = 1
    while payers > _DIGITS * step:
        step *= 10
    return -(-payers // step) * step

"""Numbers that follow from the noisy counts of public cells, with their intervals and in words."""

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from discreet.algorithms.common.algorithm import Figure, NoisyCounts
from discreet.algorithms.statistics.noisy_cells import LEVEL, Cells, Histogram, interval
from discreet.privacy.mechanisms.counting import GaussianHistogram
from discreet.privacy.transcript import most_payers

Weights = Sequence[int] | Mapping[int, int]
"""A sum of cells: their numbers, or the weight of each by its number."""

MAY_BE_NONE = "The noise does not tell whether there is any."
"""A note to a share or a typical number of units of which there may be none."""
MAY_LACK = "may be missing: earlier questions may have used up their grant, and then they are not counted."
"""What a statistic says of units that could not pay, from public numbers alone. Releases keep it."""


_ANY = 1e15
"""More units than there are anywhere."""


@dataclass(frozen=True)
class Counted(NoisyCounts):
    """Noisy counts of public cells, and the numbers that follow from them."""

    @staticmethod
    def by(histogram: Histogram, counts: tuple[int, ...], unable: int | None = 0) -> "Counted":
        """Return the counts that a histogram released of the units that could pay: all but at most `unable`."""
        gaussian = isinstance(histogram, GaussianHistogram)
        return Counted(counts, (histogram.deviation,) * len(counts), gaussian, unable)

    @property
    def missing(self) -> float:
        """How many units at most are not counted, since they could not pay; more than there are if it may be any."""
        return _ANY if self.unable is None else self.unable

    @property
    def most_payers(self) -> int:
        """The most units that paid, if each is in a cell."""
        return most_payers(sum(self.counts), max(self.deviations), all(self.laws), len(self.counts))

    @property
    def note(self) -> str:
        """What is said of units that could not pay; "" if all could."""
        if self.unable == 0:
            return ""
        if self.unable is None:
            return f"\nUnits {MAY_LACK} How many is not known, so counts have no upper end."
        some = "1 unit" if self.unable == 1 else f"{self.unable:,} units"
        return f"\nUp to {some} {MAY_LACK} The intervals have room for them."

    def figure(self, name: str, kind: str, of: "Reckon", level: float = LEVEL) -> Figure:
        """Return a number that follows from the counts. Its interval has room for units that are missing."""
        missing = self.missing
        low, _ = interval(self.counts, self.deviations, self.gaussian, lambda counts: of.least(counts, missing), level)
        _, high = interval(self.counts, self.deviations, self.gaussian, lambda counts: of.most(counts, missing), level)
        value = float(of(np.asarray([self.counts], dtype=np.float64))[0])
        low, high = (math.copysign(math.inf, end) if abs(end) > _ANY / 2 else end for end in (low, high))
        return Figure(name, kind, value, min(low, value), max(high, value))


class Reckon:
    """A function from counts, shape (points, cells), to a number, shape (points,): a quotient of two sums of cells."""

    def __init__(self, cells: Weights, of: Weights = ()) -> None:
        self.cells, self.whole = cells, of
        self._cut = True

    def uncut(self) -> Self:
        """Return the same number as a part of another one: below 0, or a share above 1, where the noise puts it there.

        Cut before it is subtracted, a number near an end would make the interval of a difference too narrow.
        """
        found = copy.copy(self)
        found._cut = False
        return found

    def __call__(self, counts: Cells) -> Cells:
        """Return the sum of the cells, or its share of the sum of other cells."""
        return self._number(counts, 0.0, most=False)

    def least(self, counts: Cells, missing: float = 0.0) -> Cells:
        """Return the least number, if the cells may lack units, at most `missing` in all; any share of no unit."""
        return self._number(counts, missing, most=False)

    def most(self, counts: Cells, missing: float = 0.0) -> Cells:
        """Return the largest number, if the cells may lack units, at most `missing` in all; any share of no unit."""
        return self._number(counts, missing, most=True)

    def _number(self, counts: Cells, missing: float, *, most: bool) -> Cells:
        total = added(counts, self.cells)
        if not self.whole:
            total = total + _room(self.cells, missing, most=most)
            return np.maximum(total, 0.0) if self._cut else total
        whole = added(counts, self.whole)
        share = divide(total, whole, float(most))
        if missing:
            if _has(self.whole, self.cells):  # who is missing from the part is missing from the whole
                part = divide(total + missing * most, whole + missing, float(most))
            else:
                more, less = _room(self.cells, missing, most=most), _room(self.whole, missing, most=not most)
                part = divide(total + more, whole + less, float(most))
            share = np.maximum(share, part) if most else np.minimum(share, part)
        return np.clip(share, 0.0, 1.0) if self._cut else share


class ReckonedDifference(Reckon):
    """The first number minus the second one. Of two shares, it is between -1 and 1."""

    def __init__(self, one: Reckon, other: Reckon) -> None:
        super().__init__(())
        self.parts = self._one, self._other = one.uncut(), other.uncut()
        self._most = 1.0 if one.whole else np.inf

    def __call__(self, counts: Cells) -> Cells:
        """Return the difference."""
        return self._bounded(self._one(counts) - self._other(counts))

    def least(self, counts: Cells, missing: float = 0.0) -> Cells:
        """Return the least difference that the counts allow."""
        return self._bounded(self._one.least(counts, missing) - self._other.most(counts, missing))

    def most(self, counts: Cells, missing: float = 0.0) -> Cells:
        """Return the largest difference that the counts allow."""
        return self._bounded(self._one.most(counts, missing) - self._other.least(counts, missing))

    def _bounded(self, found: Cells) -> Cells:
        bounded: Cells = np.clip(found, -self._most, self._most)
        return bounded


def added(counts: Cells, weights: Weights) -> Cells:
    """Return a sum of cells, shape (points,)."""
    total: Cells = counts[:, list(weights)] @ np.asarray(
        [*weights.values()] if isinstance(weights, Mapping) else [1] * len(weights), dtype=np.float64
    )
    return total


def divide(part: Cells, whole: Cells, none: float) -> Cells:
    """Return the quotients; `none` where the whole is nothing."""
    found: Cells = np.divide(part, whole, out=np.full_like(part, none), where=whole > 0)
    return found


def _room(weights: Weights, missing: float, *, most: bool) -> float:
    """Return by how much a sum of cells may grow (`most`) or fall if the cells lack `missing` units in all."""
    if not isinstance(weights, Mapping):
        return missing if most else 0.0
    return missing * (max(0, *weights.values()) if most else min(0, *weights.values()))


def _has(whole: Weights, part: Weights) -> bool:
    """Return whether a sum of cells has all cells of another one, and takes none away."""
    return set(part) <= set(whole) and not _room(whole, 1.0, most=False) and not _room(part, 1.0, most=False)


def at_most(part: Figure, of: Figure) -> Figure:
    """Return the count of a part of some units, no larger than theirs. Its interval still covers."""
    value = min(part.value, of.value)
    return replace(part, value=value, low=min(part.low, value))


def less(one: Figure, other: Figure, difference: Figure) -> Figure:
    """Return a difference with the value that follows from the numbers that are shown. Its interval still covers."""
    value = one.value - other.value
    return replace(difference, value=value, low=min(difference.low, value), high=max(difference.high, value))


def whole(figure: Figure) -> str:
    """Return a count in words: "about 41 (38 to 44)", or "about 41 (38 or more)"."""
    most = "or more" if math.isinf(figure.high) else f"to {figure.high:,.0f}"
    return f"about {figure.value:,.0f} ({figure.low:,.0f} {most})"


def percent(figure: Figure) -> str:
    """Return a share in words: "about 41 % (38 % to 44 %)"."""
    return f"about {figure.value:.0%} ({figure.low:.0%} to {figure.high:.0%})".replace("%", " %")

"""Numbers that follow from the noisy counts of public cells, with their intervals and in words."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from discreet.algorithms.common.algorithm import Figure, NoisyCounts
from discreet.algorithms.statistics.noisy_cells import LEVEL, Cells, Histogram, interval
from discreet.privacy.mechanisms.counting import GaussianHistogram

Weights = Sequence[int] | Mapping[int, int]
"""A sum of cells: their numbers, or the weight of each by its number."""

MAY_BE_NONE = "The noise does not tell whether there is any."
"""A note to a share or a typical number of units of which there may be none."""
MAY_LACK = (
    "Units may be missing: earlier questions may have used up their grant, and then they are not counted. So counts "
    "may be too small, beyond their intervals."
)
"""A note to all numbers of a statistic, from public prices alone (`query.odometer`). Releases keep it."""


@dataclass(frozen=True)
class Counted(NoisyCounts):
    """Noisy counts of public cells, and the numbers that follow from them."""

    @staticmethod
    def by(histogram: Histogram, counts: tuple[int, ...]) -> "Counted":
        """Return the counts that a histogram released."""
        gaussian = isinstance(histogram, GaussianHistogram)
        return Counted(counts, (histogram.deviation,) * len(counts), gaussian)

    @staticmethod
    def described(value: Mapping[str, Any]) -> "Counted":
        """Return the counts of plain data (`NoisyCounts.is_described`)."""
        laws = value["gaussian"]
        counts, deviations = tuple(value["counts"]), tuple(map(float, value["deviations"]))
        return Counted(counts, deviations, laws if isinstance(laws, bool) else tuple(laws))

    def figure(self, name: str, kind: str, of: "Reckon", level: float = LEVEL) -> Figure:
        """Return a number that follows from the counts, with its interval."""
        low, _ = interval(self.counts, self.deviations, self.gaussian, of.least, level)
        _, high = interval(self.counts, self.deviations, self.gaussian, of.most, level)
        value = float(of(np.asarray([self.counts], dtype=np.float64))[0])
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
        return self._number(counts, 0.0)

    def least(self, counts: Cells) -> Cells:
        """Return the least number that the counts allow: any share, if there is no unit of which it could be one."""
        return self._number(counts, 0.0)

    def most(self, counts: Cells) -> Cells:
        """Return the largest number that the counts allow."""
        return self._number(counts, 1.0)

    def _number(self, counts: Cells, none: float) -> Cells:
        total = added(counts, self.cells)
        if not self.whole:
            return np.maximum(total, 0.0) if self._cut else total
        whole = added(counts, self.whole)
        share: Cells = np.divide(total, whole, out=np.full_like(total, none), where=whole > 0)
        return np.clip(share, 0.0, 1.0) if self._cut else share


class Difference(Reckon):
    """The first number minus the second one. Of two shares, it is between -1 and 1."""

    def __init__(self, one: Reckon, other: Reckon) -> None:
        super().__init__(())
        self.parts = self._one, self._other = one.uncut(), other.uncut()
        self._most = 1.0 if one.whole else np.inf

    def __call__(self, counts: Cells) -> Cells:
        """Return the difference."""
        return self._bounded(self._one(counts) - self._other(counts))

    def least(self, counts: Cells) -> Cells:
        """Return the least difference that the counts allow."""
        return self._bounded(self._one.least(counts) - self._other.most(counts))

    def most(self, counts: Cells) -> Cells:
        """Return the largest difference that the counts allow."""
        return self._bounded(self._one.most(counts) - self._other.least(counts))

    def _bounded(self, found: Cells) -> Cells:
        bounded: Cells = np.clip(found, -self._most, self._most)
        return bounded


def added(counts: Cells, weights: Weights) -> Cells:
    """Return a sum of cells, shape (points,)."""
    total: Cells = counts[:, list(weights)] @ np.asarray(
        [*weights.values()] if isinstance(weights, Mapping) else [1] * len(weights), dtype=np.float64
    )
    return total


def at_most(part: Figure, of: Figure) -> Figure:
    """Return the count of a part of some units, no larger than theirs. Its interval still covers."""
    value = min(part.value, of.value)
    return replace(part, value=value, low=min(part.low, value))


def whole(figure: Figure) -> str:
    """Return a count in words: "about 41 (38 to 44)"."""
    return f"about {figure.value:,.0f} ({figure.low:,.0f} to {figure.high:,.0f})"


def percent(figure: Figure) -> str:
    """Return a share in words: "about 41 % (38 % to 44 %)"."""
    return f"about {figure.value:.0%} ({figure.low:.0%} to {figure.high:.0%})".replace("%", " %")

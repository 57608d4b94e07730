"""Typical: the median, the quartiles or the mean of a number. Privacy-spec, part 11.

A unit's number falls into one of several bins of a public range, and the bins are counted with noise. Any quantile, and
the mean, follow from the noisy counts. A unit with several numbers brings the middle one.
"""

import math
import re
from dataclasses import dataclass
from statistics import median_low
from typing import ClassVar, Literal

import numpy as np

from discreet.algorithms.base import Figure
from discreet.errors import UsageError
from discreet.statistics.cells import MAY_BE_NONE, Cells, Counted, Reckon
from discreet.statistics.statistic import OUTSIDE, CellStatistic
from discreet.statistics.values import values_of
from discreet.store.unit_records import UnitRecord

What = Literal["median", "mean", "quartiles"]
QUANTILES = {"lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75}
RANGES = dict.fromkeys(("age", "alter", "\u00e2ge", "edad"), (0.0, 120.0))
"""Public ranges that need not be given."""
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


@dataclass(frozen=True, kw_only=True)
class Typical(CellStatistic):
    """Parameters: those of `Statistic`, and more.

    Attributes:
        attribute: the number: a declared field, or the kind of a statement that the model read.
        what: "median", "mean" or "quartiles".
        low, high: the public range. Numbers outside count at its ends. It is known for an age.
        bins: the number of bins. More bins are finer, and have more noise.
    """

    name: ClassVar[str] = "typical"

    attribute: str = ""
    what: What = "median"
    low: float | None = None
    high: float | None = None
    bins: int = 30

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.attribute:
            raise UsageError("A typical number needs an attribute: the number that is meant, such as age.")
        if not 2 <= self.bins <= 1000:
            raise UsageError(f"There are 2 to 1000 bins, not {self.bins}.")
        low, high = self.range
        if not (math.isfinite(high - low) and low < low + (high - low) / self.bins):
            raise UsageError(
                f"The range goes from a smaller to a larger finite number, in {self.bins} bins, not from {low!r} to "
                f"{high!r}."
            )

    @property
    def range(self) -> tuple[float, float]:
        """The public range.

        Raises:
            UsageError: if it is not known.
        """
        usual = RANGES.get(self.attribute.casefold(), (None, None))
        low, high = (
            given if given is not None else usual_bound
            for given, usual_bound in zip((self.low, self.high), usual, strict=True)
        )
        if low is None or high is None:
            raise UsageError(
                f"The range of '{self.attribute}' must be public: a range taken from the documents would reveal the "
                "extreme ones. Give it: --param low=0 --param high=100."
            )
        return low, high

    @property
    def cells(self) -> int:
        """The number of bins."""
        return self.bins

    @property
    def attributes(self) -> tuple[str, ...]:
        """What is read of the units."""
        return (self.attribute,)

    def cell(self, record: UnitRecord) -> int:
        """Return the bin of the unit's number."""
        numbers = [number for value in values_of(record, self.attribute) if (number := _number(value)) is not None]
        if not numbers:
            return OUTSIDE
        low, high = self.range
        place = (median_low(numbers) - low) / (high - low) * self.bins
        return min(self.bins - 1, max(0, math.floor(min(max(place, -1), self.bins))))

    def conclude(self, counted: Counted) -> tuple[str, list[Figure]]:
        """Return the number or numbers that are asked."""
        wanted = QUANTILES if self.what == "quartiles" else {self.what: QUANTILES.get(self.what)}
        edges = np.linspace(*self.range, self.bins + 1)
        table = [counted.figure(name, "number", _Middle(edges, part)) for name, part in wanted.items()]
        table.append(counted.figure("units with a number", "count", Reckon(range(self.bins))))
        note = "" if table[-1].low else f" {MAY_BE_NONE}"
        said = "; ".join(map(self._in_words, table[:-1]))
        return f"{said[:1].upper()}{said[1:]}.{note}", table

    def _in_words(self, found: Figure) -> str:
        if (found.low, found.high) == self.range:
            return f"{found.name} not known (any number from {found.low:.3g} to {found.high:.3g})"
        return f"{found.name} about {found.value:.3g} ({found.low:.3g} to {found.high:.3g})"


class _Middle(Reckon):
    """A number of the range that follows from the counts of bins. If there may be no unit, it may be any."""

    def __init__(self, edges: Cells, part: float | None) -> None:
        super().__init__(())
        self._edges, self._part = edges, part  # the mean, if it is no quantile

    def _number(self, counts: Cells, missing: float, *, most: bool) -> Cells:
        if missing:  # all of them may lie at one end
            counts = counts.copy()
            counts[:, -1 if most else 0] += missing
        there = counts.sum(axis=1) > 0
        number = _mean(self._edges, counts) if self._part is None else _quantile(self._edges, self._part, counts)
        numbers: Cells = np.where(there, number, self._edges[-1] if most else self._edges[0])
        return numbers


def _quantile(edges: Cells, part: float, counts: Cells) -> Cells:
    """Return the number below which a part of the units lies, shape (points,); within a bin, they lie evenly."""
    sums = np.concatenate([np.zeros((len(counts), 1)), np.cumsum(counts, axis=1)], axis=1)
    below = np.maximum.accumulate(sums, axis=1)
    wanted = part * np.maximum(sums[:, -1], 0.0)
    rising = below + 1e-9 * np.arange(below.shape[1])
    # As np.interp, for all rows at once: `wanted` is at most the largest sum, and the sums rise.
    points, last = np.arange(len(counts)), below.shape[1] - 2
    place = np.minimum((rising <= wanted[:, None]).sum(axis=1) - 1, last)
    low, high = rising[points, place], rising[points, place + 1]
    found: Cells = np.diff(edges)[place] / (high - low) * (wanted - low) + edges[place]
    return found


def _mean(edges: Cells, counts: Cells) -> Cells:
    """Return the mean of the middles of the bins, shape (points,)."""
    middles, total = (edges[1:] + edges[:-1]) / 2, counts.sum(axis=1)
    mean = np.divide(counts @ middles, total, out=np.full_like(total, middles.mean()), where=total > 0)
    found: Cells = np.clip(mean, middles[0], middles[-1])
    return found


def _number(value: str | float) -> float | None:
    if isinstance(value, float | int):
        return float(value)
    match = _NUMBER.search(value)
    return float(match[0]) if match else None

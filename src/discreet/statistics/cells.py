"""The noise of a statistic, by its price, and the intervals that follow from the noise alone.

A unit is in one public cell at most, so a statistic costs the same for any number of cells. Public arithmetic chooses
Laplace or Gaussian noise: the one with the smaller deviation at the price. A question by itself is cheaper with Laplace
noise, and one of many with Gaussian noise.
"""

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from statistics import NormalDist
from typing import Self

import numpy as np
from numpy.typing import NDArray

from discreet.algorithms.base import Figure, NoisyCounts, Plan
from discreet.errors import UsageError
from discreet.privacy.accounting import Budget, Spending, budget_of, how_many, largest
from discreet.privacy.costs import Cost, Pure, Together, ZeroConcentrated
from discreet.privacy.mechanisms.counting import GaussianHistogram, KeywordCounts, NoisyHistogram
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.privacy.transcript import most_payers

Histogram = NoisyHistogram | GaussianHistogram
Cells = NDArray[np.float64]
LEVEL = 0.95
"""The probability with which an interval covers."""
FEWEST, MOST = 40, 200
"""A grant is divided among so many counts by default, at least and at most."""
FEWEST_LISTS, LISTS = 10, 40
"""A grant is divided among so many lists by default, at least and at most."""
WITHIN, SHARED = 10, 50
"""By default, the ends of a count's interval are so many people away at most, and a value that so many share is shown,
if the grant pays for the fewest such counts and lists."""
_POINTS = 4000
_TWO_SIDED = NormalDist().inv_cdf((1 + LEVEL) / 2)
_SURELY = NormalDist().inv_cdf(0.9)
_SIZE_SHARE = 0.2
"""The part of a list's price for the number of units that have a value."""
_SIZES_SHARE = 0.1
"""The part of a table's price for the number of units that it is about: shares of few of them depend on it little."""
_LEAST, _MOST = 1e-9, 1e3


@dataclass(frozen=True)
class StatisticPrice:
    """What a statistic may cost a unit: a part of its whole budget, or an epsilon of its own.

    Attributes:
        budget: a unit's whole budget.
        uses: the number of questions among which it is divided; 0 if `epsilon` is given.
        epsilon: the epsilon of the question; 0 if `uses` is given.
    """

    budget: Budget
    uses: int = 0
    epsilon: float = 0.0

    @property
    def failures(self) -> float:
        """The part of delta that the question's releases may use.

        A price in epsilon says nothing of delta, so it takes the part of one list of the usual number.
        """
        return self.budget.failures / (self.uses or LISTS) * (1 - 1e-9)

    def admits(self, cost: Cost) -> bool:
        """Return whether the question may have this cost."""
        spending = Spending.of(cost)
        if self.uses:
            return self.budget.admits(spending.times(self.uses))
        return self.budget.admits(spending) and budget_of(cost, self.budget.delta).epsilon <= self.epsilon + 1e-8

    def plan(self, cost: Cost) -> Plan:
        """Return the plan of a question of this cost."""
        return Plan(budget_of(cost, self.budget.delta), cost, 1)


def _least_noise(price: StatisticPrice, parts: Sequence[tuple[float, tuple[int, int]]]) -> tuple[Histogram, ...]:
    """Return histograms of one kind of noise, the one with which the last of them has the least.

    Args:
        price: the price of all.
        parts: of each, its part of the price, the number of its cells, and in how many of them a unit can be.

    Raises:
        UsageError: if the price pays for none.
    """
    rounded = 1 - 1e-12 if len(parts) == 1 else 1 - 1e-6  # several are each rounded up
    epsilon = largest(lambda one: price.admits(Pure(one)), _LEAST, _MOST) * rounded
    rho = largest(lambda one: price.admits(ZeroConcentrated(one)), _LEAST, _MOST) * rounded
    paid: dict[type[NoisyHistogram] | type[GaussianHistogram], float] = {
        NoisyHistogram: epsilon,
        GaussianHistogram: rho,
    }
    found: list[tuple[Histogram, ...]] = [
        tuple(kind.calibrated(part * whole, number, ADD_REMOVE_ONE, each) for part, (number, each) in parts)
        for kind, whole in paid.items()
    ]
    found = [one for one in found if price.admits(cost_of(*one))]
    if not found:
        raise UsageError("The price of the statistic is too small for any noise. Raise epsilon, or lower `uses`.")
    return min(found, key=lambda one: one[-1].deviation)


@lru_cache(maxsize=256)
def choose_histogram(price: StatisticPrice, values: int) -> Histogram:
    """Return the histogram over `values` public cells with the least noise at a price.

    Raises:
        UsageError: if the price pays for none.
    """
    return _least_noise(price, [(1.0, (values, 1))])[0]


def _usual(fewest: int, most: int, are_precise: Callable[[int], bool]) -> int:
    return max(fewest, how_many(lambda uses: uses < 1 or are_precise(uses), most))


@lru_cache(maxsize=256)
def usual_counts(budget: Budget) -> int:
    """Return among how many counts a grant is divided by default: among as many as are precise enough to be of use."""

    def are_within(uses: int) -> bool:
        return choose_histogram(StatisticPrice(budget, uses=uses), 1).deviation <= WITHIN / _TWO_SIDED

    return _usual(FEWEST, MOST, are_within)


@lru_cache(maxsize=256)
def usual_lists(budget: Budget, each: int) -> int:
    """Return among how many lists a grant is divided by default, of whose values a unit has at most `each`."""
    return _usual(FEWEST_LISTS, LISTS, lambda uses: value_needs(StatisticPrice(budget, uses=uses), each) <= SHARED)


def value_needs(price: StatisticPrice, each: int) -> int:
    """Return how many units must share a value so that a list releases it with probability 0.9."""
    counts = choose_counts(price, each)[1]
    return round(counts.threshold + _SURELY * counts.sigma)


@lru_cache(maxsize=256)
def choose_tables(price: StatisticPrice, sizes: tuple[int, int], cells: tuple[int, int]) -> tuple[Histogram, ...]:
    """Return the count of the units in public groups, and that of public cells, with the least noise at a price.

    Args:
        price: the price of both.
        sizes: the number of groups, and in how many of them a unit can be.
        cells: the number of cells, and in how many of them a unit can be.

    Raises:
        UsageError: if the price pays for none.
    """
    return _least_noise(price, [(_SIZES_SHARE, sizes), (1 - _SIZES_SHARE, cells)])


@lru_cache(maxsize=256)
def usual_tables(budget: Budget, sizes: tuple[int, int], cells: tuple[int, int]) -> int:
    """Return among how many tables a grant is divided by default: among as many as are precise enough to be of use."""

    def are_within(uses: int) -> bool:
        return choose_tables(StatisticPrice(budget, uses=uses), sizes, cells)[1].deviation <= WITHIN / _TWO_SIDED

    return _usual(FEWEST_LISTS, LISTS, are_within)


@lru_cache(maxsize=256)
def choose_counts(price: StatisticPrice, each: int) -> tuple[GaussianHistogram, KeywordCounts]:
    """Return the count of the units with a value, and the counts of values, of which a unit has at most `each`.

    Raises:
        UsageError: if the vault has no part of delta for them, or the price is too small.
    """
    if not price.failures:
        raise UsageError("A list needs a delta above 0, since its values are not public. Ask about public values.")
    delta = price.failures
    rho = largest(lambda one: price.admits(ZeroConcentrated(one, delta)), _LEAST, _MOST)
    if not price.admits(ZeroConcentrated(rho, delta)):
        raise UsageError("The price of the list is too small for any noise. Raise epsilon, or lower `uses`.")
    size = GaussianHistogram.calibrated(_SIZE_SHARE * rho, 1, ADD_REMOVE_ONE)
    rest = (1 - _SIZE_SHARE) * rho * (1 - 1e-6)  # both parts are rounded up
    return size, KeywordCounts.calibrated(rest, delta, each, ADD_REMOVE_ONE, "values")


def cost_of(*mechanisms: Histogram | KeywordCounts) -> Cost:
    """Return the cost of the mechanisms, one after the other."""
    return Together(tuple(mechanism.cost(ADD_REMOVE_ONE) for mechanism in mechanisms))


def interval(
    counts: Sequence[int],
    deviations: Sequence[float],
    gaussian: bool | tuple[bool, ...],
    of: Callable[[Cells], Cells],
    most: Callable[[Cells], Cells] | None = None,
    level: float = LEVEL,
) -> tuple[float, float]:
    """Return the interval of a number that follows from counts, with the coverage `level`.

    The true counts are the noisy ones minus the noise, whose law is public. So the interval comes from points of that
    law, and no document has any influence beside the released counts.

    Args:
        counts: the noisy counts, shape (cells,).
        deviations: the standard deviation of the noise of each.
        gaussian: whether the noise is Gaussian, of all or of each; else Laplace.
        of: the function from counts, shape (points, cells), to the number, shape (points,). Single counts may be below
            0: to cut them before they are added up would make sums too large.
        most: the same for the upper end, if the counts do not fix the number.
        level: the probability with which the interval covers.
    """
    cells = true_counts(tuple(counts), tuple(deviations), gaussian)
    return float(np.quantile(of(cells), (1 - level) / 2)), float(np.quantile((most or of)(cells), (1 + level) / 2))


@lru_cache(maxsize=16)
def true_counts(counts: tuple[int, ...], deviations: tuple[float, ...], gaussian: bool | tuple[bool, ...]) -> Cells:
    """Return evenly spread values of the true counts, given noisy ones: shape (points, cells). No chance is in them.

    The noise is a whole number, so they are, too: between whole numbers, small noise would be covered too rarely.
    """
    laws = (gaussian,) * len(counts) if isinstance(gaussian, bool) else gaussian
    places = np.floor(_spread(len(counts)) * _POINTS).astype(np.int64)
    noise = np.stack([_quantiles(law)[places[:, cell]] for cell, law in enumerate(laws)], axis=1)
    possible: Cells = np.asarray(counts) - np.rint(noise * np.asarray(deviations))
    return possible


@lru_cache(maxsize=2)
def _quantiles(gaussian: bool) -> Cells:
    """Return the quantiles of noise of deviation 1, at the middles of as many equal parts as there are points."""
    middles = (np.arange(_POINTS) + 0.5) / _POINTS
    if gaussian:
        return np.asarray([NormalDist().inv_cdf(middle) for middle in middles])
    tail = 1 - np.abs(2 * middles - 1)
    quantiles: Cells = -np.sign(middles - 0.5) * np.log(tail) * math.sqrt(0.5)
    return quantiles


@lru_cache(maxsize=16)
def _spread(cells: int) -> Cells:
    """Return points that fill the unit cube evenly, shape (points, cells): multiples of the roots of primes."""
    roots = np.sqrt(np.asarray(_primes(cells), dtype=np.float64))
    points: Cells = np.outer(np.arange(1, _POINTS + 1), roots) % 1.0
    return points


def _primes(number: int) -> list[int]:
    """Return the first primes."""
    primes: list[int] = []
    candidate = 2
    while len(primes) < number:
        if all(candidate % prime for prime in primes):
            primes.append(candidate)
        candidate += 1
    return primes


# --- numbers that follow from the noisy counts, with their intervals and in words -------------------------------------

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
        least, most = (partial(one, missing=self.missing) for one in (of.least, of.most))
        low, high = interval(self.counts, self.deviations, self.gaussian, least, most, level)
        value = float(of(np.asarray([self.counts], dtype=np.float64))[0])
        low, high = (math.copysign(math.inf, end) if abs(end) > _ANY / 2 else end for end in (low, high))
        return Figure(name, kind, value, min(low, value), max(high, value))

    def of_table(self, name: str, kind: str, of: "Reckon", cells: int) -> Figure:
        """Return the number of a cell, one of so many of a table. Its interval leaves 0 only beyond `chance`.

        No user asked for this cell beforehand, so the chance is that of the whole table. An interval that is taken down
        to 0 still covers.
        """
        figure, cell = self.figure(name, kind, of), next(iter(of.cells))
        is_named = self.counts[cell] >= chance(self.deviations[cell], self.laws[cell], cells)
        return figure if is_named else replace(figure, low=0.0)


@lru_cache(maxsize=256)
def chance(deviation: float, gaussian: bool, cells: int) -> float:
    """Return the count that noise alone gives in any of so many empty cells with probability 1 - `LEVEL` at most.

    By the union bound, however the cells depend on each other. Counts are whole numbers, so half of one is added.
    """
    tail = (1 - LEVEL) / cells
    beyond = -NormalDist().inv_cdf(tail) if gaussian else math.sqrt(0.5) * -math.log(2 * tail)
    return deviation * beyond + 0.5


def named_from(histogram: Histogram, cells: int) -> int:
    """Return how many units must be in one of so many cells so that it is named with probability 0.9."""
    sigma = histogram.deviation
    return math.ceil(chance(sigma, isinstance(histogram, GaussianHistogram), cells) + _SURELY * sigma)


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
    quotient: Cells = np.divide(part, whole, out=np.full_like(part, none), where=whole > 0)
    return quotient


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

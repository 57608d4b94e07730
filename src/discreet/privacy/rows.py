"""The public number of rows for a question in which every admitted unit votes: privacy-spec, part 10.1.

A noisy count of the admitted units is released. With a tail of the noise on top of it, it is the number of rows, which
is public. If more units are admitted than rows, nothing is read, and nothing but the count is released.

The work is bounded. Above the largest number of rows, each unit takes part by a fresh secret coin of a public
probability. If the coins choose more units than rows, again nothing is read.

What it costs (proof: docs/mechanisms.md, "All admitted units vote"): the count, and a probability of failure that is
added to the others. At one value of the count alone, a vault with n units overflows and one with n - 1 units does not.
The noise is then minus the tail, or one less, which has a probability of at most `overflow`. The coins of the other
units fill all rows with a probability of at most `crowding`. Outside these two events a unit takes a row of its own, or
leaves it empty, and moves no other unit.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import lru_cache

from discreet.privacy.mechanisms.counting import GaussianCount, NoisyCount
from discreet.privacy.noise import WHOLE

_MARGIN = 1.001
"""It covers the error of `lgamma` for up to 10^10 units."""
_STEPS = 60
_MOST_UNITS, _STEP = 100_000, 1.1

Count = NoisyCount | GaussianCount


@dataclass(frozen=True)
class Rows:
    """The shape of one question: public.

    Attributes:
        number: the number of rows.
        units: if more units are admitted, nothing is read.
        weight: the probability with which each admitted unit takes part, in units of 2^-64.
    """

    number: int
    units: int
    weight: int = WHOLE

    @property
    def probability(self) -> float:
        """The probability with which each admitted unit takes part."""
        return self.weight / WHOLE


@dataclass(frozen=True)
class RowRule:
    """How the number of rows follows from the released count.

    Attributes:
        count: the count, whose `failure` is that of both events.
        tail: the rows beyond the count.
        crowding: the probability, at most, that the coins of the other units fill all rows.
        most: the largest number of rows.
    """

    count: Count
    tail: int
    crowding: float
    most: int

    @staticmethod
    def of(count: Count, failure: float, most: int) -> "RowRule":
        """Return the rule whose overflow and whose coins fail with at most half of `failure` each."""
        overflow = crowding = failure / 2
        return RowRule(replace(count, failure=failure), count.tail(overflow), crowding, most)

    def rows(self, counted: int) -> Rows:
        """Return the shape that follows from the released count."""
        units = max(1, counted + self.tail)
        if units <= self.most:
            return Rows(units, units)
        return Rows(self.most, units, coin_weight(units, self.most, self.crowding))

    def hold(self, units: int, votes: int) -> bool:
        """Return whether so many of the admitted units take part on average, if the count has no noise."""
        return units * self.rows(units).probability >= votes

    def units_for(self, votes: int) -> int:
        """Return about how many units must be admitted so that `votes` of them take part; `votes` if none are enough.

        It is a plan, without the noise of the count.
        """

        def suffices(units: int) -> bool:
            return self.hold(units, votes)

        if suffices(votes) or votes > self.most + 1:  # the coins let so many take part at most
            return votes
        admitted = [votes]
        while (more := math.ceil(admitted[-1] * _STEP)) < _MOST_UNITS:
            admitted.append(more)
        first = bisect_left(admitted, True, key=suffices)
        return admitted[first] if first < len(admitted) else votes


@lru_cache(maxsize=1024)
def coin_weight(units: int, rows: int, failure: float) -> int:
    """Return a probability in units of 2^-64: others than a given one of `units` fill `rows` with at most `failure`.

    It is the largest, up to the precision of the bound.
    """
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if binomial_tail(units - 1, middle, rows) <= failure else (low, middle)
    return math.floor(low * WHOLE)


def binomial_tail(trials: int, probability: float, least: int) -> float:
    """Return an upper bound of P[Binomial(trials, probability) >= least]; 1 if `least` is not above the mean.

    The ratio of a term to the one before falls. So the tail is at most a geometric series that begins with its first
    term.
    """
    if least > trials or probability <= 0:
        return 0.0
    if probability >= 1 or least <= trials * probability:
        return 1.0
    ratio = (trials - least) / (least + 1) * probability / (1 - probability)
    term = _log_choices(trials, least) + least * math.log(probability) + (trials - least) * math.log1p(-probability)
    return min(1.0, math.exp(term) / (1 - ratio) * _MARGIN)


@lru_cache(maxsize=1024)
def _log_choices(trials: int, chosen: int) -> float:
    """Return the logarithm of the binomial coefficient."""
    return math.lgamma(trials + 1) - math.lgamma(chosen + 1) - math.lgamma(trials - chosen + 1)

"""Adding costs up, converting them to (epsilon, delta), and fitting them into a budget.

`Spending` is a sum of costs. It is kept in integers rounded up (billionths of a nat for the curve, 1e-18 for
delta), so that sums are exact and do not depend on order, in memory as in a ledger.

`Budget` is what may be spent: the rule by which a filter admits a cost or refuses it (Feldman and Zrnic 2021).
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.costs import ORDERS, Cost, Curve, Times, Together

NANO = 10**9
ATTO = 10**18
# A curve is cut here (a million nats), far above any budget: sums of two still fit into 64 bits.
_CAP = 10**15
CUT = _CAP
"""Where readings are cut, in billionths: one that large says no more than "at least a million nats"."""


@dataclass(frozen=True, eq=False)
class Spending:
    """A sum of costs, in whole numbers.

    Attributes:
        loss_nano: the Renyi divergence at each of `ORDERS`. Unit: 1e-9 nat.
        failure_atto: the sum of failure probabilities. Unit: 1e-18.
    """

    loss_nano: NDArray[np.int64]
    failure_atto: int

    @staticmethod
    def nothing() -> "Spending":
        """Nothing spent."""
        return Spending(np.zeros(len(ORDERS), dtype=np.int64), 0)

    @staticmethod
    def of(cost: Cost, times: int = 1) -> "Spending":
        """`times` releases that cost `cost` each; the parts of a round are rounded one by one, as they are paid.

        Raises:
            ValueError: the cost is not one: a curve of another length, or something that is not a number >= 0.
        """
        if isinstance(cost, Together):
            return sum((Spending.of(part, times) for part in cost.costs), Spending.nothing())
        if isinstance(cost, Times):
            return Spending.of(cost.cost, cost.times * times)
        if cost.curve.shape != ORDERS.shape or not (cost.curve >= 0).all() or not cost.delta >= 0 or times < 0:
            raise ValueError("A cost has a curve of numbers of at least 0 at every order, and such a delta.")
        nano = np.minimum(np.ceil(np.minimum(cost.curve, _CAP / NANO) * NANO), _CAP).astype(np.int64)
        atto = math.ceil(cost.delta * ATTO)
        return Spending(nano, atto).times(times)

    def __add__(self, other: "Spending") -> "Spending":
        return Spending(
            np.minimum(self.loss_nano + other.loss_nano, _CAP), min(self.failure_atto + other.failure_atto, ATTO)
        )

    def times(self, times: int) -> "Spending":
        """So many times the same."""
        if times == 1:
            return self
        nano = np.minimum(self.loss_nano.astype(object) * times, _CAP).astype(np.int64)
        return Spending(nano, min(self.failure_atto * times, ATTO))

    def __sub__(self, other: "Spending") -> "Spending":
        """What is left when `other`, a part of this, is taken back. What was cut stays cut: its size is forgotten."""
        return Spending(
            np.where(self.loss_nano >= _CAP, _CAP, self.loss_nano - other.loss_nano),
            self.failure_atto - other.failure_atto,
        )

    def or_more(self, other: "Spending") -> "Spending":
        """The larger of two sums at every order: what bounds either."""
        return Spending(np.maximum(self.loss_nano, other.loss_nano), max(self.failure_atto, other.failure_atto))

    def within(self, most: "Spending") -> bool:
        """Whether this is no more than `most`, at every order and in failures."""
        return bool((self.loss_nano <= most.loss_nano).all()) and self.failure_atto <= most.failure_atto

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Spending)
            and self.failure_atto == other.failure_atto
            and bool(np.array_equal(self.loss_nano, other.loss_nano))
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def curve(self) -> Curve:
        """The curve in nats; infinite where it was cut."""
        return np.where(self.loss_nano >= _CAP, np.inf, self.loss_nano / NANO)

    @property
    def delta(self) -> float:
        """The sum of the failure probabilities."""
        return self.failure_atto / ATTO

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon at `delta` over all orders, for costs that were fixed in advance."""
        left = delta - self.delta
        if left < 0:
            return math.inf
        return max(0.0, float(np.min(self.curve + conversion(left))))


def compose(costs: Iterable[Cost]) -> Spending:
    """The sum of costs. Valid for costs chosen adaptively, as long as their number and sizes are not."""
    total = Spending.nothing()
    for cost in costs:
        total += Spending.of(cost)
    return total


def conversion(delta: float) -> Curve:
    """What to add to a curve, at each of `ORDERS`, to get epsilon at `delta`.

    `ln((a-1)/a) - (ln delta + ln a)/(a-1)` (Canonne, Kamath and Steinke 2020); 0 at order infinity.
    """
    if delta <= 0:
        return np.append(np.full(len(ORDERS) - 1, np.inf), 0.0)
    return np.append(_convert(ORDERS[:-1], delta), 0.0)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The smallest epsilon at `delta` of rho-zCDP, over all real orders (not only those of the grid)."""
    if rho == 0 or math.isinf(rho):
        return rho
    if delta <= 0:
        return math.inf
    centre = 1 + math.sqrt(math.log(1 / delta) / rho)
    low, high = 1 + (centre - 1) / 20, 1 + (centre - 1) * 4
    return max(0.0, _minimum(lambda order: rho * order + float(_convert(np.float64(order), delta)), low, high))


@dataclass(frozen=True)
class FilterState:
    """The state of a privacy filter for one unit: three whole numbers, which a database can add.

    Attributes:
        curve: the divergence at the budget's finite order (or, of a zCDP budget, rho), in billionths.
        pure: the divergence at order infinity, in billionths of a nat.
        failures: the sum of failure probabilities, in 1e-18.
    """

    curve: int = 0
    pure: int = 0
    failures: int = 0

    def __add__(self, other: "FilterState") -> "FilterState":
        return FilterState(
            min(self.curve + other.curve, _CAP),
            min(self.pure + other.pure, _CAP),
            min(self.failures + other.failures, ATTO),
        )

    def __sub__(self, other: "FilterState") -> "FilterState":
        """What is left when `other`, a part of this, is taken back. What was cut stays cut: its size is forgotten."""
        return FilterState(
            _CAP if self.curve >= _CAP else self.curve - other.curve,
            _CAP if self.pure >= _CAP else self.pure - other.pure,
            self.failures - other.failures,
        )


Accountant = Literal["renyi", "zcdp", "pure"]


@dataclass(frozen=True)
class Budget:
    """What may be spent: `epsilon` at `delta`, with `failures` of delta kept for costs that can fail.

    A filter may not pick the best order after the fact: with costs that depend on released values, the order at
    which the sum happens to be smallest depends on them too. So a budget looks at two orders fixed in advance: one
    finite, and infinity. They may be combined freely, since order infinity bounds the loss for certain and needs
    no delta of its own (docs/privacy-details.md, "The filter").

    Attributes:
        epsilon: the largest loss, over everything admitted.
        delta: the probability that the loss is larger, failures included.
        failures: the part of `delta` that costs may use up as failure probabilities.
        order: the finite order; by default the best one for Gaussian-like costs that fill the budget.
        accountant: which filter it is (Feldman and Zrnic 2021; Whitehouse et al. 2023). "renyi" looks at the
            divergence at `order`; "zcdp" at the smallest rho that bounds the curve at every order; "pure" at
            nothing but the sum of epsilons. All of them admit what order infinity alone admits.
    """

    epsilon: float
    delta: float
    failures: float = 0.0
    order: float = 0.0
    accountant: Accountant = "renyi"

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and math.isfinite(self.epsilon)):
            raise ValueError(f"Epsilon is a finite number above 0, not {self.epsilon}.")
        if not 0 <= self.failures <= self.delta < 1:
            raise ValueError(f"0 <= failures <= delta < 1 does not hold: {self.failures}, {self.delta}.")
        if self.order == 0.0:
            object.__setattr__(self, "order", gaussian_order(self.epsilon, self.delta - self.failures))

    @cached_property
    def _index(self) -> int:
        return int(np.argmin(np.abs(ORDERS[:-1] - self.order)))

    @cached_property
    def _offset(self) -> float:
        return float(conversion(self.delta - self.failures)[self._index])

    @cached_property
    def limit(self) -> FilterState:
        """The largest readings that are admitted; the curve's is below 0 if that reading admits nothing."""
        if self.accountant == "pure":
            curve = -1
        elif self.accountant == "zcdp":
            curve = _whole(_largest_rho(self.epsilon, self.delta - self.failures))
        else:
            curve = _whole(max(self.epsilon - self._offset, -1.0))
        pure = _whole(self.epsilon)
        return FilterState(min(curve, _CAP - 1), min(pure, _CAP - 1), round(self.failures * ATTO))

    def filter_state(self, spending: Spending) -> FilterState:
        """Return what `spending` adds to the filter state of a unit."""
        if self.accountant == "zcdp":
            curve = math.ceil(float(np.max(spending.loss_nano[:-1] / ORDERS[:-1])))
        else:
            curve = int(spending.loss_nano[self._index])
        return FilterState(curve, int(spending.loss_nano[-1]), spending.failure_atto)

    def admits_state(self, state: FilterState) -> bool:
        """Whether a unit with this state has stayed within the budget."""
        limit = self.limit
        return state.failures <= limit.failures and (state.curve <= limit.curve or state.pure <= limit.pure)

    def spent_state(self, state: FilterState) -> float:
        """Return the epsilon that a state amounts to; infinity if the failures exceed their limit."""
        if state.failures > self.limit.failures:
            return math.inf
        pure, curve = (value / NANO if value < _CAP else math.inf for value in (state.pure, state.curve))
        if self.accountant == "pure":
            return pure
        if self.accountant == "zcdp":
            return min(pure, _rho_epsilon(curve, self.delta - self.failures))
        return min(pure, max(0.0, curve + self._offset))

    def spent(self, spending: Spending) -> float:
        """The epsilon that `spending` amounts to under this budget; infinite if it failed too often."""
        return self.spent_state(self.filter_state(spending))

    def admits(self, spending: Spending) -> bool:
        """Whether `spending` as a whole stays within the budget."""
        return self.admits_state(self.filter_state(spending))

    def left(self, spending: Spending) -> float:
        """The epsilon not yet spent."""
        return max(0.0, self.epsilon - self.spent(spending))

    def left_state(self, state: FilterState) -> float:
        """Return the epsilon that a unit with this state has not spent yet."""
        return max(0.0, self.epsilon - self.spent_state(state))

    def affordable(self, cost: Cost, spent: Spending | None = None, most: int = 100_000) -> int:
        """How many releases of `cost` fit on top of `spent`; at most `most`."""
        start = spent or Spending.nothing()

        def fits(times: int) -> bool:
            return self.admits(start + Spending.of(cost, times))

        return _last(fits, most)


def budget_for(cost: Cost, epsilon: float, delta: float, failures: float = 0.0) -> Budget:
    """The budget whose finite order affords most releases of `cost`: public, fixed before anything is drawn."""
    spent = Spending.of(cost)
    offsets = conversion(delta - failures)[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        rounds = (epsilon - offsets) / spent.curve[:-1]
    return Budget(epsilon, delta, failures, float(ORDERS[int(np.nanargmax(rounds))]))


def gaussian_order(epsilon: float, delta: float) -> float:
    """The order at which zCDP costs that fill (epsilon, delta) are converted best."""
    if delta <= 0:
        return float(ORDERS[-2])
    # The largest rho that an order affords is (epsilon - conversion) / order.
    rho = (epsilon - conversion(delta)[:-1]) / ORDERS[:-1]
    return float(ORDERS[int(np.argmax(rho))])


def largest(fits: Callable[[float], bool], low: float, high: float) -> float:
    """The largest number in [low, high] that fits, or nearly; `low` if none does."""
    if fits(high):
        return high
    for _ in range(40):
        middle = math.sqrt(low * high) if low > 0 else high / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _largest_rho(epsilon: float, delta: float) -> float:
    """The largest rho that stays within (epsilon, delta) at one of the orders; -1 if none does.

    The order is the same for every sum, so that this is a filter at an order fixed in advance.
    """
    return float(np.max((epsilon - conversion(delta)[:-1]) / ORDERS[:-1], initial=-1.0))


def _rho_epsilon(rho: float, delta: float) -> float:
    """The epsilon of a rho that holds at `ORDERS`."""
    return max(0.0, float(np.min(rho * ORDERS[:-1] + conversion(delta)[:-1])))


def _convert(orders: Curve | np.float64, delta: float) -> Curve:
    return np.asarray(
        np.log((orders - 1) / orders) - (math.log(delta) + np.log(orders)) / (orders - 1), dtype=np.float64
    )


def _minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """The least value of a function with one valley, by golden section."""
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(200):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if function(left) < function(right) else (left, high)
    return function((low + high) / 2)


def _whole(epsilon: float) -> int:
    """In billionths, rounded down; the largest reading for what is beyond all of them, and may be infinite there."""
    return math.floor(min(epsilon * NANO, float(_CAP)))


def _last(fits: Callable[[int], bool], most: int) -> int:
    """The largest whole number up to `most` that fits, where every smaller one fits too; 0 if none does."""
    if fits(most):
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low

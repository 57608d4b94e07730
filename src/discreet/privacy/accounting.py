"""Sums of costs, their conversion to (epsilon, delta), and their admission to a budget.

`Spending` is a sum of costs in integers, rounded up (billionths of a nat for the curve, 1e-18 for delta). So sums are
exact and independent of order, in memory as in a ledger.

`Budget` is a limit: the rule by which a filter admits or refuses a cost (Feldman and Zrnic 2021).
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetExhausted, UsageError
from discreet.privacy.costs import ORDERS, BoundedRange, Cost, Curve, Pure, Times, Together, ZeroConcentrated

NANO = 10**9
ATTO = 10**18
# A curve is cut here (a million nats), far above any budget. Sums of two cut values fit into 64 bits.
_CAP = 10**15
CUT = _CAP
"""The cap of filter states, in billionths. A state at the cap means "at least a million nats"."""


@dataclass(frozen=True, eq=False)
class Spending:
    """A sum of costs, in integers.

    Attributes:
        loss_nano: the Renyi divergence at each of `ORDERS`. Unit: 1e-9 nat.
        failure_atto: the sum of failure probabilities. Unit: 1e-18.
    """

    loss_nano: NDArray[np.int64]
    failure_atto: int

    @staticmethod
    def nothing() -> "Spending":
        """Return the empty sum."""
        return _NOTHING

    @staticmethod
    def of(cost: Cost, times: int = 1) -> "Spending":
        """Return the sum of `times` releases that cost `cost` each.

        The parts of a round are rounded one by one, as in the payments.

        Raises:
            ValueError: if the curve has another length, or a value is not a number of at least 0.
        """
        if isinstance(cost, Together):
            return sum((Spending.of(part, times) for part in cost.costs), Spending.nothing())
        if isinstance(cost, Times):
            return Spending.of(cost.cost, cost.times * times)
        if times < 0:
            raise ValueError(_WRONG)
        if isinstance(cost, Pure | BoundedRange | ZeroConcentrated):
            return _known(cost).times(times)
        return _rounded(cost).times(times)

    def __add__(self, other: "Spending") -> "Spending":
        if self is _NOTHING or other is _NOTHING:
            return other if self is _NOTHING else self
        return Spending(
            np.minimum(self.loss_nano + other.loss_nano, _CAP), min(self.failure_atto + other.failure_atto, ATTO)
        )

    def times(self, times: int) -> "Spending":
        """Return `times` times this sum."""
        if times == 1:
            return self
        fits = self.loss_nano <= _CAP // max(times, 1)  # the others would exceed the cap, and perhaps 64 bits
        nano = np.where(fits, np.where(fits, self.loss_nano, 0) * min(times, _CAP), _CAP)
        return Spending(nano, min(self.failure_atto * times, ATTO))

    def __sub__(self, other: "Spending") -> "Spending":
        """Return the rest after `other`, a part of this sum, is taken back.

        Capped values stay capped, since their size is unknown.
        """
        return Spending(
            np.where(self.loss_nano >= _CAP, _CAP, self.loss_nano - other.loss_nano),
            self.failure_atto - other.failure_atto,
        )

    def or_more(self, other: "Spending") -> "Spending":
        """Return the larger of two sums at every order: an upper bound of both."""
        return Spending(np.maximum(self.loss_nano, other.loss_nano), max(self.failure_atto, other.failure_atto))

    def within(self, most: "Spending") -> bool:
        """Return whether this is at most `most`, at every order and in failures."""
        return bool((self.loss_nano <= most.loss_nano).all()) and self.failure_atto <= most.failure_atto

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Spending)
            and self.failure_atto == other.failure_atto
            and bool(np.array_equal(self.loss_nano, other.loss_nano))
        )

    __hash__ = None  # type: ignore[assignment]

    def pack(self) -> tuple[bytes, int]:
        """Return the sum as the fields `loss` and `failure` of a row in a log."""
        return self.loss_nano.astype("<i8").tobytes(), int(self.failure_atto)

    @staticmethod
    @lru_cache(maxsize=1024)  # most questions cost one of few sums
    def unpack(loss: bytes, failure: int) -> "Spending":
        """Return the sum from these fields.

        Raises:
            ValueError: if they are no sum.
        """
        if len(loss) != 8 * len(ORDERS) or failure < 0:
            raise ValueError(failure)
        nano = np.minimum(np.frombuffer(loss, dtype="<i8").astype(np.int64), _CAP)
        nano.setflags(write=False)
        return Spending(nano, min(failure, ATTO))

    @property
    def curve(self) -> Curve:
        """The curve in nats; infinite where it was capped."""
        return np.where(self.loss_nano >= _CAP, np.inf, self.loss_nano / NANO)

    @property
    def delta(self) -> float:
        """The sum of the failure probabilities."""
        return self.failure_atto / ATTO

    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon at `delta` over all orders, for costs that were fixed in advance."""
        left = delta - self.delta
        if left < 0:
            return math.inf
        return max(0.0, float(np.min(self.curve + conversion(left))))


_WRONG = "A cost has numbers of at least 0: a curve with one number for each order, a delta, and times."
_NOTHING = Spending(np.zeros(len(ORDERS), dtype=np.int64), 0)
_NOTHING.loss_nano.setflags(write=False)


class Sums:
    """A sum of `Spending`s, from which parts can be taken back exactly, although each of them is cut.

    Attributes:
        content: of shape (3, orders): how many parts were cut, and the upper and lower 30 bits of the others' sum.
        failures: the sum of failure probabilities, in units of 1e-18.
    """

    def __init__(self, content: NDArray[np.int64] | None = None, failures: int = 0) -> None:
        self.content = np.zeros((3, len(ORDERS)), dtype=np.int64) if content is None else content
        self.failures = failures

    def add(self, part: Spending, times: int = 1) -> None:
        """Add a part, or take it back."""
        self.content = self.content + _digits(part.loss_nano.tobytes()) * times
        self.failures += part.failure_atto * times

    def total(self) -> Spending:
        """Return the sum, cut."""
        cut, high, low = self.content
        total = np.minimum(np.minimum(high, (_CAP >> 30) + 1) * 2**30 + low, _CAP)
        return Spending(np.where(cut > 0, _CAP, total), min(self.failures, ATTO))


def _rounded(cost: Cost) -> Spending:
    curve = cost.curve
    if curve.shape != ORDERS.shape or not (curve >= 0).all() or not cost.delta >= 0:
        raise ValueError(_WRONG)
    nano = np.minimum(np.ceil(np.minimum(curve, _CAP / NANO) * NANO), _CAP).astype(np.int64)
    nano.setflags(write=False)
    return Spending(nano, math.ceil(cost.delta * ATTO))


_known = lru_cache(maxsize=1024)(_rounded)
"""For costs of this package: a plan, a filter and a ledger ask for the same one, again for each question."""


def compose(costs: Iterable[Cost]) -> Spending:
    """Return the sum of costs. The costs may be chosen adaptively if their number and sizes are not."""
    total = Spending.nothing()
    for cost in costs:
        total += Spending.of(cost)
    return total


def conversion(delta: float) -> Curve:
    """Return the difference between epsilon at `delta` and the curve, at each of `ORDERS`, in nats.

    `ln((a-1)/a) - (ln delta + ln a)/(a-1)` (Canonne, Kamath and Steinke 2020); 0 at order infinity.
    """
    if delta <= 0:
        return np.append(np.full(len(ORDERS) - 1, np.inf), 0.0)
    return np.append(_convert(ORDERS[:-1], delta), 0.0)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return the smallest epsilon at `delta` of rho-zCDP, over all real orders (not only those of the grid)."""
    if rho == 0 or math.isinf(rho):
        return rho
    if delta <= 0:
        return math.inf
    centre = 1 + math.sqrt(math.log(1 / delta) / rho)
    low, high = 1 + (centre - 1) / 20, 1 + (centre - 1) * 4
    return max(0.0, _minimum(lambda order: rho * order + float(_convert(np.float64(order), delta)), low, high))


@dataclass(frozen=True)
class FilterState:
    """The state of a privacy filter for one unit: three integers, which a database can add.

    Attributes:
        curve: the divergence at the budget's finite order (or rho, for a zCDP budget), in billionths.
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
        """Return the rest after `other`, a part of this state, is taken back.

        Capped values stay capped, since their size is unknown.
        """
        return FilterState(
            _CAP if self.curve >= _CAP else self.curve - other.curve,
            _CAP if self.pure >= _CAP else self.pure - other.pure,
            self.failures - other.failures,
        )


Accountant = Literal["renyi", "zcdp", "pure"]


@dataclass(frozen=True)
class Budget:
    """A limit of spending: `epsilon` at `delta`, with `failures` of delta for costs that can fail.

    A filter must not pick the best order afterwards. If costs depend on released values, the order of the smallest sum
    depends on them too. So a budget uses two orders fixed in advance: a finite one, and infinity. They may be combined
    freely, since order infinity bounds the loss with certainty and needs no delta of its own (docs/privacy-details.md,
    "The filter").

    Attributes:
        epsilon: the largest loss of all admitted costs together.
        delta: the probability that the loss is larger, failures included.
        failures: the part of `delta` that costs may use up as failure probabilities.
        order: the finite order; by default the best one for Gaussian-like costs that fill the budget.
        accountant: the kind of filter (Feldman and Zrnic 2021; Whitehouse et al. 2023). "renyi" uses the divergence at
            `order`; "zcdp" the smallest rho that bounds the curve at every order; "pure" the sum of epsilons alone. All
            of them also admit what order infinity alone admits.
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

    @property
    def counted_order(self) -> float:
        """The finite order of `ORDERS` at which a unit's payments are counted."""
        return float(ORDERS[self._index])

    @cached_property
    def _offset(self) -> float:
        return float(conversion(self.delta - self.failures)[self._index])

    @cached_property
    def limit(self) -> FilterState:
        """The largest state that is admitted. Its curve is below 0 if the finite order admits nothing."""
        if self.accountant == "pure":
            curve = -1
        elif self.accountant == "zcdp":
            curve = _whole(_largest_rho(self.epsilon, self.delta - self.failures))
        else:
            curve = _whole(max(self.epsilon - self._offset, -1.0))
        pure = _whole(self.epsilon)
        return FilterState(min(curve, _CAP - 1), min(pure, _CAP - 1), round(self.failures * ATTO))

    def filter_state(self, spending: Spending) -> FilterState:
        """Return the change that `spending` makes to the filter state of a unit."""
        if self.accountant == "zcdp":
            curve = math.ceil(float(np.max(spending.loss_nano[:-1] / ORDERS[:-1])))
        else:
            curve = int(spending.loss_nano[self._index])
        return FilterState(curve, int(spending.loss_nano[-1]), spending.failure_atto)

    def admits_state(self, state: FilterState) -> bool:
        """Return whether a unit with this state has stayed within the budget."""
        limit = self.limit
        return state.failures <= limit.failures and (state.curve <= limit.curve or state.pure <= limit.pure)

    def spent_state(self, state: FilterState) -> float:
        """Return the epsilon that corresponds to a state; infinity if the failures exceed their limit."""
        if state.failures > self.limit.failures:
            return math.inf
        pure, curve = (value / NANO if value < _CAP else math.inf for value in (state.pure, state.curve))
        if self.accountant == "pure":
            return pure
        if self.accountant == "zcdp":
            return min(pure, _rho_epsilon(curve, self.delta - self.failures))
        return min(pure, max(0.0, curve + self._offset))

    def spent(self, spending: Spending) -> float:
        """Return the epsilon that corresponds to `spending`; infinity if the failures exceed their limit."""
        return self.spent_state(self.filter_state(spending))

    def admits(self, spending: Spending) -> bool:
        """Return whether `spending` as a whole stays within the budget."""
        return self.admits_state(self.filter_state(spending))

    def part(self, spending: Spending) -> float:
        """Return the part of the budget that `spending` uses up, as the filter counts it: 1 for all of it, or more.

        Epsilon grows most with the first questions. Of equal ones each uses up an equal part.
        """
        state, limit = self.filter_state(spending), self.limit
        used = [paid / most for paid, most in ((state.curve, limit.curve), (state.pure, limit.pure)) if most > 0]
        failed = state.failures / limit.failures if limit.failures else 0.0 if not state.failures else math.inf
        return max(min(used, default=math.inf), failed)

    def left(self, spending: Spending) -> float:
        """Return the epsilon not yet spent."""
        return max(0.0, self.epsilon - self.spent(spending))

    def left_state(self, state: FilterState) -> float:
        """Return the epsilon that a unit with this state has not spent yet."""
        return max(0.0, self.epsilon - self.spent_state(state))

    def affordable(self, cost: Cost, spent: Spending | None = None, most: int = 100_000) -> int:
        """Return the number of releases of `cost` that fit on top of `spent`; at most `most`."""
        start = spent or Spending.nothing()

        def fits(times: int) -> bool:
            return self.admits(start + Spending.of(cost, times))

        return how_many(fits, most)


def budget_for(cost: Cost, epsilon: float, delta: float, failures: float = 0.0) -> Budget:
    """Return the budget whose finite order affords most releases of `cost`. It is public, and fixed before any draw."""
    spent = Spending.of(cost)
    offsets = conversion(delta - failures)[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        rounds = (epsilon - offsets) / spent.curve[:-1]
    return Budget(epsilon, delta, failures, float(ORDERS[int(np.nanargmax(rounds))]))


def budget_of(cost: Cost, delta: float) -> Budget:
    """Return the smallest budget that admits `cost` once. It is public, and fixed before any draw."""
    spent = Spending.of(cost)
    failures = spent.failure_atto / ATTO
    totals = spent.curve[:-1] + conversion(delta - failures)[:-1]
    best = int(np.argmin(totals))
    # A billionth more, since the sum is rounded.
    epsilon = max(1, math.ceil(NANO * min(float(totals[best]), float(spent.curve[-1]))) + 1) / NANO
    return Budget(epsilon, delta, failures, float(ORDERS[best]))


def gaussian_order(epsilon: float, delta: float) -> float:
    """Return the order with the best conversion of zCDP costs that fill (epsilon, delta)."""
    if delta <= 0:
        return float(ORDERS[-2])
    # The largest rho that an order affords is (epsilon - conversion) / order.
    rho = (epsilon - conversion(delta)[:-1]) / ORDERS[:-1]
    return float(ORDERS[int(np.argmax(rho))])


def largest(fits: Callable[[float], bool], low: float, high: float) -> float:
    """Return the largest number in [low, high] that fits, by bisection; `low` if none does."""
    if fits(high):
        return high
    for _ in range(40):
        middle = math.sqrt(low * high) if low > 0 else high / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def how_many(fits: Callable[[int], bool], most: int) -> int:
    """Return the largest integer up to `most` that fits; 0 if none does. `fits` must be monotone."""
    if fits(most):
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _largest_rho(epsilon: float, delta: float) -> float:
    """Return the largest rho that stays within (epsilon, delta) at one of the orders; -1 if none does.

    The order is the same for every sum, so this is a filter at an order fixed in advance.
    """
    return float(np.max((epsilon - conversion(delta)[:-1]) / ORDERS[:-1], initial=-1.0))


def _rho_epsilon(rho: float, delta: float) -> float:
    """Return the epsilon of a rho that holds at `ORDERS`."""
    return max(0.0, float(np.min(rho * ORDERS[:-1] + conversion(delta)[:-1])))


def _convert(orders: Curve | np.float64, delta: float) -> Curve:
    return np.asarray(
        np.log((orders - 1) / orders) - (math.log(delta) + np.log(orders)) / (orders - 1), dtype=np.float64
    )


def _minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the minimum of a unimodal function, by golden section."""
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(200):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if function(left) < function(right) else (left, high)
    return function((low + high) / 2)


def _whole(epsilon: float) -> int:
    """Return epsilon in billionths, rounded down and at most the cap. Epsilon may be infinite."""
    return math.floor(min(epsilon * NANO, float(_CAP)))


@lru_cache(1024)
def _digits(loss: bytes) -> NDArray[np.int64]:
    """Return how `Sums` adds a sum: whether it is cut, and its upper and lower bits."""
    nano = np.frombuffer(loss, dtype=np.int64)
    values = np.where(nano < _CAP, nano, 0)
    return np.stack([nano >= _CAP, values >> 30, values & (2**30 - 1)])


# --- whether a budget can pay for a cost: public ----------------------------------------------------------------------

STEP = 0.01
"""An error states the affordable epsilon as a multiple of this."""


def check_affordable(budget: Budget, spent: Spending, epsilon: float, most: Callable[[float], Spending]) -> None:
    """Check that a question of `epsilon` can be paid on top of `spent`.

    Args:
        budget: the vault's budget.
        spent: the spending of every unit.
        epsilon: the requested epsilon.
        most: returns the largest cost for an epsilon.

    Raises:
        BudgetExhausted: if it cannot be paid. The error states an epsilon that can.
    """
    if budget.admits(spent + most(epsilon)):
        return

    def cost(less: float) -> Spending:
        try:
            return most(less)
        except UsageError:  # too small for any release, so small enough to be paid
            return Spending.nothing()

    def fits(less: float) -> bool:
        return budget.admits(spent + cost(less))

    # The order for a price depends on the price, so a lower price may cost more. Lower it until it fits.
    affordable = round(largest_step(fits, STEP, epsilon) / STEP)
    steps = (step / 100 for step in range(affordable, affordable - 100, -1))
    left, fit = budget.left(spent), next((less for less in steps if less > 0 and fits(less)), 0.0)
    if fit and cost(fit) == Spending.nothing():
        fit = 0.0
    advice = f"Epsilon {fit:g} would fit." if fit else "No smaller epsilon fits. Create a vault with a larger grant."
    raise BudgetExhausted(
        f"The budget cannot pay: epsilon {epsilon:.4g} was asked, {left:.4g} of {budget.epsilon:.4g} is left to "
        f"every unit. Nothing was released or charged. {advice}",
        asked=epsilon,
        left=left,
        would_fit=fit,
    )


def largest_step(fits: Callable[[float], bool], low: float, high: float) -> float:
    """Return the largest multiple of `STEP` in [low, high] that fits, by bisection; the one before `low` if none does.

    A message shows it, and a request for it succeeds.
    """
    steps = range(math.ceil(100 * low - 1e-9), math.floor(100 * high + 1e-9) + 1)
    return (steps.start - 1 + bisect_left(steps, True, key=lambda step: not fits(step / 100))) / 100

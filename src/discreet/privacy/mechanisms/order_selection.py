"""Every answer that enough voters gave, each by itself, by the curve that is best at the orders where it is paid.

Privacy-spec, part 13. An answer with n votes is released with probability pi(n), independently of all other answers.
A vault counts what a unit pays at one order a, fixed in advance, and one receipt is printed at another. The curve is
the largest that costs at most a price c at each of these orders. One vote more is x = pi(n-1) -> y = pi(n), and the
part delta of the likelier law is cut off:

    pi(0) = 0,  pi(1) = delta,  pi(n) = the largest y >= x with, at each order a with its price c,

        ((y - delta)+)^a x^(1-a)  +  (1 - y)^a (1 - x)^(1-a)          <=  e^((a-1) c)        one vote more is likelier
        x^a y^(1-a)  +  ((1 - x - delta)+)^a (1 - y)^(1-a)            <=  e^((a-1) c)        one vote fewer is likelier

(`largest_curve`). The curve climbs faster than e^epsilon a vote where it is tiny, which a pure epsilon forbids, and
which hardly counts at the order of a vault. No other curve of single answers with one price is larger (docs/
privacy-details.md, "Selection that is best at the vault's order").

What is paid does not follow from how the table was made. `certify` computes the price of the whole numbers that are
drawn from, in decimals rounded up, at any order. A table that is wrong has a high price, or an infinite one.

The votes of a released answer are not released. That k units gave it at least follows from the curve, free
(`supporters`). A public candidate starts with votes of its own on the same curve, as many as keep it within its prior.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from functools import lru_cache
from itertools import pairwise
from typing import Generic

import numpy as np

from discreet.privacy.costs import ORDERS, Cost, Curve, Times
from discreet.privacy.mechanisms.optimal_selection import (
    CONFIDENCE,
    PRIOR,
    OneCurve,
    V,
    count_votes,
    read_curve,
    selection_moves,
)
from discreet.privacy.noise import WHOLE, Noise
from discreet.privacy.private import Change

Prices = tuple[tuple[float, float], ...]
"""Orders, each with the price that a curve may have there, in nats."""

_DIGITS = 80
"""Entries of a table are exact with so many digits, and what is left of 1; delta is rounded to them."""
_ERROR = Decimal("1e-60")
"""More than the relative error of a term: ln and exp are rounded correctly, and an exponent is below 10^6."""
_CERTIFIED = (*np.arange(1.25, 4, 0.25), *np.arange(4, 16, 0.5), *np.exp2([4, 4.5, 5, 5.5, 6, 7, 8, 9, 10]))
"""Orders at which every table is certified, beside its own. A chord bounds the price between two of them."""
_FAR = 1e-6
"""A difference of two logarithms of moments, far above the error of floats: it is below 1e-9 for orders up to 1024."""
_ROUNDED = 1e-9
"""The part of delta for the rounding of the first entry."""
_MOST_VOTES = 200
_DIGITS_OF_ROOTS = 50
_GUESS_STEPS, _NEWTON_STEPS, _LARGEST_LOGIT = 30, 8, 100.0
_CLOSE = 1e-6
"""Guesses that are so near the smallest one may be the smallest root."""
_SMALL = Decimal("1e-15")
"""After a relative step so small, Newton's method is exact to 30 digits."""
_LEAST = Decimal(2) ** -70
"""Less than the unit of a table."""
Law = tuple[tuple[Decimal, Decimal], tuple[Decimal, Decimal]]
Inequality = tuple[float, float, bool]
"""An order, its price, and whether one vote more is the likelier law."""


@dataclass(frozen=True)
class Certified:
    """The price of a table, certified at some orders.

    Attributes:
        table: the curve in units of 2^-64.
        delta: the probability of the event outside which the price holds.
        orders: at which the price is certified. A chord bounds it at the others.
    """

    table: tuple[int, ...]
    delta: float
    orders: tuple[float, ...]

    @property
    def curve(self) -> Curve:
        """The certified divergence at each of `ORDERS`, in nats."""
        return _price_curve(self.table, self.delta, self.orders)

    def describe(self) -> dict[str, float | str]:
        """Return the cost as plain data: the first order, which is the vault's, with the price there."""
        order = self.orders[0]
        return {
            "kind": "certified",
            "order": order,
            "price": certify(self.table, self.delta, order),
            "delta": self.delta,
        }


@dataclass(frozen=True)
class OrderSelection(OneCurve, Generic[V]):
    """The set of answers that are released, each by the same curve.

    Attributes:
        table: entry n is for n votes in units of 2^-64, and the last one for all above.
        delta: the probability, at most, of what is cut off.
        orders: at which the price is certified; the first one is the vault's.
        candidates: answers that are public before the votes are counted.
        prior: the probability, at most, that a candidate without a vote is released.
    """

    table: tuple[int, ...]
    delta: float
    orders: tuple[float, ...]
    candidates: tuple[V, ...] = ()
    prior: float = PRIOR

    def __post_init__(self) -> None:
        if list(self.table) != sorted(self.table) or self.table[:1] != (0,) or self.table[-1] != WHOLE:
            raise ValueError("A curve begins at 0, never falls, and ends at 2^64.")
        if not 0 <= self.delta < 1 or not 0 <= self.prior <= 1:
            raise ValueError(f"Delta and prior are probabilities, not {self.delta} and {self.prior}.")
        if not self.orders or any(not 1 < order <= ORDERS[-2] for order in self.orders):
            raise ValueError(f"Orders lie above 1, and are at most {ORDERS[-2]:g}, not {self.orders}.")

    def __str__(self) -> str:
        at = f"price {certify(self.table, self.delta, self.orders[0]):.6g} at order {self.orders[0]:g}"
        among = f", {len(self.candidates)} public candidates from {self.ahead} votes on" if self.candidates else ""
        return f"order selection, {at}, delta {self.delta:.6g}, {self.votes_needed(0.9)} votes{among}"

    @staticmethod
    def best(prices: Prices, delta: float) -> "OrderSelection[V]":
        """Return the selection with the largest curve that costs at most these prices, up to a billionth.

        Raises:
            ValueError: if a number is out of range, or no curve has prices so small.
        """
        return OrderSelection(largest_curve(prices, delta), delta * (1 + _ROUNDED), tuple(order for order, _ in prices))

    def with_candidates(self, candidates: Sequence[V]) -> "OrderSelection[V]":
        """Return the same selection with public candidates, among which `PRIOR` is divided. The cost is the same."""
        distinct = tuple(dict.fromkeys(candidates))
        return replace(self, candidates=distinct, prior=PRIOR / max(1, len(distinct)))

    def curve(self) -> tuple[int, ...]:
        """Return the table."""
        return self.table

    def supporters(self, answer: V) -> int:
        """Return k: that fewer than k units gave `answer`, and it is released, has a probability of at most 0.05."""
        rare = bisect_right(self.table, int((1 - CONFIDENCE) * WHOLE))  # fewer votes than this are so rarely enough
        return max(0, rare - self.ahead) if answer in self.candidates else rare

    def cost(self, change: Change) -> Cost:
        """Return the certified price for a vote that comes or goes, and twice that for one that is replaced."""
        once = Certified(self.table, self.delta, self.orders)
        moves = selection_moves(change)
        return once if moves == 1 else Times(once, moves)

    def draw(self, shares: Sequence[V | None], noise: Noise) -> tuple[V, ...]:
        """Return the released answers in their own order, which is public. Shares that are None abstain."""
        counts = count_votes(shares)
        public_values = frozenset(self.candidates)
        answers: list[V] = sorted(set(counts) | public_values)
        return tuple(
            a for a in answers if noise.toss(read_curve(self.table, counts[a] + self.ahead * (a in public_values)))
        )


@lru_cache(maxsize=512)
def largest_curve(prices: Prices, delta: float) -> tuple[int, ...]:
    """Return the largest curve that costs at most each price at its order, in units of 2^-64, rounded down.

    The two inequalities of an order have one root each above x, for their left sides are convex in y, and x itself is
    allowed. The smallest root is the next entry: a guess by bisection finds it, and Newton's steps make it exact.

    Raises:
        ValueError: if a number is out of range, or the curve does not reach 1.
    """
    if not prices or any(not (order > 1 and math.isfinite(order) and price > 0) for order, price in prices):
        raise ValueError(f"Orders are above 1 and finite, and prices above 0, not {prices}.")
    if not 1 / WHOLE <= delta < 1:
        raise ValueError(f"Delta lies between 2^-64 and 1, not {delta}.")
    inequalities = [(order, price, more) for order, price in prices for more in (True, False)]
    with localcontext(Context(prec=_DIGITS_OF_ROOTS)):
        one, cut = Decimal(1), Decimal(delta)
        curve = [Decimal(0), cut]
        while (x := curve[-1]) < one:
            following = one if one - x <= cut else _smallest_root(x, cut, inequalities)
            if following <= x or len(curve) > _MOST_VOTES:
                raise ValueError(f"No curve of {_MOST_VOTES} votes has the prices {prices} at delta {delta:g}.")
            curve.append(following)
        return tuple(int(entry * WHOLE) for entry in curve)


def _smallest_root(x: Decimal, delta: Decimal, inequalities: Sequence[Inequality]) -> Decimal:
    """Return the largest y that all inequalities allow after x."""
    guesses = [_guess(float(x), float(1 - x), float(delta), one) for one in inequalities]
    close = min(guesses) + _CLOSE
    return min(_root(x, delta, guess, one) for guess, one in zip(guesses, inequalities, strict=True) if guess <= close)


def _guess(x: float, rest: float, delta: float, inequality: Inequality) -> float:
    """Return ln(y / (1 - y)) of about the largest y, by bisection. `rest` is 1 - x."""
    order, price, more = inequality
    most, log, log1p, exp = (order - 1) * price, math.log, math.log1p, math.exp
    log_x, log_rest, left = log(x), log(rest), rest - delta

    def allowed(z: float) -> bool:
        log_y, log_not = -log1p(exp(-z)), -log1p(exp(z))
        if more:
            y = exp(log_y)
            hit = order * log(y - delta) + (1 - order) * log_x if y > delta else -math.inf
            nothing = order * log_not + (1 - order) * log_rest
        else:
            hit = order * log_x + (1 - order) * log_y
            nothing = order * log(left) + (1 - order) * log_not
        top = max(hit, nothing)
        return top + log(exp(hit - top) + exp(nothing - top)) <= most

    low = log_x - log_rest
    high = low + 4
    while high < _LARGEST_LOGIT and allowed(high):
        low, high = high, 2 * high - low
    for _ in range(_GUESS_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low


def _root(x: Decimal, delta: Decimal, guess: float, inequality: Inequality) -> Decimal:
    """Return the largest y that an inequality allows after x, by Newton's method."""
    order, price, more = inequality
    y, rest, a = 1 / (1 + (-Decimal(guess)).exp()), 1 - x, Decimal(order)
    scale = -(a - 1) * Decimal(price)
    hit_x = scale + ((1 - a) if more else a) * x.ln()
    nothing_x = scale + ((1 - a) * rest.ln() if more else a * (rest - delta).ln())
    for _ in range(_NEWTON_STEPS):
        if 1 - y < _LEAST:
            break
        if more:
            hit, nothing = (hit_x + a * (y - delta).ln()).exp(), (nothing_x + a * (1 - y).ln()).exp()
            slope = a * hit / (y - delta) - a * nothing / (1 - y)
        else:
            hit, nothing = (hit_x + (1 - a) * y.ln()).exp(), (nothing_x + (1 - a) * (1 - y).ln()).exp()
            slope = (1 - a) * hit / y + (a - 1) * nothing / (1 - y)
        step = (hit + nothing - 1) / slope
        y = min(y - step, (y + 1) / 2)  # a step does not pass 1
        if abs(step) < _SMALL * min(y, 1 - y):
            break
    return y


@lru_cache(maxsize=4096)
def certify(table: tuple[int, ...], delta: float, order: float) -> float:
    """Return an upper bound of the Renyi divergence of one vote more or less, at an order above 1 or at infinity.

    It is the price of the table itself, however it was made: over all neighbouring entries, in both directions, after
    at most `delta` of the likelier law is cut off. Every step is rounded up. Floats leave out those pairs whose moment
    is smaller than the largest one by more than their own error, by far.
    """
    laws, logs = _neighbouring_laws(table, delta)
    if math.isinf(order):
        moments = np.max(logs[:, :, 0] - logs[:, :, 1], axis=1)
    else:
        moments = np.logaddexp.reduce(order * logs[:, :, 0] + (1 - order) * logs[:, :, 1], axis=1)
    if math.isinf(top := float(np.max(moments))):
        return math.inf
    largest = [laws[place] for place in np.flatnonzero(moments >= top - _FAR)]
    with localcontext(Context(prec=_DIGITS)):
        if math.isinf(order):
            return _up(max(_ln(p) - _ln(q) for law in largest for p, q in law if p > 0))
        a = Decimal(order)
        most = max(sum((a * _ln(p) + (1 - a) * _ln(q)).exp() for p, q in law if p > 0) for law in largest)
        most *= 1 + _ERROR
        return _up(most.ln() / (a - 1)) if most > 1 else 0.0


@lru_cache(maxsize=512)
def _neighbouring_laws(table: tuple[int, ...], delta: float) -> tuple[list[Law], Curve]:
    """Return each two neighbouring laws, and the logarithms of their probabilities as floats.

    A law has (P, Q) of "released" and of "nothing". P is the likelier one, less `delta` of the outcome that it makes
    likelier: 0 or less if P has no more of it.
    """
    with localcontext(Context(prec=_DIGITS)):
        whole, cut = Decimal(WHOLE), Decimal(delta)
        laws: list[Law] = []
        for before, after in (*pairwise(table), (table[-1], table[-1])):
            x, y = Decimal(before) / whole, Decimal(after) / whole
            laws += [((y - cut, x), (1 - y, 1 - x)), ((x, y), (1 - x - cut, 1 - y))]
        logs = [[(_log(p), _log(q)) if p > 0 else (-math.inf, 0.0) for p, q in law] for law in laws]
        return laws, np.array(logs, dtype=np.float64)


def _log(probability: Decimal) -> float:
    return math.log(probability) if probability > 0 else -math.inf


@lru_cache(maxsize=65_536)
def _ln(probability: Decimal) -> Decimal:
    return probability.ln()


def _up(value: Decimal) -> float:
    """Return a float that is not smaller, by more than the error of the logarithm."""
    if not value.is_finite():
        return math.inf
    with localcontext(Context(prec=17, rounding=ROUND_CEILING)):
        return math.nextafter(float(+value), math.inf) if value else 0.0


@lru_cache(maxsize=512)
def _price_curve(table: tuple[int, ...], delta: float, orders: tuple[float, ...]) -> Curve:
    """Return the certified price at each of `ORDERS`, from that at some of them.

    The logarithm of the moment, (a - 1) times the price, is convex in the order a, and at most 0 at order 1. So a chord
    bounds it between two orders. Above the largest one the price is at most that at order infinity.
    """
    grid = sorted({*map(float, _CERTIFIED), *(order for order in orders if math.isfinite(order))})
    prices = np.array([certify(table, delta, order) for order in grid])
    last = certify(table, delta, math.inf)
    finite = ORDERS[:-1]
    places = np.array([1.0, *grid])
    logs = np.array([0.0, *(prices * (places[1:] - 1))])
    chords = np.interp(finite, places, logs) / (finite - 1) * (1 + 1e-12)
    exact = np.isin(finite, grid)
    chords[exact] = prices[np.searchsorted(grid, finite[exact])]
    curve = np.append(np.minimum(chords, last), last)
    curve.setflags(write=False)
    return curve

"""Adaptive streams of questions on neighbouring vaults, by the curve that is best at the vault's order; broken twins.

An opponent sees all that was released, and chooses what each unit does in the next question: it gives one of two
answers, or none, or has no part in it. A unit takes part while it can pay. `Stream.worst` is the largest mean of
e^((a-1)(loss - paid)) over all opponents, where u, the unit in question, has paid what the rule says. The filter needs
at most 1 (docs/privacy-details.md, "Selection that is best at the vault's order"). What a question does not pay
multiplies this mean at once, where the loss of a short stream hides it behind the balance.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import ORDERS, pure_curve
from discreet.privacy.mechanisms.optimal_selection import unseen_curve
from discreet.privacy.mechanisms.order_selection import OrderSelection
from discreet.privacy.noise import WHOLE
from tests.guarantee.privacy.laws import ADD_REMOVE, Votes, best_curve, least_moment

DELTA, WIDE = 1e-9, 0.02
"""The second is that of short streams: few votes span its curve."""
FIRST = ((2.7, 0.19), (8.9, 1.51))
SECOND = ((4.0, 0.315), (8.9, 1.51))
AWAY, SILENT = -2, -1
"""A unit that is not concerned, and one that takes part without an answer. Else a vote is an answer: 0 or 1."""
Balances = tuple[tuple[int, int], ...]
"""Of each other unit: what it has left in the vault with u, and in the vault without u."""


@dataclass
class Stream:
    """A rule: how answers are released, and what a unit pays. Prices and balances are whole multiples of `nats`.

    Attributes:
        curve: the probabilities of release, for 0 votes, 1 vote and so on.
        order: of the vault.
        hit, nothing: what is paid if an answer was released, and if none was.
        own: whether a unit pays by its own answer, and nothing without one; else all admitted units pay alike.
        start: votes that every answer has, so that few units reach all places of a long curve.
    """

    curve: tuple[float, ...]
    order: float
    hit: int = 1
    nothing: int = 1
    nats: float = 0.01
    delta: float = WIDE
    own: bool = False
    start: int = 0

    def chance(self, votes: int) -> float:
        return self.curve[min(votes + self.start, len(self.curve) - 1)]

    def law(self, votes: int) -> tuple[float, ...]:
        """The probabilities of what an answer with so many votes shows: nothing, its release, and so on."""
        return 1 - self.chance(votes), self.chance(votes)

    def price(self, vote: int, outcome: Votes, counts: Votes) -> int:
        """What a unit pays that has part in a question."""
        if self.own:
            return 0 if vote == SILENT else self.hit if outcome[vote] == 1 else self.nothing
        return self.hit if 1 in outcome else self.nothing

    @property
    def largest(self) -> int:
        return max(self.hit, self.nothing)

    def worst(self, questions: int, balance: int, others: Votes, *, busy: bool = False, paid: bool = True) -> float:
        """The largest mean of e^((a-1)(loss - paid)), or of e^((a-1) loss), in both directions.

        Args:
            balance, others: what u and the other units have at first.
            busy: whether u answers every question that it can pay for.
            paid: whether what u paid counts.
        """
        return max(self._worst(questions, balance, others, more, busy, paid) for more in (True, False))

    def _worst(self, questions: int, balance: int, others: Votes, more: bool, busy: bool, paid: bool) -> float:
        able = (0, 1) if busy else (0, 1, SILENT, AWAY)
        joint = lru_cache(maxsize=None)(self._joint)

        @cache
        def value(left: int, own: int, balances: Balances) -> float:
            if left == 0:
                return 1.0
            return max(
                asked(left, own, votes, vote)
                for votes in self._votes(balances)
                for vote in (able if own >= self.largest else (AWAY,))
            )

        def asked(left: int, own: int, votes: tuple[tuple[tuple[int, int], int], ...], vote: int) -> float:
            # The votes and counts in the vault with u, and in the one without.
            there = [tuple(v if has[w] >= self.largest else AWAY for has, v in votes) for w in (0, 1)]
            counts = [tuple(there[w].count(j) + (w == 0 and vote == j) for j in (0, 1)) for w in (0, 1)]
            outcomes, with_u, without_u = joint(*counts)
            weights = []
            for outcome in outcomes:
                price = 0 if vote == AWAY else self.price(vote, outcome, counts[0])
                rest = tuple(
                    tuple(
                        has[w] - (self.price(there[w][i], outcome, counts[w]) if there[w][i] != AWAY else 0)
                        for w in (0, 1)
                    )
                    for i, (has, _) in enumerate(votes)
                )
                factor = math.exp(-(self.order - 1) * price * self.nats) if paid else 1.0
                weights.append(factor * value(left - 1, own - price, tuple(sorted(rest))))
            scale = max((w for w in weights if math.isfinite(w)), default=1.0)
            laws = (with_u, without_u) if more else (without_u, with_u)
            cut = self.delta if vote >= 0 else 0.0
            return scale * least_moment(*laws, tuple(w / scale for w in weights), cut, self.order)

        return value(questions, balance, tuple(sorted((one, one) for one in others)))

    def _votes(self, balances: Balances) -> Iterator[tuple[tuple[tuple[int, int], int], ...]]:
        """All votes of other units; units with the same balances are interchangeable."""
        groups = [
            combinations_with_replacement(
                [(has, v) for v in ((AWAY, SILENT, 0, 1) if max(has) >= self.largest else (AWAY,))], count
            )
            for has, count in Counter(balances).items()
        ]
        for parts in product(*groups):
            yield tuple(one for part in parts for one in part)

    def _joint(self, first: Votes, second: Votes) -> tuple[list[Votes], tuple[float, ...], tuple[float, ...]]:
        """What both answers show, and its probability for the first counts and for the second."""
        outcomes: list[Votes] = list(product(range(len(self.law(0))), repeat=2))
        laws = [[self.law(votes) for votes in counts] for counts in (first, second)]
        p, q = (tuple(law[0][one] * law[1][two] for one, two in outcomes) for law in laws)
        return outcomes, p, q


SIZES = [(0, 6), (1, 5), (2, 4), (3, 3), (4, 3)]


@cache
def wide_curve(order: float, hit: float, nothing: float, delta: float = WIDE) -> tuple[float, ...]:
    return tuple(float(entry) for entry in best_curve(((order, hit, nothing),), delta))


def check_streams(rule: Stream, others: int, questions: int, full: int) -> float:
    """Assert that no stream exceeds what was paid, and that no loss exceeds the balance; return the worst if u is busy.

    Other units begin with a full balance, with one answer, or with none; so they and u drop out on the way.
    """
    for balances in combinations_with_replacement((0, rule.largest, full), others):
        assert rule.worst(questions, full, balances) <= 1 + 1e-9
        loss = rule.worst(questions, full, balances, paid=False)
        assert loss <= math.exp((rule.order - 1) * full * rule.nats) * (1 + 1e-9)
    return rule.worst(questions, full, (full,) * others, busy=True)


@pytest.mark.parametrize(("others", "questions"), SIZES)
def test_no_adaptive_stream_exceeds_what_was_paid(others: int, questions: int) -> None:
    """The price is that of the product, in the whole numbers of a ledger."""
    made = OrderSelection[str].best(((2.7, 0.2),), WIDE)
    grant = Budget(20.0, 1e-6, 5e-7)
    assert grant.order == 2.7
    nats = grant.filter_state(Spending.of(made.cost(ADD_REMOVE))).curve / 1e9
    assert nats == pytest.approx(0.2, abs=2e-9)
    rule = Stream(tuple(entry / WHOLE for entry in made.table), 2.7, nats=nats, delta=made.delta)
    reached = check_streams(rule, others, questions, full=max(1, questions - 1))
    assert reached >= 1 - 1e-8 or others == 0


@pytest.mark.parametrize(
    ("prices", "start"), [(FIRST, 4), (FIRST, 11), (FIRST, 20), (SECOND, 7), (SECOND, 21)], ids=str
)
def test_tables_of_the_specification_hold_in_streams(prices: tuple[tuple[float, float], ...], start: int) -> None:
    made, (order, price) = OrderSelection[str].best(prices, DELTA), prices[0]
    curve = tuple(entry / WHOLE for entry in made.table)
    rule = Stream(curve, order, nats=price + 1e-9, delta=made.delta, start=start)
    check_streams(rule, 2, 3, full=2)


@pytest.mark.parametrize("own", [True, False], ids=("own vote", "all alike"))
@pytest.mark.parametrize(("order", "hit", "nothing"), [(2.7, 40, 5), (4.0, 60, 10), (2.0, 100, 2)], ids=str)
def test_what_is_refunded_by_released_values_keeps_the_bound(order: float, hit: int, nothing: int, own: bool) -> None:
    """A rule of two prices: the larger is reserved, and the rest is returned where the outcome is public."""
    rule = Stream(wide_curve(order, hit / 100, nothing / 100), order, hit, nothing, own=own)
    assert check_streams(rule, 2, 3, full=2 * hit) == pytest.approx(1.0, abs=1e-9)


# -- twins -----------------------------------------------------------------------------------------------------------


def worst_of(rule: Stream, others: int, questions: int, *balances: int) -> float:
    """The worst stream: u begins with the largest of these balances, and each other unit with any of them."""
    return max(rule.worst(questions, max(balances), each) for each in combinations_with_replacement(balances, others))


@pytest.mark.parametrize(
    ("order", "hit", "nothing", "free", "as_nothing"),
    [(2.7, 40, 5, 1.29, 1.76), (4.0, 60, 10, 2.46, 17.4), (2.0, 100, 2, 1.06, 1.37)],
    ids=str,
)
def test_a_free_bottom_and_a_hit_at_its_price_are_caught(
    order: float, hit: int, nothing: int, free: float, as_nothing: float
) -> None:
    curve = wide_curve(order, hit / 100, nothing / 100)
    assert worst_of(Stream(curve, order, hit, 0), 3, 3, 2 * hit) == pytest.approx(free, abs=0.005)
    assert worst_of(Stream(curve, order, nothing, nothing), 3, 3, 2 * hit) == pytest.approx(as_nothing, rel=0.003)


def test_a_free_bottom_of_one_price_is_caught() -> None:
    curve = wide_curve(2.7, 0.2, 0.2)
    assert worst_of(Stream(curve, 2.7, 20, 0), 3, 3, 100) == pytest.approx(1.864, abs=0.001)
    assert worst_of(Stream(curve, 2.7, 0, 20), 1, 1, 0, 20) == pytest.approx(1.174, abs=0.001)


@pytest.mark.parametrize(("order", "exceeds"), [(2.7, 15.7), (4.0, 238.0)])
def test_hits_alone_are_no_payment(order: float, exceeds: float) -> None:
    """Optimal selection at epsilon 1, of which "nothing" is free."""
    curve = tuple(entry / WHOLE for entry in unseen_curve(1.0, WIDE))
    price = float(np.interp(order, ORDERS[:-1], pure_curve(1.0)[:-1]))
    rule = Stream(curve, order, 1, 0, nats=price)
    assert worst_of(rule, 3, 3, 5) == pytest.approx(exceeds, rel=0.002)


def test_a_table_at_the_price_of_another_order_is_caught() -> None:
    curve = wide_curve(2.7, 0.2, 0.2)
    assert worst_of(Stream(curve, 2.7, nats=0.2), 3, 3, 2) == pytest.approx(1.0, abs=1e-9)
    assert worst_of(Stream(curve, 4.0, nats=0.2), 3, 3, 2) == pytest.approx(4.45, abs=0.01)


class Hopeful(Stream):
    """A unit is admitted if it can pay for nothing."""

    @property
    def largest(self) -> int:
        return min(self.hit, self.nothing)


@pytest.mark.parametrize(("order", "hit", "nothing", "moment"), [(2.7, 40, 5, 1.31), (4.0, 60, 10, 3.50)], ids=str)
def test_admission_by_the_smaller_price_is_caught(order: float, hit: int, nothing: int, moment: float) -> None:
    rule = Hopeful(wide_curve(order, hit / 100, nothing / 100), order, hit, nothing)
    found = rule.worst(3, nothing, (2 * hit,) * 3, paid=False)
    assert found == pytest.approx(moment, abs=0.005)
    assert found > 1.2 * math.exp((order - 1) * nothing / 100)


class Redrawn(Stream):
    """What was not released is drawn once more, unpaid."""

    def law(self, votes: int) -> tuple[float, ...]:
        never = (1 - self.chance(votes)) ** 2
        return never, 1 - never


class NearMiss(Stream):
    """Beside a release and nothing it shows that one vote more had been enough."""

    def law(self, votes: int) -> tuple[float, ...]:
        here, above = self.chance(votes), self.chance(votes + 1)
        return 1 - above, here, above - here


class LeadersPay(Stream):
    """Only those pay who gave the answer of the most votes, by the true counts."""

    def price(self, vote: int, outcome: Votes, counts: Votes) -> int:
        return self.hit if vote != SILENT and counts[vote] == max(counts) else 0


class RealisedLoss(Stream):
    """A unit pays what its vote lost, at the true count: the log-ratio of the outcome with and without it."""

    def price(self, vote: int, outcome: Votes, counts: Votes) -> int:
        if vote == SILENT:
            return 0
        with_it, without_it = (self.law(counts[vote] - less)[outcome[vote]] for less in (0, 1))
        return min(self.hit, math.ceil(abs(math.log(with_it / without_it)) / self.nats)) if without_it else self.hit


def test_a_bottom_drawn_again_is_caught() -> None:
    assert worst_of(Redrawn(wide_curve(2.7, 0.2, 0.2), 2.7, nats=0.2), 0, 1, 1) == math.inf


def test_a_near_miss_that_shows_is_caught() -> None:
    assert worst_of(NearMiss(wide_curve(2.7, 0.2, 0.2), 2.7, nats=0.2), 1, 3, 0, 1, 3) > 1.1
    assert worst_of(NearMiss(wide_curve(2.7, 0.2, 0.2), 2.7, nats=0.2, start=6), 0, 1, 1) > 1.1


@pytest.mark.parametrize(("twin", "balances"), [(LeadersPay, (20, 40)), (RealisedLoss, (100, 110, 220))])
def test_a_price_by_true_counts_is_caught(twin: type[Stream], balances: Votes) -> None:
    """What others have left then depends on u, also where u has no part."""
    largest = balances[0]
    rule = twin(wide_curve(2.7, 0.2, 0.2), 2.7, largest, largest)
    assert worst_of(rule, 2, 2, *balances) == math.inf


@pytest.mark.parametrize("second", [True, False], ids=("with u", "without u"))
def test_the_same_bits_for_two_questions_are_caught(second: bool) -> None:
    """One draw of bits decides two questions, and one is paid. If u has no part in the second, no price is enough."""
    rule, worst = Stream(wide_curve(2.7, 0.2, 0.2), 2.7), 0.0
    for first, other in product(range(9), repeat=2):
        laws = []
        for votes in ((first + 1, other + second), (first, other)):
            one, two = (rule.chance(count) for count in votes)
            laws.append((1 - max(one, two), max(one - two, 0.0), max(two - one, 0.0), min(one, two)))
        for p, q in (laws, laws[::-1]):
            worst = max(worst, least_moment(p, q, (math.exp(-1.7 * 0.2),) * 4, WIDE, 2.7))
    assert worst > 1.2 if second else worst == math.inf

"""What a mechanism, a cost or a caller may get wrong, and where it is stopped."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BudgetExhausted, LedgerError, PrivateValueError
from discreet.privacy.accounting import Budget, Spending, budget_for
from discreet.privacy.costs import ORDERS, BoundedRange, Cost, Curve, Pure, Together, ZeroConcentrated
from discreet.privacy.filter import Charge, MemoryLedger, PrivacyFilter, Run
from discreet.privacy.mechanisms.selection import SparseVector
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change, Private, Relation

CHANGE = Change(1, Relation.REPLACE)
LARGE = Budget(100.0, 1e-5)


@dataclass(frozen=True)
class Odd:
    """A cost that somebody else wrote."""

    curve: Curve
    delta: float = 0.0

    def describe(self) -> dict[str, float | str]:
        return {"kind": "odd"}


@pytest.mark.parametrize(
    "cost",
    [
        Odd(np.full(len(ORDERS), math.nan)),
        Odd(np.full(len(ORDERS), -1.0)),
        Odd(np.ones(1)),
        Odd(np.ones(len(ORDERS)), math.nan),
        Odd(np.ones(len(ORDERS)), -1e-6),
    ],
)
def test_what_is_not_a_cost_is_not_added_up(cost: Odd) -> None:
    """A NaN in whole numbers is a large negative one: it would refill a budget."""
    with pytest.raises(ValueError, match="at least 0"):
        Spending.of(cost)


@dataclass
class Recording:
    """A mechanism that looks at the ledger while it draws, and then fails if told so."""

    ledger: MemoryLedger
    price: Cost
    fails: bool = False
    seen: Spending | None = None

    def cost(self, change: Change) -> Cost:
        return self.price

    def draw(self, shares: Sequence[int], noise: Noise) -> int:
        self.seen = self.ledger.spent()
        if self.fails:
            raise RuntimeError
        return 0


@pytest.mark.parametrize("fails", [False, True])
def test_the_charge_is_on_record_when_the_draw_begins(fails: bool) -> None:
    ledger = MemoryLedger(LARGE)
    mechanism = Recording(ledger, Pure(1.0), fails)
    privacy = PrivacyFilter(ledger, LARGE, "q")
    try:
        privacy.release(mechanism, Private([1], CHANGE))
    except PrivateValueError:
        assert fails
    assert mechanism.seen == Spending.of(Pure(1.0)) == ledger.spent()
    assert len(privacy.receipt().charges) == 1


class BrokenLedger(MemoryLedger):
    """A ledger that cannot be written."""

    def charge(self, charge: Charge) -> bool:
        raise LedgerError("no space left on device")


def test_nothing_is_drawn_when_the_ledger_cannot_be_written() -> None:
    ledger = BrokenLedger(LARGE)
    mechanism = Recording(ledger, Pure(1.0))
    privacy = PrivacyFilter(ledger, LARGE, "q")
    with pytest.raises(LedgerError):
        privacy.release(mechanism, Private([1], CHANGE))
    assert mechanism.seen is None
    assert privacy.receipt().charges == ()
    assert privacy.receipt().epsilon == 0.0


def test_one_key_is_not_charged_twice_nor_with_another_cost() -> None:
    ledger = MemoryLedger(LARGE)
    for _ in range(2):
        ledger.charge(Charge("q", 0, "test", CHANGE, Pure(1.0)))
    assert ledger.spent() == Spending.of(Pure(1.0))
    with pytest.raises(LedgerError, match="another cost"):
        ledger.charge(Charge("q", 0, "test", CHANGE, Pure(50.0)))


def test_a_share_says_yes_once_however_large_it_is() -> None:
    """The sensitivity of a count of shares is one by construction, not by the caller's good will."""

    class Silent:
        secure = False

        def laplace(self, scale: float) -> int:
            return 0

    ask = SparseVector(3, 1.0, 1.0).start(Silent())  # type: ignore[arg-type]
    assert ask([1000, 0, 0]) == (True, True)  # type: ignore[list-item]


def test_a_run_stays_over_and_shows_nothing_but_its_answer() -> None:
    opened: list[tuple[int, ...]] = []

    def ask(shares: Sequence[int]) -> tuple[str, bool]:
        opened.append(tuple(shares))
        return "fired", True

    run: Run[int, str] = Run(ask, CHANGE)
    for change in (Change(2, Relation.REPLACE), Change(1, Relation.ADD_REMOVE)):
        with pytest.raises(PrivateValueError, match="paid for"):
            run.ask(Private([1], change))
    assert opened == []
    assert run.ask(Private([1], CHANGE)) == "fired"
    for _ in range(2):
        with pytest.raises(PrivateValueError, match="over"):
            run.ask(Private([1], CHANGE))
    assert opened == [(1,)]


# -- budgets -------------------------------------------------------------------------------------------------------


@given(st.floats(1e-3, 100), st.floats(1e-12, 0.5))
def test_nothing_spent_is_nothing_and_all_of_it_is_left(epsilon: float, delta: float) -> None:
    budget = Budget(epsilon, delta)
    assert budget.spent(Spending.nothing()) == 0.0
    assert budget.left(Spending.nothing()) == epsilon


@given(st.floats(0.5, 20), st.floats(1.0, 1.5), st.floats(1e-9, 1e-3), st.floats(1, 100), st.integers(1, 30))
def test_more_epsilon_or_delta_never_affords_less(
    epsilon: float, more: float, delta: float, larger: float, count: int
) -> None:
    token = Together((Pure(0.25), BoundedRange(0.25)))
    few = budget_for(token, epsilon, delta).affordable(token)
    assert few <= budget_for(token, epsilon * more, delta).affordable(token)
    assert few <= budget_for(token, epsilon, min(delta * larger, 0.1)).affordable(token)
    assert Spending.of(token, count).epsilon(delta) <= Spending.of(token, count + 1).epsilon(delta)


def test_failure_probabilities_add_up_exactly() -> None:
    budget = Budget(50.0, 1e-5, 1e-6)
    spent = Spending.nothing()
    for _ in range(10):
        spent += Spending.of(BoundedRange(0.1, 1e-7))
        assert budget.admits(spent)
    assert spent.failure_atto == 10**12
    assert not budget.admits(spent + Spending.of(BoundedRange(0.0, 1e-18)))


kinds = st.sampled_from([Pure, BoundedRange, ZeroConcentrated])
Step = tuple[int, Callable[..., Cost], float, float]


@given(st.lists(st.tuples(st.integers(0, 2), kinds, st.floats(0, 1.5), st.sampled_from([0.0, 2e-7])), max_size=25))
def test_a_refused_charge_leaves_no_trace_under_any_interleaving(steps: list[Step]) -> None:
    ledger, ceiling = MemoryLedger(Budget(3.0, 1e-5, 1e-6)), Budget(1.5, 1e-5, 5e-7)
    filters = [PrivacyFilter(ledger, ceiling, str(number)) for number in range(3)]
    for question, kind, size, delta in steps:
        privacy = filters[question]
        before, receipts = ledger.spent(), [f.receipt() for f in filters]
        mechanism = Recording(ledger, kind(size, delta))
        try:
            privacy.release(mechanism, Private([1], CHANGE))
        except BudgetExhausted:
            assert mechanism.seen is None
            assert ledger.spent() == before
            assert [f.receipt() for f in filters] == receipts
        assert ledger.budget.admits(ledger.spent())
    for privacy in filters:
        paid = sum((Spending.of(charge.cost) for charge in privacy.receipt().charges), Spending.nothing())
        assert ceiling.admits(paid)
        assert privacy.receipt().epsilon == (ceiling.spent(paid) if privacy.receipt().charges else 0.0)

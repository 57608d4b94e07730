"""What every ledger promises, on each that there is."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import BudgetExhausted
from discreet.ledger.postgres import PostgresLedger
from discreet.ledger.sqlite import SqliteLedger
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.change import Change, Relation
from discreet.privacy.costs import BoundedRange, NonPrivate, Pure
from discreet.privacy.ledger import Charge, Ledger, MemoryLedger

BUDGET = Budget(3.0, 1e-5, 1e-6)
CHANGE = Change(1, Relation.REPLACE)
Make = Callable[[], Ledger]


def pay(ledger: Ledger, question: str, number: int, epsilon: float, delta: float = 0.0) -> None:
    ledger.charge(Charge(question, number, "test", CHANGE, BoundedRange(epsilon, delta)))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    numbers = iter(range(10_000))
    if request.param == "memory":
        return lambda: MemoryLedger(BUDGET)
    if request.param == "sqlite":
        return lambda: SqliteLedger.create(tmp_path / f"{next(numbers)}.sqlite", BUDGET)
    url, name = request.getfixturevalue("url"), request.getfixturevalue("name")
    return lambda: PostgresLedger.create(url, f"{name}{next(numbers):x}", BUDGET)


def test_charges_add_up(make: Make) -> None:
    ledger = make()
    pay(ledger, "q", 0, 0.5)
    pay(ledger, "q", 1, 0.25, 1e-7)
    assert ledger.spent() == Spending.of(BoundedRange(0.5)) + Spending.of(BoundedRange(0.25, 1e-7))


def test_a_charge_is_made_once_however_often_it_is_asked_for(make: Make) -> None:
    ledger = make()
    for _ in range(3):
        pay(ledger, "q", 0, 0.5)
    assert ledger.spent() == Spending.of(BoundedRange(0.5))


def test_what_does_not_fit_is_refused_and_leaves_no_trace(make: Make) -> None:
    ledger = make()
    pay(ledger, "q", 0, 2.0)
    before = ledger.spent()
    with pytest.raises(BudgetExhausted) as refusal:
        pay(ledger, "q", 1, 2.0)
    assert ledger.spent() == before
    assert refusal.value.left == pytest.approx(1.0)
    pay(ledger, "q", 1, 1.0)


def test_failures_have_a_share_of_their_own(make: Make) -> None:
    ledger = make()
    with pytest.raises(BudgetExhausted):
        pay(ledger, "q", 0, 0.1, 1.1e-6)
    pay(ledger, "q", 0, 0.1, 0.9e-6)


def test_what_is_not_private_never_fits(make: Make) -> None:
    with pytest.raises(BudgetExhausted):
        make().charge(Charge("q", 0, "plain", CHANGE, NonPrivate()))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 5), st.floats(0.0, 2.0), st.sampled_from([0.0, 1e-8, 4e-7])),
        max_size=12,
    )
)
def test_every_interleaving_stays_within_the_budget_and_agrees_with_the_sum(
    make: Make, charges: list[tuple[int, int, float, float]]
) -> None:
    ledger, paid = make(), dict[tuple[int, int], Spending]()
    for question, number, epsilon, delta in charges:
        if (question, number) in paid:
            continue
        try:
            pay(ledger, str(question), number, epsilon, delta)
            paid[question, number] = Spending.of(BoundedRange(epsilon, delta))
        except BudgetExhausted:
            refused = sum(paid.values(), Spending.nothing()) + Spending.of(BoundedRange(epsilon, delta))
            assert not BUDGET.admits(refused)
        assert ledger.spent() == sum(paid.values(), Spending.nothing())
        assert BUDGET.admits(ledger.spent())


def test_pure_charges_use_up_the_budget_exactly(make: Make) -> None:
    ledger = make()
    for number in range(3):
        ledger.charge(Charge("q", number, "test", CHANGE, Pure(1.0)))
    assert ledger.budget.left(ledger.spent()) == 0.0

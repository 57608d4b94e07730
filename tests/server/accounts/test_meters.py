"""Meters: a cap is never exceeded, and a settlement never raises a charge."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule

from discreet.privacy.accounting import Budget, FilterState, Spending
from discreet.privacy.costs import Cost, Pure, ZeroConcentrated
from discreet_server.accounts import Key, KeyExhausted, RateLimited, Reservation, Settled
from discreet_server.wire import UnitCharge
from tests.server.accounts.helpers import GRANT, Bank, gaussian, grant_of, pure


def test_cap_is_spent_to_the_last_question(bank: Bank) -> None:
    key = bank.key(10.0)
    assert all(isinstance(bank.ask(key, pure(2.5)), Reservation) for _ in range(4))
    refused = bank.ask(key, pure(2.5))
    assert isinstance(refused, KeyExhausted)
    assert (refused.code, refused.asked) == ("key_budget_exhausted", 2.5)
    assert (refused.left, refused.would_fit) == pytest.approx((0, 0), abs=1e-6)
    assert bank.accounts.odometer(key.id).questions == 4


@pytest.mark.parametrize("cap", [0.5, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("cost", [Pure(0.974), Pure(0.1), ZeroConcentrated(0.01), ZeroConcentrated(0.002)])
def test_spent_is_what_the_sentence_says(cost: Cost, cap: float) -> None:
    """`how_spent_is_read`: after one question the receipt or more, after many no more than the sum of the receipts."""
    budget, one = Budget(cap, 1e-6), Spending.of(cost)
    receipt = one.epsilon(1e-6)
    assert budget.spent(one) >= receipt * (1 - 1e-9)
    assert budget.spent(one.times(200)) <= 200 * receipt * (1 + 1e-9)


def test_refusal_tells_what_would_fit(bank: Bank) -> None:
    key = bank.key(4.0)
    bank.ask(key, pure(2.5))
    refused = bank.ask(key, pure(2.5))
    assert isinstance(refused, KeyExhausted)
    assert refused.left == pytest.approx(1.5)
    assert 1.4 <= refused.would_fit <= 1.5
    assert isinstance(bank.ask(key, pure(refused.would_fit)), Reservation)


def test_settlement_returns_what_was_not_spent(bank: Bank) -> None:
    key = bank.key()
    bank.ask(key, pure(2.5))
    assert bank.accounts.settle(bank.last, pure(1)) == Settled(new=True)
    assert bank.accounts.odometer(key.id).spent == pytest.approx(1)
    assert bank.accounts.settle(bank.last, UnitCharge.nothing()) == Settled(new=False)
    assert bank.accounts.odometer(key.id).spent == pytest.approx(1)


def test_gaussian_charge_is_returned_whole(bank: Bank) -> None:
    for key in (bank.key(), bank.key(5.0, reserved=True)):
        bank.ask(key, gaussian(0.1))
        bank.accounts.settle(bank.last, UnitCharge.nothing())
        assert bank.accounts.odometer(key.id).spending == Spending.nothing()
    assert grant_of(bank.accounts).pool == Spending.nothing()


def test_settlement_above_the_ceiling_stays_at_it(bank: Bank) -> None:
    key = bank.key()
    bank.ask(key, pure(2))
    assert bank.accounts.settle(bank.last, pure(5)) == Settled(new=True, exceeded=True)
    assert bank.accounts.odometer(key.id).spent == pytest.approx(2)
    assert bank.accounts.receipt(key.id, bank.last)["epsilon"] == pytest.approx(2)  # type: ignore[index]


def test_free_question_needs_no_cap(bank: Bank) -> None:
    key = bank.key(1.0, questions=1)
    bank.ask(key, pure(1))
    assert isinstance(bank.ask(key, UnitCharge.nothing()), Reservation)
    assert bank.accounts.odometer(key.id).questions == 1


def test_question_that_cost_nothing_is_not_counted(bank: Bank) -> None:
    key = bank.key(10.0, questions=1)
    bank.ask(key, pure(1))
    assert bank.ask(key, pure(1)).code == "key_questions_exhausted"  # type: ignore[attr-defined]
    bank.accounts.settle(bank.last[:-1] + f"{bank.count - 1:x}", UnitCharge.nothing())
    assert isinstance(bank.ask(key, pure(1)), Reservation)


def test_cap_per_question(bank: Bank) -> None:
    key = bank.key(10.0, per_question=2.0)
    assert bank.ask(key, pure(2.5)) == KeyExhausted("per_question_limit", 2.5, 10.0, 2.0)
    assert not isinstance(bank.ask(key, pure(2.000000009)), KeyExhausted)  # a count of epsilon 2, by its receipt
    assert isinstance(bank.ask(key, pure(2.0)), Reservation)


def test_rate_admits_again_when_the_window_moves(bank: Bank) -> None:
    key = bank.key(10.0, rate=(2, 60.0))
    bank.ask(key, pure(0.1))
    bank.clock.now += 10
    bank.ask(key, pure(0.1))
    assert bank.ask(key, pure(0.1)) == RateLimited(50)
    bank.clock.now += 49
    assert bank.ask(key, pure(0.1)) == RateLimited(1)
    bank.clock.now += 1
    assert isinstance(bank.ask(key, pure(0.1)), Reservation)


def test_rate_holds_if_the_clock_goes_back(bank: Bank) -> None:
    key = bank.key(10.0, rate=(1, 60.0))
    bank.ask(key, pure(0.1))
    bank.clock.now -= 1_000
    assert bank.ask(key, pure(0.1)) == RateLimited(60)


def test_odometer_counts_how_many_more_fit(bank: Bank) -> None:
    key = bank.key(10.0, questions=3)
    meter = bank.accounts.odometer(key.id)
    assert meter.more(pure(2.5)) == 3
    assert meter.more(pure(4)) == 2
    assert meter.more(UnitCharge.nothing()) is None
    wide = bank.key(10.0)
    count = bank.accounts.odometer(wide.id).more(gaussian(0.05))
    assert count is not None
    for _ in range(count):
        assert isinstance(bank.ask(wide, gaussian(0.05)), Reservation)
    assert isinstance(bank.ask(wide, gaussian(0.05)), KeyExhausted)


CHARGES = st.one_of(
    st.floats(0.01, 4).map(pure), st.floats(0.001, 0.3).map(gaussian), st.just(pure(0.5, 1e-7)), st.just(pure(0.0))
)


class Meters(RuleBasedStateMachine):
    """Keys of all kinds that ask and settle in any order."""

    asked: Bundle[tuple[str, UnitCharge]] = Bundle("asked")

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.bank = Bank(Path(self._folder.name) / "accounts.sqlite")
        self.keys = [
            self.bank.key(6.0, reserved=True),
            self.bank.key(5.0, reserved=True),
            self.bank.key(8.0),
            self.bank.key(20.0, questions=5),
        ]
        self.paid: dict[str, tuple[Key, UnitCharge]] = {}

    def teardown(self) -> None:
        self.bank.accounts.close()
        self._folder.cleanup()

    @rule(target=asked, number=st.integers(0, 3), charge=CHARGES)
    def ask(self, number: int, charge: UnitCharge) -> Any:
        key = self.keys[number]
        if not isinstance(self.bank.ask(key, charge), Reservation):
            return multiple()
        self.paid[self.bank.last] = (key, charge)
        return (self.bank.last, charge)

    @rule(question=asked, part=st.sampled_from(["nothing", "all", "more"]))
    def settle(self, question: tuple[str, UnitCharge], part: str) -> None:
        number, most = question
        before = self.bank.accounts.odometer(self.paid[number][0].id).spending
        spent = {"nothing": UnitCharge.nothing(), "all": most, "more": pure(30.0)}[part]
        settled = self.bank.accounts.settle(number, spent)
        assert settled.exceeded == (settled.new and part == "more")
        after = self.bank.accounts.odometer(self.paid[number][0].id).spending
        assert after.within(before)
        if settled.new and not settled.exceeded:
            self.paid[number] = (self.paid[number][0], spent)

    @invariant()
    def meters_are_sums_within_their_caps(self) -> None:
        for key in self.keys:
            meter = self.bank.accounts.odometer(key.id)
            charges = [charge for owner, charge in self.paid.values() if owner == key]
            assert meter.spending == sum((charge.spending for charge in charges), Spending.nothing())
            assert key.budget.admits(meter.spending)
            assert meter.questions == sum(charge.spending != Spending.nothing() for charge in charges)
            assert key.questions is None or meter.questions <= key.questions

    @invariant()
    def a_unit_that_paid_for_everything_fits_the_grant(self) -> None:
        state = FilterState()
        for _, charge in self.paid.values():
            state += GRANT.filter_state(charge.spending)
        assert GRANT.admits_state(state)

    @invariant()
    def a_reserved_key_can_spend_its_whole_share(self) -> None:
        grant = grant_of(self.bank.accounts)
        state = FilterState()
        for _, charge in self.paid.values():
            state += GRANT.filter_state(charge.spending)
        for key in self.keys[:2]:
            own = grant.read(self.bank.accounts.odometer(key.id).spending)
            left = grant.part(key.epsilon).loss - own.loss
            assert GRANT.admits_state(state + FilterState(curve=left, pure=10**15, failures=0))


TestMeters = Meters.TestCase
TestMeters.settings = settings(max_examples=8, stateful_step_count=12, deadline=None)

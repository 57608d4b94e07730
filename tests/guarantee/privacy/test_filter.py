"""Nothing is drawn that was not paid for; nothing is paid that does not fit."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BudgetExhausted, DiscreetError, LedgerError, PrivateValueError
from discreet.privacy.account import CorpusAccount, UnitAccount
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import BoundedRange, Cost, Pure
from discreet.privacy.filter import Charge, MemoryLedger, NotPrivateFilter, PrivacyFilter
from discreet.privacy.mechanisms.selection import ExponentialMechanism, SparseVector, vote_scale
from discreet.privacy.noise import InsecureSeededNoise, Noise
from discreet.privacy.partition import ADD_REMOVE_ONE, Member
from discreet.privacy.private import Change, Private, Relation

CHANGE = Change(1, Relation.REPLACE)
LARGE = Budget(100.0, 1e-5)


@dataclass
class Recording:
    """A mechanism of a given cost that remembers its draws, and may fail in them."""

    price: Cost
    fails: bool = False
    draws: list[int] = field(default_factory=list)

    def cost(self, change: Change) -> Cost:
        return self.price

    def draw(self, shares: Sequence[int], noise: Noise) -> int:
        self.draws.append(len(shares))
        if self.fails:
            raise RuntimeError
        return sum(shares)


def sealed() -> Private[int]:
    return Private([1, 2, 3], CHANGE)


def test_paid_before_drawn() -> None:
    ledger = MemoryLedger(LARGE)
    failing = Recording(Pure(1.0), fails=True)
    with pytest.raises(PrivateValueError, match="RuntimeError"):
        PrivacyFilter(ledger, LARGE, "q").release(failing, sealed())
    assert ledger.spent() == Spending.of(Pure(1.0))


@pytest.mark.parametrize(("ceiling", "grant"), [(Budget(0.5, 1e-5), LARGE), (LARGE, Budget(0.5, 1e-5))])
def test_nothing_is_drawn_when_ceiling_or_ledger_refuses(ceiling: Budget, grant: Budget) -> None:
    ledger, mechanism = MemoryLedger(grant), Recording(Pure(1.0))
    privacy = PrivacyFilter(ledger, ceiling, "q")
    assert not privacy.fits([mechanism], CHANGE)
    with pytest.raises(BudgetExhausted):
        privacy.release(mechanism, sealed())
    assert mechanism.draws == []
    assert ledger.spent() == Spending.nothing()
    assert privacy.receipt().charges == ()


def test_cost_follows_from_the_change_of_the_value() -> None:
    scale = vote_scale(CHANGE, 1.0)
    for relation, epsilon in ((Relation.REPLACE, 1.0), (Relation.ADD_REMOVE, 0.5)):
        ledger = MemoryLedger(LARGE)
        votes = Private([1, 1, 2], Change(1, relation))
        PrivacyFilter(ledger, LARGE, "q").release(ExponentialMechanism(4, scale), votes)
        assert ledger.spent() == Spending.of(BoundedRange(epsilon))


def test_a_run_that_fired_refuses_to_go_on() -> None:
    privacy = PrivacyFilter(MemoryLedger(LARGE), LARGE, "q")
    votes = Private([True] * 50, CHANGE)
    run = privacy.start(SparseVector(10, 0.1, 0.1), votes)
    assert not run.ask(votes)
    assert run.ask(votes.map(lambda vote: False))
    with pytest.raises(PrivateValueError, match="over"):
        run.ask(votes)
    assert len(privacy.receipt().charges) == 1


def test_a_run_takes_only_what_it_was_paid_for() -> None:
    privacy = PrivacyFilter(MemoryLedger(LARGE), LARGE, "q")
    run = privacy.start(SparseVector.calibrated(1.0, 3, CHANGE), sealed())
    with pytest.raises(PrivateValueError, match="paid for"):
        run.ask(Private([True], Change(2, Relation.REPLACE)))


def test_insecure_noise_is_for_simulations() -> None:
    real = MemoryLedger(LARGE, simulation=False)
    with pytest.raises(DiscreetError, match="simulation"):
        PrivacyFilter(real, LARGE, "q", noise=InsecureSeededNoise(1))
    PrivacyFilter(MemoryLedger(LARGE, simulation=True), LARGE, "q", noise=InsecureSeededNoise(1))


def test_a_receipt_adds_up_and_says_what_ran() -> None:
    privacy = PrivacyFilter(MemoryLedger(LARGE), Budget(10.0, 1e-5), "q", unit="patient")
    assert (privacy.receipt().epsilon, privacy.receipt().delta) == (0.0, 0.0)
    for _ in range(2):
        privacy.release(Recording(Pure(1.5)), sealed())
    told = privacy.receipt().describe()
    assert told["epsilon"] == pytest.approx(3.0)
    assert (told["delta"], told["unit"], told["relation"]) == (1e-5, "patient", "add-remove")
    assert [(charge["cost"]["epsilon"], charge["times"]) for charge in told["charges"]] == [(1.5, 2)]
    assert told["noise"] == "SystemNoise"


def test_without_a_guarantee_the_receipt_promises_nothing() -> None:
    privacy = NotPrivateFilter(MemoryLedger(LARGE), LARGE, "q")
    assert privacy.release(Recording(Pure(1e9)), sealed()) == 6
    assert privacy.receipt().describe()["private"] is False


releases = st.lists(st.tuples(st.integers(0, 3), st.floats(0.01, 2.0), st.booleans()), max_size=25)


@given(releases)
def test_no_interleaving_of_questions_exceeds_ceiling_or_grant(steps: list[tuple[int, float, bool]]) -> None:
    ledger, ceiling = MemoryLedger(Budget(4.0, 1e-5)), Budget(2.0, 1e-5)
    filters = [PrivacyFilter(ledger, ceiling, str(number)) for number in range(4)]
    for question, epsilon, pure in steps:
        mechanism = Recording(Pure(epsilon) if pure else BoundedRange(epsilon))
        fits = filters[question].fits([mechanism], CHANGE)
        try:
            filters[question].release(mechanism, sealed())
            assert fits
        except BudgetExhausted:
            assert not fits
            assert mechanism.draws == []
        assert ledger.budget.admits(ledger.spent())
        assert all(privacy.receipt().epsilon <= 2.0 for privacy in filters)
    charged = sum((Spending.of(charge.cost) for charge in ledger.charges.values()), Spending.nothing())
    assert charged == ledger.spent()


def test_a_refusal_says_asked_and_left() -> None:
    ledger = MemoryLedger(Budget(1.0, 1e-5))
    ledger.charge(Charge("q", 0, "test", CHANGE, Pure(0.7)))
    with pytest.raises(BudgetExhausted) as refusal:
        ledger.charge(Charge("q", 1, "test", CHANGE, Pure(0.6)))
    assert refusal.value.left == pytest.approx(0.3)
    assert refusal.value.asked == pytest.approx(0.6)


def test_paid_question_is_not_drawn_again() -> None:
    ledger = MemoryLedger(LARGE)
    PrivacyFilter(ledger, LARGE, "q").release(Recording(Pure(1.0)), sealed())
    again = Recording(Pure(1.0))
    with pytest.raises(LedgerError, match="not drawn again"):
        PrivacyFilter(ledger, LARGE, "q").release(again, sealed())
    assert again.draws == []
    assert ledger.spent() == Spending.of(Pure(1.0))


@pytest.mark.parametrize("paid", ["admitted", "every unit"])
def test_filter_draws_nothing_after_settlement(paid: str) -> None:
    """What was not spent is the unit's again: a draw from it would be free."""
    ledger, mechanism = MemoryLedger(LARGE), Recording(Pure(4.0))
    account = UnitAccount(ledger, "q")
    if paid == "admitted":
        _, privacy = account.admit(Private([Member(b"u" * 16, 7)], ADD_REMOVE_ONE), Spending.of(Pure(8.0)))
    else:
        privacy = account.charge_every_unit(Spending.of(Pure(8.0))).paid
    privacy.release(mechanism, sealed())
    account.settle()
    before = ledger.spent(), ledger.unit_balances()
    with pytest.raises(LedgerError, match="settled"):
        privacy.release(mechanism, sealed())
    assert len(mechanism.draws) == 1
    assert (ledger.spent(), ledger.unit_balances()) == before
    account.settle()  # a second time changes nothing


@pytest.mark.parametrize("drawn", [0, 1])
def test_forfeit_pays_what_the_rest_would_or_is_refused(drawn: int) -> None:
    """Another question spends meanwhile: a failure pays, in order, what draws would pay, and is refused as they are."""
    plan = [Pure(1.0), Pure(3.0), Pure(3.0)]
    for rest in (0.5, 1.5, 3.5, 4.5, 9.0):
        seen = []
        for failing in (True, False):
            ledger = MemoryLedger(Budget(8.0 + rest, 1e-5, accountant="pure"))
            account = CorpusAccount(ledger, Budget(7.0, 1e-5, accountant="pure"), "q")
            privacy = account.charge_every_unit(Spending.nothing()).paid
            for cost in plan[:drawn]:
                privacy.release(Recording(cost), sealed())
            ledger.charge(Charge("other", 0, "test", CHANGE, Pure(8.0 - sum(cost.epsilon for cost in plan[:drawn]))))
            refusal = None
            try:
                if failing:
                    account.forfeit(plan)
                else:
                    for cost in plan[drawn:]:
                        privacy.release(Recording(cost), sealed())
            except BudgetExhausted as error:
                refusal = str(error), error.asked, error.left
            seen.append((refusal, ledger.spent(), account.receipt().epsilon))
        assert seen[0] == seen[1]
        assert (seen[0][0] is None) == (rest >= 7.0 - sum(cost.epsilon for cost in plan[:drawn]))

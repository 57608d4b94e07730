"""The conformance suite of ledgers. `MemoryLedger` is the reference."""

from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BudgetExhausted, LedgerError
from discreet.privacy.accounting import Accountant, Budget, Spending
from discreet.privacy.costs import BoundedRange, Cost, NonPrivate, Pure, ZeroConcentrated
from discreet.privacy.filter import Charge, Ledger, MemoryLedger, UnitLedger
from discreet.privacy.private import Change, Relation
from discreet.testing.settings import QUICK

CHANGE = Change(1, Relation.REPLACE)
# Any bytes are a name: zeros, quotes, bytes that are not UTF-8.
UNITS = [bytes(16), b"\xff" * 16, b"'; drop table un", b"\x00" * 15 + b"\x01", b"%(keys)s :curve?"]
# Small and large costs, costs that can fail, costs without a bound at order infinity, a cost that no unit can pay.
COSTS: list[Cost] = [
    Pure(0.0),
    Pure(0.4),
    BoundedRange(0.7, 1e-7),
    BoundedRange(1.6, 4e-7),
    ZeroConcentrated(0.01),
    ZeroConcentrated(0.04, 1e-7),
    NonPrivate(),
]
ACCOUNTANTS: Sequence[Accountant] = ("renyi", "zcdp", "pure")
BUDGETS = {accountant: Budget(3.0, 1e-5, 1e-6, accountant=accountant) for accountant in ACCOUNTANTS}
BUDGET = BUDGETS["renyi"]
MakeLedger = Callable[[Budget], UnitLedger]
Reopen = Callable[[UnitLedger], UnitLedger]
Step = tuple[str, int, int, frozenset[int]]

_PARTS, _GROUPS = st.integers(0, 4), st.frozensets(st.integers(0, len(UNITS) - 1))
_ANY_COST = st.integers(0, len(COSTS) - 1)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("reserve"), _PARTS, _ANY_COST, _GROUPS),
        st.tuples(st.sampled_from(["reserve", "all", "charge"]), _PARTS, _ANY_COST, _GROUPS),
        st.tuples(st.just("settle"), _PARTS, st.integers(0, 2), _GROUPS),
    ),
    min_size=5,
    max_size=20,
)
CHARGES = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 5), st.floats(0.0, 2.0), st.sampled_from([0.0, 1e-8, 4e-7])),
    max_size=12,
)


class ChargeTests:
    """Tests of payments that every unit shares."""

    @pytest.fixture
    def make_ledger(self) -> MakeLedger:
        """Return a function that creates an empty ledger with a budget."""
        raise NotImplementedError("Override the fixture `make_ledger`.")

    @pytest.fixture
    def reopen(self) -> Reopen:
        """Return a function that opens the same ledger again, as a new process does after a crash.

        A ledger in memory cannot be opened again; for such a ledger the default returns it unchanged.
        """
        return lambda ledger: ledger

    def test_charges_add_up(self, make_ledger: MakeLedger) -> None:
        """Check that the total is the sum of all charges."""
        ledger = make_ledger(BUDGET)
        pay(ledger, "q", 0, 0.5)
        pay(ledger, "q", 1, 0.25, 1e-7)
        assert ledger.spent() == Spending.of(BoundedRange(0.5)) + Spending.of(BoundedRange(0.25, 1e-7))

    def test_charge_is_recorded_once(self, make_ledger: MakeLedger) -> None:
        """Check that a charge is idempotent under its question and its number, and returns whether it is new."""
        ledger = make_ledger(BUDGET)
        assert [pay(ledger, "q", 0, 0.5) for _ in range(3)] == [True, False, False]
        assert ledger.spent() == Spending.of(BoundedRange(0.5))

    def test_charge_with_another_cost_is_refused(self, make_ledger: MakeLedger) -> None:
        """Check that a charge that was recorded before cannot come back with another cost."""
        ledger = make_ledger(BUDGET)
        pay(ledger, "q", 0, 0.5)
        with pytest.raises(LedgerError, match="another cost"):
            pay(ledger, "q", 0, 0.25)
        assert ledger.spent() == Spending.of(BoundedRange(0.5))

    def test_charges_survive_a_crash(self, make_ledger: MakeLedger, reopen: Reopen) -> None:
        """Check that a charge that was acknowledged is there after a crash, and is still recorded once."""
        ledger = make_ledger(BUDGET)
        pay(ledger, "q", 0, 0.5)
        found = reopen(ledger)
        assert found.budget == BUDGET
        assert found.spent() == Spending.of(BoundedRange(0.5))
        assert not pay(found, "q", 0, 0.5)
        assert not found.affords(Spending.of(BoundedRange(2.6)))

    def test_refused_charge_leaves_no_trace(self, make_ledger: MakeLedger) -> None:
        """Check that a charge beyond the budget is refused and changes nothing; the error names the rest."""
        ledger = make_ledger(BUDGET)
        pay(ledger, "q", 0, 2.0)
        before = ledger.spent()
        with pytest.raises(BudgetExhausted) as refusal:
            pay(ledger, "q", 1, 2.0)
        assert ledger.spent() == before
        assert refusal.value.left == pytest.approx(1.0)
        pay(ledger, "q", 1, 1.0)

    def test_failures_have_their_own_limit(self, make_ledger: MakeLedger) -> None:
        """Check that the probabilities of failure add up to at most the budget's share for failures."""
        ledger = make_ledger(BUDGET)
        with pytest.raises(BudgetExhausted):
            pay(ledger, "q", 0, 0.1, 1.1e-6)
        pay(ledger, "q", 0, 0.1, 0.9e-6)

    def test_non_private_charge_is_refused(self, make_ledger: MakeLedger) -> None:
        """Check that no budget pays for a release without a guarantee."""
        with pytest.raises(BudgetExhausted):
            make_ledger(BUDGET).charge(Charge("q", 0, "plain", CHANGE, NonPrivate()))

    def test_pure_charges_fill_the_budget_exactly(self, make_ledger: MakeLedger) -> None:
        """Three charges of epsilon 1 use up epsilon 3, with no rounding error."""
        ledger = make_ledger(BUDGET)
        for number in range(3):
            ledger.charge(Charge("q", number, "test", CHANGE, Pure(1.0)))
        assert ledger.budget.left(ledger.spent()) == 0.0

    @QUICK
    @given(CHARGES)
    def test_any_charges_stay_within_the_budget(
        self, make_ledger: MakeLedger, charges: list[tuple[int, int, float, float]]
    ) -> None:
        """After any sequence of charges the total is their sum, and within the budget."""
        ledger, paid = make_ledger(BUDGET), dict[tuple[int, int], Spending]()
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


class LedgerSuite(ChargeTests):
    """Tests of a `UnitLedger`. A subclass overrides the fixture `make_ledger`, and `reopen` if the ledger is durable.

    The functions of `discreet.privacy.filter` make the refusals: their messages are compared with the reference.
    """

    @QUICK
    @given(STEPS, st.sampled_from(ACCOUNTANTS))
    def test_any_history_matches_the_reference(
        self, make_ledger: MakeLedger, reopen: Reopen, taken: list[Step], accountant: Accountant
    ) -> None:
        """Check that every step and all sums are those of the reference, also after a crash."""
        ledger, reference = make_ledger(BUDGETS[accountant]), MemoryLedger(BUDGETS[accountant])
        for step in taken:
            assert outcome(ledger, step) == outcome(reference, step)
            assert ledger.spent() == reference.spent()
        for found in (ledger, reopen(ledger)):
            assert found.spent() == reference.spent()
            assert Counter(dict(found.unit_balances())) == Counter(dict(reference.unit_balances()))

    @QUICK
    @given(STEPS, st.sampled_from(ACCOUNTANTS), st.integers(0, len(UNITS) - 1))
    def test_unit_changes_nothing_for_other_units(
        self, make_ledger: MakeLedger, taken: list[Step], accountant: Accountant, left_out: int
    ) -> None:
        """Check that the payments of other units, and all public values, are the same without one unit."""
        check_others(make_ledger(BUDGETS[accountant]), make_ledger(BUDGETS[accountant]), taken, left_out)

    @QUICK
    @given(STEPS, st.sampled_from(ACCOUNTANTS))
    def test_no_unit_pays_more_than_the_budget(
        self, make_ledger: MakeLedger, taken: list[Step], accountant: Accountant
    ) -> None:
        """Check that at every moment, the settled costs of a unit fit into the budget."""
        budget = BUDGETS[accountant]
        ledger, paid = make_ledger(budget), dict[tuple[int, bytes], Spending]()
        for step in taken:
            what, place, cost, chosen = step
            found = outcome(ledger, step)
            if found is True:  # a charge to all units, which is refused after the first payment by single units
                paid |= {(1000 + place, unit): Spending.of(COSTS[cost]) for unit in UNITS}
            if isinstance(found, frozenset):
                named = {UNITS[index] for index in chosen} if what == "reserve" else set(UNITS)
                part = named & found if what == "reserve" else named - found
                paid |= {(place, unit): Spending.of(COSTS[cost]) for unit in part}
            if what == "settle" and found is None:
                paid |= {key: Spending.of(COSTS[cost]) for key in paid if key[0] == place}
            for unit in UNITS:
                sums = (spent for (_, payer), spent in paid.items() if payer == unit)
                assert budget.admits(sum(sums, Spending.nothing()))

    def test_charge_is_refused_once_units_pay(self, make_ledger: MakeLedger) -> None:
        """After one part that single units were asked to pay, a charge to all units is refused."""
        ledger = make_ledger(BUDGETS["pure"])
        assert ledger.charge(Charge("old", 0, "test", CHANGE, Pure(0.1)))
        ledger.reserve("q", 0, of(0.1), [])
        before = ledger.spent()
        with pytest.raises(LedgerError) as refusal:
            ledger.charge(Charge("old", 1, "test", CHANGE, Pure(0.1)))
        assert not isinstance(refusal.value, BudgetExhausted)
        assert ledger.spent() == before

    def test_only_named_units_pay(self, make_ledger: MakeLedger) -> None:
        """Check that a reservation charges the named units that can pay, and no other unit."""
        ledger = make_ledger(BUDGETS["pure"])
        assert ledger.reserve("q", 0, of(2.0), UNITS[:2]) == frozenset(UNITS[:2])
        assert ledger.reserve("q", 1, of(2.0), UNITS[1:4]) == frozenset(UNITS[2:4])
        assert ledger.spent() == Spending.nothing()
        assert ledger.unit_balances() == [(ledger.budget.filter_state(of(2.0)), 4)]

    def test_unspent_reserve_is_returned_once(self, make_ledger: MakeLedger) -> None:
        """Settling returns the rest once; another sum, an unknown part and a larger sum are refused."""
        ledger = make_ledger(BUDGETS["pure"])
        ledger.reserve("q", 0, of(3.0), UNITS[:2])
        for _ in range(3):
            ledger.settle("q", 0, of(1.0))
        assert ledger.unit_balances() == [(ledger.budget.filter_state(of(1.0)), 2)]
        with pytest.raises(LedgerError, match="another sum"):
            ledger.settle("q", 0, of(0.5))
        with pytest.raises(LedgerError, match="never reserved"):
            ledger.settle("q", 1, of(0.5))
        ledger.reserve("q", 1, of(1.0), UNITS)
        with pytest.raises(LedgerError, match="More was spent"):
            ledger.settle("q", 1, of(1.5))

    def test_part_is_reserved_once(self, make_ledger: MakeLedger) -> None:
        """Check that a part cannot be reserved again: new noise for the same question would average the noise away."""
        ledger = make_ledger(BUDGETS["pure"])
        ledger.reserve("q", 0, of(0.5), UNITS)
        ledger.reserve_all("q", 1, of(0.5))
        before = ledger.unit_balances(), ledger.spent()
        for part in (0, 1):
            with pytest.raises(LedgerError, match="reserved before"):
                ledger.reserve("q", part, of(0.5), UNITS)
            with pytest.raises(LedgerError, match="reserved before"):
                ledger.reserve_all("q", part, of(0.5))
        assert (ledger.unit_balances(), ledger.spent()) == before

    def test_payers_are_those_who_reserved(self, make_ledger: MakeLedger, reopen: Reopen) -> None:
        """Check that `payers` returns who pays for a part; None for an unknown part, or if all units pay."""
        ledger = make_ledger(BUDGETS["pure"])
        ledger.reserve("q", 0, of(2.0), UNITS[:2])
        ledger.reserve_all("q", 1, of(0.5))
        for found in (ledger, reopen(ledger)):
            assert found.payers("q", 0) == frozenset(UNITS[:2])
            assert found.payers("q", 1) is None
            assert found.payers("q", 2) is None

    @pytest.mark.parametrize("paid", ["charge", "reserve"])
    def test_finished_run_stands_for_no_draw(self, paid: str, make_ledger: MakeLedger, reopen: Reopen) -> None:
        """Check that what paid for a synthetic corpus is refused to a run that is put back, once it was written."""
        ledger, charge = make_ledger(BUDGETS["pure"]), Charge("run", 0, "test", CHANGE, Pure(0.5))

        def again(found: UnitLedger) -> object:
            return found.charge(charge) if paid == "charge" else found.payers("run", 0)

        if paid == "charge":
            assert ledger.charge(charge)
        else:
            ledger.reserve("run", 0, of(0.5), UNITS[:2])
        assert again(ledger) == (False if paid == "charge" else frozenset(UNITS[:2]))
        before = ledger.spent(), ledger.unit_balances()
        for found in (ledger, reopen(ledger)):
            found.finish_run("run")
            with pytest.raises(LedgerError, match=r"corpus .* was written.*remove VAULT/synthesis/run\.jsonl"):
                again(found)
            assert (found.spent(), found.unit_balances()) == before

    def test_unit_named_twice_pays_once_per_part(self, make_ledger: MakeLedger) -> None:
        """Check that a name that stands twice in one part pays once; it pays again for the next part."""
        ledger = make_ledger(BUDGETS["pure"])
        once = ledger.budget.filter_state(of(1.0))
        assert ledger.reserve("q", 0, of(1.0), [UNITS[0], UNITS[0]]) == {UNITS[0]}
        assert ledger.unit_balances() == [(once, 1)]
        assert ledger.reserve("q", 1, of(1.0), [UNITS[0]]) == {UNITS[0]}
        assert ledger.unit_balances() == [(once + once, 1)]

    def test_unsettled_reservation_counts_as_spent(self, make_ledger: MakeLedger, reopen: Reopen) -> None:
        """Check that a reservation that a crash left unsettled counts in full."""
        ledger = make_ledger(BUDGETS["pure"])
        ledger.reserve("q", 0, of(2.0), UNITS[:1])
        ledger.reserve_all("q", 1, of(0.5))
        found = reopen(ledger)
        assert found.spent() == of(0.5)
        assert found.reserve("r", 0, of(1.0), UNITS[:2]) == {UNITS[1]}
        assert found.reserve_all("r", 1, of(1.0)) == {UNITS[0]}

    def test_payment_of_all_units_includes_later_units(self, make_ledger: MakeLedger) -> None:
        """Check that a payment of all units counts for a unit that joins later."""
        ledger = make_ledger(BUDGETS["pure"])
        ledger.reserve("q", 0, of(1.5), UNITS[:1])
        assert ledger.reserve_all("q", 1, of(2.0)) == {UNITS[0]}
        assert ledger.reserve("q", 2, of(1.5), UNITS) == frozenset()
        ledger.settle("q", 1, of(0.5))
        assert ledger.reserve("q", 3, of(1.5), UNITS) == frozenset(UNITS[1:])
        with pytest.raises(BudgetExhausted) as refusal:
            ledger.reserve_all("q", 4, of(2.6))
        assert refusal.value.left == pytest.approx(2.5)

    def test_unpayable_cost_is_paid_by_no_unit(self, make_ledger: MakeLedger) -> None:
        """Check that no unit pays for a cost beyond every budget, and a part without units costs nothing."""
        ledger = make_ledger(BUDGETS["renyi"])
        assert ledger.reserve("q", 0, Spending.of(NonPrivate()), UNITS) == frozenset()
        assert ledger.reserve("q", 1, of(0.1), []) == frozenset()
        assert ledger.unit_balances() == []
        with pytest.raises(BudgetExhausted):
            ledger.reserve_all("q", 2, Spending.of(NonPrivate()))

    def test_unbounded_state_stays_unbounded(self, make_ledger: MakeLedger) -> None:
        """Check that after the return of one of two payments without a bound, the other still has no bound."""
        ledger = make_ledger(Budget(3.0, 1e-5))
        for part in (0, 1):
            ledger.reserve("q", part, Spending.of(ZeroConcentrated(0.01)), UNITS[:1])
            ledger.reserve_all("q", 10 + part, Spending.of(ZeroConcentrated(0.001)))
        unbounded = ledger.budget.filter_state(Spending.of(ZeroConcentrated(0.01))).pure
        for part in (0, 1):
            ledger.settle("q", part, Spending.nothing())
            ledger.settle("q", 10 + part, Spending.nothing())
            assert [state.pure for state, _ in ledger.unit_balances()] == [unbounded]
            assert ledger.spent().loss_nano[-1] == unbounded
        assert ledger.spent().loss_nano[0] == 0

    def test_largest_states_add_up(self, make_ledger: MakeLedger) -> None:
        """Sums near the largest number that is stored stay exact."""
        ledger = make_ledger(Budget(1e6, 0.5, 0.25))
        paying = [ledger.reserve("q", part, of(4e5), UNITS) for part in range(3)]
        assert paying == [frozenset(UNITS), frozenset(UNITS), frozenset()]
        cost = ledger.budget.filter_state(of(4e5))
        assert ledger.unit_balances() == [(cost + cost, len(UNITS))]

    def test_merged_units_have_one_balance(self, make_ledger: MakeLedger, reopen: Reopen) -> None:
        """Check that a merge adds the balance of the old name to the new one, once, and the old name pays no more."""
        ledger = make_ledger(BUDGETS["pure"])
        old, new, other = UNITS[:3]
        ledger.reserve("q", 0, of(1.0), [old, new, other])
        assert [ledger.merge([(old, new)]) for _ in range(2)] == [1, 0]
        once = ledger.budget.filter_state(of(1.0))
        for found in (ledger, reopen(ledger)):
            assert Counter(dict(found.unit_balances())) == {once + once: 1, once: 1}
            assert found.payers("q", 0) == frozenset((new, other))
        ledger.settle("q", 0, of(0.5))
        assert ledger.reserve("q", 1, of(2.5), [new, other]) == {other}


def pay(ledger: Ledger, question: str, number: int, epsilon: float, delta: float = 0.0) -> bool:
    """Charge all units; return whether the charge is new."""
    return ledger.charge(Charge(question, number, "test", CHANGE, BoundedRange(epsilon, delta)))


def of(epsilon: float) -> Spending:
    """Return what a release of pure epsilon costs."""
    return Spending.of(Pure(epsilon))


def outcome(ledger: UnitLedger, step: Step, units: Sequence[bytes] = UNITS) -> object:
    """Return what one step does: the set that it returns, or the type and the message of its refusal."""
    what, place, cost, chosen = step
    question, part, spending = f"q{place // 2}", place % 2, Spending.of(COSTS[cost])
    try:
        if what == "reserve":
            return ledger.reserve(question, part, spending, [units[index] for index in sorted(chosen)])
        if what == "all":
            return ledger.reserve_all(question, part, spending)
        if what == "settle":
            ledger.settle(question, part, spending)
            return None
        return ledger.charge(Charge(question, part, "test", CHANGE, COSTS[cost]))
    except (BudgetExhausted, LedgerError) as error:
        return type(error), str(error)


def check_others(with_it: UnitLedger, without: UnitLedger, taken: list[Step], left_out: int) -> None:
    """Check that one unit changes nothing for the other units, and nothing public."""
    for what, place, cost, chosen in taken:
        one = outcome(with_it, (what, place, cost, chosen))
        other = outcome(without, (what, place, cost, chosen - {left_out}))
        if isinstance(one, frozenset):
            one = one - {UNITS[left_out]}
        assert one == other
        assert with_it.spent() == without.spent()

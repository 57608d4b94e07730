"""Two units that turn out to be one: together they have what both had spent, whatever breaks, and can settle it."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import LedgerError
from discreet.ledger.balances import Units
from discreet.ledger.ledger import PostgresLedger, SqliteLedger
from discreet.privacy.accounting import Accountant, Budget, FilterState, Spending
from discreet.privacy.costs import Pure
from discreet.privacy.filter import MemoryLedger, UnitLedger
from discreet.testing.settings import QUICK
from tests.guarantee.ledger.conftest import Kept
from tests.guarantee.ledger.suite import ACCOUNTANTS, BUDGETS, STEPS, UNITS, MakeLedger, Step, of, outcome
from tests.guarantee.ledger.test_sqlite import fork

OLD, NEW, OTHER = UNITS[0], UNITS[3], UNITS[2]
merges = st.tuples(st.just("merge"), st.integers(0, 4), st.just(0), st.frozensets(st.integers(0, 4), max_size=2))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> MakeLedger:
    numbers = iter(range(10_000))
    if request.param == "memory":
        return lambda budget: MemoryLedger(budget)
    if request.param == "sqlite":
        return lambda budget: SqliteLedger.create(tmp_path / f"{next(numbers)}.sqlite", budget)
    url, name = request.getfixturevalue("url"), request.getfixturevalue("name")
    return lambda budget: PostgresLedger.create(url, f"{name}{next(numbers):x}", budget)


@pytest.fixture
def again(request: pytest.FixtureRequest) -> Callable[[UnitLedger], UnitLedger]:
    """The same ledger, opened (and checked) anew, as after a crash."""

    def reopen(ledger: UnitLedger) -> UnitLedger:
        if isinstance(ledger, SqliteLedger):
            return SqliteLedger(ledger.path)
        if isinstance(ledger, PostgresLedger):
            return PostgresLedger(request.getfixturevalue("url"), ledger.name)
        return ledger

    return reopen


def taken_step(ledger: UnitLedger, step: Step) -> object:
    """What one step does; a merge has some units be the one that its number names."""
    what, place, _, chosen = step
    if what != "merge":
        return outcome(ledger, step)
    return ledger.merge([(UNITS[old], UNITS[place]) for old in sorted(chosen - {place})])


def cost(ledger: Any, *epsilons: float) -> FilterState:
    return sum((ledger.budget.filter_state(of(epsilon)) for epsilon in epsilons), FilterState())


@QUICK
@given(
    st.lists(st.one_of(STEPS.map(lambda taken: taken[:3]), merges.map(lambda one: [one]))), st.sampled_from(ACCOUNTANTS)
)
def test_merges_between_payments_do_what_the_reference_does(
    make: MakeLedger,
    again: Callable[[UnitLedger], UnitLedger],
    several: Sequence[Sequence[Step]],
    accountant: Accountant,
) -> None:
    ledger, reference = make(BUDGETS[accountant]), MemoryLedger(BUDGETS[accountant])
    for step in (step for group in several for step in group):
        assert taken_step(ledger, step) == taken_step(reference, step)
    for found in (ledger, again(ledger)):
        assert found.spent() == reference.spent()
        assert Counter(dict(found.unit_balances())) == Counter(dict(reference.unit_balances()))
        assert all(found.payers(f"q{n}", part) == reference.payers(f"q{n}", part) for n in range(3) for part in (0, 1))


def test_what_both_spent_counts_for_the_one(make: MakeLedger) -> None:
    ledger = make(BUDGETS["pure"])
    ledger.reserve("q", 0, of(1.5), [OLD, NEW])
    ledger.reserve("q", 1, of(0.5), [OLD, OTHER])
    assert ledger.merge([(OLD, NEW)]) == 1
    assert ledger.merge([(OLD, NEW)]) == 0
    assert Counter(dict(ledger.unit_balances())) == {cost(ledger, 1.5, 0.5, 1.5): 1, cost(ledger, 0.5): 1}
    assert ledger.reserve("r", 0, of(0.1), [NEW, OTHER]) == {OTHER}


def test_part_that_both_paid_for_is_settled_for_both(
    make: MakeLedger,
    again: Callable[[UnitLedger], UnitLedger],
) -> None:
    """Also the part that was reserved last, which units' rows did not hold."""
    ledger = make(BUDGETS["pure"])
    for part in (0, 1):
        ledger.reserve("q", part, of(1.0), [OLD, NEW, OTHER])
    ledger.merge([(OLD, NEW)])
    assert ledger.payers("q", 0) == frozenset({NEW, OTHER})
    for part in (1, 0):
        ledger.settle("q", part, of(0.25))
        ledger = again(ledger)
    assert Counter(dict(ledger.unit_balances())) == {cost(ledger, *[0.25] * 4): 1, cost(ledger, 0.25, 0.25): 1}


def test_merged_key_pays_nothing_and_follows_a_second_merge(make: MakeLedger) -> None:
    ledger = make(BUDGETS["pure"])
    ledger.reserve("q", 0, of(1.0), [OLD])
    ledger.merge([(OLD, NEW)])
    ledger.merge([(NEW, OTHER)])
    assert ledger.reserve("q", 1, of(0.5), [OLD, NEW, OTHER]) == {OTHER}
    ledger.settle("q", 0, of(0.5))
    assert ledger.unit_balances() == [(cost(ledger, 0.5, 0.5), 1)]


def test_sums_that_were_cut_stay_cut(make: MakeLedger, again: Callable[[UnitLedger], UnitLedger]) -> None:
    large = make(Budget(9e5, 1e-5))
    for unit in (OLD, NEW):
        large.reserve(f"q{unit!r}", 0, of(8e5), [unit])
    large.merge([(OLD, NEW)])
    assert again(large).unit_balances() == [(cost(large, 8e5, 8e5), 1)]
    assert large.reserve("r", 0, of(0.1), [NEW]) == frozenset()


def test_name_has_sixteen_bytes(kept: Kept) -> None:
    with pytest.raises(LedgerError, match="16 bytes"):
        kept(BUDGETS["pure"]).merge([(OLD, b"short")])


def test_one_balance_is_found_for_the_custodian(kept: Kept) -> None:
    ledger = kept(BUDGETS["pure"])
    ledger.reserve("q", 0, of(0.5), [OLD])
    ledger.reserve("q", 1, of(0.5), [OLD, NEW])
    assert [ledger.balance(unit) for unit in (OLD, NEW, OTHER)] == [
        cost(ledger, 0.5, 0.5),
        cost(ledger, 0.5),
        FilterState(),
    ]


def test_merging_may_be_killed_at_any_moment(kept: Kept, tmp_path: Path) -> None:
    """A balance is under the old name or under the new one, never under neither, and never under both."""
    many = [number.to_bytes(16, "big") for number in range(400)]
    ledger = kept(Budget(1e5, 1e-5))
    ledger.reserve("q", 0, of(1.0), many)
    pairs = [(many[n], many[n + 1]) for n in range(0, 400, 2)]
    choose, (read, write) = random.Random(3), os.pipe()

    def work() -> None:
        mine = kept()
        os.write(write, b".")
        mine.merge(pairs)

    for _ in range(6):
        child = fork(work)
        os.read(read, 1)
        time.sleep(choose.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        readings = dict(kept().unit_balances())
        one, both = readings.get(cost(ledger, 1.0), 0), readings.get(cost(ledger, 1.0, 1.0), 0)
        assert (one, both) in ((400, 0), (0, 200))
    kept().merge(pairs)
    assert kept().unit_balances() == [(cost(ledger, 1.0, 1.0), 200)]


def forgets(self: Units, keys: list[bytes]) -> None:
    """A broken twin: the new name has the old one's balance alone, in place of the sum."""
    for old, new in zip(keys[::2], keys[1::2], strict=True):
        start, into = self.find(old), self.find(new)
        self._readings[:, into] = self._readings[:, start]
        self._gone |= set(start.tolist())
        self._joined |= dict(zip(start.tolist(), into.tolist(), strict=True))


def test_merge_that_forgets_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Units, "_join", forgets)
    numbers = iter(range(10))
    with pytest.raises(AssertionError):
        test_what_both_spent_counts_for_the_one(
            lambda budget: SqliteLedger.create(tmp_path / f"{next(numbers)}.sqlite", budget)
        )


def test_nothing_is_spent_twice_by_merging_twice(kept: Kept) -> None:
    ledger = kept(BUDGETS["renyi"])
    paid = Spending.of(Pure(0.7))
    ledger.reserve("q", 0, paid, [OLD])
    for _ in range(3):
        ledger.merge([(OLD, NEW), (UNITS[1], OTHER)])
    assert ledger.unit_balances() == [(ledger.budget.filter_state(paid), 1)]

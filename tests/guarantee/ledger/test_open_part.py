"""The open part of a ledger: what was reserved last and is not in the rows of its units, whatever happens."""

import os
import signal
from typing import Any

import pytest
from sqlalchemy import text

from discreet.errors import LedgerError
from discreet.privacy.accounting import CUT, Budget, FilterState, Spending
from discreet.privacy.costs import Pure
from discreet.privacy.ledger import MemoryLedger
from tests.guarantee.ledger.conftest import Kept
from tests.guarantee.ledger.test_sqlite import fork
from tests.guarantee.ledger.test_unit_faults import LARGE, UNITS, of, parts_of


def written(ledger: Any) -> int:
    """How many units have a balance in their row."""
    with ledger._reading() as connection:
        return int(connection.execute(text("select count(*) from unit where pure > 0")).scalar_one())


def test_kill_before_settling_keeps_the_whole_reservation(kept: Kept) -> None:
    """The part is open: it counts before and after another payment writes it down, and may be settled late."""
    kept(Budget(3.0, 1e-5, accountant="pure"))

    def work() -> None:
        kept().reserve("q", 0, of(2.0), UNITS[:5])
        os.kill(os.getpid(), signal.SIGKILL)

    os.waitpid(fork(work), 0)
    ledger, most = kept(), of(2.0).loss_nano[-1]
    assert [(reading.pure, count) for reading, count in ledger.unit_balances()] == [(most, 5)]
    assert written(ledger) == 0
    assert ledger.reserve("r", 0, of(2.0), UNITS[4:7]) == frozenset(UNITS[5:7])
    assert written(ledger) == 5
    assert [(reading.pure, count) for reading, count in kept().unit_balances()] == [(most, 7)]
    ledger.settle("q", 0, of(0.5))
    assert written(kept()) == 7  # whatever is returned, what was reserved meanwhile is written down first
    parts_of(ledger)
    assert ledger.reserve("s", 0, of(2.5), UNITS[:7]) == frozenset(UNITS[:5])
    ledger.settle("s", 0, of(2.5))
    assert ledger.reserve("t", 0, of(0.5), UNITS[:6]) == {UNITS[5]}
    parts_of(kept())


def test_unit_pays_its_balance_once_for_four_askers(kept: Kept) -> None:
    ledger = kept(Budget(3.0, 1e-5, accountant="pure"))
    others = [kept() for _ in range(3)]
    for number, other in enumerate((ledger, *others)):
        assert other.reserve(f"q{number}", 0, of(2.0), UNITS[:2]) == frozenset(() if number else UNITS[:2])
    assert ledger.reserve_all("s", 0, of(1.5)) == frozenset(UNITS[:2])
    parts_of(ledger)


def test_part_is_written_once_if_it_is_settled_before_the_next(kept: Kept) -> None:
    ledger = kept(LARGE)
    for part in range(3):
        ledger.reserve("q", part, of(1.0), UNITS[part : part + 5])
        before = written(ledger)
        ledger.settle("q", part, of(0.5))
        assert (before, written(ledger)) == (part + 4 if part else 0, part + 5)
        ledger.settle("q", part, of(0.5))
        parts_of(kept())


def test_what_reserves_nothing_of_nobody_leaves_no_trace(kept: Kept) -> None:
    ledger = kept(LARGE)
    ledger.reserve("q", 0, of(0.5), [])
    ledger.reserve("q", 1, of(0.5), UNITS[:1])
    ledger.reserve("q", 2, of(0.5), [])
    ledger.settle("q", 1, Spending.nothing())
    assert ledger.unit_balances() == [(FilterState(), 1)]
    parts_of(kept())


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_is_cut_is_cut_in_whatever_order_parts_are_settled(kept: Kept, order: tuple[int, int]) -> None:
    """Two parts that are cut together and not apart: when the second was reserved, its size was forgotten."""
    nano = Spending.of(Pure(0.01)).loss_nano.copy()
    nano[-1] = CUT * 6 // 10
    large, budget = Spending(nano, 0), Budget(3.0, 1e-5)
    for ledger in (kept(budget), MemoryLedger(budget)):
        for part, units in enumerate((UNITS[:2], UNITS[1:3])):
            assert ledger.reserve("q", part, large, units) == frozenset(units)
        for part in order:
            ledger.settle("q", part, of(0.01))
        small = budget.filter_state(of(0.01))
        assert dict(ledger.unit_balances()) == {small: 2, FilterState(small.curve * 2, CUT): 1}
    kept()


OPEN_DAMAGE = {
    "the part": "delete from part where question = 'r'",
    "what it reserved": "update part set most_atto = most_atto + 1 where question = 'r'",
    "who pays": "update part set payers = substr(payers, 1, 16) where question = 'r'",
    "one who pays": "update part set payers = (select payers from part where question = 'q') where question = 'r'",
    "that nobody pays": "update part set payers = substr(payers, 1, 0) where question = 'r'",
    "that it is not settled": "update part set spent_nano = most_nano, spent_atto = most_atto where question = 'r'",
    "that it is open": "update last_part set question = null",
    "which part is open": "update last_part set question = 'q'",
    "its digest": "update last_part set digest = null",
    "all about it": "delete from last_part",
}


@pytest.mark.parametrize("damage", OPEN_DAMAGE)
def test_damage_to_what_is_not_in_the_rows_of_units_is_noticed(kept: Kept, damage: str) -> None:
    ledger = kept(LARGE)
    ledger.reserve("q", 0, of(0.5), UNITS[3:6])
    ledger.reserve("r", 0, of(0.5), UNITS[:3])
    kept()
    with ledger._writing() as connection:
        connection.execute(text(OPEN_DAMAGE[damage]))
    with pytest.raises(LedgerError, match="corrupt"):
        kept()
    if damage not in ("that it is not settled", "that it is open"):  # for these all sums must be looked at
        with pytest.raises(LedgerError, match="corrupt"):
            ledger.reserve("s", 0, of(0.5), UNITS)
        with pytest.raises(LedgerError, match="corrupt"):
            ledger.reserve_all("s", 0, of(0.5))

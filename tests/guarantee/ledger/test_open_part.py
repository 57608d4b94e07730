"""Open parts of a ledger: what was reserved and is not settled, whatever happens."""

import os
import signal
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.log.counter import Counter
from discreet.privacy.accounting import CUT, Budget, FilterState, Spending
from discreet.privacy.costs import Pure
from discreet.privacy.ledger import MemoryLedger
from tests.guarantee.ledger.conftest import Kept, change
from tests.guarantee.ledger.test_sqlite import fork
from tests.guarantee.ledger.test_unit_faults import LARGE, UNITS, of, parts_of


def test_kill_before_settling_keeps_the_whole_reservation(kept: Kept) -> None:
    """The part is open: it counts before and after another payment writes it down, and may be settled late."""
    kept(Budget(3.0, 1e-5, accountant="pure"))

    def work() -> None:
        kept().reserve("q", 0, of(2.0), UNITS[:5])
        os.kill(os.getpid(), signal.SIGKILL)

    os.waitpid(fork(work), 0)
    ledger, most = kept(), of(2.0).loss_nano[-1]
    assert [(reading.pure, count) for reading, count in ledger.unit_balances()] == [(most, 5)]
    assert ledger.reserve("r", 0, of(2.0), UNITS[4:7]) == frozenset(UNITS[5:7])
    assert [(reading.pure, count) for reading, count in kept().unit_balances()] == [(most, 7)]
    ledger.settle("q", 0, of(0.5))
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
        ledger.settle("q", part, of(0.5))
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
    "the part": "delete from log where question = 'r'",
    "what it reserved": "update log set failure = failure + 1 where question = 'r'",
    "who pays": "update log set content = substr(content, 1, 16) where question = 'r'",
    "one who pays": "update log set content = (select content from log where question = 'q') where question = 'r'",
    "that no unit pays": "update log set content = substr(content, 1, 0) where question = 'r'",
    "that it is not settled": "update log set kind = 'settle' where question = 'r'",
    "which part it is": "update log set part = 1 where question = 'r'",
    "its hash": "update log set hash = (select hash from log where question = 'q') where question = 'r'",
}


@pytest.mark.parametrize("damage", OPEN_DAMAGE)
def test_damage_to_the_newest_part_is_noticed(kept: Kept, tmp_path: Path, damage: str) -> None:
    """Also by a process that is open. That it was lost as a whole, the counter finds."""
    ledger = kept(LARGE)
    ledger.check_counter(Counter(tmp_path / "counter.json"))
    ledger.reserve("q", 0, of(0.5), UNITS[3:6])
    ledger.reserve("r", 0, of(0.5), UNITS[:3])
    kept()
    change(ledger, OPEN_DAMAGE[damage])
    said = "older" if damage == "the part" else "corrupt|another copy"
    with pytest.raises(LedgerError, match=said):
        kept().check_counter(Counter(tmp_path / "counter.json"))
    with pytest.raises(LedgerError, match=said):
        ledger.reserve("s", 0, of(0.5), UNITS)
    with pytest.raises(LedgerError, match=said):
        ledger.reserve_all("s", 0, of(0.5))

"""The payers of a part are those of its reservation: any process may settle it, and units may be joined meanwhile."""

import os
import random
import signal
import time
from collections import Counter
from typing import Any

import pytest

from discreet.errors import LedgerError
from discreet.ledger.balances import RESERVE, SETTLE
from discreet.log import chain
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Pure
from discreet.privacy.filter import MemoryLedger
from tests.guarantee.ledger.conftest import Kept, change
from tests.guarantee.ledger.test_sqlite import fork

BUDGET = Budget(3.0, 1e-5, accountant="pure")
UNITS = [number.to_bytes(16, "big") for number in range(20)]


def of(epsilon: float) -> Spending:
    return Spending.of(Pure(epsilon))


def test_settled_part_has_the_payers_that_it_had(kept: Kept) -> None:
    ledger, reference = kept(BUDGET), MemoryLedger(BUDGET)
    for used in (ledger, reference):
        used.reserve("q", 0, of(1.0), UNITS[:12])
        used.settle("q", 0, of(0.5))
        used.reserve("r", 0, of(2.6), UNITS[8:])  # four of them cannot pay
        used.reserve("s", 0, of(0.1), UNITS[:2])
        used.settle("s", 0, of(0.1))
        used.settle("r", 0, of(1.0))
        used.settle("r", 0, of(1.0))
    for found in (ledger, kept()):
        assert Counter(dict(found.unit_balances())) == Counter(dict(reference.unit_balances()))
        assert all(found.payers(name, 0) == reference.payers(name, 0) for name in "qrs")
    assert ledger.questions_of(UNITS[1]) == {"q", "s"}
    assert ledger.questions_of(UNITS[12]) == {"r"}
    assert ledger.questions_of(UNITS[9]) == {"q"}
    with pytest.raises(LedgerError, match="another sum"):
        kept().settle("r", 0, of(0.5))


def test_merged_unit_is_found_in_compressed_payers(kept: Kept) -> None:
    """Also by its earlier name, and its number is not given to another unit."""
    ledger = kept(BUDGET)
    ledger.reserve("q", 0, of(0.5), UNITS[:5])
    ledger.settle("q", 0, of(0.5))
    ledger.reserve("r", 0, of(0.5), UNITS[:5])
    ledger.merge([(UNITS[4], UNITS[9]), (UNITS[0], UNITS[1])])
    ledger.settle("r", 0, of(0.25))  # two of its payers are merged
    ledger.reserve("s", 0, of(0.5), UNITS[10:14])
    ledger.settle("s", 0, of(0.5))
    for found in (ledger, kept()):
        assert found.payers("q", 0) == frozenset([*UNITS[1:4], UNITS[9]])
        assert found.payers("r", 0) == frozenset([*UNITS[1:4], UNITS[9]])
        assert found.payers("s", 0) == frozenset(UNITS[10:14])
        assert found.questions_of(UNITS[9]) == {"q", "r"}
        assert found.questions_of(UNITS[10]) == {"s"}


def paid_before(kept: Kept) -> Any:
    """Return a ledger whose units have numbers; two of them can pay no more."""
    ledger = kept(BUDGET)
    ledger.reserve("before", 0, of(0.5), UNITS)
    ledger.settle("before", 0, of(0.5))
    ledger.reserve("poor", 0, of(2.4), UNITS[3:5])
    ledger.settle("poor", 0, of(2.4))
    return ledger


def content(ledger: Any, question: str) -> bytes:
    with ledger.reading() as found:
        row = chain.find(found.connection, question, RESERVE)
    assert row is not None
    return row.content


def test_numbers_read_at_the_reservation_are_those_of_another_process(kept: Kept) -> None:
    ledger, paying = paid_before(kept), frozenset(UNITS[:10]) - set(UNITS[3:5])
    assert ledger.reserve("q", 0, of(0.5), UNITS[:10]) == paying
    ledger.settle("q", 0, of(0.25))
    assert ledger.reserve("r", 0, of(0.5), UNITS[:10]) == paying
    kept().settle("r", 0, of(0.25))
    assert content(ledger, "q") == content(ledger, "r")
    assert kept().payers("q", 0) == paying


def settled_by_another_part(kept: Kept) -> frozenset[bytes]:
    """Return the payers of a part that a process settles after it reserved another one."""
    ledger, other = paid_before(kept), kept()
    ledger.reserve("q", 0, of(0.1), UNITS[:3])
    other.settle("q", 0, of(0.1))
    other.reserve("r", 0, of(0.1), UNITS[5:8])
    ledger.settle("r", 0, of(0.1))
    return frozenset(kept().payers("r", 0))


def test_numbers_of_another_part_are_not_used(kept: Kept) -> None:
    assert settled_by_another_part(kept) == frozenset(UNITS[5:8])


DAMAGE = {
    "the number of payers": "update log set content = substr(content, 1, 40) where question = 'q' and kind = 'reserve'",
    "one of them": "update log set content = (select content from log where question = 'r' and kind = 'reserve') "
    "where question = 'q' and kind = 'reserve'",
    "that there are any": "update log set content = substr(content, 1, 0) where question = 'q' and kind = 'reserve'",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_noticed_at_the_opening(kept: Kept, damage: str) -> None:
    ledger = kept(BUDGET)
    ledger.reserve("q", 0, of(0.5), UNITS[:5])
    ledger.settle("q", 0, of(0.5))
    ledger.reserve("r", 0, of(0.5), UNITS[3:8])
    change(ledger, DAMAGE[damage])
    with pytest.raises(LedgerError, match="corrupt"):
        kept()


def test_kill_at_any_time_leaves_the_payers(kept: Kept) -> None:
    ledger = kept(Budget(1e5, 1e-5))
    ledger.reserve("all", 0, of(0.01), UNITS)
    ledger.settle("all", 0, of(0.01))
    choose = random.Random(3)

    def work() -> None:
        mine, own = kept(), random.Random(os.getpid())
        for part in range(10_000):
            mine.reserve(f"q{os.getpid()}", part, of(0.02), own.sample(UNITS, 8))
            mine.settle(f"q{os.getpid()}", part, of(0.01))

    for _ in range(8):
        child = fork(work)
        time.sleep(choose.uniform(0.05, 0.3))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found = kept()  # its rows follow one another
        with found.reading() as reading:
            rows = list(chain.read(reading.connection))
    settled = {(row.question, row.part) for row in rows if row.kind == SETTLE}
    owed = Counter[bytes]()
    for row in rows:
        if row.kind == RESERVE:
            for unit in found.payers(row.question, row.part) or ():
                owed[unit] += 10**7 if (row.question, row.part) in settled else 2 * 10**7
    had = Counter[int]()
    for state, count in found.unit_balances():
        had[state.pure] += count
    assert Counter(owed.values()) == had

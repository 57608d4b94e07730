"""What a vault has left, unit by unit."""

import pytest

from discreet.algorithms import MuRAG
from discreet.balance import by_units
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Pure
from discreet.privacy.ledger import MemoryLedger

KEYS = [bytes([n]) * 16 for n in range(10)]
BUDGET = Budget(10.0, 1e-5, accountant="pure")


def test_levels_count_every_unit_once() -> None:
    ledger = MemoryLedger(BUDGET)
    ledger.reserve("q", 0, Spending.of(Pure(2.5)), KEYS[:4])
    ledger.reserve("r", 0, Spending.of(Pure(7.0)), KEYS[:2])
    report = by_units(ledger, "patient", [], 50, MuRAG(epsilon=5.0).plan(BUDGET, 1000), 40)
    found = {(level.low, level.high): level.units for level in report.levels if level.units}
    assert found == {(0.0, 1.0): 2, (7.0, 8.0): 2, (9.0, 10.0): 46}
    assert report.spent == 0.0
    assert (report.public()["left"], report.public()["answered"]) == (10.0, 0)
    assert "levels" not in report.public()


def test_the_estimate_follows_what_is_left() -> None:
    ledger = MemoryLedger(BUDGET)
    plan = MuRAG(uses=2).plan(BUDGET, 1000)
    assert by_units(ledger, "p", [], 400, plan, 40).more == 20  # 400 units, twice each, 40 at a time
    ledger.reserve_all("q", 0, plan.most)
    assert by_units(ledger, "p", [], 400, plan, 40).more == 10
    ledger.reserve_all("r", 0, plan.most)
    assert by_units(ledger, "p", [], 400, plan, 40).more == 0


def test_what_everybody_paid_is_gone_for_each() -> None:
    ledger = MemoryLedger(BUDGET)
    ledger.reserve_all("q", 0, Spending.of(Pure(4.0)))
    report = by_units(ledger, "p", [], 3, MuRAG(epsilon=5.0).plan(BUDGET, 1000), 1)
    assert report.left == pytest.approx(6.0)
    assert [level.units for level in report.levels if level.units] == [3]

"""Open parts of a ledger: what was reserved and is not settled, whatever happens."""

import os
import random
import signal
import time
from collections import Counter as Counted
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.algorithms.retrieval import VotingBudget
from discreet.errors import LedgerError
from discreet.ledger.balances import RESERVE, SETTLE
from discreet.ledger.ledger import SqliteLedger
from discreet.log import chain
from discreet.log.replay import Counter
from discreet.privacy.accounting import CUT, Budget, FilterState, Spending
from discreet.privacy.costs import Pure, Together
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.mechanisms.order_selection import OrderSelection
from discreet.registry import Consensus, MuRAGAda
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


# -- questions at the same time --------------------------------------------------------------------------------------

VAULT = Budget(20.0, 1e-6, 5e-7)
GRANT = Budget(14.0, 2e-6, 1e-6, order=VAULT.counted_order)
"""It pays for 18 such questions, and for 23 without a count. So what is returned decides who can pay."""
PEOPLE, ASKERS = UNITS[:8], 4


@cache
def prices() -> tuple[Spending, Spending]:
    """What a default question with a count reserves, and what it costs if nothing was released to be counted."""
    voters, rounds = MuRAGAda(inner=Consensus(with_count=True)).count_votes(VAULT, 1000)
    assert isinstance(rounds, VotingBudget)
    assert rounds.rule
    curve, _ = voters.mechanisms(rounds.epsilon, rounds.delta, rounds.change, 1000)
    assert isinstance(curve, OrderSelection)
    least = Together((rounds.rule.count.cost(rounds.change), curve.cost(rounds.change)))
    return rounds.plan.generation_cost, Spending.of(least)


def asked_of(question: str, part: int) -> list[bytes]:
    """The units that a question asks to pay: without a look at their balances."""
    return random.Random(f"{question} {part}").sample(PEOPLE, 5)


def ask_many(ledger: Any, question: str) -> None:
    """Ask one question after the other; of every two, one is counted, and the other has its count returned."""
    for part in range(12):
        ledger.reserve(question, part, prices()[0], asked_of(question, part))
        time.sleep(random.Random(part).uniform(0, 0.02))
        ledger.settle(question, part, prices()[part % 2])


def replayed(ledger: Any) -> tuple[int, int, int]:
    """Follow the log: of each row, the limit of each unit, with all that is reserved, and who was admitted.

    Returns:
        how many admissions were wrong, how many exceeded a limit, and the most questions that were in the air.
    """
    price, rest = (GRANT.filter_state(one) for one in prices())
    paid, open_ = dict.fromkeys(PEOPLE, FilterState()), dict[tuple[str, int], frozenset[bytes]]()
    wrong = exceeded = most = 0
    with ledger.reading() as found:
        rows = [row for row in chain.read(found.connection) if row.kind in (RESERVE, SETTLE)]
    assert len(rows) == 2 * 12 * ASKERS  # no child broke off
    for row in rows:
        key = row.question, row.part
        if row.kind == RESERVE:
            open_[key] = ledger.payers(*key)
            able = {unit for unit in asked_of(*key) if GRANT.admits_state(paid[unit] + price)}
            wrong += open_[key] != able
            paid |= {unit: paid[unit] + price for unit in open_[key]}
            exceeded += not all(map(GRANT.admits_state, paid.values()))
            most = max(most, len(open_))
        else:
            unspent = price - rest if row.part % 2 else FilterState()
            paid |= {unit: paid[unit] - unspent for unit in open_.pop(key)}
    assert not open_
    assert Counted(paid.values()) == Counted(dict(ledger.unit_balances()))
    return wrong, exceeded, most


def race(opened: Callable[[], Any]) -> tuple[int, int, int]:
    children = [fork(lambda name=f"q{number}": ask_many(opened(), name)) for number in range(ASKERS)]
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    return replayed(opened())


def schedule(opened: Callable[[], Any]) -> tuple[int, int, int]:
    """The same without chance: all askers reserve, and then all settle, each time in another order."""
    ledgers, order = {f"q{number}": opened() for number in range(ASKERS)}, random.Random(0)
    for part in range(12):
        for question in order.sample(sorted(ledgers), ASKERS):
            ledgers[question].reserve(question, part, prices()[0], asked_of(question, part))
        for question in order.sample(sorted(ledgers), ASKERS):
            ledgers[question].settle(question, part, prices()[part % 2])
    return replayed(opened())


@pytest.mark.parametrize("asked", [race, schedule])
def test_admission_counts_all_that_is_in_the_air(kept: Kept, asked: Callable[..., tuple[int, int, int]]) -> None:
    """The limit holds at every moment, though counts that nothing was released for are returned."""
    price, rest = prices()
    assert rest != price
    kept(GRANT)
    wrong, exceeded, most = asked(kept)
    assert (wrong, exceeded) == (0, 0)
    assert 1 < most <= ASKERS
    ledger = kept()
    # Refunds leave room for more questions than full prices would, and in the end some unit was refused.
    full = max(part for part in range(50) if GRANT.admits(price.times(part)))
    parts = [(f"q{number}", part) for number in range(ASKERS) for part in range(12)]
    payments = Counted(unit for key in parts for unit in ledger.payers(*key))
    assert full < max(payments.values()) < max(Counted(unit for key in parts for unit in asked_of(*key)).values())


class SmallerPrice(SqliteLedger):
    """A broken twin: admits by the price that is left if nothing is released."""

    def _admit(self, state: Any, common: FilterState, numbers: Any) -> Any:
        return super()._admit(state, GRANT.filter_state(prices()[1]), numbers)


class SettledAlone(SqliteLedger):
    """A broken twin: admits by what was settled, without what is in the air."""

    def _admit(self, state: Any, common: FilterState, numbers: Any) -> Any:
        able = [
            GRANT.admits_state(FilterState(*map(int, state._readings[:, number])) + common - in_the_air(state, number))
            for number in numbers
        ]
        return np.array(able)


def in_the_air(state: Any, number: int) -> FilterState:
    there = [one for one in state.open.values() if one.payers is not None and number in one.payers]
    return sum((GRANT.filter_state(one.most) for one in there), FilterState())


@pytest.mark.parametrize("twin", [SmallerPrice, SettledAlone])
def test_ledger_that_forgets_a_part_of_what_is_in_the_air_is_caught(tmp_path: Path, twin: type[SqliteLedger]) -> None:
    path = tmp_path / "twin.sqlite"
    twin.create(path, GRANT)
    wrong, exceeded, _ = schedule(lambda: twin(path))
    assert wrong > 0
    assert exceeded > 0


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

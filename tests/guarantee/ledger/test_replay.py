"""The state of a ledger in memory: whatever other processes do, each unit pays what it would pay in the reference."""

import random
import shutil
import sqlite3
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import LedgerError
from discreet.ledger.balances import Units, within
from discreet.ledger.ledger import SqliteLedger
from discreet.log import chain, replay
from discreet.privacy.accounting import ATTO, CUT, Budget, FilterState, Spending
from discreet.privacy.costs import Pure, ZeroConcentrated
from discreet.privacy.filter import MemoryLedger
from discreet.testing.settings import QUICK
from tests.guarantee.ledger.conftest import Kept
from tests.guarantee.ledger.suite import ACCOUNTANTS, BUDGETS
from tests.guarantee.ledger.test_unit_faults import parts_of

BUDGET = Budget(3.0, 1e-5, accountant="pure")
UNITS = [number.to_bytes(16, "big") for number in range(12)]


def of(epsilon: float) -> Spending:
    return Spending.of(Pure(epsilon))


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("reserve"), st.integers(0, 1), st.sampled_from([0.3, 0.8, 1.4]), st.sets(st.sampled_from(UNITS))
        ),
        st.tuples(st.just("settle"), st.integers(0, 30), st.sampled_from([0.0, 0.1, 0.3]), st.just(set[bytes]())),
        st.tuples(st.just("all"), st.integers(0, 1), st.sampled_from([0.1, 0.2]), st.just(set[bytes]())),
        st.tuples(st.just("merge"), st.integers(0, 1), st.integers(0, 8), st.just(set[bytes]())),
        st.tuples(st.just("open"), st.integers(0, 1), st.just(0), st.just(set[bytes]())),
    ),
    max_size=25,
)


@QUICK
@given(STEPS)
def test_two_processes_pay_what_the_reference_pays(
    sizes: str, tmp_path_factory: pytest.TempPathFactory, taken: list[tuple[str, int, Any, set[bytes]]]
) -> None:
    """Two processes take turns on one file, units are merged, and processes start again."""
    path, reference = tmp_path_factory.mktemp("two") / "ledger.sqlite", MemoryLedger(BUDGET)
    SqliteLedger.create(path, BUDGET)
    both, reserved, merged = [SqliteLedger(path), SqliteLedger(path)], 0, dict[bytes, bytes]()
    for what, who, value, chosen in taken:
        if what == "open":
            both[who] = SqliteLedger(path)
            continue
        used, found = (both[who % 2], reference), list[Any]()
        if what == "merge":
            old, new = UNITS[value], UNITS[value + 1 + who]
            if {old, new} & merged.keys():
                continue
            merged[old] = new
            found = [one.merge([(old, new)]) for one in used]
            assert found[0] == found[1]
        elif what == "reserve":
            units = sorted(chosen - merged.keys())
            found = [one.reserve("q", reserved, of(value), units) for one in used]
            assert found[0] == found[1]
            reserved += 1
        elif what == "all":
            found = [_all(one, reserved, value) for one in used]
            assert found[0] == found[1]
            reserved += 1
        elif what == "settle" and who < reserved:
            for one in used:
                _settle(one, who, value)
        SqliteLedger(path)  # its sums agree
    for ledger in (*both, SqliteLedger(path)):
        ours, theirs = Counter(dict(ledger.unit_balances())), Counter(dict(reference.unit_balances()))
        ours.pop(FilterState(), None)
        theirs.pop(FilterState(), None)
        assert ours == theirs
        assert all(ledger.payers("q", part) == reference.payers("q", part) for part in range(reserved))


def _all(ledger: Any, part: int, value: float) -> Any:
    try:
        return ledger.reserve_all("q", part, of(value))
    except Exception as error:
        return type(error), str(error)


def _settle(ledger: Any, part: int, value: float) -> None:
    try:
        ledger.settle("q", part, of(value))
    except LedgerError:
        assert isinstance(value, float)  # it was settled with another sum, or spent more


@QUICK
@given(
    st.sampled_from(ACCOUNTANTS),
    st.lists(st.tuples(st.integers(0, CUT), st.integers(0, CUT), st.integers(0, ATTO)), min_size=1, max_size=5),
    st.tuples(*[st.integers(0, 5 * 10**9)] * 2, st.integers(0, 2 * 10**12)),
    st.booleans(),
)
def test_array_admits_what_the_budget_admits(
    accountant: Any, states: list[tuple[int, int, int]], common: tuple[int, int, int], small: bool
) -> None:
    budget, before = BUDGETS[accountant], FilterState(*common)
    scaled = [tuple(value % 4_000_000_000 for value in state) if small else state for state in states]
    able = within(budget, before, np.array(scaled, dtype=np.int64).T)
    assert able.tolist() == [
        budget.admits_state(before) and budget.admits_state(before + FilterState(*state)) for state in scaled
    ]


def test_costs_without_a_bound_stay_cut(kept: Kept, sizes: str) -> None:
    """A Gaussian has no bound at order infinity: what was cut stays cut, whether it waits, is written, or returned."""
    budget, cost = Budget(3.0, 1e-5), Spending.of(ZeroConcentrated(0.01))
    ledger, reference = kept(budget), MemoryLedger(budget)
    for part in range(6):
        for used in (ledger, reference):
            used.reserve("q", part, cost, UNITS[part : part + 4])
            if part > 2:
                used.settle("q", part - 3, Spending.of(ZeroConcentrated(0.005)))
        assert Counter(dict(ledger.unit_balances())) == Counter(dict(reference.unit_balances()))
    assert {ledger.balance(unit) for unit in UNITS[:9]} == {state for state, _ in reference.unit_balances()}
    parts_of(kept())


@pytest.mark.usefixtures("sizes")
def test_late_settlement_returns_to_those_who_paid(kept: Kept) -> None:
    """Also to a unit that merged two payers, and to one that was merged since then."""
    ledger = kept(BUDGET)
    for part in range(5):
        ledger.reserve("q", part, of(0.5), UNITS[:6])
    ledger.merge([(UNITS[0], UNITS[1]), (UNITS[5], UNITS[9])])
    ledger.reserve("r", 0, of(0.25), UNITS[8:])
    for part in range(4):
        ledger.settle("q", part, of(0.0))
        ledger.reserve("s", part, of(0.0), UNITS[8:])
    expected = {UNITS[1]: 1.0, UNITS[2]: 0.5, UNITS[9]: 0.75, UNITS[8]: 0.25}
    for found in (ledger, kept()):
        assert {unit: found.balance(unit).pure for unit in expected} == {
            unit: round(epsilon * 10**9) for unit, epsilon in expected.items()
        }


@pytest.mark.usefixtures("sizes")
def test_all_units_pay_what_a_large_part_left(kept: Kept) -> None:
    ledger = kept(BUDGET)
    ledger.reserve("q", 0, of(2.0), UNITS[:4])
    ledger.reserve("q", 1, of(1.25), UNITS[3:6])  # the first of them cannot
    ledger.settle("q", 0, of(1.5))
    assert ledger.payers("q", 1) == frozenset(UNITS[4:6])
    assert kept().reserve_all("r", 0, of(1.6)) == frozenset(UNITS[:4])
    assert ledger.reserve_all("r", 1, of(0.5)) == frozenset(UNITS[:6])


def older_copy_returns(path: Path) -> frozenset[bytes]:
    """Who pays after a file was replaced by a copy in which nothing was returned yet."""
    SqliteLedger.create(path, BUDGET)
    ledger, saved = SqliteLedger(path), path.with_name("saved")
    ledger.reserve("q", 0, of(2.0), UNITS[:4])
    ledger.reserve("q", 1, of(0.1), UNITS[5:8])
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(saved)) as target:
        source.backup(target)
    ledger.settle("q", 0, of(0.5))
    ledger.reserve("q", 2, of(0.1), UNITS[5:8])
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)
    shutil.copyfile(saved, path)
    other = SqliteLedger(path)
    for part in (2, 3, 4):
        other.reserve("r", part, of(0.1), UNITS[5:8])
    return ledger.reserve("s", 0, of(1.5), UNITS[:6])


def test_memory_is_not_used_after_an_older_copy(sizes: str, tmp_path: Path) -> None:
    """A power cut does the same: it may undo a settlement that a process has read."""
    assert older_copy_returns(tmp_path / "ledger.sqlite") == frozenset(UNITS[4:6])


def test_memory_that_trusts_any_ledger_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken twin: it reads what follows the number that it knows, and does not look whether it follows."""
    real = chain.read

    def trusting(connection: Any, head: chain.Head | None = None) -> Any:
        return (row for row in real(connection) if head is None or row.id > head.id)

    monkeypatch.setattr(replay, "read", trusting)
    assert older_copy_returns(tmp_path / "ledger.sqlite") != frozenset(UNITS[4:6])


def paid_after_an_interruption(path: Path) -> FilterState:
    """The balance of a unit whose other payment was settled, if a process is stopped while it reads this."""
    SqliteLedger.create(path, BUDGET)
    ledger, other = SqliteLedger(path), SqliteLedger(path)
    for part in range(4):
        ledger.reserve("q", part, of(0.5), UNITS[:4])
    ledger.reserve("s", 0, of(0.0), UNITS[8:])
    ledger.spent()
    for part in range(3):
        other.settle("q", part, of(0.25))
    real, calls = Units.apply, iter(range(100))

    def stopped(self: Units, row: chain.LogRow) -> None:
        real(self, row)
        if next(calls) == 2:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Units, "apply", stopped)
        with pytest.raises(KeyboardInterrupt):
            ledger.reserve("r", 0, of(1.9), UNITS[:4])
    ledger.reserve("r", 1, of(1.9), UNITS[:4])
    return ledger.balance(UNITS[0])


@pytest.mark.usefixtures("sizes")
def test_memory_is_not_used_after_an_interrupted_replay(tmp_path: Path) -> None:
    assert paid_after_an_interruption(tmp_path / "ledger.sqlite").pure == of(1.25).loss_nano[-1]


def test_memory_that_stays_after_an_interruption_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken twin: a row is applied twice, which the state refuses; or returns are counted twice."""
    real = replay.LogReplay._advance

    def kept(self: Any, connection: Any, state: Any) -> Any:
        state = self.__dict__.setdefault("_twin", state or real(self, connection, None))
        return real(self, connection, state)

    monkeypatch.setattr(replay.LogReplay, "_advance", kept)
    with pytest.raises(LedgerError, match="corrupt"):
        paid_after_an_interruption(tmp_path / "ledger.sqlite")


@pytest.mark.usefixtures("sizes")
def test_threads_share_what_is_in_memory(kept: Kept) -> None:
    kept(BUDGET)
    ledger = kept()

    def work(name: int) -> None:
        choose = random.Random(name)
        for part in range(25):
            ledger.reserve(f"q{name}", part, of(0.3), choose.sample(UNITS, 4))
            if part % 2:
                ledger.settle(f"q{name}", part, of(0.1))

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(parts_of(kept())) == 100
    assert all(BUDGET.admits_state(state) for state, _ in ledger.unit_balances())


@pytest.mark.usefixtures("sizes")
def test_payment_that_fails_leaves_no_balance(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its new units get their numbers again, in whatever order."""
    ledger, other = kept(BUDGET), kept()
    ledger.reserve("q", 0, of(0.5), UNITS[:3])
    real = chain.append

    def fails(*arguments: Any) -> None:
        real(*arguments)
        raise LedgerError("a full disk")

    monkeypatch.setattr(chain, "append", fails)
    with pytest.raises(LedgerError, match="a full disk"):
        ledger.reserve("q", 1, of(2.0), UNITS[:7])
    monkeypatch.setattr(chain, "append", real)
    other.reserve("r", 0, of(1.0), [UNITS[8], UNITS[6]])
    assert ledger.reserve("q", 2, of(2.5), UNITS) == frozenset(UNITS) - {UNITS[8], UNITS[6]}
    parts_of(kept())


def test_look_that_reads_no_new_rows_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken twin: it pays what the reference refuses."""
    path = tmp_path / "ledger.sqlite"
    SqliteLedger.create(path, BUDGET)
    ledger, other = SqliteLedger(path), SqliteLedger(path)
    ledger.reserve("before", 0, of(0.0), UNITS[:4])
    ledger.spent()
    other.reserve("q", 0, of(2.0), UNITS[:4])
    monkeypatch.setattr(replay, "read", lambda connection, head=None: iter(()))
    with pytest.raises(LedgerError, match="same moment"):  # the number of the row is taken: the second guard
        ledger.reserve("q", 1, of(2.0), UNITS[:4])

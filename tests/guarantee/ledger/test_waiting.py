"""Large parts: whether they wait, are in blocks or in memory, each unit pays what it would pay in rows."""

import random
import shutil
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, text

from discreet.errors import LedgerError
from discreet.ledger import admission, balance_view, blocks, packed_payers, waiting
from discreet.ledger import units as rows_of_units
from discreet.ledger.admission import Admission
from discreet.ledger.balance_view import BalanceView
from discreet.ledger.sql_statements import Statement
from discreet.ledger.sqlite import SqliteLedger
from discreet.privacy.accounting import ATTO, CUT, Budget, FilterState, Spending
from discreet.privacy.costs import Pure, ZeroConcentrated
from discreet.privacy.ledger import MemoryLedger
from discreet.testing.ledger import ACCOUNTANTS, BUDGETS
from discreet.testing.settings import QUICK
from tests.guarantee.ledger.conftest import Kept
from tests.guarantee.ledger.test_unit_faults import parts_of

BUDGET = Budget(3.0, 1e-5, accountant="pure")
UNITS = [number.to_bytes(16, "big") for number in range(12)]
SETTINGS: dict[str, dict[Any, Any]] = {
    "waiting": {"SHARE": 0, "MOST_WAITING": 10**6},
    "blocks": {"SHARE": 0, "MOST_WAITING": 1},
    "both": {"SHARE": 0, "MOST_WAITING": 3},
    "in memory": {"SHARE": 10**6, "MOST_WAITING": 3},
}


def of(epsilon: float) -> Spending:
    return Spending.of(Pure(epsilon))


@pytest.fixture(params=SETTINGS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Parts of two units wait, and are looked at in one of the ways."""
    for module, name in ((admission, "SHARE"), (waiting, "MOST_WAITING")):
        monkeypatch.setattr(module, name, SETTINGS[request.param][name])
    monkeypatch.setattr(admission, "PATIENCE", 10**6)
    monkeypatch.setattr(packed_payers, "LEAST", 2)
    monkeypatch.setattr(blocks, "UNITS", 4)
    return str(request.param)


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
    way: str, tmp_path_factory: pytest.TempPathFactory, taken: list[tuple[str, int, Any, set[bytes]]]
) -> None:
    """Two processes take turns on one file, units are merged, and processes start again."""
    path, reference = tmp_path_factory.mktemp("two") / "ledger.sqlite", MemoryLedger(BUDGET)
    SqliteLedger.create(path, BUDGET)
    both, reserved, merged = [SqliteLedger.open(path), SqliteLedger.open(path)], 0, dict[bytes, bytes]()
    for what, who, value, chosen in taken:
        if what == "open":
            both[who] = SqliteLedger.open(path)
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
        SqliteLedger.open(path)  # its sums agree
    for ledger in (*both, SqliteLedger.open(path)):
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
    able = rows_of_units.within(budget, before, np.array(scaled, dtype=np.int64).T)
    assert able.tolist() == [
        budget.admits_state(before) and budget.admits_state(before + FilterState(*state)) for state in scaled
    ]


def test_costs_without_a_bound_stay_cut(kept: Kept, way: str) -> None:
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


@pytest.mark.usefixtures("way")
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


@pytest.mark.usefixtures("way")
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
    ledger, saved = SqliteLedger.open(path), path.with_name("saved")
    ledger.reserve("q", 0, of(2.0), UNITS[:4])
    ledger.reserve("q", 1, of(0.1), UNITS[5:8])
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(saved)) as target:
        source.backup(target)
    ledger.settle("q", 0, of(0.5))
    ledger.reserve("q", 2, of(0.1), UNITS[5:8])
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)
    shutil.copyfile(saved, path)
    other = SqliteLedger.open(path)
    for part in (2, 3, 4):
        other.reserve("r", part, of(0.1), UNITS[5:8])
    return ledger.reserve("s", 0, of(1.5), UNITS[:6])


def test_view_is_not_used_after_an_older_copy(way: str, tmp_path: Path) -> None:
    """A power cut does the same: it may undo a settlement that a process has read."""
    assert older_copy_returns(tmp_path / "ledger.sqlite") == frozenset(UNITS[4:6])


def test_view_that_trusts_any_ledger_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in ((admission, "SHARE", 10**6), (packed_payers, "LEAST", 2)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(balance_view, "_KNOWN", Statement("select 1 where :at > 0"))  # a broken twin
    assert older_copy_returns(tmp_path / "ledger.sqlite") != frozenset(UNITS[4:6])


def paid_after_an_interruption(path: Path) -> FilterState:
    """The balance of a unit whose other payment was settled, if a process is stopped while it reads this."""
    SqliteLedger.create(path, BUDGET)
    ledger, other = SqliteLedger.open(path), SqliteLedger.open(path)
    for part in range(4):
        ledger.reserve("q", part, of(0.5), UNITS[:4])
    ledger.reserve("s", 0, of(0.0), UNITS[8:])
    for part in range(3):
        other.settle("q", part, of(0.25))
    read = BalanceView._add_part
    calls = iter(range(100))

    def stopped(*arguments: Any) -> bool:
        if next(calls) == 2:
            raise KeyboardInterrupt
        return read(*arguments)

    BalanceView._add_part = stopped  # type: ignore[assignment, method-assign]
    try:
        with pytest.raises(KeyboardInterrupt):
            ledger.reserve("r", 0, of(1.9), UNITS[:4])
    finally:
        BalanceView._add_part = read  # type: ignore[method-assign]
    ledger.reserve("r", 1, of(1.9), UNITS[:4])
    return ledger.balance(UNITS[0])


@pytest.mark.parametrize("way", ["in memory"], indirect=True)
def test_view_is_not_used_after_an_interrupted_refresh(way: str, tmp_path: Path) -> None:
    assert paid_after_an_interruption(tmp_path / "ledger.sqlite").pure == of(1.25).loss_nano[-1]


def test_view_that_stays_after_an_interruption_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken twin: returns are counted twice, and the unit pays more than it may."""
    monkeypatch.setattr(packed_payers, "LEAST", 2)
    monkeypatch.setattr(admission, "SHARE", 10**6)
    kept = dict[int, BalanceView]()

    def refreshed(self: Admission, connection: Connection, budget: Budget) -> BalanceView | None:
        if id(self) not in kept or not kept[id(self)].refresh(connection, budget):
            kept[id(self)] = BalanceView.load(connection, budget)
        return kept[id(self)]

    monkeypatch.setattr(Admission, "_refreshed", refreshed)
    paid = paid_after_an_interruption(tmp_path / "ledger.sqlite")
    assert not BUDGET.admits_state(paid)


def test_threads_share_what_is_in_memory(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one of them refreshes it, the others look at rows."""
    monkeypatch.setattr(packed_payers, "LEAST", 2)
    monkeypatch.setattr(admission, "SHARE", 10**6)
    monkeypatch.setattr(waiting, "MOST_WAITING", 5)
    ledger = kept(BUDGET)

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


@pytest.mark.usefixtures("way")
def test_payment_that_fails_leaves_no_balance(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its new units get their numbers again, in whatever order."""
    ledger, other = kept(BUDGET), kept()
    ledger.reserve("q", 0, of(0.5), UNITS[:3])
    real = waiting.insert

    def fails(*arguments: Any) -> None:
        real(*arguments)
        raise LedgerError("a full disk")

    monkeypatch.setattr(waiting, "insert", fails)
    with pytest.raises(LedgerError, match="a full disk"):
        ledger.reserve("q", 1, of(2.0), UNITS[:7])
    monkeypatch.setattr(waiting, "insert", real)
    other.reserve("r", 0, of(1.0), [UNITS[8], UNITS[6]])
    assert ledger.reserve("q", 2, of(2.5), UNITS) == frozenset(UNITS) - {UNITS[8], UNITS[6]}
    parts_of(kept())


DAMAGE = {
    "what waits": "delete from waiting_part where question = 'q'",
    "a part that waits": "delete from part where question = 'q'",
    "the number of its payers": "update waiting_part set payers = payers - 1 where question = 'q'",
    "what it reserved": "update part set most_atto = most_atto + 1 where question = 'q'",
    "what it spent": "update part set spent_nano = most_nano where question = 'q'",
    "that it is settled": "update part set spent_nano = null where question = 'q'",
    "who pays": "update part set packed = (select packed from part where question = 'r') where question = 'q'",
    "a unit": "delete from unit where key = (select key from unit order by key limit 1)",
    "its number": "update unit set number = 77 where key = (select key from unit order by key limit 1)",
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("way", ["waiting"], indirect=True)
def test_damage_to_what_waits_is_noticed(kept: Kept, way: str, damage: str) -> None:
    ledger = kept(BUDGET)
    ledger.reserve("q", 0, of(1.0), UNITS[:4])
    ledger.settle("q", 0, of(0.5))
    ledger.reserve("r", 0, of(1.0), UNITS[2:6])
    kept()
    with ledger._writing() as connection:
        connection.execute(text(DAMAGE[damage]))
    with pytest.raises(LedgerError, match="corrupt"):
        kept()


BLOCK_DAMAGE: dict[str, Callable[[Connection], None]] = {
    "a balance": lambda connection: blocks.get_back(connection, np.array([1]), FilterState(0, 1, 0)),
    "two balances": lambda connection: blocks.get_back(connection, np.array([1, 6]), FilterState(0, 1, 0)),
    "a block": lambda connection: _run(connection, "delete from balance_block where block = 0"),
    "its length": lambda connection: _run(connection, "update balance_block set content = substr(content, 1, 8)"),
    "a unit": lambda connection: _run(connection, DAMAGE["a unit"]),
    "its number": lambda connection: _run(connection, DAMAGE["its number"]),
    "no number": lambda connection: _run(connection, "update unit set number = null where number = 2"),
    "a number of no block": lambda connection: _run(connection, "update balance_block set block = 99 where block = 1"),
    "a number below 0": lambda connection: _run(connection, "update balance_block set block = -1 where block = 1"),
}


def _run(connection: Connection, statement: str) -> None:
    connection.execute(text(statement))


@pytest.mark.parametrize("way", ["blocks"], indirect=True)
def test_damage_to_cut_balances_is_noticed(kept: Kept, way: str) -> None:
    """A sum with cut balances has no exact value; the checksum of the block is exact."""
    ledger = kept(Budget(3.0, 1e-5))
    for question in "qrs":
        ledger.reserve(question, 0, Spending.of(ZeroConcentrated(0.01)), UNITS[:7])
    kept()
    with ledger._writing() as connection:
        content = bytes(connection.execute(text("select content from balance_block where block = 0")).scalar_one())
        for damaged in (content[:40], content[:40] + bytes(16) + content[56:], content[:-8]):
            connection.execute(text("update balance_block set content = :c where block = 0"), {"c": damaged})
            with pytest.raises(LedgerError, match="corrupt"):
                list(blocks.read_all(connection))
    with pytest.raises(LedgerError, match="corrupt"):
        kept()


@pytest.mark.parametrize("damage", BLOCK_DAMAGE)
@pytest.mark.parametrize("way", ["blocks"], indirect=True)
def test_damage_to_blocks_is_noticed(kept: Kept, way: str, damage: str) -> None:
    ledger = kept(BUDGET)
    for question in "qrs":
        ledger.reserve(question, 0, of(0.5), UNITS[:7])
    kept()
    with ledger._writing() as connection:
        BLOCK_DAMAGE[damage](connection)
    with pytest.raises(LedgerError, match="corrupt"):
        kept()


def test_look_at_rows_alone_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_payers, "LEAST", 2)
    monkeypatch.setattr(admission, "SHARE", 0)
    monkeypatch.setattr(waiting, "added", lambda connection, budget, balances: balances)  # a broken twin
    ledger = SqliteLedger.create(tmp_path / "ledger.sqlite", BUDGET)
    ledger.reserve("q", 0, of(2.0), UNITS[:4])
    assert ledger.reserve("q", 1, of(2.0), UNITS[:4]) == frozenset(UNITS[:4])  # which the reference refuses


def test_view_that_reads_no_changes_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_payers, "LEAST", 2)
    monkeypatch.setattr(admission, "SHARE", 10**6)
    SqliteLedger.create(tmp_path / "ledger.sqlite", BUDGET).reserve("before", 0, of(0.0), UNITS[:4])
    monkeypatch.setattr(BalanceView, "refresh", lambda self, connection, budget: True)  # a broken twin
    ledger = SqliteLedger.open(tmp_path / "ledger.sqlite")
    for part in range(3):
        ledger.reserve("q", part, of(1.25), UNITS[:4])
    assert ledger.payers("q", 2) == frozenset(UNITS[:4])


def test_many_large_balances_in_blocks_are_added_up_exactly(kept: Kept) -> None:
    """The sum over all units does not fit into 64 bits."""
    ledger, many = kept(Budget(9e5, 1e-5)), [number.to_bytes(16, "big") for number in range(10_500)]
    ledger.reserve("q", 0, of(8.9e5), many)
    with ledger._writing() as connection:
        waiting.write(connection, ledger.budget)
    kept()
    with ledger._writing() as connection:
        blocks.get_back(connection, np.array([7000]), FilterState(0, 1, 0))
    with pytest.raises(LedgerError, match="corrupt"):
        kept()


def test_balances_are_read_into_memory_at_the_second_look_at_a_share(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a process that looks at large parts again and again reads all balances, too."""
    many = [number.to_bytes(16, "big") for number in range(3000)]
    ledger, loads = kept(Budget(100.0, 1e-5, accountant="pure")), list[int]()
    real = BalanceView.load.__func__  # type: ignore[attr-defined]

    def load(cls: type[BalanceView], connection: Connection, budget: Budget) -> BalanceView:
        loads.append(1)
        return real(cls, connection, budget)  # type: ignore[no-any-return]

    monkeypatch.setattr(BalanceView, "load", classmethod(load))
    for part in range(4):
        assert ledger.reserve("q", part, of(1.0), many[:1500]) == frozenset(many[:1500])
        assert len(loads) == (part > 0)
    other = kept()
    for part in range(12):
        assert len(other.reserve("r", part, of(8.0), many[:1])) == (4 + 8 * (part + 1) <= 100)
    assert len(loads) == 2

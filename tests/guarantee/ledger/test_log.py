"""The log of a ledger: each statement and each commit may fail, rows may be lost, changed, copied and forged."""

import json
import os
import shutil
import sqlite3
from collections import Counter as Multiset
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BudgetExhausted, LedgerError
from discreet.ledger import balances
from discreet.ledger.balances import KeyTable, Units, join_keys, pack_payers, split, unpack_payers
from discreet.ledger.ledger import SqliteLedger
from discreet.log import arrays, chain, replay
from discreet.log.replay import Counter
from discreet.privacy.account import UnitAccount
from discreet.privacy.accounting import CUT, Budget, Spending, Sums
from discreet.privacy.costs import ORDERS, Pure
from discreet.privacy.filter import APART, Charge, MemoryLedger, PrivacyFilter
from discreet.privacy.partition import ADD_REMOVE_ONE, Member
from discreet.privacy.private import Private
from discreet.testing.settings import QUICK
from tests.guarantee.ledger.conftest import Kept, change
from tests.guarantee.ledger.suite import CHANGE

BUDGET = Budget(1.0, 1e-5, accountant="pure")
UNITS = [number.to_bytes(16, "big") for number in range(12)]


def of(epsilon: float) -> Spending:
    return Spending.of(Pure(epsilon))


# --- failures


@contextmanager
def failing(ledger: Any, monkeypatch: pytest.MonkeyPatch, at: int, late: bool) -> Iterator[list[int]]:
    """Fail at one statement or commit of a ledger: before the database has it, or after it did it."""
    count, dialect = [0], ledger.place.engine.dialect
    run, commit = chain.LogStatement.run, dialect.do_commit

    def fail(act: Callable[[], Any]) -> Any:
        count[0] += 1
        if count[0] == at and not late:
            raise LedgerError("a fault")
        found = act()
        if count[0] == at:
            raise LedgerError("a fault")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(chain.LogStatement, "run", lambda self, *of: fail(lambda: run(self, *of)))
        patch.setattr(dialect, "do_commit", lambda connection: fail(lambda: commit(connection)))
        yield count


OPERATIONS: dict[str, Callable[[Any, str], object]] = {
    "reserve": lambda ledger, name: ledger.reserve(name, 0, of(0.6), UNITS[:3]),
    "reserve all": lambda ledger, name: ledger.reserve_all(name, 0, of(0.3)),
    "charge": lambda ledger, name: ledger.charge(Charge(name, 0, "test", CHANGE, Pure(0.6))),
    "settle": lambda ledger, name: ledger.settle("before", 0, of(0.1)),
    "merge": lambda ledger, name: ledger.merge([(UNITS[3], UNITS[4])]),
    "begin": lambda ledger, name: ledger.begin(name, "test", None),
    "finish": lambda ledger, name: ledger.finish("began", "end"),
}


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("what", OPERATIONS)
def test_each_statement_and_each_commit_may_fail(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, what: str, late: bool
) -> None:
    """Two processes then know what the log has, neither more nor less; and no unit pays more than its grant."""
    kept(BUDGET)
    ledger, other, before = kept(), kept(), 0
    ledger.begin("began", "test", None)
    if what != "charge":
        ledger.reserve("before", 0, of(0.3), UNITS[3:5])
    for at in range(1, 100):
        with failing(ledger, monkeypatch, at, late) as count, suppress(LedgerError, BudgetExhausted):
            OPERATIONS[what](ledger, f"q{at}")
        if count[0] < at:
            break
        before = at
        for used in (ledger, other):
            again = kept()
            assert Multiset(dict(used.unit_balances())) == Multiset(dict(again.unit_balances()))
            assert used.spent() == again.spent()
            assert used.questions() == again.questions()
            assert used.reached() == again.reached()
        other.reserve("r", at, of(0.0), UNITS[5:7]) if what != "charge" else other.begin(f"r{at}", "test", None)
    assert before >= 3
    for name in ("last", "another"):
        for used in (ledger, other):
            with suppress(LedgerError, BudgetExhausted):
                OPERATIONS["charge" if what == "charge" else "reserve"](used, f"{name}{used is other}")
    for used in (ledger, other, kept()):
        common = used.budget.filter_state(used.spent())
        assert used.budget.admits_state(common)
        assert all(used.budget.admits_state(state) for state, _ in used.unit_balances())


def test_ledger_that_keeps_a_row_that_was_not_committed_is_caught(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken twin, as a prototype was: it applies its own row before the commit."""
    kept(BUDGET)
    real = chain.append

    def applied(connection: Any, head: Any, entry: Any, at: int | None = None) -> Any:
        new = real(connection, head, entry, at)
        state = ledger.replay._state
        question, kind, part, loss, failure, content = entry
        state.apply(chain.LogRow(new.id, question, kind, part, 0, loss, failure, content, new.hash))
        state.head = new
        return new

    ledger = kept()
    monkeypatch.setattr(chain, "append", applied)
    monkeypatch.setattr(ledger.replay, "forget", lambda: None)
    monkeypatch.setattr(replay, "read", lambda connection, head=None: iter(()))
    with failing(ledger, monkeypatch, 3, late=False), pytest.raises(LedgerError):
        ledger.reserve("q", 0, of(0.6), UNITS[:3])
    assert ledger.replay._state.unit_balances() != kept_balances(kept, monkeypatch)


def kept_balances(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.undo()
    return kept().unit_balances()


def test_interruption_while_rows_are_read_leaves_no_half_of_them(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, other = kept(BUDGET), kept()
    for part in range(3):
        other.reserve("q", part, of(0.2), UNITS[:4])
    for part in range(3):
        other.settle("q", part, of(0.1))
    kind, calls = Units, iter(range(100))
    real = kind.apply

    def stopped(self: Any, row: Any) -> None:
        real(self, row)
        if next(calls) == 4:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(kind, "apply", stopped)
        with pytest.raises(KeyboardInterrupt):
            ledger.reserve("r", 0, of(0.6), UNITS[:4])
    assert ledger.reserve("r", 1, of(0.6), UNITS[:4]) == frozenset(UNITS[:4])
    assert ledger.balance(UNITS[0]).pure == of(0.9).loss_nano[-1]


def test_number_of_a_row_is_the_guard_without_a_lock(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes that both hold "the lock": one of them pays."""
    ledger, other = kept(BUDGET), kept()
    real = chain.append

    def meanwhile(connection: Any, head: Any, entry: Any, at: int | None = None) -> Any:
        return real(connection, chain.Head(head.id - 1, head.before, b""), entry, at)

    other.reserve("q", 0, of(0.6), UNITS[:3])
    with monkeypatch.context() as patch:
        patch.setattr(chain, "append", meanwhile)
        with pytest.raises(LedgerError, match="at the same moment"):
            ledger.reserve("r", 0, of(0.6), UNITS[3:5])
    assert ledger.unit_balances() == kept().unit_balances() == [(ledger.budget.filter_state(of(0.6)), 3)]


# --- what a chain finds, and what a counter


@pytest.mark.parametrize("statement", ["update log set part = 1 where id = 2", "delete from log where id = 2"])
def test_rows_are_final(kept: Kept, statement: str) -> None:
    ledger = kept(BUDGET)
    ledger.reserve("q", 0, of(0.6), UNITS[:3])
    with pytest.raises(LedgerError), ledger.writing() as found:
        found.connection.exec_driver_sql(statement)
    with pytest.raises(LedgerError), ledger.writing() as found:
        found.connection.exec_driver_sql(
            "insert into log select 2, 'x', kind, part, time, loss, failure, content, hash from log where id = 2"
        )
    assert kept().unit_balances() == [(ledger.budget.filter_state(of(0.6)), 3)]


def test_row_is_not_replaced(tmp_path: Path) -> None:
    ledger = SqliteLedger.create(tmp_path / "ledger.sqlite", BUDGET)
    ledger.reserve("q", 0, of(0.6), UNITS[:3])
    with pytest.raises(LedgerError), ledger.writing() as found:
        found.connection.exec_driver_sql("insert or replace into log select * from log where id = 2")


COLUMNS = ("question = 'x'", "kind = 'charge'", "part = 7", "time = time + 1", "failure = failure + 1")
BLOBS = ("loss", "content", "hash")


@pytest.mark.parametrize("row", [1, 2, 3, 4])
@pytest.mark.parametrize("column", [*COLUMNS, *BLOBS])
def test_changed_field_is_found(kept: Kept, row: int, column: str) -> None:
    """Also in the newest row, by a process that has it in memory."""
    ledger = kept(BUDGET)
    ledger.reserve("q", 0, of(0.6), UNITS[:3])
    ledger.settle("q", 0, of(0.3))
    ledger.reserve("r", 0, of(0.1), UNITS[:2])
    if column in BLOBS:
        other = "select content from log where id = 1" if row > 1 else "select loss from log where id = 2"
        column = f"{column} = ({other})"
    change(ledger, f"update log set {column} where id = {row}")
    with pytest.raises(LedgerError):
        kept()
    if row == 4:
        with pytest.raises(LedgerError):
            ledger.reserve("s", 0, of(0.1), UNITS)


@pytest.mark.parametrize("damage", ["delete from log where id = 2", "update log set id = 9 where id = 4"])
def test_missing_row_is_found(kept: Kept, damage: str) -> None:
    ledger = kept(BUDGET)
    ledger.reserve("q", 0, of(0.6), UNITS[:3])
    ledger.settle("q", 0, of(0.3))
    ledger.reserve("r", 0, of(0.1), UNITS[:2])
    change(ledger, damage)
    with pytest.raises(LedgerError, match="corrupt"):
        kept()


LINE = chain.LogRow(2, "ab", "c", 1, 7, b"de", 3, b"f", b"")


@pytest.mark.parametrize(
    "other", [{"question": "a", "kind": "bc"}, {"part": 17, "time": 3}, {"loss": b"d", "content": b"ef"}]
)
def test_bytes_that_move_to_another_field_change_the_hash(other: dict[str, Any]) -> None:
    """The lengths of the fields are hashed, too."""
    assert chain.hash_of(LINE._replace(**other), bytes(32)) != chain.hash_of(LINE, bytes(32))


def test_moment_of_a_row_is_whole_seconds(kept: Kept) -> None:
    """A float is written in different ways by different databases."""
    with pytest.raises(LedgerError, match="corrupt"):
        chain.hash_of(LINE._replace(time=7.0), bytes(32))  # type: ignore[arg-type]
    kept(BUDGET).begin("q", "test", None)
    with kept().reading() as found:
        assert {type(row.time) for row in chain.read(found.connection)} == {int}


def counted(ledger: Any, tmp_path: Path) -> Any:
    ledger.check_counter(Counter(tmp_path / "counter.json"))
    return ledger


def test_lost_newest_rows_are_found_by_the_counter(kept: Kept, tmp_path: Path) -> None:
    ledger = counted(kept(BUDGET), tmp_path)
    ledger.reserve("q", 0, of(0.6), UNITS[:3])
    ledger.reserve("r", 0, of(0.1), UNITS[3:])
    change(ledger, "delete from log where id = 3")
    kept()  # the chain alone is whole
    with pytest.raises(LedgerError, match="older than the newest question"):
        counted(kept(), tmp_path)
    with pytest.raises(LedgerError, match="older than the newest question"):
        ledger.reserve("s", 0, of(0.1), UNITS)


def test_forked_copy_is_found_by_the_counter(tmp_path: Path) -> None:
    """A copy that went on by itself has as many rows, and others."""
    path, saved = tmp_path / "ledger.sqlite", tmp_path / "saved"
    ledger = counted(SqliteLedger.create(path, BUDGET), tmp_path)
    ledger.reserve("q", 0, of(0.6), UNITS[:3])
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(saved)) as target:
        source.backup(target)
    ledger.reserve("r", 0, of(0.1), UNITS[:3])
    SqliteLedger(saved).reserve("s", 0, of(0.1), UNITS[:3])
    put_back(path, saved)
    with pytest.raises(LedgerError, match="another copy"):
        counted(SqliteLedger(path), tmp_path)
    with pytest.raises(LedgerError, match="another copy"):
        ledger.begin("t", "test", None)


def put_back(path: Path, saved: Path) -> None:
    with closing(sqlite3.connect(saved)) as database:
        database.execute("pragma journal_mode = delete")  # which moves all of it into the file
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)
    shutil.copyfile(saved, path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("pragma journal_mode = wal")


def test_settlement_is_never_named_by_the_counter(kept: Kept, tmp_path: Path) -> None:
    """A power cut may undo it: then its whole reservation counts, and the ledger is not refused."""
    ledger = counted(kept(BUDGET), tmp_path)
    ledger.reserve("q", 0, of(0.6), UNITS[:3])
    ledger.settle("q", 0, of(0.1))
    ledger.note()
    assert json.loads((tmp_path / "counter.json").read_text())["row"] == 2
    change(ledger, "delete from log where kind = 'settle'")  # as a power cut does
    found = counted(kept(), tmp_path)
    for used in (ledger, found):
        assert used.unit_balances() == [(ledger.budget.filter_state(of(0.6)), 3)]
    ledger.settle("q", 0, of(0.2))
    assert found.unit_balances() == [(ledger.budget.filter_state(of(0.2)), 3)]
    ledger.begin("r", "test", None)
    assert json.loads((tmp_path / "counter.json").read_text())["row"] == 4


def test_no_answer_scans_the_log(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hundred earlier rows, an answer reads none but those of its own questions, which an index finds."""
    ledger = kept(BUDGET)
    for part in range(100):
        ledger.reserve("before", part, of(0.0), UNITS[:2])
    ledger.spent()
    count, real = [0], chain.read

    def counted_rows(connection: Any, head: Any = None) -> Iterator[chain.LogRow]:
        for row in real(connection, head):
            count[0] += 1
            yield row

    for module in (chain, replay):
        monkeypatch.setattr(module, "read", counted_rows)
    ledger.begin("q", "test", None)
    ledger.reserve("q", 0, of(0.1), UNITS)
    ledger.settle("q", 0, of(0.05))
    ledger.finish("q", "end")
    assert ledger.spent_at_most(["q"]) == ledger.spent_at_most() == of(0.05)
    assert ledger.payers("q", 0) == frozenset(UNITS)
    assert ledger.began("q")
    assert ledger.affords(of(0.5))
    assert ledger.unable_now(of(0.1)) == 0
    assert count[0] == 4, "the rows of this question, read back"


# --- snapshots


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every ledger as a large one, with a snapshot."""
    monkeypatch.setattr(replay, "LARGE", 0)
    monkeypatch.setattr(replay, "SNAPSHOT_AFTER", 1)


def snapshot_of(ledger: Any) -> Path:
    found = ledger.replay._snapshot
    assert isinstance(found, Path)
    return found


def filled(kept: Kept) -> tuple[Any, Any]:
    """Return a ledger with everything that a snapshot has, and the reference."""
    reference = MemoryLedger(BUDGET)
    kept(BUDGET)
    ledger = kept()
    for used in (ledger, reference):
        for part in range(6):
            used.reserve("q", part, of(0.1), UNITS[part : part + 4])
        used.reserve_all("r", 0, of(0.2))
        used.settle("q", 1, of(0.05), (), 7)
        used.merge([(UNITS[1], UNITS[2]), (UNITS[2], UNITS[9])])
        used.reserve("s", APART, of(0.02), UNITS[:2])
        used.reserve("s", APART + 1, of(0.03), UNITS[4:5])
    return ledger, reference


def check_same(ledger: Any, reference: Any) -> None:
    assert ledger.spent() == reference.spent()
    assert Multiset(dict(ledger.unit_balances())) == Multiset(dict(reference.unit_balances()))
    assert ledger.spent_at_most() == of(0.1).times(5) + of(0.05) + of(0.2) + of(0.03)
    with ledger.reading() as found:
        assert found.state.transcript.paid == reference._transcript.paid


@pytest.mark.usefixtures("large")
def test_snapshot_has_the_whole_state(kept: Kept) -> None:
    ledger, reference = filled(kept)
    check_same(ledger, reference)
    first = kept()
    check_same(first, reference)
    for used in (kept(), ledger, first):
        assert used.spent() == reference.spent()
        used.replay.forget()
        check_same(used, reference)  # from the snapshot that it compared, or from all rows
    late = kept()
    late.settle("q", 0, of(0.01))
    reference.settle("q", 0, of(0.01))
    assert Multiset(dict(kept().unit_balances())) == Multiset(dict(reference.unit_balances()))
    assert late.settle("q", 0, of(0.01)) is None


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("forge", ["a balance", "the common sum", "an open part", "a key"])
def test_forged_snapshot_is_found_before_the_first_payment(kept: Kept, forge: str) -> None:
    ledger, _ = filled(kept)
    found = kept()
    found.unit_balances()
    path = snapshot_of(found)
    header, content = arrays.load(path)  # type: ignore[misc]
    content = [array.copy() for array in content]
    if forge == "a balance":
        content[2][1, 0] = 0
    elif forge == "the common sum":
        content[3][:] = 0
    elif forge == "a key":
        content[0][0] = bytes(13) + b"\1\2\3"
    else:
        header["state"]["open"] = header["state"]["open"][1:]
    arrays.save(path, header, content)
    ledger = kept()
    with pytest.raises(LedgerError, match="differs from the ledger"):
        ledger.reserve("t", 0, of(0.1), UNITS)
    path.unlink()
    assert kept().reserve("t", 0, of(0.1), UNITS)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("content", [b"", b"discreet 1\0", os.urandom(5000), None])
def test_damaged_or_missing_snapshot_is_made_anew(kept: Kept, content: bytes | None) -> None:
    filled(kept)
    ledger = kept()
    before = ledger.unit_balances()
    path = snapshot_of(ledger)
    whole = path.read_bytes()
    path.write_bytes(content) if content is not None else path.unlink()
    assert kept().unit_balances() == before
    assert path.read_bytes() == whole


@pytest.mark.usefixtures("large")
def test_snapshot_of_an_earlier_version_is_made_anew(kept: Kept) -> None:
    """It has another form, and no record of what was paid. It is no forgery: payments go on."""
    ledger, reference = filled(kept)
    path = snapshot_of(ledger)
    kept().unit_balances()
    header, content = arrays.load(path)  # type: ignore[misc]
    content = [array.copy() for array in content]
    del header["state"]["paid"]
    arrays.save(path, header | {"form": 2}, content)
    later = kept()
    for used in (later, reference):
        used.reserve("t", 0, of(0.1), UNITS[:2])
    assert later.spent() == reference.spent()
    assert Multiset(dict(later.unit_balances())) == Multiset(dict(reference.unit_balances()))


@pytest.mark.usefixtures("large")
def test_snapshot_of_rows_that_a_power_cut_undid_is_not_used(kept: Kept) -> None:
    kept(BUDGET)
    ledger = kept()
    ledger.reserve("q", 0, of(0.6), UNITS[:3])
    ledger.settle("q", 0, of(0.1))
    kept().unit_balances()
    change(ledger, "delete from log where kind = 'settle'")
    ledger.reserve("r", 0, of(0.3), UNITS[3:4])
    for used in (kept(), ledger):
        assert dict(used.unit_balances()) == {
            ledger.budget.filter_state(of(0.6)): 3,
            ledger.budget.filter_state(of(0.3)): 1,
        }


@pytest.mark.usefixtures("large")
def test_snapshot_is_written_by_the_check_alone(kept: Kept) -> None:
    """Never inside an answer, whatever is paid."""
    filled(kept)
    ledger = kept()
    ledger.unit_balances()  # which waits for the check
    before = arrays.identity(snapshot_of(ledger))
    for part in range(20):
        ledger.reserve("t", part, of(0.001), UNITS)
        ledger.settle("t", part, of(0.0))
    ledger.begin("u", "test", None)
    assert before is not None
    assert arrays.identity(snapshot_of(ledger)) == before
    kept().unit_balances()
    assert arrays.identity(snapshot_of(ledger)) != before


@pytest.mark.usefixtures("large")
def test_snapshot_that_cannot_be_written_leaves_the_old_one(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is written aside, and then renamed: a full disk leaves no half of it."""
    filled(kept)
    ledger = kept()
    before = ledger.unit_balances()
    path = snapshot_of(ledger)
    whole, files = path.read_bytes(), set(path.parent.iterdir())
    ledger.begin("u", "test", None)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        assert kept().unit_balances() == before
    assert path.read_bytes() == whole
    assert {one for one in path.parent.iterdir() if "snapshot" in one.name} <= files


def test_new_units_cost_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hundred thousand known keys, none is touched for ten new ones."""
    draw, moved = np.random.default_rng(3), list[int]()
    real = balances._merged

    def counting(one: Any, other: Any) -> Any:
        moved.append(len(one[0]) + len(other[0]))
        return real(one, other)

    monkeypatch.setattr(balances, "_merged", counting)
    table = KeyTable()
    table.add(join_keys([draw.bytes(16) for _ in range(100_000)]), 0)
    for turn in range(1000):
        table.add(join_keys([draw.bytes(16) for _ in range(10)]), 100_000 + 10 * turn)
    assert max(moved) < 25_000
    assert sum(moved) < 10_000 * 30


# --- closing


@pytest.mark.parametrize("keep", [True, False])
def test_closed_log_goes_on_with_all_balances(kept: Kept, tmp_path: Path, keep: bool) -> None:
    """Other processes go on. Open parts are settled. The counter accepts the log. No old question names a unit."""
    ledger, reference = filled(kept)
    counted(ledger, tmp_path)
    ledger.begin("began", "test", None)
    other, before = kept(), ledger.reached()
    ledger.close_log(keep=keep)
    for used in (ledger, other, kept(), counted(kept(), tmp_path)):
        check_same(used, reference)
        assert used.reached().payments == before.payments
        assert used.reached().row > before.row
        assert used.questions() == []
        assert used.questions_of(UNITS[4]) == frozenset()
    with pytest.raises(LedgerError, match="reserved before"):
        other.reserve("q", 0, of(0.1), UNITS)
    for used in (other, reference):
        used.settle("q", 0, of(0.01))
        used.reserve("t", 0, of(0.1), UNITS)
    assert Multiset(dict(ledger.unit_balances())) == Multiset(dict(reference.unit_balances()))
    ledger.close_log(keep=keep)
    assert Multiset(dict(kept().unit_balances())) == Multiset(dict(reference.unit_balances()))
    assert counted(kept(), tmp_path).payers("q", 0) is None
    with ledger.reading() as found:
        names = found.connection.exec_driver_sql(
            "select name from sqlite_master where type = 'table'"
            if isinstance(ledger, SqliteLedger)
            else "select table_name from information_schema.tables where table_schema = current_schema()"
        ).scalars()
        assert sum(name.startswith("log_until_") for name in names) == 2 * keep


def test_closed_log_leaves_no_unit_in_the_file(tmp_path: Path) -> None:
    ledger = SqliteLedger.create(tmp_path / "ledger.sqlite", BUDGET, log_questions=True)
    ledger.begin("the question", "test", "Has Ada Lind the fever?")
    ledger.reserve("the question", 0, of(0.1), UNITS)
    ledger.settle("the question", 0, of(0.1))
    ledger.close_log(keep=False)
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"Ada Lind" not in content
    assert b"the question" not in content


class Draws:
    """A mechanism that counts its draws."""

    def __init__(self) -> None:
        self.made = 0

    def __str__(self) -> str:
        return "test"

    def cost(self, change: object) -> Pure:
        return Pure(0.2)

    def draw(self, shares: Sequence[Any], noise: object) -> int:
        self.made += 1
        return self.made


MEMBERS = Private([Member(unit, None) for unit in UNITS[:3]], ADD_REMOVE_ONE)


def draw_from_all(ledger: Any, question: str, draws: Draws) -> None:
    PrivacyFilter(ledger, BUDGET, question, again=True).release(draws, Private([1], ADD_REMOVE_ONE))


def draw_from_each(ledger: Any, question: str, draws: Draws) -> None:
    account = UnitAccount(ledger, question)
    members, privacy = account.admit(MEMBERS, of(0.2), again=True)
    privacy.release(draws, members)
    account.settle()


def draw_from_every(ledger: Any, question: str, draws: Draws) -> None:
    account = UnitAccount(ledger, question)
    account.charge_every_unit(of(0.2)).paid.release(draws, MEMBERS)
    account.settle()


PAID: dict[str, Callable[[Any, str, Draws], None]] = {
    "charge": draw_from_all,
    "units": draw_from_each,
    "every unit": draw_from_every,
}


def everything(ledger: Any) -> tuple[Any, ...]:
    return ledger.spent(), Multiset(dict(ledger.unit_balances())), ledger.spent_at_most(), ledger.reached()


def close_and_ask_again(kept: Kept, how: str, closings: int, keep: Any = False) -> tuple[Any, int, tuple[Any, ...]]:
    """Ask, close, and ask again under the same id. Return the ledger, the number of draws, and what was paid."""
    ledger, draws = kept(BUDGET), Draws()
    ledger.begin("q", "test", None)
    PAID[how](ledger, "q", draws)
    ledger.finish("q", "end")
    for _ in range(closings):
        ledger.close_log(keep=keep)
    before = everything(kept())
    PAID[how](kept(), "q", draws)
    return kept(), draws.made, before


@pytest.mark.parametrize("closings", [1, 2])
@pytest.mark.parametrize("how", PAID)
def test_no_question_of_a_closed_log_pays_or_draws_again(kept: Kept, how: str, closings: int) -> None:
    with pytest.raises(LedgerError, match="older than the closing"):
        close_and_ask_again(kept, how, closings)
    ledger, draws = kept(), Draws()
    before = everything(ledger)
    for used in (ledger, kept()):
        with pytest.raises(LedgerError, match="older than the closing"):
            PAID[how](used, "q", draws)
        with pytest.raises(LedgerError, match="already began"):
            used.begin("q", "test", None)
        with pytest.raises(LedgerError, match="older than the closing"):
            used.settle("q", 0, of(0.1))
        with pytest.raises(LedgerError, match="older than the closing"):
            used.spent_at_most(["q"])
        assert used.began("q")
        assert everything(used) == before
    assert draws.made == 0
    PAID[how](ledger, "another", draws)
    assert draws.made == 1
    assert everything(kept()) != before


@pytest.mark.parametrize("how", PAID)
def test_ledger_that_forgets_old_questions_is_caught(kept: Kept, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """A broken twin: it pays and draws a second time for one id."""
    monkeypatch.setattr(Units, "is_past", lambda self, question: False)
    ledger, drawn, before = close_and_ask_again(kept, how, 1)
    assert drawn == 2
    assert everything(ledger) != before


@pytest.mark.usefixtures("large")
def test_old_questions_are_in_the_snapshot(kept: Kept) -> None:
    with pytest.raises(LedgerError, match="older than the closing"):
        close_and_ask_again(kept, "units", 1)
    for _ in range(2):
        ledger = kept()
        ledger.replay.wait()
        ledger.replay.forget()
        assert ledger.began("q")


def test_work_that_was_in_flight_at_the_closing_is_settled_and_pays_no_more(kept: Kept) -> None:
    ledger = kept(BUDGET)
    ledger.begin("q", "test", None)
    account = UnitAccount(ledger, "q")
    account.admit(MEMBERS, of(0.2))
    kept().close_log(keep=False)
    with pytest.raises(LedgerError, match="older than the closing"):
        account.admit(MEMBERS, of(0.2))
    account.settle()
    ledger.finish("q", "end")
    assert not any(state.pure for state, _ in kept().unit_balances())


def test_what_is_known_of_closed_logs(kept: Kept, tmp_path: Path) -> None:
    ledger = kept(BUDGET)
    for number, close in enumerate((True, False, tmp_path / "archive.sqlite", True)):
        for name in ("a", "b"):
            ledger.begin(f"{name}{number}", "test", None)
            ledger.reserve(f"{name}{number}", 0, of(0.01), UNITS[:3])
        ledger.finish(f"a{number}", "end")
        ledger.close_log(keep=close)
        start = kept().start()
        assert (start.earlier_questions, start.answered) == (2 * number + 2, number + 1)
    assert len(start.closed_logs) == 2
    assert start.earlier_questions == 8


def test_archive_has_the_old_rows_for_its_owner_alone(kept: Kept, tmp_path: Path) -> None:
    ledger, path = kept(BUDGET), tmp_path / "archive.sqlite"
    for number in range(2):
        ledger.begin(f"q{number}", "test", None)
        ledger.reserve(f"q{number}", 0, of(0.1), UNITS[number : number + 3])
        with ledger.reading() as found:
            rows = list(chain.read(found.connection))
        ledger.close_log(keep=path.with_name(f"{number}.sqlite"))
        path = path.with_name(f"{number}.sqlite")
        assert path.stat().st_mode & 0o777 == 0o600
        archive = SqliteLedger(path)
        with archive.reading() as found:
            assert list(chain.read(found.connection)) == rows
        assert archive.questions_of(UNITS[number]) == {f"q{number}"}
        assert archive.questions_of(UNITS[9]) == frozenset()
    before = everything(ledger)
    with pytest.raises(LedgerError, match="already exists"):
        ledger.close_log(keep=path)
    assert everything(kept()) == everything(ledger) == before
    assert path.exists()


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_each_statement_of_a_closing_may_fail(kept: Kept, monkeypatch: pytest.MonkeyPatch, late: bool) -> None:
    ledger, other, before = kept(BUDGET), kept(), 0
    for at in range(1, 100):
        ledger.begin(f"q{at}", "test", None)
        ledger.reserve(f"q{at}", 0, of(0.01), UNITS[:3])
        known = everything(ledger)[:3]
        with failing(ledger, monkeypatch, at, late) as count, suppress(LedgerError):
            ledger.close_log(keep=False)
        for used in (ledger, other, kept()):
            assert everything(used)[:3] == known
            assert used.began(f"q{at}")
            with pytest.raises(LedgerError, match="reserved before"):
                used.reserve(f"q{at}", 0, of(0.01), UNITS[:3])
        ledger.settle(f"q{at}", 0, of(0.01))
        if count[0] < at:
            break
        before = at
    assert before >= 5


def test_archive_of_a_closing_that_failed_is_gone(kept: Kept, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ledger, path, removed = kept(BUDGET), tmp_path / "archive.sqlite", 0
    ledger.begin("q", "test", None)
    for at in range(1, 100):
        with failing(ledger, monkeypatch, at, False) as count, suppress(LedgerError):
            ledger.close_log(keep=path)
        if count[0] < at:
            break
        if kept().questions():  # nothing was closed: the same path may be used again
            removed += not path.exists()
            path.unlink(missing_ok=True)
        else:
            assert path.exists()
            break
    assert removed >= 4
    assert path.exists()


def test_settlement_after_a_closing_is_no_corpus(kept: Kept) -> None:
    ledger = kept(BUDGET)
    ledger.begin("q", "test", None)
    ledger.reserve("q", 0, of(0.1), UNITS[:3])
    ledger.reserve_all("corpus", 0, of(0.1))
    ledger.close_log(keep=False)
    assert ledger.count_corpora() == 1
    ledger.settle("q", 0, of(0.05))
    ledger.settle("corpus", 0, of(0.05))
    assert kept().count_corpora() == 1
    assert kept().questions() == []


# --- parts


@QUICK
@given(st.lists(st.lists(st.sampled_from(b"\0\1\x7f\xff"), min_size=16, max_size=16).map(bytes), max_size=8), st.data())
def test_keys_are_found_in_any_number_of_runs(first: list[bytes], data: st.DataObject) -> None:
    table, known = KeyTable(), dict[bytes, int]()
    for _ in range(data.draw(st.integers(1, 5))):
        more = data.draw(st.lists(st.binary(min_size=16, max_size=16), max_size=30))
        new = sorted({*first, *more} - known.keys())
        table.add(b"".join(new), len(known))
        known |= {key: len(known) + place for place, key in enumerate(new)}
    asked = sorted({*known, *first, bytes(16), b"\xff" * 16})
    assert table.find(b"".join(asked)).tolist() == [known.get(key, -1) for key in asked]
    chosen = np.arange(len(known)) % 2 == 0
    assert set(table.keys_of(chosen)) == {key for key, number in known.items() if number % 2 == 0}
    run = table.as_one_run()
    assert table.find(b"".join(asked)).tolist() == [known.get(key, -1) for key in asked]
    assert len(run[0]) == len(known)


def test_state_of_a_log_that_an_earlier_version_closed_is_read(kept: Kept) -> None:
    """It has the halves of keys as whole numbers."""
    ledger = kept(BUDGET)
    for question in ("q", "r"):
        ledger.begin(question, "test", None)
        ledger.reserve(question, 0, of(0.1), UNITS[3:9])
        ledger.close_log(keep=False)
    with ledger.reading() as found:
        header, (keys, numbers, *sums, past, zeros) = found.state.pack()
        again = Units(found.state.grant)
    halves = [np.frombuffer(one.tobytes(), dtype=">u8").reshape(-1, 2).astype(np.uint64).T for one in (keys, past)]
    again.unpack(header, [*halves[0], numbers, *sums, *halves[1], zeros])
    assert again.find(b"".join(UNITS)).tolist() == [-1, -1, -1, *range(6), -1, -1, -1]
    assert [again.is_past(question) for question in ("q", "r", "s")] == [True, True, False]
    header_again, content = again.pack()
    assert header_again == header
    assert all(map(np.array_equal, content, (keys, numbers, *sums, past, zeros)))


@QUICK
@given(st.lists(st.lists(st.sampled_from(b"\0\1\x7f\x80\xff"), min_size=16, max_size=16).map(bytes), max_size=20))
def test_keys_are_joined_in_order_each_once(units: list[bytes]) -> None:
    keys = join_keys([*units, *units[:3]])
    assert keys == b"".join(sorted(set(units)))
    assert split(keys) == sorted(set(units))


@QUICK
@given(st.sets(st.one_of(st.integers(0, 300), st.integers(0, 2**41)), max_size=60), st.integers(0, 5))
def test_payers_come_back(numbers: set[int], new: int) -> None:
    keys = b"".join(UNITS[:new])
    start, found, known = unpack_payers(pack_payers(77, keys, np.array(sorted(numbers, reverse=True), dtype=np.int64)))
    assert (start, found, known.tolist()) == (77, keys, sorted(numbers))


def test_one_in_a_hundred_takes_two_bytes() -> None:
    numbers = np.sort(np.random.default_rng(0).choice(10**7, 10**5, replace=False))
    assert len(pack_payers(0, b"", numbers)) < 201_000


@QUICK
@given(st.lists(st.tuples(st.sampled_from([0, 5, CUT - 1, CUT]), st.booleans()), max_size=40))
def test_sum_of_cut_sums_is_exact(parts: list[tuple[int, bool]]) -> None:
    """Whatever is taken back again leaves what the others are."""
    sums, left = Sums(), list[int]()
    for value, taken_back in parts * 30:
        part = Spending(np.full(len(ORDERS), value, dtype=np.int64), 1)
        sums.add(part)
        if taken_back:
            sums.add(part, -1)
        else:
            left.append(value)
    assert sums.total().loss_nano.tolist() == [min(sum(left), CUT)] * len(ORDERS)
    assert sums.total().failure_atto == len(left)


def test_closing_leaves_no_snapshot_and_names_who_pays_for_what_is_open(tmp_path: Path) -> None:
    """A snapshot has the payers of parts that were open when it was written. The open parts of now go on."""
    ledger = SqliteLedger.create(tmp_path / "ledger.sqlite", BUDGET)
    ledger.reserve("settled", 0, of(0.2), UNITS[:3])
    ledger.settle("settled", 0, of(0.1))
    ledger.reserve("open", 0, of(0.2), UNITS[2:5])
    snapshot = tmp_path / "ledger.sqlite-snapshot"
    snapshot.write_bytes(b"who took part")
    ledger.close_log(keep=False)
    assert not snapshot.exists()
    again = SqliteLedger(tmp_path / "ledger.sqlite")
    assert [again.traces_of(unit) for unit in (UNITS[0], UNITS[3], UNITS[9])] == [
        (True, frozenset()),
        (True, frozenset({"open"})),
        (False, frozenset()),
    ]


def test_closing_of_an_older_copy_is_refused(tmp_path: Path) -> None:
    """The counter is looked at under the lock of the closing, too."""
    path = tmp_path / "ledger.sqlite"
    ledger = SqliteLedger.create(path, BUDGET)
    ledger.reserve("first", 0, of(0.2), UNITS[:3])
    ledger.check_counter(Counter(tmp_path / "counter.json"))
    ledger.note()
    shutil.copy(path, tmp_path / "older")
    ledger.reserve("second", 0, of(0.2), UNITS[:3])
    older = SqliteLedger(tmp_path / "older")
    older.counter = ledger.counter
    with pytest.raises(LedgerError):
        older.close_log(keep=False)

"""What a payment waits for: its commit is on the disk, and in the file that the path names, before a draw.

A test can kill a process, and cannot cut the power. So what SQLite is asked for within each transaction is looked at.
"""

import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import LedgerError
from discreet.ledger.ledger import LogLedger, SqliteLedger
from discreet.log import chain
from discreet.log.replay import COUNTER, Counter
from discreet.log.sqlite import SqliteFile, driver_of
from discreet.privacy.account import UnitAccount
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Pure
from discreet.privacy.filter import Charge, PrivacyFilter
from discreet.privacy.partition import ADD_REMOVE_ONE, Member
from discreet.privacy.private import Change, Private, Relation
from discreet_server.accounts.accounts import Accounts
from tests.guarantee.ledger.test_sqlite import fork

UNITS = [b"u" * 16, b"v" * 16]
BUDGET = Budget(9.0, 1e-5)
COST = Spending.of(Pure(1.0))
CHARGE = Charge("q", 0, "test", Change(1, Relation.REPLACE), Pure(1.0))
FULL, NORMAL = 2, 1
"""Values of `pragma synchronous`. In a write-ahead log, a commit waits for the disk with FULL alone."""

ROWS: dict[str, tuple[Callable[[Any], object], int]] = {
    "charge": (lambda ledger: ledger.charge(CHARGE), FULL),
    "reserve": (lambda ledger: ledger.reserve("q", 0, COST, UNITS), FULL),
    "reserve_all": (lambda ledger: ledger.reserve_all("q", 0, COST), FULL),
    "merge": (lambda ledger: (ledger.reserve("q", 0, COST, UNITS[:1]), ledger.merge([(UNITS[0], UNITS[1])])), FULL),
    "begin": (lambda ledger: ledger.begin("new", "test", None), FULL),
    "finish": (lambda ledger: ledger.finish("before", "end"), FULL),
    "finish_run": (lambda ledger: ledger.finish_run("run"), FULL),
    "close_log": (lambda ledger: ledger.close_log(), FULL),
    "settle": (lambda ledger: ledger.settle("before", 0, COST), NORMAL),
}


def levels(path: Path, monkeypatch: pytest.MonkeyPatch, work: Callable[[Any], object]) -> set[int]:
    """The level of each transaction in which `work` appends a row to a new ledger."""
    ledger = SqliteLedger.create(path, BUDGET)
    ledger.begin("before", "test", None)
    ledger.reserve_all("before", 0, COST)
    with monkeypatch.context() as patch:
        seen = levels_of_appends(patch)
        work(ledger)
    return set(seen)


def levels_of_appends(patch: pytest.MonkeyPatch) -> list[int]:
    seen, append = list[int](), chain.append

    def appended(connection: Any, *arguments: Any) -> Any:
        seen.append(driver_of(connection).execute("pragma synchronous").fetchone()[0])
        return append(connection, *arguments)

    patch.setattr(chain, "append", appended)
    return seen


@pytest.mark.parametrize("row", ROWS)
def test_commit_waits_for_the_disk(row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, level = ROWS[row]
    assert levels(tmp_path / "ledger.sqlite", monkeypatch, work) == {level}


@pytest.mark.parametrize("level", ["off", "normal"])
def test_commit_without_the_disk_is_caught(level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def writing(file: SqliteFile, *, durable: bool = True) -> Any:
        return file._transaction(f"pragma synchronous = {level}", "begin immediate")

    monkeypatch.setattr(SqliteFile, "writing", writing)
    assert FULL not in levels(tmp_path / "ledger.sqlite", monkeypatch, ROWS["charge"][0])


def test_payment_that_is_not_durable_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writing = LogLedger.writing
    monkeypatch.setattr(LogLedger, "writing", lambda ledger, durable=True: writing(ledger, durable=False))
    assert levels(tmp_path / "ledger.sqlite", monkeypatch, ROWS["reserve"][0]) == {NORMAL}


def test_rows_of_accounts_wait_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = Accounts(tmp_path / "accounts.sqlite")
    seen = levels_of_appends(monkeypatch)
    accounts.grant("hospital", BUDGET, kept=1.0)
    assert set(seen) == {FULL}


# --- a charge of a killed process, which may be on no disk --------------------------------------------------------


def draw_from_all(ledger: Any, again: bool = True) -> None:
    PrivacyFilter(ledger, BUDGET, "q", again=again).release(Draw(), Private([1], ADD_REMOVE_ONE))


def draw_from_each(ledger: Any, again: bool = True) -> None:
    members, paid = UnitAccount(ledger, "q").admit(
        Private([Member(unit, 1) for unit in UNITS], ADD_REMOVE_ONE), COST, again=again
    )
    paid.release(Draw(), members.map(lambda member: member.value))


DRAWS = {"charge": draw_from_all, "units": draw_from_each}


class Draw:
    """A mechanism that notes its draws."""

    made: list[int]

    def __init__(self, made: list[int] | None = None) -> None:
        self.made = [] if made is None else made

    def cost(self, change: object) -> Pure:
        return Pure(1.0)

    def draw(self, shares: Sequence[int], noise: object) -> int:
        self.made.append(len(shares))
        return 0


@pytest.mark.parametrize("how", DRAWS)
def test_resumed_draw_waits_for_the_disk(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the draw, SQLite writes and syncs the write-ahead log, which has the row of the killed process."""
    path = tmp_path / "ledger.sqlite"
    SqliteLedger.create(path, BUDGET).spent()
    assert os.waitpid(fork(lambda: DRAWS[how](SqliteLedger(path))), 0)[1] == 0
    ledger, wal = SqliteLedger(path), path.with_name(f"{path.name}-wal")
    commits = list[tuple[int, bool]]()
    transaction = SqliteFile._transaction

    def noted(file: SqliteFile, *statements: str) -> Any:
        context = transaction(file, *statements)
        enter, leave = type(context).__enter__, type(context).__exit__

        class Noted:
            def __enter__(self) -> Any:
                self.connection, self.size = enter(context), wal.read_bytes()
                return self.connection

            def __exit__(self, *error: Any) -> Any:
                level = driver_of(self.connection).execute("pragma synchronous").fetchone()[0]
                result = leave(context, *error)
                commits.append((level, wal.read_bytes() != self.size))
                return result

        return Noted()

    drawn = list[tuple[int, bool]]()
    monkeypatch.setattr(SqliteFile, "_transaction", noted)
    monkeypatch.setattr(Draw, "draw", lambda *_: drawn.extend(commits))
    DRAWS[how](ledger)
    assert (FULL, True) in drawn
    assert ledger.spent_at_most() == COST, "it is paid once"


# --- a file that is replaced while a payment waits ------------------------------------------------------------------


def put_back(path: Path, copy: Path) -> None:
    for end in ("-wal", "-shm"):
        path.with_name(f"{path.name}{end}").unlink(missing_ok=True)
    shutil.copy(copy, path.with_name("new"))
    path.with_name("new").replace(path)


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("how", DRAWS)
def test_ledger_replaced_while_a_payment_waits_pays_no_draw(
    how: str, counted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.sqlite"
    ledger = SqliteLedger.create(path, BUDGET)
    if counted:
        ledger.check_counter(Counter(tmp_path / COUNTER))
    ledger.begin("q", "test", None)
    ledger.place.engine.dispose()  # which moves the write-ahead log into the file
    copy = Path(shutil.copy(path, tmp_path / "older.sqlite"))
    ledger.spent()
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("begin immediate")
    made, errors = list[int](), list[BaseException]()
    monkeypatch.setattr(Draw, "draw", lambda *_: made.append(1))

    def ask() -> None:
        try:
            DRAWS[how](ledger, again=False)
        except LedgerError as error:
            errors.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(0.3)  # it waits for the lock, with the file open
    put_back(path, copy)
    other.execute("rollback")
    other.close()
    asking.join()
    assert made == []
    assert "replaced by a copy" in str(errors[0])
    assert ledger.spent_at_most() == Spending.nothing() == SqliteLedger(path).spent_at_most()
    DRAWS[how](ledger)  # the file that is there now pays
    assert made == [1]
    assert SqliteLedger(path).spent_at_most() == COST


def test_payment_into_a_log_that_is_closed_at_once_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.sqlite"
    ledger, other = SqliteLedger.create(path, BUDGET), SqliteLedger(path)
    note = LogLedger._note

    def closed_before(log: Any, head: Any) -> None:
        monkeypatch.setattr(LogLedger, "_note", note)
        other.close_log(keep=False)
        note(log, head)

    monkeypatch.setattr(LogLedger, "_note", closed_before)
    assert ledger.charge(CHARGE)
    assert ledger.spent() == COST

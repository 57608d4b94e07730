"""The accounts as a log: what a failed statement, another copy, a snapshot and an older format do."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event

from discreet.log import chain, replay
from discreet_server.accounts import Accounts, AccountsError, Key, KeyExhausted, Limits, OlderCopy, Reservation
from discreet_server.accounts.grants import Sum
from tests.server.accounts.helpers import GRANT, VAULT, Bank, gaussian, pure, unsettled

Act = Callable[[Accounts, Key], object]


def fill(bank: Bank) -> Key:
    """Have rows of every kind."""
    shared, reserved = bank.key(9.0, rate=(50, 60.0), expires=None), bank.key(4.0, reserved=True)
    bank.accounts.grant(VAULT, GRANT, kept=1.0)
    bank.ask(shared, pure(1.0), "same", "name")
    bank.accounts.join(shared.id, bank.last, "same", "other name")
    bank.accounts.settle(bank.last, pure(0.5), {"text": "winter hand"}, stopped="end")
    for key in (shared, reserved):
        bank.ask(key, gaussian(0.05))
    bank.ask(shared, pure(0.25))
    bank.accounts.deny(bank.accounts.request(shared.id, 1.0, "please").id)
    bank.accounts.approve(bank.accounts.request(shared.id, 0.5, "please").id)
    bank.accounts.rotate(reserved.id)
    bank.accounts.revoke(bank.key().id)
    return shared


def state_of(accounts: Accounts) -> Any:
    """Return the whole state as plain data."""
    with accounts.reading() as found:
        return plain(vars(found.state))


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {repr(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if is_dataclass(value):
        return [plain(getattr(value, one.name)) for one in fields(value)]
    return plain(vars(value)) if isinstance(value, Sum) else value.tolist() if isinstance(value, np.ndarray) else value


def test_large_log_is_checked_before_a_key_is_let_in(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no cache beside it that could be changed: all of the state comes from the rows."""
    key = fill(bank)
    _, secret = bank.accounts.issue("ana", [VAULT], Limits(1.0))
    bank.accounts.revoke("ana")
    whole, files = state_of(bank.accounts), set(bank.path.parent.iterdir())
    monkeypatch.setattr(replay, "LARGE", 0)
    again = Accounts(bank.path, clock=bank.clock)
    assert again.find(secret) is None
    assert state_of(again) == whole
    assert set(bank.path.parent.iterdir()) == files
    assert again.odometer(key.id) == bank.accounts.odometer(key.id)
    assert set(unsettled(again)) == set(unsettled(bank.accounts))
    again.reserve(key.id, "f" * 32, pure(0.1), vault=VAULT, model=VAULT, fingerprint="new")
    assert state_of(again) == state_of(Accounts(bank.path)) == state_of(bank.accounts)


def test_changed_row_of_a_large_log_lets_no_key_in(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    _, secret = bank.accounts.issue("ana", [VAULT], Limits(1.0))
    bank.accounts.revoke("ana")
    bank.accounts.close()
    with closing(sqlite3.connect(bank.path, isolation_level=None)) as database:
        database.execute("drop trigger log_no_update")
        database.execute("update log set content = replace(content, 'true', 'false') where kind = 'change'")
    monkeypatch.setattr(replay, "LARGE", 0)
    again = Accounts(bank.path, check_copy=False)
    for use in (lambda: again.find(secret), lambda: again.get("ana"), lambda: Accounts(bank.path)):
        with pytest.raises(AccountsError, match="damaged"):
            use()


class Failed(Exception):  # noqa: N818 - a driver's error, for a test
    pass


@contextmanager
def failing(accounts: Accounts, number: int) -> Iterator[list[int]]:
    """Fail at the statement or commit with this number. Yield a list that counts them."""
    engine, count = accounts.place.engine, [0]

    def step(*_: Any) -> None:
        count[0] += 1
        if count[0] == number:
            raise Failed

    run = chain.LogStatement.run

    def run_or_fail(*of: Any) -> Any:
        step()
        return run(*of)

    event.listen(engine, "before_cursor_execute", step)
    event.listen(engine, "commit", step)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(chain.LogStatement, "run", run_or_fail)
            yield count
    finally:
        event.remove(engine, "before_cursor_execute", step)
        event.remove(engine, "commit", step)


ACTS: dict[str, Act] = {
    "reserve": lambda accounts, key: accounts.reserve(
        key.id, "e" * 32, pure(1.0), vault=VAULT, model=VAULT, fingerprint="once"
    ),
    "settle": lambda accounts, key: accounts.settle(next(iter(unsettled(accounts))), pure(0.1), {"n": 1}),
    "issue": lambda accounts, key: accounts.issue("eva", [VAULT], Limits(2.0), reserved=True),
    "extend": lambda accounts, key: accounts.extend(key.id, Limits(8.0)),
    "settle_lost": lambda accounts, key: accounts.settle_lost(pure(0.1), {"n": 1}),
}


@pytest.mark.parametrize("act", ACTS)
def test_each_statement_and_commit_fails_once(bank: Bank, act: str) -> None:
    key = fill(bank)
    other = Accounts(bank.path, clock=bank.clock)
    before, number = state_of(other), 0
    while True:
        number += 1
        with failing(bank.accounts, number) as count:
            try:
                ACTS[act](bank.accounts, key)
                assert count[0] < number
                break
            except Failed:
                pass
        assert state_of(bank.accounts) == state_of(other) == before
    assert number > 4
    assert state_of(bank.accounts) == state_of(other) == state_of(Accounts(bank.path))
    assert state_of(other) != before


def test_failed_commit_pays_nothing_twice(bank: Bank) -> None:
    key = bank.key(10.0)
    outcomes: list[object] = []
    for number in range(1, 40):
        with failing(bank.accounts, number):
            try:
                outcomes.append(bank.ask(key, pure(6.0)))
            except Failed:
                continue
    assert sum(isinstance(one, Reservation) for one in outcomes) == 1
    assert all(isinstance(one, (Reservation, KeyExhausted)) for one in outcomes)
    assert bank.accounts.odometer(key.id).questions == 1


def test_copy_that_was_changed_apart_is_refused(bank: Bank) -> None:
    key = bank.key()
    bank.accounts.close()
    copy = bank.path.with_name("copy.sqlite")
    shutil.copy(bank.path, copy)
    bank.ask(key, pure(1))
    aside = Accounts(copy, clock=bank.clock)
    aside.reserve(key.id, "d" * 32, pure(2), vault=VAULT, model=VAULT, fingerprint="d")
    for one in (aside, bank.accounts):
        one.close()
    shutil.copy(copy, bank.path)
    with pytest.raises(OlderCopy, match="another copy"):
        Accounts(bank.path)


def test_changed_row_is_found_when_the_accounts_are_opened(bank: Bank) -> None:
    fill(bank)
    bank.accounts.close()
    with closing(sqlite3.connect(bank.path, isolation_level=None)) as database:
        with pytest.raises(sqlite3.Error, match="final"):
            database.execute("update log set failure = 1 where id = 2")
        database.execute("drop trigger log_no_update")
        database.execute("update log set content = replace(content, '9.0', '9.5') where kind = 'issue'")
    with pytest.raises(AccountsError, match="damaged"):
        Accounts(bank.path)


def test_tables_before_the_log_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "accounts.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("create table accounts_state (name text, value int)")
    with pytest.raises(AccountsError, match="damaged"):
        Accounts(path)


def test_neither_questions_nor_names_can_be_tried_without_the_key(bank: Bank) -> None:
    key = bank.key()
    bank.ask(key, pure(1), "fingerprint of a question", "name of a request")
    bank.accounts.close()
    content = bank.path.read_bytes()
    assert b"of a question" not in content
    assert b"of a request" not in content
    (asked,) = bank.accounts.questions()
    other = Accounts(bank.path.with_name("others") / "accounts.sqlite")
    assert asked.request == bank.accounts.mark("question", "fingerprint of a question")
    assert asked.request != other.mark("question", "fingerprint of a question")
    assert bank.path.with_suffix(".key").read_bytes() not in content


def test_sign_ins_and_refusals_wait_for_no_writer(bank: Bank) -> None:
    key, secret = bank.accounts.issue("ana", [VAULT], Limits(1.0))
    with closing(sqlite3.connect(bank.path, isolation_level=None)) as database:
        database.execute("begin immediate")  # as a payment that takes long
        assert bank.accounts.find(secret) == key
        assert isinstance(bank.ask(key, pure(2)), KeyExhausted)
        assert bank.accounts.recall(key.id, "unknown") is None

"""The database: older copies, missing files, full disks, and forks."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from discreet.log.replay import Counter
from discreet_server.accounts import Accounts, AccountsError, OlderCopy, Reservation
from tests.server.accounts.helpers import Bank, pure


@pytest.mark.parametrize("counter", ["kept", "lost", "put back", "never written"])
def test_copy_under_a_running_server_is_refused(bank: Bank, counter: str) -> None:
    key = bank.key(3.0)
    bank.accounts.close()
    copy, beside = bank.path.with_name("copy.sqlite"), bank.path.with_suffix(".counter")
    shutil.copy(bank.path, copy)
    before = beside.read_bytes()
    if counter == "never written":  # as with a full disk
        beside.unlink()
        beside.mkdir()
    bank.ask(key, pure(2))
    bank.accounts.close()
    shutil.copy(copy, bank.path)
    if counter == "put back":
        beside.write_bytes(before)
    elif counter == "lost":
        beside.unlink()
    for _ in range(2):
        with pytest.raises(OlderCopy):
            bank.ask(key, pure(2))
    if counter != "never written":
        bank.accounts.accept_copy()
        assert isinstance(bank.ask(key, pure(2)), Reservation)


def test_missing_database_is_not_made_anew(bank: Bank) -> None:
    bank.accounts.close()
    for path in bank.path.parent.glob("accounts.sqlite*"):
        path.unlink()
    with pytest.raises(OlderCopy, match="missing"):
        Accounts(bank.path)
    assert not bank.path.exists()


@pytest.mark.parametrize("content", [b"", b"no number", b"-3"])
def test_damaged_counter_refuses_nothing(bank: Bank, content: bytes) -> None:
    key = bank.key()
    bank.path.with_suffix(".counter").write_bytes(content)
    assert Accounts(bank.path).get(key.id) == key


def test_counter_is_never_ahead(bank: Bank) -> None:
    for _ in range(3):
        bank.key()
        known = Counter(bank.path.with_suffix(".counter")).read()
        assert known is not None
        assert known.row == bank.accounts.reached().row


def test_failed_transaction_changes_nothing(bank: Bank) -> None:
    before = bank.accounts.reached().row
    with pytest.raises(ZeroDivisionError), bank.accounts.writing():
        raise ZeroDivisionError
    assert bank.accounts.reached().row == before


def test_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "accounts.sqlite"
    path.write_bytes(b"no database, but long enough to be one: " * 100)
    with pytest.raises(AccountsError, match="damaged"):
        Accounts(path)


def test_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(AccountsError, match="--state"):
        Accounts(tmp_path / "file" / "state" / "accounts.sqlite")


def test_other_format_is_refused(bank: Bank) -> None:
    bank.accounts.close()
    with sqlite3.connect(bank.path) as database:
        database.execute("pragma user_version = 2")
    with pytest.raises(AccountsError, match="format 2"):
        Accounts(bank.path)


def test_forked_process_opens_its_own_connection(bank: Bank) -> None:
    key = bank.key()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            bank.ask(key, pure(1))
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    bank.count += 1
    bank.ask(key, pure(1))
    assert bank.accounts.odometer(key.id).questions == 2

"""Accounts that several servers share: a server that starts again leaves the questions of the others alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from discreet.errors import UsageError
from discreet_server.accounts import Accounts, InFlight, Limits, Replay, Reservation
from discreet_server.config import ACCOUNTS, find_accounts, read_server_id, share_accounts
from tests.guarantee.ledger.conftest import Server, server_of_our_own
from tests.server.accounts.helpers import GRANT, VAULT, pure

URL = "postgresql://custodian@/accounts?host=/run/postgresql"
LOST = {"outcome": "error", "code": "interrupted"}


@pytest.fixture(scope="module")
def database() -> Iterator[Server]:
    """A server that loses in a cut what was not committed durably."""
    pytest.importorskip("psycopg", reason="PostgreSQL is tested where psycopg is installed")
    with server_of_our_own(fsync="off", synchronous_commit="off", wal_writer_delay="10s") as own:
        yield own


def opened(database: Server, server: str = "") -> Accounts:
    accounts = Accounts(database.url, server=server)
    accounts.grant(VAULT, GRANT)
    return accounts


def reserve(accounts: Accounts, key: str, question: str, **how: Any) -> object:
    given = {"vault": VAULT, "model": VAULT, "fingerprint": question}
    return accounts.reserve(key, question, pure(0.5), **given | how)


def test_restart_settles_the_questions_of_its_own_server(database: Server) -> None:
    first, second = opened(database, "first"), opened(database, "second")
    key, _ = first.issue("own", [VAULT], Limits(10.0))
    assert isinstance(reserve(first, key.id, "1" * 32), Reservation)
    assert isinstance(reserve(second, key.id, "2" * 32), Reservation)
    again = opened(database, "second")
    assert again.settle_lost(pure(0.5), LOST) == ["2" * 32]
    assert again.settle_lost(pure(0.5), LOST) == []
    assert first.recall(key.id, "1" * 32) == InFlight("1" * 32)
    assert first.recall(key.id, "2" * 32) == Replay("2" * 32, LOST)
    first.settle("1" * 32, pure(0.25), {"text": "yes"})
    assert opened(database, "first").settle_lost(pure(0.5), LOST) == []
    assert again.recall(key.id, "1" * 32) == Replay("1" * 32, {"text": "yes"})


def test_reservation_is_there_after_a_cut_of_the_database(database: Server) -> None:
    accounts = opened(database, "first")
    key, _ = accounts.issue("cut", [VAULT], Limits(1.0))
    for number in range(3):
        question = f"{number:032x}"
        found = reserve(accounts, key.id, question)
        database.cut()
        database.start()
        assert isinstance(found, Reservation) is (number < 2)
        assert len(accounts.receipts(key.id)) == min(number + 1, 2)


def test_writer_reads_what_is_newer_than_its_lock(database: Server) -> None:
    accounts = opened(database)
    with accounts.writing() as found:
        assert found.connection.execute(text("show transaction_isolation")).scalar() == "read committed"
        assert found.connection.execute(text("show synchronous_commit")).scalar() == "on"
    with accounts.reading() as seen:
        assert seen.connection.execute(text("show transaction_isolation")).scalar() == "repeatable read"


def test_accounts_are_in_the_folder_until_they_are_shared(tmp_path: Path) -> None:
    assert find_accounts(tmp_path) == tmp_path / ACCOUNTS
    share_accounts(tmp_path, URL)
    share_accounts(tmp_path, URL)
    assert find_accounts(tmp_path) == URL


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite:///x", "invalid"),
        ("postgresql://ana:secret@host/db", "password"),
        (URL.replace("accounts", "o"), "shares other"),
    ],
)
def test_other_accounts_are_refused(tmp_path: Path, url: str, said: str) -> None:
    share_accounts(tmp_path, URL)
    with pytest.raises(UsageError, match=said) as error:
        share_accounts(tmp_path, url)
    assert "secret" not in str(error.value)
    assert find_accounts(tmp_path) == URL


def test_keys_of_the_folder_are_not_forgotten_by_sharing(tmp_path: Path) -> None:
    Accounts(tmp_path / ACCOUNTS)
    with pytest.raises(UsageError, match="keys in"):
        share_accounts(tmp_path, URL)


def test_damaged_url_is_no_reason_to_use_the_folder(tmp_path: Path) -> None:
    (tmp_path / "accounts.url").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read"):
        find_accounts(tmp_path)
    (tmp_path / "accounts.url").write_text("no address")
    with pytest.raises(UsageError, match="discreet key share"):
        find_accounts(tmp_path)


def test_server_keeps_its_id(tmp_path: Path) -> None:
    (tmp_path / "front").mkdir()
    first = read_server_id(tmp_path)
    assert len(first) == 32
    assert read_server_id(tmp_path) == first
    (tmp_path / "front" / "server").write_text("short")
    with pytest.raises(UsageError, match="Remove it"):
        read_server_id(tmp_path)

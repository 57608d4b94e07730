"""The accounts in a PostgreSQL database, which several machines share."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest

from discreet_server.accounts import Accounts, AccountsError, KeyExhausted, Limits, Replay, Reservation
from tests.guarantee.ledger.conftest import running
from tests.server.accounts.helpers import GRANT, VAULT, pure, unsettled


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    pytest.importorskip("psycopg", reason="PostgreSQL is tested where psycopg is installed")
    with running() as address:
        yield address


def test_cap_holds_for_askers_at_once_in_postgres(postgres: str) -> None:
    accounts = [Accounts(postgres) for _ in range(4)]
    accounts[0].grant(VAULT, GRANT)
    key, secret = accounts[1].issue("ana", [VAULT], Limits(10.0, questions=7), reserved=True)
    assert accounts[2].find(secret) == key
    outcomes: list[type] = []

    def ask(number: int) -> None:
        question = f"{number:032x}"
        own = accounts[number % 4]
        outcomes.append(type(own.reserve(key.id, question, pure(0.5), vault=VAULT, model=VAULT, fingerprint=question)))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(outcomes) == {Reservation: 7, KeyExhausted: 9}
    question = next(iter(unsettled(accounts[0])))
    accounts[0].settle(question, pure(0.25), {"text": "ß"})
    assert accounts[3].recall(key.id, question) == Replay(question, {"text": "ß"})
    made = accounts[1].request(key.id, 1.0, "please")
    assert accounts[2].approve(made.id)[1].epsilon == 11.0
    assert accounts[3].odometer(key.id).questions == 7
    for one in accounts:
        one.close()


def test_id_with_a_nul_names_no_question_in_postgres(postgres: str) -> None:
    accounts = Accounts(postgres)
    accounts.grant("other", GRANT)
    key, _ = accounts.issue("ida", ["other"], Limits(1.0))
    assert accounts.receipt(key.id, "a\0b") is None
    assert accounts.receipts(key.id, before="\0") == []
    assert accounts.find("dsc_\0") is None


def test_accounts_out_of_reach_are_explained(postgres: str) -> None:
    for url, said in (
        ("postgresql://someone@127.0.0.1:1/postgres", "cannot be reached"),
        (postgres.replace("/postgres?", "/elsewhere?"), "refuses the connection, or does not exist"),
    ):
        with pytest.raises(AccountsError, match=said) as error:
            Accounts(url)
        assert "someone" not in str(error.value)
        assert "elsewhere" not in str(error.value)


def test_accounts_of_a_format_before_9_are_not_begun_anew(postgres: str) -> None:
    """Without the lost tables, keys would forget what they spent, and the custodian would not be told."""
    import psycopg

    address = postgres.replace("/postgres?", "/before?")
    with closing(psycopg.connect(postgres, autocommit=True)) as database:
        database.execute("create database before")
    with closing(psycopg.connect(address, autocommit=True)) as database:
        database.execute("create table accounts_state (name text primary key, value bigint)")
        for _ in range(2):
            with pytest.raises(AccountsError, match=r"format before 9.*table accounts_state.*move them away.*forget"):
                Accounts(address)
        found = database.execute("select 1 from pg_namespace where nspname = 'accounts'").fetchone()
        assert found is None, "nothing was made"
        database.execute("alter table accounts_state rename to accounts_state_before")
    accounts = Accounts(address)
    assert accounts.list_keys() == []
    accounts.close()

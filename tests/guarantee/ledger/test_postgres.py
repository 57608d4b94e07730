"""What is special about the ledger in PostgreSQL: names, addresses, connections, rights."""

from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from discreet.errors import DiscreetError, LedgerError, VaultVersionError
from discreet.ledger.ledger import PostgresLedger
from discreet.privacy.accounting import Budget
from tests.guarantee.ledger.conftest import sql
from tests.guarantee.ledger.test_sqlite import charge
from tests.guarantee.ledger.test_unit_faults import LARGE, UNITS, of, parts_of


def test_ledger_that_is_not_there_is_not_begun_afresh(url: str, name: str) -> None:
    with pytest.raises(LedgerError, match="no such ledger"):
        PostgresLedger(url, name)
    ledger = PostgresLedger.create(url, name, LARGE)
    sql(url, f'drop schema "{name}" cascade')
    with pytest.raises(LedgerError, match="no such ledger"):
        ledger.reserve("q", 0, of(0.1), UNITS)


@pytest.mark.parametrize("wrong", ["public", "vault_", "vault_x", 'vault_1"; drop table x', "vault_1\n", "VAULT_1"])
def test_names_are_nothing_but_names(url: str, wrong: str) -> None:
    with pytest.raises(DiscreetError, match="Expected: vault_"):
        PostgresLedger.create(url, wrong, LARGE)


@pytest.mark.parametrize("wrong", ["", "no address", "sqlite:///x", "postgresql://u:hunter2@h:port/x"])
def test_what_is_no_address_is_not_repeated(wrong: str) -> None:
    with pytest.raises(DiscreetError) as said:
        PostgresLedger(wrong, "vault_1")
    assert "hunter2" not in str(said.value)
    assert "postgresql://user@host/database" in str(said.value)


def test_server_out_of_reach_is_explained_without_its_address(url: str, tmp_path: Path) -> None:
    for where, said in (
        (f"postgresql://someone:hunter2@/postgres?host={tmp_path}", "cannot be reached"),
        ("postgresql://someone:hunter2@127.0.0.1:1/postgres", "cannot be reached"),
        (url.replace("/postgres?", "/elsewhere?"), "refuses the connection, or does not exist"),
        (url.replace("postgres@", "someone@"), "refuses the connection, or does not exist"),
    ):
        with pytest.raises(LedgerError, match=said) as error:
            PostgresLedger(where, "vault_1")
        for secret in ("hunter2", "someone", "127.0.0.1", str(tmp_path), "elsewhere"):
            assert secret not in str(error.value)
        assert error.value.__suppress_context__


def test_connection_that_breaks_is_made_anew(url: str, name: str) -> None:
    ledger = PostgresLedger.create(url, name, LARGE)
    ledger.reserve("q", 0, of(0.1), UNITS)
    others = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()"
    sql(url, f"{others} and backend_type = 'client backend'")
    assert ledger.reserve("q", 1, of(0.1), UNITS) == frozenset(UNITS)
    with pytest.raises(LedgerError, match="cannot be reached"), ledger.writing():
        sql(url, f"{others} and backend_type = 'client backend'")
    assert len(parts_of(ledger)) == 2


@pytest.mark.parametrize("other", [7, 99])
def test_other_format_is_not_opened(url: str, name: str, other: int) -> None:
    PostgresLedger.create(url, name, LARGE).reserve("q", 0, of(0.1), UNITS)
    sql(url, f'update "{name}".format set version = {other}')
    before = tables_of(url, name)
    with pytest.raises(VaultVersionError, match=f"format {other}; .*discreet init") as said:
        PostgresLedger(url, name)
    assert said.value.exit_code == 4
    assert tables_of(url, name) == before


def tables_of(url: str, name: str) -> str:
    """Return the rows of all tables of a ledger."""
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        found = connection.execute(text("select schema_to_xml(:name, true, false, '')"), {"name": name}).scalar_one()
    engine.dispose()
    return str(found)


def test_who_may_only_read_reads(url: str, name: str) -> None:
    ledger = PostgresLedger.create(url, name, LARGE)
    ledger.charge(charge("q", 0))
    reader = name.replace("vault", "reader")
    sql(
        url,
        f"create role {reader} login",
        f'grant usage on schema "{name}" to {reader}',
        f'grant select on all tables in schema "{name}" to {reader}',
    )
    found = PostgresLedger(url.replace("postgres@", f"{reader}@"), name)
    assert found.spent() == of(0.01)
    with pytest.raises(LedgerError, match="cannot be written"):
        found.reserve("q", 0, of(0.1), UNITS)


def test_who_may_read_and_add_rows_pays_and_changes_nothing(url: str, name: str) -> None:
    PostgresLedger.create(url, name, LARGE)
    payer = name.replace("vault", "payer")
    sql(
        url,
        f"create role {payer} login",
        f'grant usage on schema "{name}" to {payer}',
        f'grant select on all tables in schema "{name}" to {payer}',
        f'grant insert on "{name}".log to {payer}',
    )
    found = PostgresLedger(url.replace("postgres@", f"{payer}@"), name)
    assert found.reserve("q", 0, of(0.1), UNITS) == frozenset(UNITS)
    found.settle("q", 0, of(0.05))
    for change in ("update log set failure = 0", "delete from log", "drop table log"):
        with pytest.raises(LedgerError), found.writing() as writing:
            writing.connection.execute(text(change))
    assert PostgresLedger(url, name).spent_at_most() == of(0.05)


@pytest.mark.parametrize(("durable", "commit"), [(True, "on"), (False, "off")], ids=["reservation", "settlement"])
def test_transaction_waits_for_the_disk_and_not_for_ever(url: str, name: str, durable: bool, commit: str) -> None:
    ledger = PostgresLedger.create(url, name, LARGE)
    with ledger.writing(durable=durable) as found:
        asked = ("synchronous_commit", "lock_timeout", "idle_in_transaction_session_timeout")
        assert [found.connection.execute(text(f"show {one}")).scalar() for one in asked] == [commit, "30s", "15s"]
        held = text("select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() and granted")
        assert found.connection.execute(held).scalar() == 1


def test_grant_cannot_be_emptied(url: str, name: str) -> None:
    ledger = PostgresLedger.create(url, name, LARGE)
    with pytest.raises(LedgerError), ledger.writing() as found:
        found.connection.execute(text("truncate log"))


def test_without_the_driver_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'psycopg'")

    monkeypatch.setattr("discreet.log.postgres.create_engine", refuse)
    with pytest.raises(DiscreetError, match="pip install"):
        PostgresLedger("postgresql://user@host/database", "vault_1")


def test_copy_in_a_file_is_a_simulation_that_knows_all(url: str, name: str, tmp_path: Path) -> None:
    ledger = PostgresLedger.create(url, name, Budget(3.0, 1e-5, accountant="zcdp"), log_questions=True)
    for question in ("later", "earlier"):
        ledger.begin(question, "mu-rag", "Why?")
    ledger.charge(charge("later", 0))
    ledger.reserve("earlier", 0, of(2.0), UNITS)
    ledger.settle("earlier", 0, of(0.5))
    ledger.reserve("earlier", 1, of(2.0), UNITS[:3])
    copy = ledger.copy(tmp_path / "copy.sqlite")
    assert (copy.simulation, ledger.simulation) == (True, False)
    assert (copy.budget, copy.spent(), copy.questions()) == (ledger.budget, ledger.spent(), ledger.questions())
    assert Counter(dict(copy.unit_balances())) == Counter(dict(ledger.unit_balances()))
    assert parts_of(copy) == parts_of(ledger)
    assert copy.reserve("r", 0, of(1.0), UNITS) == frozenset(UNITS[3:])
    assert ledger.reserve("r", 0, of(1.0), UNITS[:4]) == frozenset(UNITS[3:4])
    with pytest.raises(LedgerError, match="never overwrites"):
        ledger.copy(tmp_path / "copy.sqlite")
    sql(url, f'drop table "{name}".log')
    with pytest.raises(LedgerError, match="no such ledger"):
        ledger.copy(tmp_path / "another.sqlite")
    assert not (tmp_path / "another.sqlite").exists()

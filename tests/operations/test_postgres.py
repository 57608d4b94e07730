"""A vault whose ledger is in PostgreSQL: looked over there, and backed up without it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.config import read_config, write_config
from discreet.errors import LedgerError, UsageError
from discreet.ledger.ledger import SqliteLedger
from discreet.operations.backup import back_up, restore
from discreet.operations.checks import problems
from discreet.operations.close_log import close_log, look
from discreet.operations.doctor import examine
from discreet.operations.report import corpora
from discreet.store.documents import Document
from discreet.vault import Vault
from tests.guarantee.ledger.conftest import change, running, sql
from tests.operations.conftest import CHEAP, let_go, with_toy


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    pytest.importorskip("psycopg", reason="PostgreSQL is tested where psycopg is installed")
    with running(durable=True) as address:
        yield address


@pytest.fixture
def vault(url: str, tmp_path: Path) -> Vault:
    vault = Vault.create(tmp_path / "shared", epsilon=200, delta=1e-6, embedder="hashing", ledger=url)
    vault.add_documents(Document(f"d{n}", f"p{n}", "numb thumbs say: winterhand .") for n in range(30))
    return with_toy(vault)


def test_it_is_looked_over(vault: Vault, url: str) -> None:
    vault.ask("numb thumbs?", CHEAP)
    findings = examine(vault.path)
    assert not problems(findings)
    assert "in PostgreSQL" in next(one.what for one in findings if one.check == "ledger")
    assert corpora(vault.path, vault.settings) == []
    change(vault.ledger, "update log set failure = failure + 1 where kind = 'reserve'")
    assert [one.check for one in problems(examine(vault.path))] == ["ledger"]


def test_server_that_does_not_wait_for_the_disk_is_a_problem(tmp_path: Path) -> None:
    with running(durable=False) as address:
        vault = Vault.create(tmp_path / "shared", epsilon=20, delta=1e-6, embedder="hashing", ledger=address)
        (wrong,) = problems(examine(vault.path))
        let_go(vault)
    assert (wrong.check, "fsync = off" in wrong.what) == ("durability", True)
    assert "fsync = on" in wrong.remedy


def test_server_that_is_gone_is_a_problem_without_its_address(vault: Vault, url: str) -> None:
    sql(url, f'drop schema "{vault.settings.ledger_name}" cascade')
    wrong = problems(examine(vault.path))
    assert [one.check for one in wrong] == ["ledger"]
    assert url not in wrong[0].what


def test_unreached_database_is_no_reason_to_restore_a_ledger(vault: Vault, tmp_path: Path) -> None:
    gone = f"postgresql://someone@/postgres?host={tmp_path}"
    write_config(vault.path, replace(read_config(vault.path), ledger=gone))
    (wrong,) = problems(examine(vault.path))
    assert "cannot be reached" in wrong.what
    assert wrong.remedy.startswith("Mend the database")
    assert "only if the ledger is lost" in wrong.remedy


def test_restored_folder_uses_the_ledger_as_it_is_now(vault: Vault, tmp_path: Path) -> None:
    made = back_up(vault.path, tmp_path / "copy")
    assert made.manifest.ledger == "postgresql"
    assert "ledger.sqlite" not in made.manifest.files
    vault.ask("numb thumbs?", CHEAP)
    assert restore(tmp_path / "copy", tmp_path / "again").lost is None
    again = Vault.open(tmp_path / "again")
    assert again.ledger.reached() == vault.ledger.reached()
    assert again.ledger.unit_balances() == vault.ledger.unit_balances()
    (origin,) = [one for one in examine(tmp_path / "again") if one.check == "origin"]
    assert "both pay from one ledger" in origin.remedy


def test_log_is_closed_when_no_other_connection_is_there(vault: Vault, url: str, tmp_path: Path) -> None:
    vault.ask("numb thumbs?", CHEAP)
    balances = vault.ledger.unit_balances()
    with pytest.raises(UsageError, match="its ledger is open"):
        look(vault.path, None)
    let_go(vault)
    assert look(vault.path, None).shares == 30
    close_log(vault.path, tmp_path / "archive.sqlite")
    assert look(vault.path, None).shares == 0
    assert Vault.open(vault.path).ledger.unit_balances() == balances
    assert len(SqliteLedger(tmp_path / "archive.sqlite").questions()) == 1


def test_folder_detects_an_outdated_ledger_in_the_database(vault: Vault, url: str) -> None:
    vault.ask("numb thumbs?", CHEAP)
    change(vault.ledger, "delete from log where id > 1")  # as a dump from before the question would leave it
    with pytest.raises(LedgerError, match="older than the newest question"):
        Vault.open(vault.path)
    assert "counter" in {one.check for one in problems(examine(vault.path))}

"""`discreet close-log`: the rows that say who took part are archived or destroyed, and every report says so."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.cli import remove
from discreet.cli.app import app
from discreet.errors import LedgerError
from discreet.ledger.ledger import SqliteLedger
from discreet.log.sqlite import SqliteFile
from discreet.operations.doctor import examine
from discreet.operations.erasure import erasure_report
from discreet.operations.report import as_page, gather
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import ZeroConcentrated
from discreet.vault import Vault
from tests.cli.json_schemas import check
from tests.cli.running import run
from tests.operations.conftest import CHEAP, Make, let_go, with_toy


def json_of(*words: object) -> dict[str, Any]:
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    check([str(word) for word in words], found)
    return found


@pytest.fixture
def vault(make: Make) -> Vault:
    made = make("hospital")
    made.ask("numb thumbs?", CHEAP)
    let_go(made)
    return made


def tables(path: Path) -> list[str]:
    with sqlite3.connect(path / "ledger.sqlite") as database:
        return [name for (name,) in database.execute("select name from sqlite_master where type = 'table'")]


def test_old_rows_are_destroyed_and_balances_stay(vault: Vault) -> None:
    path = vault.path
    before, erasure = json_of("budget", path), json_of("erasure-report", path, "--unit", "p1")
    assert erasure["questions"] == 1
    done = json_of("close-log", path, "--destroy", "--yes")
    assert (done["questions"], done["shares"], done["open"], done["kept"]) == (1, 30, 0, None)
    assert tables(path) == ["log"]
    after = json_of("budget", path)
    kept = ("granted", "delta", "spent", "left", "odometer", "still", "answered", "levels", "more")
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert (before["log"]["earlier_questions"], after["log"]["earlier_questions"]) == (0, 1)
    assert len(before["questions"]) == 1
    assert after["questions"] == []
    levels = {one.check: one.level for one in examine(path)}
    assert (levels["ledger"], levels["counter"]) == ("ok", "ok")


def test_further_questions_are_not_estimated_beside_a_cut_loss(vault: Vault) -> None:
    path = vault.path
    ledger = with_toy(vault).ledger
    ledger.reserve_all("corpus", 0, Spending.of(ZeroConcentrated(0.01)))
    ledger.settle("corpus", 0, Spending.of(ZeroConcentrated(0.01)))
    del ledger
    let_go(vault)
    before = json_of("budget", path)
    assert before["more"] is not None
    json_of("close-log", path, "--destroy", "--yes")
    assert json_of("budget", path)["more"] is None


def test_rows_that_another_process_reads_are_said(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqliteFile, "forget_deleted", lambda _: False)
    done = run("close-log", vault.path, "--destroy", "--yes", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["gone"] is False
    done = run("close-log", vault.path, "--destroy", "--yes")
    assert done.exit_code == 1
    assert "write-ahead log" in done.stdout
    assert run("budget", vault.path).exit_code == 0


def test_each_report_says_since_when_it_lists_questions(vault: Vault) -> None:
    path = vault.path
    json_of("close-log", path, "--destroy", "--yes")
    since = json_of("budget", path)["log"]["since"][:10]
    assert f"closed on {since}. Questions before, which are not listed: 1." in run("budget", path).stdout
    assert "Questions answered: 1." in run("budget", path, "--analyst").stdout
    page = as_page(gather(path))
    assert "Questions before, which are not listed: 1." in page
    assert "no questions yet" not in page
    assert "until the log is closed" in page
    said = run("erasure-report", path, "--unit", "p1").stdout
    assert f"took part since {since}" in said
    assert "discreet close-log VAULT --destroy" in said


def test_individual_without_documents_is_known_by_its_balance(vault: Vault) -> None:
    path = vault.path
    with_toy(vault).remove("d1")
    json_of("close-log", path, "--destroy", "--yes")
    report = erasure_report(Vault.open(path), "p1")
    assert (report.questions, report.documents, report.in_ledger) == (0, 0, True)
    spent = report.spent
    assert spent is not None
    assert json_of("units", "join", path, "p1", "p2")["spent"] == pytest.approx(2 * spent)


def test_archive_has_who_took_part(vault: Vault, tmp_path: Path) -> None:
    path, archive = vault.path, tmp_path / "archive.sqlite"
    paid = vault.ledger.questions_of(next(iter(_payers(vault))))
    let_go(vault)
    said = run("close-log", path, "--keep", archive)
    assert said.exit_code == 0, said.output
    assert "which is as private as the vault" in said.stdout
    assert len(paid) == 1
    opened = SqliteLedger(archive)
    assert [question.id for question in opened.questions()] == list(paid)
    assert all(opened.questions_of(unit) == paid for unit in _payers(vault))
    again = run("close-log", path, "--keep", archive)
    assert again.exit_code == 2
    assert "already exists" in again.stderr
    inside = run("close-log", path, "--keep", path / "a")
    assert inside.exit_code == 2


def _payers(vault: Vault) -> list[bytes]:
    ledger: Any = vault.ledger
    with ledger.reading() as found:
        keys: list[bytes] = found.state.keys_of(np.arange(30))
        return keys


def test_tables_of_earlier_closings_are_named(vault: Vault) -> None:
    vault.ledger.close_log(keep=True)
    let_go(vault)
    (table,) = json_of("close-log", vault.path, "--destroy", "--yes")["tables"]
    assert table in tables(vault.path)
    assert table in run("erasure-report", vault.path, "--unit", "p1").stdout


def test_wrong_use_changes_nothing(vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, before = vault.path, (vault.path / "ledger.sqlite").read_bytes()
    for words in ((), ("--destroy", "--keep", tmp_path / "a"), ("--destroy",), ("--keep", tmp_path / "no" / "a")):
        done = run("close-log", path, *words)
        assert done.exit_code == 2
        assert "Nothing was changed" in done.stderr or "no folder" in done.stderr
    assert run("close-log", tmp_path / "none", "--destroy", "--yes").exit_code == 2
    monkeypatch.setattr(remove, "_at_a_terminal", lambda: True)
    asked = CliRunner().invoke(app, ["close-log", str(path), "--destroy"], input="n\n")
    assert asked.exit_code == 2
    assert "1 question with 30 shares of individuals" in asked.stderr
    run_file = path / "synthesis" / "run.jsonl"
    run_file.parent.mkdir(exist_ok=True)
    run_file.write_text("{}\n")
    assert "unfinished" in run("close-log", path, "--destroy", "--yes").stderr
    run_file.unlink()
    assert (path / "ledger.sqlite").read_bytes() == before
    assert CliRunner().invoke(app, ["close-log", str(path), "--destroy"], input="y\n").exit_code == 0


def test_other_format_is_refused(vault: Vault) -> None:
    settings = json.loads((vault.path / "vault.json").read_text())
    (vault.path / "vault.json").write_text(json.dumps(settings | {"version": 1}))
    assert run("close-log", vault.path, "--destroy", "--yes").exit_code == 4


def test_vault_in_use_is_refused(vault: Vault) -> None:
    code = (
        "import sys; from discreet.vault import Vault; v = Vault.open(sys.argv[1]); print('open', flush=True); input()"
    )
    command = [sys.executable, "-c", code, str(vault.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        done = run("close-log", vault.path, "--destroy", "--yes")
        assert done.exit_code == 2
        assert "its ledger is open" in done.stderr
        other.communicate("\n")
    assert run("close-log", vault.path, "--destroy", "--yes").exit_code == 0


def test_backup_from_before_is_older(vault: Vault, tmp_path: Path) -> None:
    path = vault.path
    json_of("backup", path, tmp_path / "copy")
    json_of("close-log", path, "--destroy", "--yes")
    (path / "ledger.sqlite").write_bytes((tmp_path / "copy" / "vault" / "ledger.sqlite").read_bytes())
    with pytest.raises(LedgerError, match="older than the newest question"):
        Vault.open(path)


def test_units_pay_after_the_closing_of_a_log_in_which_none_paid(tmp_path: Path) -> None:
    ledger = SqliteLedger.create(tmp_path / "l.sqlite", Budget(2.0, 1e-6))
    ledger.close_log()
    paid = ledger.reserve("q", 0, Spending.of(ZeroConcentrated(0.01)), [b"a" * 16])
    assert paid == {b"a" * 16}

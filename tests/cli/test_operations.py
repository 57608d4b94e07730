"""doctor, backup, restore, move and report, as a custodian and a program run them."""

import json
import stat
from pathlib import Path

import pytest

from discreet.privacy.accounting import Spending
from discreet.privacy.costs import Pure
from discreet.store.documents import Document
from discreet.synthesis.readings import DONE, Done
from discreet.synthesis.readings import FOLDER as READINGS
from discreet.vault import Vault
from tests.cli.running import run


@pytest.fixture
def hospital(tmp_path: Path) -> Path:
    vault = Vault.create(tmp_path / "hospital", epsilon=20, delta=1e-6, unit_field="patient", embedder="hashing")
    vault.add_documents(Document(f"d{n}", f"p{n}", "numb thumbs") for n in range(30))
    vault.ledger.begin("one", "murag-ada", None)
    vault.ledger.finish("one", "public")
    vault.ledger.place.engine.dispose()
    vault.store.close()
    return vault.path


def test_doctor_ends_with_1_if_there_is_a_problem(hospital: Path) -> None:
    healthy = run("doctor", hospital)
    assert (healthy.exit_code, "0 problems" in healthy.output) == (0, True)
    (hospital / "units.key").chmod(0o644)
    ill = run("doctor", hospital, "--json")
    assert ill.exit_code == 1
    found = json.loads(ill.stdout)
    assert found["problems"] == 1
    assert {"check", "level", "what", "remedy"} == set(found["findings"][0])
    assert "chmod 600" in run("doctor", hospital).output
    assert run("doctor", hospital / "nothing").exit_code == 2
    (hospital / "units.key").chmod(0o600)
    assert run("doctor", hospital, "--expect", 1).exit_code == 0
    assert run("doctor", hospital, "--expect", 2).exit_code == 1


def test_doctor_takes_a_vault_or_a_model(hospital: Path, small_model: Path) -> None:
    told = run("doctor", "--model", small_model)
    assert (told.exit_code, "llama: it is tested" in told.output) == (0, True)
    assert run("doctor", "--model", hospital / "nothing").exit_code == 1
    for arguments in ((), (hospital, "--model", small_model), ("--model", small_model, "--expect", 2)):
        assert run("doctor", *arguments).exit_code == 2


def test_back_up_restore_and_rename(hospital: Path, tmp_path: Path) -> None:
    made = json.loads(run("backup", hospital, tmp_path / "copy.tar.gz", "--json").stdout)
    assert (made["ledger"], made["questions"]) == ("file", 1)
    assert stat.S_IMODE((tmp_path / "copy.tar.gz").stat().st_mode) == 0o600
    said = run("backup", hospital, tmp_path / "copy")
    assert "units.key without encryption" in said.output
    assert "spend the grant twice" in said.output
    assert run("backup", hospital, tmp_path / "copy").exit_code == 2
    refused = run("restore", tmp_path / "copy", tmp_path / "again", "--expect", 4, "--json")
    assert (refused.exit_code, json.loads(refused.stdout)["error"]) == (1, "LedgerError")
    done = run("restore", tmp_path / "copy", tmp_path / "again")
    assert done.exit_code == 0, done.output
    assert f"still exists at {hospital}" in done.output
    assert "spend the grant twice" in done.output
    (tmp_path / "again").rename(tmp_path / "elsewhere")
    assert run("doctor", tmp_path / "elsewhere").exit_code == 0
    assert run("restore", hospital / "vault.json", tmp_path / "bad").exit_code == 4


def test_restored_vault_is_to_be_read_again_if_it_was_read(hospital: Path, tmp_path: Path) -> None:
    run("backup", hospital, tmp_path / "unread")
    assert "Codes and statements" not in run("restore", tmp_path / "unread", tmp_path / "first").output
    (hospital / READINGS).mkdir()
    (hospital / READINGS / DONE).write_text(Done(about=("model", "way")).describe())
    said = run("backup", hospital, tmp_path / "copy")
    assert "omits what `discreet code` read" in said.output, said.output
    again = tmp_path / "again"
    said = run("restore", tmp_path / "copy", again)
    assert f"For codes: discreet code {again}." in " ".join(said.output.split())
    assert "--statements" in said.output
    assert json.loads(run("restore", tmp_path / "copy", tmp_path / "third", "--json").stdout)["read_again"]
    assert not (again / READINGS).exists()


def test_loss_of_one_payment_is_told_in_the_singular(hospital: Path, tmp_path: Path) -> None:
    run("backup", hospital, tmp_path / "copy")
    vault = Vault.open(hospital)
    vault.ledger.begin("two", "murag-ada", None)
    vault.ledger.reserve("two", 0, Spending.of(Pure(1.0)), [b"u" * 16])
    vault.ledger.place.engine.dispose()
    said = " ".join(run("restore", tmp_path / "copy", tmp_path / "again", "--force").output.split())
    assert "1 question and 1 payment are lost." in said


def test_report_is_for_its_owner_alone(hospital: Path, tmp_path: Path) -> None:
    out = tmp_path / "dpo.html"
    assert run("report", hospital, "--out", out).exit_code == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert "nothing was released" in out.read_text()
    assert run("report", hospital, "--out", out).exit_code == 2
    assert run("report", hospital, "--out", out, "--force").exit_code == 0
    assert run("report", hospital, "--out", hospital / "dpo.html").exit_code == 2
    assert run("report", hospital).exit_code == 2
    found = json.loads(run("report", hospital, "--json").stdout)
    assert found["schema"] == 1
    assert found["outcomes"] == {"nothing was released": 1}
    assert found["private"]["documents"] == 30

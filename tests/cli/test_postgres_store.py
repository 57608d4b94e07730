"""A vault with its documents in PostgreSQL, as a custodian runs it from the command line."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.guarantee.ledger.conftest import Server
from tests.vector_server import vector_server

GRANT = ("--people", 400, "--epsilon", 20, "--delta", 1e-6, "--unit-field", "patient", "--embedder", "hashing")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with vector_server() as own:
        yield own


@pytest.fixture
def hospital(server: Server, tmp_path: Path) -> Path:
    made = run("init", tmp_path / "hospital", *GRANT, "--store", server.url, "--ledger", server.url)
    assert made.exit_code == 0, made.output
    notes = tmp_path / "notes.jsonl"
    records = ({"patient": f"p{n}", "text": f"note {n}: numb thumbs"} for n in range(100))
    notes.write_text("".join(json.dumps(record) + "\n" for record in records))
    added = run("add", tmp_path / "hospital", notes)
    assert added.exit_code == 0, added.output
    return tmp_path / "hospital"


@pytest.mark.parametrize("store", ["embeded", "postgres://u:hunter2@h/x", "postgresql://u:hunter2@h/x"])
def test_wrong_store_makes_no_vault(store: str, tmp_path: Path) -> None:
    refused = run("init", tmp_path / "hospital", *GRANT, "--store", store)
    assert refused.exit_code == 2
    assert "hunter2" not in refused.output
    assert not (tmp_path / "hospital").exists()


def test_documents_are_counted_listed_and_erased(hospital: Path) -> None:
    counted = run("ask", hospital, "How many patients have numb thumbs?")
    assert (counted.exit_code, "About" in counted.output) == (0, True)
    assert "p42" in run("list", hospital, "units", "--limit", 0).output
    assert run("remove", hospital, "--unit", "P42").exit_code == 0
    assert run("remove", hospital, "--unit", "P42").exit_code == 2
    assert "write-ahead log" in run("erasure-report", hospital, "--unit", "p42").output
    assert run("doctor", hospital).exit_code == 0
    assert run("undo", hospital, 1, "--yes").exit_code == 0
    assert "no units" in run("list", hospital, "units").output


def test_backup_and_restore_say_where_documents_are(hospital: Path, tmp_path: Path) -> None:
    schema = json.loads((hospital / "vault.json").read_text())["store_name"]
    said = " ".join(run("backup", hospital, tmp_path / "copy").output.split())
    assert (f"pg_dump --schema {schema}" in said, "share the ledger" in said, "twice" in said) == (True, True, False)
    made = json.loads(run("backup", hospital, tmp_path / "second", "--json").stdout)
    assert (made["ledger"], made["documents"]) == ("postgresql", "postgresql")
    restored = run("restore", tmp_path / "copy", tmp_path / "again")
    assert "current documents in its PostgreSQL database" in restored.output
    assert "share that ledger" in restored.output
    assert "p42" in run("list", tmp_path / "again", "units", "--limit", 0).output

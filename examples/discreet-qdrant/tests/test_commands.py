"""A vault with its vectors in Qdrant, as a custodian runs it from the command line, on a stand-in for a server."""

import gc
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from discreet_qdrant.check import check_qdrant_store, main
from qdrant_server import StandIn, qdrant_server
from typer.testing import CliRunner, Result

from discreet.cli.app import app
from discreet.config import read_config
from discreet.operations.checks import problems

GRANT = ("--people", 400, "--epsilon", 20, "--delta", 1e-6, "--unit-field", "patient", "--embedder", "hashing")
TEXT = "numb thumbs"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, StandIn]]:
    with qdrant_server(tmp_path_factory.mktemp("qdrant")) as own:
        yield own


@pytest.fixture(params=["", "?chunks=3"])
def hospital(running: tuple[str, StandIn], tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    made = run("init", tmp_path / "hospital", *GRANT, "--store", running[0] + request.param)
    assert made.exit_code == 0, made.output
    added = add(tmp_path, [{"patient": f"p{n}", "text": f"note {n}: {TEXT}"} for n in range(100)])
    assert added.exit_code == 0, added.output
    return tmp_path / "hospital"


def add(folder: Path, records: list[dict[str, str]]) -> Result:
    notes = folder / "notes.jsonl"
    notes.write_text("".join(json.dumps(record) + "\n" for record in records))
    return run("add", folder / "hospital", notes)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def checked(vault: Path, problem: bool = False) -> str:
    found = list(check_qdrant_store(vault / "store", read_config(vault)))
    assert bool(problems(found)) is problem
    return " ".join(one.what + one.remedy for one in found)


def said(result: Result) -> str:
    return " ".join(result.output.split())


@pytest.mark.parametrize(
    "store", ["qdrant:/localhost", "qdrant://u:hunter2@h", "qdrant://h?chunks=x", "qdrant://h:99999"]
)
def test_wrong_address_makes_no_vault(store: str, tmp_path: Path) -> None:
    refused = run("init", tmp_path / "hospital", *GRANT, "--store", store)
    assert refused.exit_code == 2
    assert "hunter2" not in refused.output
    assert not (tmp_path / "hospital").exists()


def test_server_that_is_down_makes_no_vault(tmp_path: Path, running: tuple[str, StandIn]) -> None:
    refused = run("init", tmp_path / "hospital", *GRANT, "--store", "qdrant://127.0.0.1:1")
    assert (refused.exit_code, "Qdrant cannot be reached" in said(refused)) == (1, True)
    assert not (tmp_path / "hospital").exists()


def test_documents_are_asked_listed_and_erased(hospital: Path, running: tuple[str, StandIn]) -> None:
    counted = run("ask", hospital, "How many patients have numb thumbs?")
    assert (counted.exit_code, "About" in counted.output) == (0, True), counted.output
    assert "p42" in run("list", hospital, "units", "--limit", 0).output
    assert run("remove", hospital, "--unit", "P42").exit_code == 0
    assert run("remove", hospital, "--unit", "P42").exit_code == 2
    assert "snapshots, backups and replicas of the store 'qdrant'" in said(
        run("erasure-report", hospital, "--unit", "p42")
    )
    assert "discreet has no checks for the store 'qdrant'" in said(run("doctor", hospital))
    assert "Each text has a vector" in checked(hospital)
    assert run("undo", hospital, 1, "--yes").exit_code == 0
    assert "no units" in run("list", hospital, "units").output
    assert [name for name in running[1].settings if running[1].engine.count(name)] == []


def test_backup_is_refused_and_move_is_not(hospital: Path, tmp_path: Path) -> None:
    refused = run("backup", hospital, tmp_path / "copy")
    assert (refused.exit_code, "store 'qdrant'" in said(refused)) == (2, True)
    assert not (tmp_path / "copy").exists()
    gc.collect()  # the commands ran in this process, and a vault that they opened may wait to be freed
    moved = run("move", hospital, tmp_path / "moved")
    assert moved.exit_code == 0, moved.output
    assert run("doctor", tmp_path / "moved").exit_code == 0


def test_check_finds_lost_and_left_vectors(hospital: Path, running: tuple[str, StandIn], tmp_path: Path) -> None:
    engine, (name,) = running[1].engine, mine(hospital, running[1])
    assert f"collection {name} in Qdrant" in checked(hospital)
    running[1].settings[f"{name}0"] = running[1].settings[name]
    assert f"remove from Qdrant: {name}0." in checked(hospital)
    del running[1].settings[f"{name}0"]
    _, vectors = next(engine.pages(name))
    engine.add(name, [7], vectors[:1])
    assert "1 vectors without a text" in checked(hospital)
    running[1].settings[name]["vectors"]["distance"] = "Cosine"
    assert "distance Cosine in place of Dot" in checked(hospital, problem=True)
    assert "distance Cosine" in said(run("ask", hospital, "How many patients have numb thumbs?"))
    engine.drop(name)
    del running[1].settings[name]
    assert "lacks the store" in checked(hospital, problem=True)


def mine(hospital: Path, stand_in: StandIn) -> list[str]:
    prefix = json.loads((hospital / "vault.json").read_text())["store_name"]
    return [name for name in stand_in.settings if name.startswith(prefix)]


def test_cap_refuses_a_unit_with_more_chunks(hospital: Path, tmp_path: Path) -> None:
    capped = "chunks" in (hospital / "vault.json").read_text()
    added = add(tmp_path, [{"patient": "p1", "id": f"more {n}", "text": f"more {n}"} for n in range(3)])
    assert (added.exit_code, "chunks of text" in said(added)) == ((4, True) if capped else (0, False))
    assert "p1 " not in said(added)
    assert run("doctor", hospital).exit_code == 0


def test_key_is_taken_from_the_environment(
    hospital: Path, running: tuple[str, StandIn], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running[1], "key", "open sesame")
    refused = run("list", hospital, "units")
    assert (refused.exit_code, "QDRANT_API_KEY" in said(refused)) == (1, True)
    monkeypatch.setenv("QDRANT_API_KEY", "open sesame")
    assert run("list", hospital, "units").exit_code == 0
    monkeypatch.setattr(running[1], "status", 500)
    failed = run("list", hospital, "units")
    assert (failed.exit_code, "(500)" in failed.output, "secret" in failed.output) == (1, True, False)


def test_copies_of_a_vault_find_no_wrong_vectors(hospital: Path, tmp_path: Path) -> None:
    """Two copies share a collection. What one of them erases, the other misses: it fails, and answers nothing."""
    gc.collect()
    shutil.copytree(hospital, tmp_path / "copy")
    assert run("remove", hospital, "--unit", "p5").exit_code == 0
    failed = run("ask", tmp_path / "copy", "How many patients have numb thumbs?")
    assert (failed.exit_code, "lacks the store" in said(failed)) == (1, True)


def test_check_is_a_command(
    hospital: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["check", str(hospital)])
    assert main() == 0
    assert "ok: vectors: Each text has a vector." in capsys.readouterr().out

"""`discreet attack` as a custodian uses it: the packaged model, a vault, and nothing else."""

import json
from pathlib import Path

import pytest

from discreet.demo.corpus import documents
from discreet.vault import Vault
from discreet_lab.attacks.targets import available
from tests.cli.running import run


@pytest.fixture
def notes(vault: Vault) -> Path:
    vault.add_documents(documents(12))
    return vault.path


QUICK = ("--target", "rag", "--members", 2, "--questions", 1, "--planted", 1, "--max-tokens", 24)


def test_report_for_the_custodian_alone(packaged_vault: Vault, tmp_path: Path) -> None:
    packaged_vault.add_documents(documents(12))
    notes, report = packaged_vault.path, tmp_path / "report.html"
    result = run("attack", notes, *QUICK, "--out", report, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert "custodian only" in told["notice"]
    assert (told["members"], told["others"]) == (2, 2)
    assert 12 - 2 + 1 <= told["documents"] <= 12 + 1
    (target,) = told["targets"]
    assert target["canaries"]["whole"]["count"] == 1  # plain RAG tells a secret to whoever asks
    assert target["canaries"]["control"]["count"] == 0
    assert 0 <= target["membership"]["one"]["bleu"]["low"] <= target["membership"]["one"]["bleu"]["auc"] <= 1
    assert report.stat().st_mode & 0o777 == 0o600
    assert "<svg" in report.read_text()
    shown = run("attack", notes, *QUICK, "--max-tokens", 4)
    assert shown.exit_code == 0
    assert "Canaries and extraction" in shown.stdout
    assert "custodian only" in shown.stderr


def test_what_is_missing_and_what_is_wrong(notes: Path, tmp_path: Path) -> None:
    file = tmp_path / "others.jsonl"
    file.write_text("{}\n")
    wrong: list[tuple[int, tuple[object, ...]]] = [
        (2, (tmp_path / "nowhere",)),
        (2, (notes, "--target", "redakted")),
        (2, (notes, "--out", notes / "report.html")),
        (2, (notes, "--out", tmp_path / "no folder" / "report.html")),
        (2, (notes, "--members", 1)),
        (2, (notes, "--corpus", file)),
        (2, (notes, "--target", "consensus", "--voters", 0)),
        (4, (notes, "--non-members", file)),
        (4, (notes, "--canaries", file)),
        (4, (notes, "--prompts", file)),
    ]
    for code, arguments in wrong:
        result = run("attack", *arguments)
        assert result.exit_code == code, (arguments, result.output)
        assert "Traceback" not in result.output
    assert "no folder" not in [path.name for path in tmp_path.iterdir()]


@pytest.mark.skipif(available(), reason="the extra [pii] is installed")
def test_redaction_that_is_not_installed_is_named(notes: Path) -> None:
    result = run("attack", notes, "--target", "redacted")
    assert result.exit_code == 2
    assert ".[pii]" in " ".join(result.stderr.split())


def test_too_few_people(vault: Vault) -> None:
    vault.add_documents(documents(1))
    result = run("attack", vault.path, "--target", "rag", "--json")
    assert result.exit_code == 4
    assert json.loads(result.stdout)["error"] == "BadData"

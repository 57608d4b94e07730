"""`discreet plan` and `discreet init`, as a custodian types them."""

import json
from pathlib import Path

import pytest

from discreet.vault import Vault
from tests.cli.running import run, said


def test_plan_for_a_person_and_for_a_program() -> None:
    shown = run("plan", "--people", 5000, "--epsilon", 8)
    assert shown.exit_code == 0
    assert "murag-ada" in said(shown)
    told = json.loads(run("plan", "--people", 5000, "--epsilon", 8, "--json").stdout)
    assert told["delta"] == told["suggested"] == 1e-6
    assert told["rows"][0]["times"] == 8


def test_init_without_numbers_suggests_a_whole_command(tmp_path: Path) -> None:
    result = run("init", tmp_path / "v", "--people", 5000)
    assert result.exit_code == 2
    assert "--people 5000 --epsilon 8 --delta 1e-06" in said(result)
    assert not (tmp_path / "v").exists()


def test_init_asks_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import discreet.cli.init as command

    class Terminal:
        def isatty(self) -> bool:
            return True

    numbers = iter(["5000", "", ""])
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("rich.console.input", lambda *_: next(numbers), raising=False)
    monkeypatch.setattr("builtins.input", lambda *_: next(numbers))
    found = command._numbers(tmp_path / "v", None, None, None, ask=True)
    assert found == (8.0, 1e-6, 5000)


@pytest.mark.long
def test_init_refuses_and_forces(tmp_path: Path) -> None:
    line = ("init", tmp_path / "v", "--epsilon", 0.4, "--delta", 1e-6, "--embedder", "hashing")
    result = run(*line)
    assert result.exit_code == 2
    assert "--epsilon 0.54" in said(result)
    assert run(*line, "--force").exit_code == 0
    assert Vault.open(tmp_path / "v").settings.epsilon == 0.4

"""`make serve`: a vault, a key and a command line that asks."""

import json
import shlex
import stat
from pathlib import Path

import pytest

from discreet.errors import NoSuchVault
from discreet.vault import Vault
from discreet_server import demo
from discreet_server.accounts import Accounts
from discreet_server.keeper.hardening import with_time
from discreet_server.supervisor import READY
from tests.server.keepers import make_vault


def test_demo_issues_a_key_and_prints_a_command_that_asks(short_path: Path) -> None:
    make_vault(short_path / "hospital")
    config, secret = demo.prepare(short_path / "hospital", 8123)
    words = shlex.split(demo.instructions(config, secret).split("\n\n")[1])
    assert words[:2] == ["curl", "http://127.0.0.1:8123/v1/chat/completions"]
    assert f"Authorization: Bearer {secret}" in words
    body = json.loads(words[-1])
    assert body["model"] == "hospital"
    assert body["messages"][0]["content"].endswith("?")
    accounts = Accounts(config.accounts)
    found = accounts.find(secret)
    assert found is not None
    assert found.vaults == ("hospital",)
    again, same = demo.prepare(short_path / "hospital")
    assert (again.port, same) == (8000, secret)
    assert stat.S_IMODE((Path(config.state) / demo.SECRET).stat().st_mode) == 0o600
    accounts.revoke(demo.KEY)
    _, other = demo.prepare(short_path / "hospital")
    assert accounts.find(secret) is None
    assert accounts.find(other) is not None
    accounts.close()


def test_demo_completes_a_vault_that_was_interrupted(tmp_path: Path) -> None:
    folder = tmp_path / "hospital"
    before = make_vault(folder).store.count_documents()
    demo.open_or_build(folder)
    assert Vault.open(folder).store.count_documents() == before
    (folder / "adding.0123456789abcdef").touch()
    demo.open_or_build(folder)
    assert Vault.open(folder).store.count_documents() == before + 1200


def test_demo_tells_when_the_server_is_ready(short_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_vault(short_path / "hospital")
    config, secret = demo.prepare(short_path / "hospital", 8123)
    assert secret in demo.instructions(config, secret)
    demo._say(with_time(f"{READY} {config.url}"), config, secret)
    assert secret in capsys.readouterr().out


def test_demo_of_a_folder_that_is_no_vault_ends(tmp_path: Path) -> None:
    assert demo.main([str(tmp_path)]) == NoSuchVault.exit_code

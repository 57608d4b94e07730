"""`discreet key share`: keys and caps in a database that several servers share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.vault import Vault
from tests.cli.running import json_of, run, said
from tests.guarantee.ledger.conftest import running


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    pytest.importorskip("psycopg", reason="PostgreSQL is tested where psycopg is installed")
    with running() as address:
        yield address


def test_key_of_one_server_is_known_to_the_other(vault: Vault, tmp_path: Path, url: str) -> None:
    for state in ("one", "two"):
        shared = run("key", "share", vault.path, url, "--state", tmp_path / state)
        assert shared.exit_code == 0, shared.output
    issued = json_of("key", "issue", vault.path, "ana", "--epsilon", 10, "--state", tmp_path / "one")
    listed = json_of("key", "list", vault.path, "--state", tmp_path / "two")["keys"]
    assert [key["id"] for key in listed] == [issued["id"]]
    assert not list(tmp_path.glob("*/front/accounts.sqlite"))


def test_keys_in_the_folder_are_not_left_behind(vault: Vault, url: str) -> None:
    json_of("key", "issue", vault.path, "ana", "--epsilon", 10)
    refused = run("key", "share", vault.path, url)
    assert refused.exit_code == 2
    assert "There are keys in" in said(refused)


@pytest.mark.parametrize("url", ["mysql://x/y", "postgresql://ana:hunter2@host/db"])
def test_wrong_url_is_refused(vault: Vault, url: str) -> None:
    refused = run("key", "share", vault.path, url)
    assert refused.exit_code == 2
    assert "hunter2" not in said(refused)
    assert run("key", "list", vault.path).exit_code == 2


def test_database_out_of_reach_is_said_before_it_is_shared(vault: Vault) -> None:
    away = "postgresql://ana@127.0.0.1:1/nowhere"
    assert run("key", "share", vault.path, away).exit_code != 0
    assert "There are no accounts" in said(run("key", "list", vault.path))

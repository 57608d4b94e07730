from pathlib import Path
from typing import Any

import pytest

from discreet.errors import NoSuchVault, UsageError
from discreet_server.config import PresetConfig, ServeConfig, ServedVault, read_serve_config
from discreet_server.keeper.served import check_served
from tests.server.keepers import config_of, make_vault

TOML = """
vaults = ["hospital"]
state = "state"
port = 9000
quantum = 10
models = ["consensus", "free"]

[presets.triage]
algorithm = "consensus"
choices = ["red", "green"]
epsilon = 2
vaults = ["hospital"]
"""


def test_serve_toml_is_read_and_the_command_line_comes_first(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(TOML)
    found = read_serve_config(file, {"port": 9001, "host": None})
    assert (found.port, found.host, found.quantum, found.models) == (9001, "127.0.0.1", 10, ("consensus", "free"))
    triage = PresetConfig("triage", "consensus", {"choices": ("red", "green"), "epsilon": 2}, ("hospital",))
    assert found.presets == (triage,)
    assert [vault.name for vault in found.vaults] == ["hospital"]
    assert ServeConfig.from_json(found.to_json()) == found


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "No vault"),
        ("vaults = []", "No vault"),
        ("vaults = 5", "no list"),
        ('vaults = ["a", "b/a"]', "one name"),
        ('vaults = ["a:b"]', "cannot be served"),
        ('[vaults]\n"x y" = "a"', "cannot be served"),
        ('vaults = ["a"]\nprot = 1', "prot"),
        ('vaults = ["a"]\nport = "1"', "port is"),
        ('vaults = ["a"]\nport = 70000', "port is"),
        ('vaults = ["a"]\nstate = 5', "state is"),
        ('vaults = ["a"]\nfollow_ups = "hospital"', "no list"),
        ('vaults = ["a"]\nquantum = -1', "quantum is"),
        ('vaults = ["a"]\nquantum = nan', "quantum is"),
        ('vaults = ["a"]\nqueue = 0', "queue is"),
        ('vaults = ["a"]\nhost = "0.0.0.0"', "plain text"),
        ('vaults = ["a"]\ntls_cert = "c.pem"', "one is missing"),
        ('vaults = ["a"]\npresets = 5', "no table"),
        ('vaults = ["a"]\n[presets.x]\nchoices = ["a"]', "names no algorithm"),
        ('vaults = ["a"]\nstate = "/' + "x" * 200 + '"', "bytes"),
        ("vaults = [", "no TOML"),
    ],
)
def test_serve_toml_with_a_mistake_is_refused(tmp_path: Path, text: str, wrong: str) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=wrong):
        read_serve_config(file, {})


def test_address_beyond_the_loopback_needs_tls_or_insecure() -> None:
    vaults = (ServedVault("v", "v"),)
    for allowed in ({"insecure": True}, {"tls_cert": "c", "tls_key": "k"}):
        given: dict[str, Any] = {"host": "0.0.0.0"} | allowed
        assert ServeConfig(vaults, "s", **given).host == "0.0.0.0"
    with pytest.raises(UsageError, match="--insecure"):
        ServeConfig(vaults, "s", host="192.0.2.1")


@pytest.mark.parametrize(
    ("preset", "wrong"),
    [
        (PresetConfig("x", "rag"), "no guarantee"),
        (PresetConfig("x", "projection-rag"), "no guarantee"),
        (PresetConfig("x", "nonsense"), "nonsense"),
        (PresetConfig("x", "consensus", {"epsilonn": 2}), "epsilonn"),
        (PresetConfig("free", "consensus"), "built-in"),
        (PresetConfig("consensus", "consensus"), "built-in"),
        (PresetConfig("x", "consensus", {}, ("w",)), "not served"),
    ],
)
def test_preset_that_cannot_be_asked_is_refused_at_the_start(tmp_path: Path, preset: PresetConfig, wrong: str) -> None:
    config = config_of(make_vault(tmp_path / "v").path, presets=(preset,))
    with pytest.raises(UsageError, match=wrong):
        check_served(config)


def test_vault_that_is_not_there_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(NoSuchVault):
        check_served(config_of(tmp_path / "v"))

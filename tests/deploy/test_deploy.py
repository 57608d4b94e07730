"""The files of deploy/: what can be checked without Docker, a cluster or a running systemd."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from discreet_server import launch
from discreet_server.config import read_serve_config
from discreet_server.launch import MODULES
from tests.docs.pages import ROOT, Page
from tests.docs.test_docs import parse

DEPLOY = ROOT / "deploy"
UNITS = {path.stem.removeprefix("discreet-"): path for path in sorted(DEPLOY.glob("systemd/*.service"))}
README = Page(DEPLOY / "README.md")
VAULTS, STATE = "/var/lib/discreet/vaults", "/var/lib/discreet/state"


def read_unit(name: str) -> dict[str, list[str]]:
    """Return the settings of a unit: those that repeat have several values."""
    found: dict[str, list[str]] = {}
    for line in UNITS[name].read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def load(name: str) -> list[Any]:
    yaml: Any = pytest.importorskip("yaml", reason="PyYAML reads the files; it comes with transformers")
    return list(yaml.safe_load_all((DEPLOY / name).read_text()))


def systemd(tool: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    return subprocess.run([tool, *arguments], capture_output=True, text=True, timeout=60, check=False)


def test_each_process_of_the_server_has_a_unit() -> None:
    assert UNITS.keys() == MODULES.keys()
    for name in UNITS:
        words = shlex.split(read_unit(name)["ExecStart"][0])
        assert words[1:] == ["-m", "discreet_server.launch", name, "--config", "/etc/discreet/serve.toml"]


def test_units_keep_the_front_from_vaults_and_the_keeper_from_networks() -> None:
    front, keeper, desk = (read_unit(name) for name in ("front", "keeper", "desk"))
    assert front["User"] != keeper["User"] == desk["User"]
    assert front["InaccessiblePaths"] == desk["InaccessiblePaths"] == [VAULTS]
    assert front["ReadWritePaths"] == [f"{STATE}/front"]
    assert keeper["PrivateNetwork"] == ["yes"]
    assert keeper["RestrictAddressFamilies"] == ["AF_UNIX"]
    for unit in (front, keeper, desk):
        assert (unit["NoNewPrivileges"], unit["LimitCORE"], unit["UMask"]) == (["yes"], ["0"], ["0007"])
        assert unit["ProtectSystem"] == ["strict"]


def test_units_are_valid_and_closed(tmp_path: Path) -> None:
    files = []
    for path in UNITS.values():
        files.append(tmp_path / path.name)
        files[-1].write_text(path.read_text().replace("/opt/discreet/bin/python", sys.executable))
    found = systemd("systemd-analyze", "verify", *map(str, files))
    assert (found.returncode, found.stdout + found.stderr) == (0, "")
    for file in files:
        told = systemd("systemd-analyze", "security", "--offline=true", "--threshold=20", str(file))
        assert told.returncode == 0, told.stdout[-500:]


def test_users_and_folders_are_made(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    made = systemd("systemd-sysusers", f"--root={tmp_path}", str(DEPLOY / "systemd/discreet.sysusers.conf"))
    assert (made.returncode, "not a valid" in made.stderr) == (0, False)
    users = (tmp_path / "etc/passwd").read_text()
    assert {"discreet-front", "discreet-keeper"} <= {line.split(":")[0] for line in users.splitlines()}
    modes = dict(
        re.findall(r"^d (\S+) (\d{4}) ", (DEPLOY / "systemd/discreet.tmpfiles.conf").read_text(), re.MULTILINE)
    )
    assert (modes[VAULTS], modes[STATE], modes[f"{STATE}/run"]) == ("0700", "0711", "2750")
    assert modes[f"{STATE}/front"] == "2770"


@pytest.mark.parametrize("name", ["serve.toml", "containers.toml"])
def test_configuration_is_one_of_the_server(name: str) -> None:
    found = read_serve_config(DEPLOY / name, {})
    assert found.state == STATE
    assert all(vault.path.startswith(f"{VAULTS}/") for vault in found.vaults)


def test_compose_keeps_the_keeper_without_a_network() -> None:
    (found,) = load("compose.yaml")
    services = found["services"]
    keeper, front = services["keeper"], services["front"]
    assert keeper["network_mode"] == "none"
    assert "ports" not in front
    assert front["networks"] == ["inside"]
    assert found["networks"]["inside"]["internal"] is True
    assert f"vaults:{VAULTS}" in keeper["volumes"]
    assert not any("vaults" in one for one in front["volumes"])
    for one in (keeper, front):
        assert one["read_only"] is True
        assert one["cap_drop"] == ["ALL"]
        assert int(one["stop_grace_period"].removesuffix("s")) > 300
    assert {volume.split(":")[0] for one in (keeper, front) for volume in one["volumes"]} <= found["volumes"].keys()


def test_pod_keeps_the_front_from_the_vaults() -> None:
    found = {one["kind"]: one for one in load("k8s.yaml")}
    spec = found["Deployment"]["spec"]
    pod = spec["template"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert pod["terminationGracePeriodSeconds"] > 300
    containers = {one["name"]: one for one in pod["containers"]}
    mounts = {name: {m["name"] for m in one["volumeMounts"]} for name, one in containers.items()}
    assert "vaults" in mounts["keeper"]
    assert "vaults" not in mounts["front"]
    reached = {m["mountPath"]: m.get("readOnly", False) for m in containers["front"]["volumeMounts"]}
    assert (reached[f"{STATE}/front"], reached[f"{STATE}/run"], STATE in reached) == (False, True, False)
    assert set.union(*mounts.values()) <= {one["name"] for one in pod["volumes"]}
    users = [one["securityContext"]["runAsUser"] for one in containers.values()]
    assert len(set(users)) == 2
    for one in (*containers.values(), *pod["initContainers"]):
        assert one["securityContext"]["readOnlyRootFilesystem"] is True
        assert one["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    probes = {containers["front"][name]["httpGet"]["path"] for name in ("livenessProbe", "readinessProbe")}
    assert probes == {"/health/live", "/health/ready"}
    assert found["NetworkPolicy"]["spec"]["egress"] == []
    config = tomllib.loads(found["ConfigMap"]["data"]["serve.toml"])
    assert config == tomllib.loads((DEPLOY / "containers.toml").read_text())


def test_images_run_as_two_users_and_name_what_is_there() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    stages = re.findall(r"^FROM \S+ AS (\S+)$", text, re.MULTILINE)
    assert stages[-2:] == ["front", "keeper"]
    last = {name: text.split(f" AS {name}\n")[1].split("\nFROM ")[0] for name in stages[-2:]}
    assert [re.findall(r"^USER (\d+):", last[name], re.MULTILINE) for name in ("front", "keeper")] == [
        ["7302"],
        ["7301"],
    ]
    for name, stage in last.items():
        assert f'"discreet_server.launch", "{name}", "--config", "/etc/discreet/serve.toml"]' in stage
    for source in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / one).exists() for one in source.split())
    makefile = (ROOT / "Makefile").read_text()
    for model in re.findall(r"\S+==\d\S*", text):
        assert model in makefile


def test_proxies_never_send_a_question_twice() -> None:
    nginx, caddy = (DEPLOY / "nginx.conf").read_text(), (DEPLOY / "Caddyfile").read_text()
    for line in ("proxy_next_upstream off;", "proxy_buffering off;", "proxy_read_timeout 900s;", "access_log off;"):
        assert line in nginx
    assert nginx.count("{") == nginx.count("}")
    assert "lb_try_duration 0s" in caddy
    assert "log" not in re.sub("#.*", "", caddy)


def test_commands_of_the_pages_exist() -> None:
    joined = re.sub(r"\\\n\s*", " ", README.text)
    found = re.findall(r"(?:bin/|&& )discreet ([a-z][^'\n]*)'", joined)
    assert len(found) == 4
    for line in found:
        parse(shlex.split(line))
    with pytest.raises(SystemExit) as ended:
        launch.run(["--help"])
    assert ended.value.code == 0

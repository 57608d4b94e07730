"""The three processes of a server: the supervisor prints a link, the desk takes it, and all end at a signal."""

import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest

from discreet_server.config import ServeConfig
from discreet_server.supervisor import own_commands
from tests.server.keepers import ROOT, config_of, environment, make_vault

SUPERVISED = """
import sys
from discreet_server.config import ServeConfig
from discreet_server.supervisor import Supervisor, own_commands
config = ServeConfig.from_environment()
commands = own_commands(config) | {"keeper": [sys.executable, "-m", "tests.server.toy_keeper"]}
sys.exit(Supervisor(config, lambda line: print(line, flush=True), commands).run())
"""


@pytest.mark.long
def test_desk_is_served_beside_the_front(tmp_path: Path) -> None:
    config = config_of(make_vault(tmp_path / "v").path, port=_free(), desk_port=_free())
    said = tmp_path / "said"
    command = [sys.executable, "-c", SUPERVISED]
    running = subprocess.Popen(command, env=environment(config), cwd=ROOT, stdout=said.open("wb"))
    try:
        link = _link(said)
        origin = config.desk_url.replace("localhost", "127.0.0.1")
        with httpx2.Client(base_url=origin) as client:
            token = link.split("=")[1]
            _until_up(client)
            assert client.get("/keys").status_code == 401
            assert client.post("/login", data={"token": token}, headers={"origin": origin}).status_code == 200
            assert "Issue a key" in client.get("/keys").text
            assert "epsilon 20" in client.get("/").text
            assert client.get("/nothing").headers["cache-control"] == "no-store"
            for _ in range(600):
                metrics = client.get("/metrics")
                if metrics.status_code == 200:
                    break
                time.sleep(0.1)
            assert "discreet_requests" in metrics.text
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    finally:
        running.kill()
    assert "ended (" not in said.read_text()


def test_no_desk_is_started_without_one(tmp_path: Path) -> None:
    config = config_of(tmp_path / "v", desk=False)
    assert set(own_commands(config)) == {"keeper", "front"}
    assert ServeConfig.from_json(config.to_json()) == config


def _free() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _link(said: Path) -> str:
    for _ in range(1200):
        if (found := re.search(r"http://localhost:\d+/login\?token=\S+", said.read_text())) is not None:
            return found[0]
        time.sleep(0.05)
    raise AssertionError(said.read_text())


def _until_up(client: httpx2.Client) -> None:
    for _ in range(1200):
        try:
            client.get("/login")
            return
        except httpx2.TransportError:
            time.sleep(0.05)
    raise AssertionError

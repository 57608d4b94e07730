"""A front and a keeper, each in a process of its own, with a small vault and the toy model."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
from openai import OpenAI

from discreet.vault import Vault
from discreet_server.accounts import Accounts, Limits
from discreet_server.config import ServeConfig
from tests.server.keepers import ROOT, Keeper, config_of, environment, keeping, make_vault

QUESTION = "Which disease makes thumbs numb?"


@dataclass
class Server:
    """A front that runs, with its keeper.

    Attributes:
        config: the server's.
        keeper: the keeper's process.
        process: the front's process.
        accounts: the keys, from a third process: the test's.
        errors: what the front wrote.
    """

    config: ServeConfig
    keeper: Keeper
    process: "subprocess.Popen[bytes]"
    accounts: Accounts
    errors: Path

    @property
    def root(self) -> str:
        """The address of the front."""
        return f"http://127.0.0.1:{self.config.port}"

    def key(self, name: str = "ana", epsilon: float = 10.0, **limits: Any) -> str:
        """Issue a key; return its secret."""
        return self.accounts.issue(name, ["v"], Limits(epsilon=epsilon, **limits))[1]

    def sdk(self, secret: str, **how: Any) -> OpenAI:
        """Return a client of the openai SDK."""
        return OpenAI(base_url=f"{self.root}/v1", api_key=secret, **how)

    def begun(self) -> int:
        """Return how many questions the vault's ledger has."""
        return len(Vault.open(Path(self.config.vaults[0].path)).ledger.questions())

    def restart(self) -> None:
        """Kill the front, and start it again."""
        self.process.kill()
        self.process.wait()
        self.process = start(self.config, self.errors)
        wait_ready(self)


@contextmanager
def serving(folder: Path, pause: bool = False, **how: Any) -> Iterator[Server]:
    """Run a front and a keeper over a new vault."""
    path = folder / "v"
    vault = make_vault(path)
    config = config_of(path, port=free_port(), **how)
    with keeping(config, folder if pause else None) as keeper:
        accounts = Accounts(config.accounts)
        accounts.grant("v", vault.ledger.budget)
        errors = folder / "front.errors"
        server = Server(config, keeper, start(config, errors), accounts, errors)
        try:
            wait_ready(server)
            yield server
        finally:
            accounts.close()
            if server.process.poll() is None:
                server.process.send_signal(signal.SIGTERM)
                try:
                    server.process.wait(10)
                except subprocess.TimeoutExpired:
                    server.process.kill()


def start(config: ServeConfig, errors: Path) -> "subprocess.Popen[bytes]":
    """Start a front."""
    with errors.open("ab") as file:
        command = [sys.executable, "-m", "discreet_server.launch", "front"]
        return subprocess.Popen(command, env=environment(config), stderr=file, stdout=file, cwd=ROOT)


def wait_ready(server: Server) -> None:
    """Return when questions are answered."""
    for _ in range(600):
        assert server.process.poll() is None, server.errors.read_text()
        try:
            if httpx2.get(f"{server.root}/health/ready").status_code == 200:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError(server.errors.read_text())


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def check_reply(description: dict[str, Any], method: str, path: str, reply: Any) -> None:
    """Check a reply against the schema that a description has for its route, its status and its type."""

    def check(content: Any, schema: dict[str, Any]) -> None:
        jsonschema.Draft202012Validator({"components": description["components"], **schema}).validate(content)

    kind = "".join(reply.headers["content-type"]).partition(";")[0]  # a list of one, of Schemathesis
    form = description["paths"][path][method.lower()]["responses"][str(reply.status_code)]["content"][kind]
    if kind == "text/event-stream":
        events = [one.removeprefix("data: ") for one in reply.text.split("\n\n") if one.startswith("data: ")]
        assert events.pop() == "[DONE]"
        for event in events:
            check(json.loads(event), form["itemSchema"]["properties"]["data"]["contentSchema"])
    else:
        check(reply.json() if kind == "application/json" else reply.text, form["schema"])


def read_description(server: Server, secret: str) -> dict[str, Any]:
    """Return what the front says of its routes."""
    found = httpx2.get(f"{server.root}/openapi.json", headers={"authorization": f"Bearer {secret}"})
    assert found.status_code == 200
    description: dict[str, Any] = found.json()
    return description

"""A vault that is served by a keeper in a process of its own."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse, RemoteDisconnected
from pathlib import Path
from typing import Any

from discreet.store.documents import Document
from discreet.vault import Vault
from discreet_server.config import VARIABLE, PresetConfig, ServeConfig, ServedVault
from discreet_server.sockets import REPLIED, KeeperGone, call_once
from discreet_server.wire import ANALYSTS, Call, Question, Readied, Ready, decode, encode, path_of, reply_of
from tests.server.toy_keeper import PAUSE

UNITS = 60
TRIES = 4
"""Questions until one is answered. In one of a hundred, a noisy count of units ends the search too early."""
ROOT = Path(__file__).parents[2]
TRIAGE = PresetConfig("triage", "consensus", {"choices": ("red", "green"), "epsilon": 2.0})


def make_vault(path: Path, **how: Any) -> Vault:
    """Make a vault of patients who all say winterhand."""
    given: dict[str, Any] = {"epsilon": 20, "delta": 1e-6, "unit_field": "patient", "embedder": "hashing"} | how
    vault = Vault.create(path, **given)
    text = "My thumbs are numb. say: winterhand ."
    vault.add_documents(Document(f"d{number}", f"p{number}", text) for number in range(UNITS))
    return vault


def config_of(vault: Path, **how: Any) -> ServeConfig:
    """Return the configuration of a server of one vault."""
    given: dict[str, Any] = {"state": f"{vault}.server", "quantum": 0.0, "presets": (TRIAGE,)} | how
    return ServeConfig((ServedVault(vault.name, str(vault)),), **given)


def ask(text: str = "Which disease makes thumbs numb?", **how: Any) -> Question:
    """Return a question under a new id."""
    return Question(**{"id": secrets.token_hex(16), "vault": "v", "model": "", "question": text} | how)


def exchange(config: ServeConfig, message: Call[Any]) -> Any:
    """Send a message to the keeper, and return its reply."""
    return call_once(config.ask_socket, ANALYSTS, message, patience=60)


class Connection(socket.socket):
    """A connection to the keeper, and the kind of the message that was sent last."""

    asked: type[Any]


def connect(config: ServeConfig) -> Connection:
    """Return a connection to the keeper."""
    connection = Connection(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(60)
    connection.connect(str(config.ask_socket))
    return connection


def write_message(connection: Connection, message: Call[Any]) -> None:
    """Send a message, and do not wait for its reply."""
    connection.asked, content = type(message), encode(message)
    connection.sendall(request_of(path_of(connection.asked), content))


def request_of(path: str, content: bytes, headers: bytes = b"") -> bytes:
    """Return the bytes of a request."""
    length = str(len(content)).encode()
    return (
        b"POST "
        + path.encode()
        + b" HTTP/1.1\r\nhost: keeper\r\n"
        + headers
        + b"content-length: "
        + length
        + b"\r\n\r\n"
        + content
    )


def read_message(connection: Connection) -> Any:
    """Return the next reply; None if the connection was closed before it."""
    response = HTTPResponse(connection)
    try:
        response.begin()
    except (RemoteDisconnected, ConnectionResetError):
        return None
    kind = reply_of(connection.asked) if response.status == REPLIED else ANALYSTS.refused
    return decode(kind, response.read())


def receive(connection: Connection) -> Any:
    """Return the next reply."""
    reply = read_message(connection)
    assert reply is not None
    return reply


@dataclass
class Keeper:
    """A keeper that runs.

    Attributes:
        config: the server's.
        process: the keeper's.
        errors: what it wrote to standard error.
    """

    config: ServeConfig
    process: "subprocess.Popen[bytes]"
    errors: Path

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()

    def end(self) -> int:
        """Ask it to end, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def environment(config: ServeConfig, pause: Path | None = None) -> dict[str, str]:
    """Return the environment of a keeper with the toy model."""
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    extra = {VARIABLE: config.to_json(), "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    return os.environ | extra | ({PAUSE: str(pause)} if pause else {})


@contextmanager
def keeping(config: ServeConfig, pause: Path | None = None) -> Iterator[Keeper]:
    """Run a keeper with the toy model, and wait until it is ready."""
    keeper = start_keeper(config, pause)
    try:
        wait_ready(keeper)
        yield keeper
    finally:
        if keeper.process.poll() is None:
            keeper.kill()


def start_keeper(config: ServeConfig, pause: Path | None = None) -> Keeper:
    """Start a keeper with the toy model."""
    errors = Path(f"{config.state}.errors")
    command = [sys.executable, "-m", "tests.server.toy_keeper"]
    with errors.open("ab") as file:
        process = subprocess.Popen(command, env=environment(config, pause), stderr=file, stdout=file, cwd=ROOT)
    return Keeper(config, process, errors)


def wait_ready(keeper: Keeper) -> None:
    """Return when the keeper can answer."""
    for _ in range(1200):
        assert keeper.process.poll() is None, keeper.errors.read_text()
        try:
            reply = exchange(keeper.config, Ready())
        except KeeperGone:
            reply = None
        if isinstance(reply, Readied) and reply.loaded:
            return
        time.sleep(0.05)
    raise AssertionError(keeper.errors.read_text())


def wait_for(path: Path) -> None:
    """Return when a file is there."""
    wait_until(path.exists)


def wait_until(happened: Callable[[], bool]) -> None:
    """Return when something has happened, within a minute."""
    for _ in range(1200):
        if happened():
            return
        time.sleep(0.05)
    raise AssertionError("It did not happen within a minute.")

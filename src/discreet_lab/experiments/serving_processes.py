"""Front and keeper of a server, each in a process of its own, and what is asked of them.

Run as a program, it is the keeper. Its model is the toy model, which may take a time that depends on documents.
"""

import http.client
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.server.front.serving import Server, free_port, start, wait_ready
from tests.server.keepers import ROOT, Keeper, config_of, environment
from tests.server.keepers import wait_ready as wait_keeper

from discreet.models.toy import ToyModel
from discreet.store.documents import Document
from discreet.vault import Vault
from discreet_server.accounts import Accounts
from discreet_server.config import PresetConfig, ServeConfig
from discreet_server.keeper.hardening import end_with_parent
from discreet_server.keeper.process import main as keep

CHEAP = PresetConfig("cheap", "consensus", {"choices": ("winterhand", "flu"), "epsilon": 0.01})
MODEL = "v:cheap"
GRANT = 1e5
UNITS = 60
SLOW = "BENCHMARK_SLOW"
"""The environment variable with the seconds of an answer without the marker, and of one with it."""
MARKER = "lingering"
"""A word that no document of the smaller vault has."""


class SlowModel(ToyModel):
    """A toy model whose answer takes longer if a document with the marker is in a prompt: the worst case."""

    def __init__(self, short: float, long: float) -> None:
        super().__init__(default="yes")
        self._seconds = {False: short, True: long}

    def start(self, shared: Any, prompts: Any, max_tokens: int) -> Any:
        """Sleep for as long as the prompts demand, and start."""
        words = [self.decode(prompt.tokens) for prompt in prompts]
        time.sleep(self._seconds[any(MARKER in text for text in words)])
        return super().start(shared, prompts, max_tokens)


def question(name: str, number: int) -> str:
    """Return a question that is asked once: each costs its own charge."""
    return f"Which disease of chapter {number} by {name} makes thumbs numb?"


def make_vault(path: Path, *, marker: bool = False, units: int = UNITS) -> Vault:
    """Make a vault whose units all say winterhand; with `marker`, one more unit, which every question finds."""
    vault = Vault.create(path, epsilon=GRANT, delta=1e-6, unit_field="patient", embedder="hashing")
    documents = [Document(f"d{n}", f"p{n}", "My thumbs are numb. say: winterhand .") for n in range(units)]
    if marker:
        text = f"Which disease of chapter makes thumbs numb? {MARKER} say: winterhand ."
        documents.append(Document("marked", "marked", text))
    vault.add_documents(documents)
    return vault


def start_keeper(config: ServeConfig, slow: tuple[float, float] | None = None) -> Keeper:
    """Start a keeper; with `slow`, one with the slow model."""
    errors = Path(f"{config.state}.errors")
    variables = environment(config) | ({SLOW: json.dumps(slow)} if slow else {})
    with errors.open("ab") as file:
        command = [sys.executable, "-m", "discreet_lab.experiments.serving_processes"]
        process = subprocess.Popen(command, env=variables, stderr=file, stdout=file, cwd=ROOT)
    return Keeper(config, process, errors)


@contextmanager
def started(
    folder: Path, *, slow: tuple[float, float] | None = None, marker: bool = False, units: int = UNITS, **how: Any
) -> Iterator[Server]:
    """Run a front and a keeper over a new vault; both start at once, as the supervisor starts them."""
    folder.mkdir(parents=True, exist_ok=True)
    vault = make_vault(folder / "v", marker=marker, units=units)
    config = config_of(folder / "v", port=free_port(), presets=(CHEAP,), **how)
    accounts = Accounts(config.accounts)
    accounts.grant("v", vault.ledger.budget)
    vault.store.close()
    errors = folder / "front.errors"
    keeper = start_keeper(config, slow)
    server = Server(config, keeper, start(config, errors), accounts, errors)
    try:
        wait_keeper(keeper)
        wait_ready(server)
        yield server
    finally:
        accounts.close()
        end(server.process)
        if keeper.process.poll() is None:
            keeper.kill()


def end(process: "subprocess.Popen[bytes]") -> None:
    """End a process by a signal, and at once if it does not end."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


class Client:
    """One connection to a front, with a key. It is opened again when the front has closed it."""

    def __init__(self, server: Server, secret: str = "") -> None:
        self._port = server.config.port
        self._headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {secret}"} if secret else {})
        self._connection = self._connect()

    def ask(self, text: str, model: str = MODEL, **fields: Any) -> tuple[int, Any]:
        """Send a question; return status and body of its reply."""
        return self.send("POST", "/v1/chat/completions", {"model": model, "messages": [_user(text)], **fields})

    def get(self, path: str) -> tuple[int, Any]:
        """Return status and body of a page."""
        return self.send("GET", path)

    def send(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Return status and body of the reply to a request."""
        content = None if body is None else json.dumps(body)
        try:
            return self._exchange(method, path, content)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            self._connection = self._connect()
            return self._exchange(method, path, content)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _exchange(self, method: str, path: str, content: str | None) -> tuple[int, Any]:
        self._connection.request(method, path, content, self._headers)
        reply = self._connection.getresponse()
        return reply.status, json.loads(reply.read())

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def percentile(values: Sequence[float], part: float) -> float:
    """Return the value below which that part of the values lies: the nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def middle_and_slow(values: Sequence[float], digits: int = 1) -> list[str]:
    """Return the median and the 99th percentile as cells of a table."""
    return [f"{statistics.median(values):.{digits}f}", f"{percentile(values, 0.99):.{digits}f}"]


def resident_mib(process: int) -> float:
    """Return the resident memory of a process in MiB."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS:")).split()[1]) / 1024


def open_vault(path: Path) -> Vault:
    """Open a vault with the toy model, or with the slow one."""
    slow = os.environ.get(SLOW, "")
    return Vault.open(path, model=SlowModel(*json.loads(slow)) if slow else ToyModel(default="yes"))


if __name__ == "__main__":
    end_with_parent(signal.SIGTERM)
    sys.exit(keep(ServeConfig.from_environment(), open_vault))

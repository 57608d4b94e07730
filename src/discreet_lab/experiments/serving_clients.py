"""Real clients of the server, and how often the ledger is charged for their questions."""

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml
from tests.server.front.serving import Server, serving

from discreet_lab.experiments.common import TableWriter, add_csv_option
from discreet_server.config import PresetConfig

_READ: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
CLIENTS: dict[str, dict[str, Any]] = _READ["clients"]
"""What is installed for each client into an environment of its own, and its program."""


def program(client: str) -> str:
    """Return the whole program of a client."""
    return "\n".join((_READ["begin"], CLIENTS[client]["program"], _READ["end"]))


QUESTIONS = 20
FAILS, BREAKS = "number 7", "number 13"
"""In the question that gets 503 in place of its answer, and in the one whose connection is broken off."""
EPSILON = 0.1
CHEAP = PresetConfig("cheap", "consensus", {"choices": ("winterhand", "flu"), "epsilon": EPSILON})
COLUMNS = ("client", "version", "answered", "requests sent", "faults", "in the ledger", "charged to the key", "epsilon")
_KEPT = ("authorization", "content-type", "accept", "idempotency-key", "x-stainless-retry-count")


class Proxy(ThreadingHTTPServer):
    """Passes requests on to a port, but for one failure and one disconnection.

    Attributes:
        sent: how many questions the client has sent.
        faults: what was done to it.
    """

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.port, self.sent, self.faults = port, 0, list[str]()
        self.lock = threading.Lock()

    def fault(self, body: bytes) -> str:
        """Return what happens to a request: each fault happens once."""
        for word in (FAILS, BREAKS):
            if f"{word} ".encode() in body and b"numb" in body:
                with self.lock:
                    if word not in self.faults:
                        self.faults.append(word)
                        return word
        return ""


class Handler(BaseHTTPRequestHandler):
    """Answers one request with what the front has answered."""

    server: Proxy
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Pass a request on."""
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.sent += b"numb" in body
        fault = self.server.fault(body)
        headers = {name: value for name, value in self.headers.items() if name.lower().startswith(("mcp-", *_KEPT))}
        front = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)
        front.request("POST", self.path, body, headers)
        if fault == BREAKS:
            time.sleep(0.05)
            front.close()
            self.close_connection = True
            return
        reply = front.getresponse()
        content = reply.read()
        front.close()
        if fault == FAILS:
            self._send(503, {"content-type": "application/json"}, b'{"error": {"message": "bad gateway"}}')
        else:
            told = {name: value for name, value in reply.getheaders() if name != "content-length"}
            self._send(reply.status, told, content)

    def do_GET(self) -> None:
        """Refuse: no client needs it."""
        self._send(405, {}, b"")

    def log_message(self, *_: object) -> None:
        """Write nothing."""

    def _send(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("connection", "date", "transfer-encoding", "server"):
                self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def proxying(port: int) -> Iterator[Proxy]:
    """Run a proxy."""
    proxy = Proxy(port)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        yield proxy
    finally:
        proxy.shutdown()
        proxy.server_close()


def python_of(client: str, work: Path) -> str:
    """Return the interpreter of a client's own environment, which is made."""
    if not CLIENTS[client]["packages"]:
        return sys.executable
    folder = work / client
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    quiet = ("--quiet", "--disable-pip-version-check")
    subprocess.run([folder / "bin/pip", "install", *quiet, *CLIENTS[client]["packages"]], check=True)
    return str(folder / "bin/python")


def version_of(client: str, python: str) -> str:
    """Return the version of a client."""
    if not CLIENTS[client]["packages"]:
        said = subprocess.run([client, "--version"], capture_output=True, text=True, check=True).stdout
        return said.split()[1]
    code = f"import importlib.metadata; print(importlib.metadata.version({CLIENTS[client]['packages'][0]!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def questions_of(client: str) -> list[str]:
    """Return questions that no other client asks."""
    return [f"Which disease of chapter {number} by {client} makes thumbs numb?" for number in range(QUESTIONS)]


def measure(client: str, python: str, server: Server) -> tuple[list[str], bool]:
    """Return a row about 20 questions of a client, and whether each was answered and charged exactly once."""
    secret, before = server.key(client), server.begun()
    key = server.accounts.find(secret)
    assert key is not None
    with proxying(server.config.port) as proxy, tempfile.TemporaryDirectory() as home:
        given = {"BASE": f"http://127.0.0.1:{proxy.server_port}", "KEY": secret, "MODEL": "v:cheap", "HOME": home}
        variables = os.environ | given | {"QUESTIONS": json.dumps(questions_of(client))}
        variables |= {"OPENAI_API_KEY": "unused", "HAYSTACK_TELEMETRY_ENABLED": "False"}
        variables.pop("PYTHONPATH", None)
        command = [python, "-c", program(client)]
        ran = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=900, check=False)
        answers = json.loads(ran.stdout.splitlines()[-1]) if ran.returncode == 0 else []
        if ran.returncode:
            print(ran.stderr[-1000:], file=sys.stderr)
        faults, sent = len(proxy.faults), proxy.sent
    meter, begun = server.accounts.odometer(key.id), server.begun() - before
    numbers = [len(answers), sent, faults, begun, meter.questions]
    fits = faults == 2 and len(answers) == begun == meter.questions == QUESTIONS
    return [client, version_of(client, python), *map(str, numbers), f"{meter.spent:.3g}"], fits


def charge_clients(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """How often the ledger is charged for 20 questions of each real client, with one failure and one disconnection.

    Each client runs unchanged in an environment of its own, against a front and a keeper with the toy model.
    Between them stands a proxy. It answers one question with 503 in place of its answer, and breaks the connection
    off in the middle of another one. Clients ask again, as they do. Exactly 20 questions must be charged.
    """
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), presets=(CHEAP,)) as server:
        table = TableWriter(COLUMNS, given.csv)
        for client in CLIENTS:
            row, fits = measure(client, python_of(client, Path(folder) / "environments"), server)
            wrong += not fits
            table.write(row)
    sys.exit(1 if wrong else 0)

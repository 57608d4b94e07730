"""A served vault full of canaries, and the search for them in every byte that left it."""

import json
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from discreet.store.documents import Document
from discreet.vault import Vault
from discreet_server.accounts import Accounts, Limits
from discreet_server.audit_log import AuditLog
from discreet_server.config import ServeConfig
from discreet_server.desk.desk import PAGES
from discreet_server.state_folder import make_link
from tests.guarantee.server.canary_keeper import FOLDER, PRIVATE, TWIN
from tests.server.front.serving import free_port
from tests.server.keepers import ROOT, Keeper, config_of, environment, wait_for, wait_ready, wait_until

ASKED = "wqjk"
"""Stands in what analysts write: it may come back to the analyst on a page, and be written nowhere."""
UNITS = 60


def make_vault(path: Path) -> Vault:
    """Make a vault with 300 canaries: units, names of documents and files, and two in each text."""
    vault = Vault.create(path, epsilon=20, delta=1e-6, unit_field="patient", embedder="hashing")
    words = iter([f"{PRIVATE}{secrets.token_hex(4)}" for _ in range(5 * UNITS)])

    def document() -> Document:
        unit, name, file, first, last = (next(words) for _ in range(5))
        text = f"My name is {first} and my thumbs are numb. say: winterhand . I live in {last}."
        return Document(name, unit, text, source=f"{file}.txt")

    vault.add_documents([document() for _ in range(UNITS)])
    return vault


@dataclass
class CanaryServer:
    """A front and a keeper over a vault of canaries.

    Attributes:
        folder: holds the vault, in "v", and all that the server writes.
        config: the server's.
        keeper: the keeper's process.
        front: the front's process.
        desk: the desk's process.
        accounts: the keys.
        client: sends the requests.
        replies: all that came over HTTP, with the request that it came for.
        codes: the codes of all errors.
    """

    folder: Path
    config: ServeConfig
    keeper: Keeper
    front: "subprocess.Popen[bytes]"
    desk: "subprocess.Popen[bytes]"
    accounts: Accounts
    client: httpx2.Client
    replies: list[tuple[str, bytes]] = field(default_factory=list)
    codes: set[str] = field(default_factory=set)

    def key(self, name: str, epsilon: float = 15.0, *, reserved: bool = False, **limits: Any) -> str:
        """Issue a key; return its secret."""
        return self.accounts.issue(name, ["v"], Limits(epsilon=epsilon, **limits), reserved=reserved)[1]

    def send(self, method: str, path: str, secret: str = "", **how: Any) -> httpx2.Response:
        """Send a request, and keep every byte of its reply."""
        headers = {"user-agent": ASKED} | ({"authorization": f"Bearer {secret}"} if secret else {})
        headers |= how.pop("headers", {})
        reply = self.client.request(method, f"http://127.0.0.1:{self.config.port}{path}", headers=headers, **how)
        head = b"\n".join(b": ".join(pair) for pair in reply.headers.raw)
        self.replies.append((f"{method} {path}", head + b"\n\n" + reply.content))
        if reply.headers.get("content-type", "").startswith("application/json") and "error" in reply.json():
            self.codes.add(reply.json()["error"]["code"])
        return reply

    def ask(self, secret: str, text: str, **fields: Any) -> httpx2.Response:
        """Ask a question."""
        headers = fields.pop("headers", {})
        body = {"model": "v", "messages": [{"role": "user", "content": text}], **fields}
        return self.send("POST", "/v1/chat/completions", secret, json=body, headers=headers)

    def use_desk(self) -> None:
        """Look at each page of the custodian, and add, look up and erase: only the custodian sees what comes back."""
        origin = self.config.desk_url
        with httpx2.Client(base_url=origin, timeout=60, follow_redirects=True) as custodian:
            wait_for(self.config.run / "desk.url")

            def post(path: str, files: Any = None, **form: str) -> httpx2.Response:
                return custodian.post(path, data=form, files=files, headers={"origin": origin})

            link = make_link(self.config)
            assert custodian.get(link).status_code == 200
            assert post("/login", token=link.split("=")[1]).status_code == 200
            for path, _ in PAGES:
                assert custodian.get(path).status_code == 200, path
            unit = f"{PRIVATE}unit"
            line = json.dumps({"id": f"{PRIVATE}id", "patient": unit, "text": f"{PRIVATE}text"})
            for content in (line, line[:-1], f"{PRIVATE} is no record"):
                sent = {"files": (f"{PRIVATE}.jsonl", content.encode())}
                reply = post("/documents/upload", sent, vault="v")
                if reply.status_code == 200:
                    assert PRIVATE in reply.text
                    post("/documents/add", upload=str(reply.url).rsplit("=", 1)[1])
                    wait_until(lambda: custodian.get("/progress.json").json()["state"] != "running")
            for one in (unit, f"{PRIVATE}nobody"):
                post("/erasure/look", vault="v", unit=one)
                post("/erasure/erase", vault="v", unit=one)
                post("/erasure/erase", vault="v", unit=one, sure="yes")
            post("/report/page", vault="v")
            custodian.get(f"/{PRIVATE}", params={PRIVATE: PRIVATE})
        acts = [line["act"] for line in AuditLog(self.config.audit_log).lines()]
        assert {"login", "upload", "add", "erase", "report"} <= set(acts), acts

    def start_keeper(self, twin: str = "") -> None:
        """Start the keeper, without waiting for it."""
        self.keeper = start_keeper(self.folder, self.config, twin)

    def read_metrics(self) -> None:
        """Read the metrics from their socket."""
        transport = httpx2.HTTPTransport(uds=str(self.config.metrics_socket))
        with httpx2.Client(transport=transport) as client:
            self.replies.append(("metrics", client.get("http://metrics/metrics").content))

    def find(self, word: str, *, replies: bool = True) -> set[str]:
        """Return where a word stands outside of the vault and the quarantine: names of files, and requests."""
        found = {f"reply to {name}" for name, reply in self.replies if replies and holds(reply, word)}
        for file in sorted(self.folder.rglob("*")):
            inside = file.relative_to(self.folder)
            if (
                inside.parts[0] != "v"
                and self.config.uploads not in (file, *file.parents)
                and (holds(str(inside).encode(), word) or (file.is_file() and holds(file.read_bytes(), word)))
            ):
                found.add(str(inside))
        return found


def holds(content: bytes, word: str) -> bool:
    """Return whether a word stands in some bytes, in any case, and in UTF-8 or UTF-16."""
    lower = content.lower()
    return word.encode() in lower or word.encode("utf-16-le") in lower


def start_keeper(folder: Path, config: ServeConfig, twin: str) -> Keeper:
    """Start a keeper with the canary model."""
    errors = folder / "keeper.output"
    variables = environment(config) | {FOLDER: str(folder), TWIN: twin}
    command = [sys.executable, "-m", "tests.guarantee.server.canary_keeper"]
    with errors.open("ab") as file:
        return Keeper(config, subprocess.Popen(command, env=variables, stdout=file, stderr=file, cwd=ROOT), errors)


def start(folder: Path, config: ServeConfig, name: str) -> "subprocess.Popen[bytes]":
    """Start another process of the server."""
    command = [sys.executable, "-m", "discreet_server.launch", name]
    with (folder / f"{name}.output").open("ab") as file:
        return subprocess.Popen(command, env=environment(config), stdout=file, stderr=file, cwd=ROOT)


@contextmanager
def serving_canaries(folder: Path, twin: str = "") -> Iterator[CanaryServer]:
    """Run a front and a keeper over a vault of canaries."""
    vault = make_vault(folder / "v")
    config = config_of(vault.path, port=free_port(), desk_port=free_port())
    keeper = start_keeper(folder, config, twin)
    accounts = Accounts(config.accounts)
    accounts.grant("v", vault.ledger.budget)
    front, desk = (start(folder, config, name) for name in ("front", "desk"))
    client = httpx2.Client(verify=False, timeout=120)  # nothing to verify without TLS, and a context takes long to make
    server = CanaryServer(folder, config, keeper, front, desk, accounts, client)
    try:
        wait_ready(keeper)
        until_ready(server)
        yield server
    finally:
        client.close()
        accounts.close()
        for process in (server.front, server.desk, server.keeper.process):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def until_ready(server: CanaryServer) -> None:
    """Return when questions are answered."""
    for _ in range(600):
        assert server.front.poll() is None, (server.folder / "front.output").read_text()
        try:
            if server.send("GET", "/health/ready").status_code == 200:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError((server.folder / "front.output").read_text())

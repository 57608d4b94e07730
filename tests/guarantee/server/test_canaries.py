"""Nothing private leaves: a vault of 300 canaries, every route, every error that can be provoked, then a search."""

import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from discreet_server.front.gate import ROUTES
from tests.guarantee.server.canaries import ASKED, CanaryServer, holds, serving_canaries, until_ready
from tests.guarantee.server.canary_keeper import FAILS, PRIVATE, WAITS
from tests.server.keepers import request_of, wait_for, wait_ready

pytestmark = pytest.mark.thorough
QUESTION = f"Which disease makes thumbs numb {ASKED}?"
READS: dict[str, Any] = {"model": "v:consensus", "discreet": {"choices": ["winterhand", "flu"]}}
"""A model that reads documents whatever it draws."""
BODIES = (
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe" + ASKED.encode(),
    b'{"a":' * 2000,
    b'{"model": NaN}',
    b'{"model": "v", "messages": "' + ASKED.encode() + b'"}',
    b'{"model": ["v"], "messages": [{"role": "user", "content": "\\ud800"}]}',
    b'{"epsilon": 1e400, "reason": ""}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "' + ASKED.encode() + b'"}}',
    ASKED.encode() * 20_000,
)
FIELDS: tuple[dict[str, Any], ...] = (
    {"n": 2},
    {"model": ASKED},
    {"model": f"v:{ASKED}"},
    {"discreet": {"epsilon": ASKED}},
    {"discreet": {ASKED: 1}},
    {"messages": []},
    {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": ASKED}]}]},
    {"response_format": {"type": "json_schema", "json_schema": {"schema": {"enum": [ASKED]}}}},
    {"stream": ASKED},
    {"stop": [""]},
)
PATHS = ("/ready", "/question", "/estimate", "/condense", "/listing", "/add", "/erase", "/openapi.json", "/docs")
"""Of both private sockets: each has some of them."""
REFUSED = {"invalid_request", "model_not_found", "not_found", "method_not_allowed", "too_large", "invalid_api_key"}
CAPPED = {"not_allowed", "per_question_limit", "key_budget_exhausted", "key_questions_exhausted", "rate_limited"}
OF_THE_KEEPER = {"question_too_long", "cannot_answer", "internal_error", "interrupted", "starting"}
WANTED = REFUSED | CAPPED | OF_THE_KEEPER | {"idempotency_mismatch", "vault_budget_exhausted"}


def test_no_canary_leaves_the_vault(tmp_path: Path) -> None:
    with serving_canaries(tmp_path) as server:
        secret = server.key("ana")
        use_every_route(server, secret)
        ask_well(server, secret)
        ask_beyond_caps(server, secret)
        server.use_desk()
        send_to_private_sockets(server)
        send_malformed_to_the_front(server, secret)
        fail_in_the_keeper(server)
        kill_in_the_middle(server)
        damage_the_vault(server)
        server.read_metrics()
    assert any(PRIVATE.encode() in file.read_bytes() for file in (tmp_path / "v").rglob("*") if file.is_file())
    assert server.codes >= WANTED, WANTED - server.codes
    assert "refused" in (tmp_path / "keeper.output").read_text()
    assert '"code":"interrupted"' in (tmp_path / "front.output").read_text()
    assert server.find(PRIVATE) == set()
    assert server.find(ASKED, replies=False) == set()


@pytest.mark.parametrize(
    ("twin", "where"), [("log", "keeper.output"), ("replies", "reply to POST /v1/chat/completions")]
)
def test_canary_that_a_broken_twin_lets_out_is_found(tmp_path: Path, twin: str, where: str) -> None:
    with serving_canaries(tmp_path, twin) as server:
        secret = server.key("ana")
        assert server.ask(secret, "Which disease makes thumbs numb?", **READS).status_code == 200
        server.ask(secret, f"Which disease makes thumbs {FAILS} numb?", **READS)
        server.ask(secret, "What is a thumb?", model="v:free")
    assert where in server.find(PRIVATE)


def test_canary_that_a_broken_twin_repeats_is_found(tmp_path: Path) -> None:
    with serving_canaries(tmp_path, "messages") as server:
        with pytest.raises(AssertionError):
            send_to_private_sockets(server)
        assert server.find(PRIVATE)
        assert not any(name.endswith("output") for name in server.find(ASKED, replies=False))


def use_every_route(server: CanaryServer, secret: str) -> None:
    """Call each route with no key, a wrong one and a good one, and with bodies that are no request."""
    for route in ROUTES:
        path = route.path.replace("{model}", ASKED).replace("{question_id}", ASKED)
        for given in ("", f"dsc_{ASKED}", secret):
            server.send(route.method, f"{path}?{ASKED}={ASKED}", given)
        for body in BODIES if route.method == "POST" else ():
            server.send("POST", path, secret, content=body, headers={"accept": "application/json, text/event-stream"})
        server.send("DELETE", path, secret)
    for path in (f"/{ASKED}", "/v1/embeddings", "/metrics", "/docs", "/../v", "/v1/models/v%00", "//v/store.sqlite"):
        server.send("GET", path, secret)


def ask_well(server: CanaryServer, secret: str) -> None:
    """Ask questions that are answered, in each form, and those that are refused by their fields."""
    for fields in ({}, {"stream": True}, {"discreet": {"anew": True}}, {"max_tokens": 1}):
        assert server.ask(secret, QUESTION, **fields).status_code == 200
    assert server.ask(secret, QUESTION, **READS).status_code == 200
    assert server.ask(secret, QUESTION, model="v:free").status_code == 200
    task = f"### Task:\nGenerate a title.\n<chat_history>\nUSER: {ASKED}\n</chat_history>"
    assert server.ask(secret, task).status_code == 200
    for fields in FIELDS:
        server.ask(secret, QUESTION, **fields)
    named = {"headers": {"idempotency-key": "one"}}
    server.ask(secret, f"{QUESTION} One.", **named)
    server.ask(secret, f"{QUESTION} Two.", **named)
    body = {"model": "v", "messages": [{"role": "user", "content": QUESTION}]}
    assert server.send("POST", "/v1/estimate", secret, json=body).status_code == 200
    more = {"epsilon": 1, "reason": "More questions."}
    assert server.send("POST", "/v1/budget/requests", secret, json=more).status_code == 201
    for name, arguments in (("ask", {"question": QUESTION}), ("ask", {"question": 1}), ("budget", {}), (ASKED, {})):
        params = {"name": name, "arguments": arguments}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        server.send("POST", "/mcp", secret, json=call, headers={"accept": "application/json, text/event-stream"})


def malformed(paths: Sequence[str], host: str = "k") -> list[bytes]:
    """Return requests to some paths that are no messages, or have broken heads. Each has words that must not leave."""
    word = f"{PRIVATE}{ASKED}"
    broken = (
        f'{{"{word}',
        f'{{"{word}": "{word}"}}',
        f'{{"vault": "{word}", "vault": "{word}"}}',
        f'{{"vault": "{word}", "what": ["{word}"], "skip": "{word}", "unit": NaN}}',
        f'{{"question": {{"id": "{word}", "vault": "{word}", "question": "{word}\\ud800"}}, "air": ["{word}"]}}',
        f'{{"vault": "v", "messages": [{{"role": "{word}", "text": "{word}", "{word}": "{word}"}}]}}',
        f'["{word}"]' * 2,
        f'"{word}"' * 50_000,
        f'{{"{word}":' * 2000,
    )
    requests = [request_of(path, body.encode()) for path in paths for body in broken]
    for header in (f"{word}: {word}", f"host: {word}", f"authorization: Bearer {word}", f"cookie: {word}={word}", word):
        requests.append(request_of("/ready", b"{}", f"{header}\r\n".encode()))
        requests.append(request_of("/listing", f'{{"{word}": 1}}'.encode(), f"{header}\r\n".encode()))
    requests += [request_of(f"/{word}?{word}={word}", word.encode()), word.encode() + b"\r\n\r\n"]
    requests += [f"{start} HTTP/1.1\r\nhost: k\r\n\r\n".encode() for start in (f"GET /ready?{word}", f"{word} /ready")]
    requests += [request_of("/ready", b"{}", f"x: {word * 8000}\r\n".encode()), f"POST /{word * 8000}".encode()]
    requests += [request_of("/ready", b"{}", f"transfer-encoding: {word}\r\n".encode())]
    requests += [request_of("/ready", b"{}", f"upgrade: {word}\r\nconnection: upgrade, {word}\r\n".encode())]
    return [request.replace(b"host: keeper", f"host: {host}".encode()) for request in requests]


def send_malformed_to_the_front(server: CanaryServer, secret: str) -> None:
    """Send the front, with a valid key, what is no request: nothing of it comes back, and nothing is written."""
    paths = [route.path for route in ROUTES if route.method == "POST" and route.who == "analyst"]
    sent = []
    for number, request in enumerate(malformed(paths, f"k\r\nauthorization: Bearer {secret}")):
        sent.append(send_bytes(("127.0.0.1", server.config.port), request))
        server.replies.append((f"malformed {number}", sent[-1]))
    assert {reply[:12] for reply in sent} >= {b"HTTP/1.1 400", b"HTTP/1.1 404"}
    assert not any(holds(reply, one) for reply in sent for one in (PRIVATE, ASKED))


def send_to_private_sockets(server: CanaryServer) -> None:
    """Send to the keeper's sockets what is no message of theirs: nothing of it comes back, and nothing is written."""
    requests = malformed(PATHS)
    for path in (server.config.ask_socket, server.config.desk_socket):
        for number, request in enumerate(requests):
            server.replies.append((f"{path.name} {number}", send_bytes(path, request)))
    sent = [reply for name, reply in server.replies if ".sock " in name]
    assert len(sent) == 2 * len(requests)
    assert {reply[:12] for reply in sent} >= {b"HTTP/1.1 400", b"HTTP/1.1 404", b"HTTP/1.1 405", b"HTTP/1.1 422"}
    assert not any(holds(reply, one) for reply in sent for one in (PRIVATE, ASKED))
    assert not any(b"server:" in reply.lower() or b"date:" in reply.lower() for reply in sent)


def send_bytes(where: Path | tuple[str, int], sent: bytes) -> bytes:
    """Send bytes to a socket; return all that comes back."""
    got = b""
    family = socket.AF_UNIX if isinstance(where, Path) else socket.AF_INET
    with socket.socket(family) as connection, suppress(ConnectionResetError):
        connection.settimeout(60)
        connection.connect(str(where) if isinstance(where, Path) else where)
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        while part := connection.recv(65_536):
            got += part
    return got


def ask_beyond_caps(server: CanaryServer, secret: str) -> None:
    """Reach each cap, and the grant."""
    limits: dict[str, dict[str, Any]] = {
        "poor": {"epsilon": 0.1},
        "small": {"per_question": 0.1},
        "narrow": {"models": ["v:free"]},
        "few": {"questions": 1},
        "slow": {"rate": (1, 600.0)},
    }
    for name, limit in limits.items():
        capped = server.key(name, **limit)
        server.ask(capped, f"{QUESTION} {name} first")
        server.ask(capped, f"{QUESTION} {name} second")
    server.ask(secret, "word " * 5000)
    server.ask(secret, f"How many patients have numb thumbs {ASKED}?")
    server.ask(secret, f"Summarise what patients say of numb thumbs {ASKED}.")


def fail_in_the_keeper(server: CanaryServer) -> None:
    """Have the model fail with all that it has read, and the vault run out."""
    failing = server.key("failing")
    server.ask(failing, f"Which disease makes thumbs {FAILS} numb {ASKED}?", **READS)
    server.ask(failing, f"Which disease makes toes {FAILS} numb {ASKED}?", stream=True, **READS)
    server.ask(failing, f"What makes thumbs {FAILS} numb {ASKED}?", model="v:free")
    rich = server.key("rich", epsilon=60.0)
    server.ask(rich, f"{QUESTION} At any price.", discreet={"epsilon": 50})


def kill_in_the_middle(server: CanaryServer) -> None:
    """Kill the keeper while it answers, ask it when it is gone, and start it again."""
    secret = server.key("patient")
    text = f"Which disease makes thumbs {WAITS} numb {ASKED}?"
    asking = threading.Thread(target=server.ask, args=(secret, text), kwargs=READS)
    asking.start()
    wait_for(server.folder / "begun")
    server.keeper.kill()
    server.ask(secret, f"{QUESTION} Gone.")
    (server.folder / "go").touch()
    server.start_keeper()
    asking.join(100)
    assert not asking.is_alive()
    wait_ready(server.keeper)
    until_ready(server)
    server.ask(secret, text, **READS)


def damage_the_vault(server: CanaryServer) -> None:
    """Write over the documents, ask, and start a keeper that cannot open the vault."""
    late = server.key("late")
    for name in ("store", "ledger"):
        for file in (server.folder / "v").glob(f"{name}.sqlite*"):
            file.write_bytes(f"{PRIVATE}damaged ".encode() * 10_000)
        server.ask(late, f"{QUESTION} The {name} is damaged.")
    server.keeper.kill()
    server.start_keeper()
    assert server.keeper.process.wait(60) == 1

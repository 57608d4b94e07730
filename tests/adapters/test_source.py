"""The sources of answers: what a reply has, how it refuses, and what never passes."""

import copy
import json
import pickle
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from discreet.adapters import open_source
from discreet.adapters.server_source import ServerSource
from discreet.adapters.source import FIELDS, AnswerSource, Reply
from discreet.errors import MissingPart, UsageError
from discreet.models.toy import ToyModel
from discreet.store.documents import Document
from discreet.vault import Vault
from discreet_server.keeper.served import Served
from discreet_server.vault_source import VaultSource
from tests.server.front.serving import QUESTION, Server


def test_answer_has_text_cost_and_receipt(any_source: AnswerSource) -> None:
    reply = any_source.ask("Which disease makes thumbs numb at noon?")
    found = reply.metadata
    assert set(found) == {"status", "code", *FIELDS}
    assert json.loads(json.dumps(found)) == found
    assert found["epsilon"] > 0
    assert (found["unit"], found["payment"]) == ("patient", "each unit that took part")
    assert len(found["question_id"]) == 32
    if reply.status == "answered":
        assert reply.text == "Winterhand"
        assert found["support"]["low"] <= found["support"]["count"] <= found["support"]["high"]
    else:
        assert (reply.status, reply.code) == ("no_answer", "nothing_released")
        assert reply.text.startswith("No answer: too few of the patients' notes agree")


def test_same_question_again_is_free(any_source: AnswerSource) -> None:
    text = "Which disease makes both thumbs numb?"
    first, again = any_source.ask(text), any_source.ask(text)
    assert again.text == first.text
    assert again.metadata["replayed"] is True


def test_estimate_says_what_is_asked_before_it_is_paid(any_source: AnswerSource) -> None:
    asked = "How many patients have numb thumbs or a cold nose?"
    told = any_source.estimate(asked)
    assert (told.status, told.metadata["epsilon"], told.metadata["unit"]) == ("estimated", 0, "patient")
    assert told.text.startswith('Understood as: count: "numb thumbs" or "cold nose" (in any notes). It may cost')
    paid = any_source.ask(asked).metadata
    assert 0 < paid["epsilon"] <= told.metadata["asked"]
    assert told.metadata["understood"].startswith(paid["understood"])
    again = any_source.estimate(asked)
    assert (again.metadata["asked"], again.text.endswith("It costs nothing.")) == (0, True)
    voted = any_source.estimate("Is a thumb numb?", ["yes", "no"])
    assert voted.metadata["understood"] == "fact: Is a thumb numb?, choices yes | no"
    for wrong, code in (("Which patient has numb thumbs?", "cannot_answer"), ("", "invalid_request")):
        assert (any_source.estimate(wrong).status, any_source.estimate(wrong).code) == ("refused", code)


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("Which patient has numb thumbs?", "cannot_answer"),
        ("", "invalid_request"),
        ("\ud800", "invalid_request"),
        ("x " * 40_000, "invalid_request"),
    ],
)
def test_refusal_is_a_reply_in_words(any_source: AnswerSource, question: str, code: str) -> None:
    reply = any_source.ask(question)
    assert reply.status == "refused"
    assert reply.code in (code, "too_large")
    assert reply.text.startswith("No answer: The ")
    assert reply.metadata["epsilon"] == 0


def test_pickle_holds_neither_key_nor_documents(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_KEY", "dsc_other")
    for source in (open_source("https://host", key="dsc_secret", model="v"), open_source(folder, epsilon=2)):
        content = pickle.dumps(source)
        assert b"dsc_" not in content
        assert b"numb" not in content
        assert pickle.loads(content).describe() == source.describe()
        assert copy.deepcopy(source) is source


def test_exhausted_vault_is_a_reply_with_numbers(folder: Path) -> None:
    reply = VaultSource(folder, epsilon=50).ask("Which disease makes feet numb?")
    assert (reply.status, reply.code) == ("refused", "vault_budget_exhausted")
    assert "Epsilon: it may cost 50, left is 20, would fit 20." in reply.text
    assert (reply.metadata["asked"], reply.metadata["left"]) == (50, 20)


def test_exhausted_key_is_a_reply_with_numbers(server: Server, issue: Callable[..., str]) -> None:
    reply = ServerSource(server.root, issue(epsilon=0.5)).ask("Which disease makes thumbs numb at night?")
    assert (reply.status, reply.code) == ("refused", "key_budget_exhausted")
    assert "left is 0.5" in reply.text
    assert reply.metadata["epsilon"] == 0


def test_wrong_key_is_a_reply(server: Server) -> None:
    reply = ServerSource(server.root, "dsc_wrong").ask(QUESTION)
    assert (reply.status, reply.code) == ("refused", "invalid_api_key")


def test_missing_model_is_a_reply_with_the_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    monkeypatch.setenv("DISCREET_CACHE", str(folder.parent / "empty"))
    vault = Vault.open(folder)
    with pytest.raises(MissingPart):
        vault.components.load()
    reply = VaultSource(vault).ask("Which disease makes a thumb numb?")
    assert (reply.status, reply.code) == ("refused", "missing_part")
    assert "pip install" in reply.text


WRONG = ("ftp://host", "http://", "https://user:pass@host", "https://:pass@host", "https://@host", "http://host?x=1")


@pytest.mark.parametrize("address", [*WRONG, "https://host/#pass", "http://[::1", "http://[pass]", "https://host:pass"])
def test_wrong_address_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(UsageError, match="is no address") as refused:
        ServerSource(address, "dsc_key")
    assert "pass" not in str(refused.value).replace("password", "")
    assert refused.value.__context__ is None


def test_key_does_not_cross_a_network_in_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="plain text"):
        ServerSource("http://answers.example.org", "dsc_key")
    source = ServerSource("http://answers.example.org", "dsc_key", insecure=True)
    assert "dsc_key" not in repr(source) + repr(source.describe())
    monkeypatch.delenv("DISCREET_KEY", raising=False)
    with pytest.raises(UsageError, match="DISCREET_KEY"):
        ServerSource("https://answers.example.org")


# --- what never passes ------------------------------------------------------------------------------------------------


class BrokenModel(ToyModel):
    """Raises an error whose text and frames hold what it reads. Voters' errors are contained; this one is not."""

    def start(self, shared: Any, prompts: Any, max_tokens: int) -> Any:
        raise RuntimeError("canary", [self.decode(prompt.tokens) for prompt in prompts])


def canaries(path: Path, model: ToyModel) -> Vault:
    Vault.create(path, epsilon=20, delta=1e-6, unit_field="patient", embedder="hashing")
    vault = Vault.open(path, model=model)
    text = "My thumbs are numb, canary{0}. say: winterhand ."
    vault.add_documents(Document(f"canary-id-{n}", f"canary-unit-{n}", text.format(n)) for n in range(60))
    return vault


def is_clean(reply: Reply, path: Path) -> bool:
    said = json.dumps([reply.text, reply.metadata])
    return not any(word in said for word in ("canary", str(path), "numb", "Traceback"))


def test_no_text_unit_id_or_path_passes(tmp_path: Path) -> None:
    source = VaultSource(canaries(tmp_path / "vault", ToyModel(default="yes")))
    questions = ("Which disease is it?", "How many patients are cold?", "Which patient is it?", "Summarise the notes.")
    replies = [source.ask(question) for question in questions]
    assert {reply.status for reply in replies} >= {"answered", "refused"}
    assert all(is_clean(reply, tmp_path) for reply in replies)


def test_error_of_the_model_says_nothing_private(tmp_path: Path) -> None:
    vault = canaries(tmp_path / "vault", BrokenModel(default="yes"))
    reply = VaultSource(vault).ask("Which disease makes thumbs numb?")
    assert (reply.status, is_clean(reply, tmp_path)) == ("refused", True)
    assert reply.code in ("interrupted", "internal_error")
    assert reply.metadata["epsilon"] == pytest.approx(vault.odometer.epsilon)


def test_broken_store_says_nothing_private(tmp_path: Path) -> None:
    vault = canaries(tmp_path / "vault", ToyModel(default="yes"))
    source = VaultSource(vault)
    for file in (vault.path / "store").iterdir():
        file.write_bytes(b"broken")
    reply = source.ask("Which disease makes it warm?")
    assert (reply.status, is_clean(reply, tmp_path)) == ("refused", True)


def test_unknown_price_is_a_reply_without_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger and the estimate both raise an error of another program, such as a full disk."""
    source = VaultSource(canaries(tmp_path / "vault", BrokenModel(default="yes")))

    def broken(*_: Any, **__: Any) -> None:
        raise OSError("canary")

    monkeypatch.setattr(Served, "paid", broken)
    monkeypatch.setattr(Served, "estimate", broken)
    reply = source.ask("Which disease makes thumbs numb?")
    assert (reply.status, reply.code, reply.metadata["epsilon"]) == ("refused", "internal_error", None)
    assert is_clean(reply, tmp_path)
    assert "not known" in reply.text


# --- a server that is none --------------------------------------------------------------------------------------------


class _Stranger(BaseHTTPRequestHandler):
    """Replies what the path of its server asks for, and keeps the keys that it was sent."""

    keys: list[str]
    reply: tuple[int, bytes]
    location = ""

    def do_POST(self) -> None:
        self.keys.append(self.headers["Authorization"])
        status, content = self.reply
        self.send_response(status)
        if self.location:
            self.send_header("Location", self.location)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def stranger() -> Iterator[Callable[..., tuple[str, list[str]]]]:
    """A function that starts a server with a fixed reply, and returns its address and the keys that it saw."""
    started: list[ThreadingHTTPServer] = []

    def start(status: int, content: bytes, location: str = "") -> tuple[str, list[str]]:
        keys: list[str] = []
        kind = type("Other", (_Stranger,), {"keys": keys, "reply": (status, content), "location": location})
        found = ThreadingHTTPServer(("127.0.0.1", 0), kind)
        threading.Thread(target=found.serve_forever, daemon=True).start()
        started.append(found)
        return f"http://127.0.0.1:{found.server_port}", keys

    yield start
    for one in started:
        one.shutdown()
        one.server_close()


@pytest.mark.parametrize(
    ("status", "content"),
    [
        (200, b"<html>"),
        (200, b"{}"),
        (200, b'{"choices": [], "usage": null}'),
        (200, b'{"choices": [{"message": {"content": "x"}}], "usage": {"discreet": 3}}'),
        (502, b"bad gateway"),
        (400, b'{"error": "none"}'),
        (402, b'{"error": {"code": "x", "message": "y"}, "discreet": {"left": "much"}}'),
    ],
)
def test_strange_reply_is_said(stranger: Callable[..., Any], status: int, content: bytes) -> None:
    address, _ = stranger(status, content)
    reply = ServerSource(address, "dsc_key", model="v").ask(QUESTION)
    assert (reply.status, reply.code) == ("refused", "strange_reply")


def test_redirect_is_not_followed_with_the_key(stranger: Callable[..., Any]) -> None:
    other, keys = stranger(200, b"{}")
    address, _ = stranger(307, b"", other + "/v1/chat/completions")
    for model in ("v", ""):
        assert ServerSource(address, "dsc_key", model=model).ask(QUESTION).code == "strange_reply"
    assert keys == []


def test_proxy_of_the_environment_gets_no_key(stranger: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    proxy, seen = stranger(200, b"{}")
    address, keys = stranger(200, b"{}")
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, proxy)
        monkeypatch.setenv(name.upper(), proxy)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    ServerSource(address, "dsc_key", model="v").ask(QUESTION)
    assert ServerSource("http://127.0.0.1:9", "dsc_key", model="v").ask(QUESTION).code == "unreachable"
    assert (seen, keys) == ([], ["Bearer dsc_key"])


def test_server_that_is_away_is_said() -> None:
    reply = ServerSource("http://127.0.0.1:9", "dsc_key", model="v").ask(QUESTION)
    assert (reply.status, reply.code, reply.metadata["epsilon"]) == ("refused", "unreachable", None)
    assert "check the address" in reply.text


def test_key_of_two_vaults_must_name_one(stranger: Callable[..., Any]) -> None:
    address, _ = stranger(200, b'{"data": [{"id": "a"}, {"id": "b"}, {"id": "a:free"}]}')
    reply = ServerSource(address, "dsc_key").ask(QUESTION)
    assert (reply.code, "2 vaults: a, b" in reply.text) == ("invalid_request", True)

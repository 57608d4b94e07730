"""A stand-in for a custodian's server of OpenAI's protocol: it answers as vLLM, llama.cpp or Ollama would."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def said(prompt: str) -> str:
    """Return what stands between the last `say:` and a full stop; a fixed text without it."""
    _, found, rest = prompt.rpartition("say:")
    return rest.partition(".")[0] if found else " nothing known"


@dataclass
class StandIn:
    """A server and its habits.

    Attributes:
        chat_only: whether it has no plain completions.
        takes_lists: whether a request may have several prompts.
        strict: whether it refuses fields that it does not know.
        models: the names of its models.
        key: the key that it demands.
        too_long: a prompt with this word is refused with status 400.
        room: the most characters of a prompt that it takes; 0 for any number.
        textless: whether it replies without a text.
        dies_at: a prompt with this word closes the connection; empty for none.
        remembers: whether an answer depends on the prompt before, as with a prefix cache.
        minds: whether an answer depends on other requests at the same time, as with batches that round differently.
        no_system: whether it refuses the role of a system, as the templates of some models do.
        thinks: what the model thinks before each answer.
        seconds: how long it takes for a request.
        together: the most requests that it had at once.
        bodies, keys: what it received.
    """

    chat_only: bool = False
    takes_lists: bool = True
    strict: bool = False
    models: tuple[str, ...] = ("llama",)
    key: str = ""
    too_long: str = "toolong"
    room: int = 0
    textless: bool = False
    dies_at: str = ""
    remembers: bool = False
    minds: bool = False
    no_system: bool = False
    thinks: str = ""
    seconds: float = 0
    together: int = 0
    running: int = 0
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    url: str = ""
    last: str = ""

    def answer(self, prompt: str, most: int) -> dict[str, Any]:
        """Return a choice."""
        words = said(prompt).split(" ")
        if self.remembers and self.last and self.last != prompt and not prompt.startswith("The sky"):
            words = ["changed"]
        if self.minds and self.running > 1:
            words = ["changed"]
        self.last = prompt
        return {
            "text": None if self.textless else self.thinks + " ".join(words[: most + 1]),
            "finish_reason": "length" if len(words) > most + 1 else "stop",
        }

    def handle(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return status and reply."""
        if path == "/v1/models":
            return 200, {"data": [{"id": name, "object": "model"} for name in self.models]}
        known = {"model", "max_tokens", "temperature", "seed", "stream", "stop", "prompt", "messages"}
        if self.strict and set(body) - known:
            return 400, {"error": {"message": "Unrecognized request argument"}}
        if path == "/v1/chat/completions":
            if self.no_system and any(message["role"] == "system" for message in body["messages"]):
                return 400, {"error": {"message": "Conversation roles must alternate user/assistant"}}
            text = "\n".join(message["content"] for message in body["messages"])
            found = self._checked([text], body)
            if isinstance(found, int):
                return found, {}
            message = {"role": "assistant", "content": found[0]["text"]}
            return 200, {"choices": [{"index": 0, "message": message, "finish_reason": found[0]["finish_reason"]}]}
        if path != "/v1/completions" or self.chat_only:
            return 404, {}
        prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
        if len(prompts) > 1 and not self.takes_lists:
            return 400, {}
        found = self._checked(prompts, body)
        if isinstance(found, int):
            return found, {}
        return 200, {"choices": [{"index": at, **one} for at, one in enumerate(found)][::-1]}

    def _checked(self, prompts: list[str], body: dict[str, Any]) -> list[dict[str, Any]] | int:
        if any(self.too_long in prompt or len(prompt) > (self.room or len(prompt)) for prompt in prompts):
            return 400
        if self.dies_at and any(self.dies_at in prompt for prompt in prompts):
            raise ConnectionAbortedError
        return [self.answer(prompt, int(body["max_tokens"])) for prompt in prompts]


@contextmanager
def running(habits: StandIn) -> Iterator[StandIn]:
    """Run a server on a port of this machine."""

    turn = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply({})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with turn:
                habits.bodies.append(body)
                habits.running += 1
                habits.together = max(habits.together, habits.running)
            time.sleep(habits.seconds)
            with turn:  # before the reply, for the next request may come before this line would run
                habits.running -= 1
            self._reply(body)

        def _reply(self, body: dict[str, Any]) -> None:
            habits.keys.append(self.headers.get("Authorization"))
            if habits.key and self.headers.get("Authorization") != f"Bearer {habits.key}":
                status, reply = 401, dict[str, Any]()
            else:
                try:
                    status, reply = habits.handle(self.path, body)
                except ConnectionAbortedError:
                    self.connection.close()
                    return
            content = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    habits.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield habits
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

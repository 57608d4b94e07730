"""A model in a worker: on this machine over a Unix socket (`discreet serve-model`), or on a Ray cluster (`--ray`).

Several processes share one model. The batch of a question is computed as one process would compute it, so answers are
the same, bit for bit. This process imports no torch.

The worker sees documents, so it must be the custodian's own. A worker that stops in
the middle of a question fails the question as a whole: what it could have cost is charged, and nothing is released.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from discreet.errors import EngineFailed, UsageError
from discreet.generation.answers import WholeAnswers, Written
from discreet.generation.greedy_completion import complete_greedily
from discreet.generation.model import Prompt
from discreet.generation.remote.endpoint import FAILED, KEY, Endpoint, KeyRefused, Reply, ServerGone
from discreet.generation.remote.served_model import ABOUT, ANSWERS, CHAT, DECODE, DESCRIBE, ENCODE
from discreet.system.shell import quoted

WORKER = "DISCREET_MODEL_WORKER"
"""The environment variable with the worker that computes the vault's model: its socket, or ray:HOST:PORT."""
GONE = "stopped, or none runs"
"""What happened if no worker answers at a socket."""


class Link(Protocol):
    """The way to a worker. Its text is the worker's address."""

    def ask(self, call: str, given: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """Return the reply to a call of `served_model`, and "". If there is none: nothing, and what happened.

        Raises:
            KeyRefused: if the worker has another key.
        """

    def mend(self, name: str) -> str:
        """Return what a person does about a worker that failed, which had or should have the model `name`."""


class SocketLink:
    """The way to a worker over its Unix socket, which is for one user alone.

    Attributes:
        path: the path of the socket.
    """

    def __init__(self, path: str) -> None:
        self._endpoint = Endpoint.parse(f"unix:{path}")
        self.path = self._endpoint.host

    def __str__(self) -> str:
        return str(self._endpoint)

    def listens(self) -> bool:
        """Return whether a worker accepts connections. The socket of a worker that was killed stays, and none does."""
        return self._endpoint.listens()

    def ask(self, call: str, given: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """Return the reply to one request."""
        try:
            reply = self.request(call, given)
        except ServerGone:
            return {}, GONE
        return (reply.content, "") if reply.status == 200 and reply.content else ({}, f"failed (status {reply.status})")

    def request(self, call: str, given: dict[str, Any]) -> Reply:
        """Return the reply to one request, with its status.

        Raises:
            ServerGone: if no worker answers.
            KeyRefused: if the worker has another key.
        """
        method, body = ("GET", None) if call == DESCRIBE else ("POST", given)
        reply = self._endpoint.request(method, f"/discreet{call}", body)
        if reply.status in (401, 403):
            raise KeyRefused(f"The model worker at {self} refuses the key. Set {KEY} as the worker has it.")
        return reply

    def mend(self, name: str) -> str:
        """Return the command that starts the worker."""
        command = " ".join(["discreet serve-model", *filter(None, [name]), "--socket", self.path])
        return f"Start it, and ask again: {command}"


class WorkerModel(WholeAnswers):
    """A model that a worker holds.

    Attributes:
        name, vocabulary_size, context_length, end_tokens, pad_token, row_independent: those of the worker's model.
        assumptions: what a guarantee takes for granted about it; for the receipt.
        probe: the digest of what the worker computes for public rows: of one kind of machine, and one model.
    """

    def __init__(self, link: str | Link, name: str = "") -> None:
        """Ask the worker for its model.

        Args:
            link: the path of the worker's socket, or another way to it.
            name: the name that the model must have; any if empty.

        Raises:
            ServerGone: if no worker answers.
            UsageError: if it has another model.
        """
        self._link = SocketLink(link) if isinstance(link, str) else link
        self._stopped = False
        about = self._describe()
        self.name: str = str(about["name"])
        if name and name != self.name:
            raise UsageError(
                f"The worker at {link} serves '{self.name}', and the vault's model is '{name}'. "
                f"Start one that serves it: discreet serve-model {quoted(name)} --socket PATH"
            )
        self.vocabulary_size, self.context_length = int(about["vocabulary_size"]), int(about["context_length"])
        self.end_tokens = frozenset(int(token) for token in about["end_tokens"])
        self.pad_token, self.row_independent = int(about["pad_token"]), bool(about["row_independent"])
        self.assumptions = tuple(str(one) for one in about["assumptions"])
        self.probe = str(about["digest"])

    def check_ready(self) -> None:
        """Check that the worker runs, and computes as it did.

        Raises:
            ServerGone: if it does not run.
            EngineFailed: if it was started again with another model, or on another kind of machine.
        """
        self._stopped = False
        if self._describe()["digest"] != self.probe:
            raise self._changed()

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, by the worker.

        Raises:
            ValueError: if the tokenizer fails with the text, as it does in one process.
        """
        (tokens,) = self._ask(ENCODE, {"texts": [text.encode(errors="replace").decode()]})["tokens"]
        if tokens is None:
            raise ValueError("The tokenizer fails with this text.")
        return [int(token) for token in tokens]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of token ids, by the worker."""
        return str(self._ask(DECODE, {"tokens": [int(token) for token in tokens]})["text"])

    def chat(self, system: str, examples: Sequence[tuple[str, str]]) -> tuple[list[int], list[int]]:
        """Return the chat template, by the worker."""
        found = self._ask(CHAT, {"system": system, "examples": [list(pair) for pair in examples]})
        return list(found["before"]), list(found["after"])

    def complete(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        """Complete each prompt greedily."""
        return complete_greedily(self, prompts, max_tokens)

    def answers(
        self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int, *, all_steps: bool = True
    ) -> list[Written]:
        """Return the answer of each row, computed by the worker in one batch, in its turn.

        Raises:
            ServerGone: if the worker stopped since this question began.
        """
        if self._stopped:
            # A tokenizer's call failed before, and its row has another prompt now. No answer may depend on that.
            raise self._failed(self._gone())
        asked = {
            "shared": [int(token) for token in shared],
            "prompts": [[prompt.padding, list(prompt.tokens)] for prompt in prompts],
            "max_tokens": max_tokens,
            "all_steps": all_steps,
        }
        found, gone = self._try(asked)
        if gone is not None:
            raise self._failed(gone)
        if found["digest"] != self.probe:
            raise self._changed()
        return [Written(str(one["text"]), tuple(one["tokens"]), bool(one["ended"])) for one in found["answers"]]

    def _try(self, asked: dict[str, Any]) -> tuple[dict[str, Any], ServerGone | None]:
        # The failure is returned and not raised, so that its frames have no rows.
        try:
            return self._ask(ANSWERS, asked), None
        except ServerGone as error:
            return {}, error

    def _describe(self) -> dict[str, Any]:
        about = self._ask(DESCRIBE, {})
        if not about.keys() >= ABOUT:
            raise ServerGone(f"What answers at {self._link} is no model worker. Give the socket of one.")
        return about

    def _ask(self, call: str, given: dict[str, Any]) -> dict[str, Any]:
        try:
            content, failure = self._link.ask(call, given)
        except BaseException:
            self._stopped = True
            raise
        if failure:
            self._stopped = True
            raise self._gone(failure)
        return content

    def _gone(self, how: str = "stopped") -> ServerGone:
        return ServerGone(f"The model worker at {self._link} {how}. {self._link.mend(getattr(self, 'name', ''))}")

    @staticmethod
    def _failed(gone: ServerGone) -> ServerGone:
        return ServerGone(f"{FAILED} {gone}")  # `gone` may end with a command

    def _changed(self) -> EngineFailed:
        return EngineFailed(
            f"The model worker at {self._link} was started again, and computes otherwise than before: it has "
            "another model or another machine. Open the vault again."
        )


def open_worker(argument: str) -> WorkerModel:
    """Return the model of the worker at a socket."""
    return WorkerModel(argument)

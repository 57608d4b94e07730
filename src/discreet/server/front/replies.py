"""The reply to an answered question: OpenAI's completion object, with a receipt in `usage.discreet`."""

from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from discreet.server.front.outcomes import Outcome
from discreet.server.front.requests import ChatRequest
from discreet.server.front.wording import content_and_refusal

FINGERPRINT = f"discreet-{version('discreet')}"


@dataclass(frozen=True)
class KeyNumbers:
    """What a key may still cause, from its own receipts: never from a vault's balance.

    Attributes:
        granted, spent, left: epsilon.
        more: how many questions of the same kind fit; None if it is not known.
        footer: whether a line with the receipt stands below each answer.
    """

    granted: float
    spent: float
    left: float
    more: int | None
    footer: bool = False

    def describe(self) -> dict[str, Any]:
        """Return the numbers as plain data."""
        return {"granted": self.granted, "spent": self.spent, "left": self.left, "more": self.more}


@dataclass(frozen=True)
class Reply:
    """What is sent for an answered question.

    Attributes:
        outcome: what became of the question.
        request: the request that is replied to; a replay may be shown in another way than the first reply.
        key: the numbers of the key.
    """

    outcome: Outcome
    request: ChatRequest
    key: KeyNumbers

    @property
    def id(self) -> str:
        """The id of the completion: the question's."""
        return f"chatcmpl-{self.outcome.question_id}"

    @property
    def finish_reason(self) -> str:
        """How the text ended, in OpenAI's words."""
        return "length" if self.outcome.answer["stopped"] in ("length", "budget") else "stop"

    def message(self) -> dict[str, Any]:
        """Return the message of the assistant."""
        left = self.key.left if self.key.footer else None
        content, refusal = content_and_refusal(self.outcome, self.request, left)
        return {"role": "assistant", "content": content, "refusal": refusal}

    def usage(self) -> dict[str, Any]:
        """Return the usage. The front has no tokenizer: `prompt_tokens` counts the words of the question."""
        question = self.outcome.asked or self.request.question
        asked, answered = len(question.split()), int(self.outcome.answer["tokens"])
        counts = {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}
        return counts | {"discreet": self.receipt()}

    def receipt(self) -> dict[str, Any]:
        """Return the object `discreet` of the usage."""
        outcome, answer = self.outcome, self.outcome.answer
        described = {name: answer[name] for name in ("private", "algorithm", "released", "shares", "useless")}
        supported = {"support": answer["support"]} if answer.get("support") else {}
        numbers = {name: answer[name] for name in ("table", "released_at", "understood") if answer.get(name)}
        asked = outcome.asked or answer.get("asked")
        rewritten = {"asked": asked} if asked else {}
        return {
            **described,
            **supported,
            **numbers,
            **rewritten,
            "question_id": outcome.question_id,
            "stopped": outcome.stopped,
            "same_without_documents": answer["same_without_documents"],
            "receipt": outcome.receipt,
            "key": self.key.describe(),
            "replayed": outcome.replayed and not outcome.task,
            "ignored": list(self.request.ignored),
        }

    def body(self) -> dict[str, Any]:
        """Return the completion object."""
        choice = {"index": 0, "finish_reason": self.finish_reason, "logprobs": None, "message": self.message()}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self.usage()}

    def headers(self) -> dict[str, str]:
        """Return the headers. What was paid is never sent again by a client of its own accord."""
        return {
            "cache-control": "no-store",
            "x-discreet-question": self.outcome.question_id,
            "x-discreet-epsilon": f"{self.outcome.epsilon:.6g}",
            "x-discreet-stopped": self.outcome.stopped,
            "x-discreet-key-left": f"{self.key.left:.6g}",
            "x-should-retry": "false",
        }

    def chunks(self) -> list[dict[str, Any]]:
        """Return the chunks of a stream after the first: the whole content, and the end with the usage."""
        message, head = self.message(), self._head("chat.completion.chunk")
        delta = {name: message[name] for name in ("content", "refusal") if message[name] is not None}
        told = self.request.stream_usage
        last: dict[str, Any] = {**head, "choices": [_chunk({}, self.finish_reason)], "discreet": self.receipt()}
        usage: dict[str, Any] = {**head, "choices": [], "usage": self.usage()}
        return [{**head, "choices": [_chunk(delta, None)]}, last, *([usage] * told)]

    def _head(self, kind: str) -> dict[str, Any]:
        outcome = self.outcome
        head = {"id": self.id, "object": kind, "created": outcome.created, "model": self.request.model}
        return head | {"system_fingerprint": FINGERPRINT}


def role_chunk(question_id: str, created: int, model: str) -> dict[str, Any]:
    """Return the first chunk of a stream."""
    head = {"id": f"chatcmpl-{question_id}", "object": "chat.completion.chunk", "created": created, "model": model}
    delta = {"role": "assistant", "content": ""}
    return {**head, "system_fingerprint": FINGERPRINT, "choices": [_chunk(delta, None)]}


def _chunk(delta: dict[str, Any], finish_reason: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}

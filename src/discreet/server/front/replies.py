"""What became of a question: an answer or an error, its form in the store of replays, its words, and its reply.

The reply is OpenAI's completion object, with a receipt in `usage.discreet`.
"""

import json
import re
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from discreet.server.front.errors import ERRORS, FrontError
from discreet.server.front.requests import ChatRequest

_NUMBERS = ("asked", "left", "would_fit")


@dataclass(frozen=True)
class Outcome:
    """An answered question, with nothing but what was released.

    Attributes:
        question_id: the question's id in the ledger.
        created: when it was answered, in seconds since 1970.
        model: the model's name as the client sent it.
        unit: the name of the field that names an individual.
        free: whether the model reads no private document, so that its own words are the answer.
        task: whether the free model answered a client's own request.
        answer: the public fields of the answer (`wire.Answered`).
        asked: the question that was asked, if the message was rewritten; else None.
        replayed: whether it was answered before.
    """

    question_id: str
    created: int
    model: str
    unit: str
    free: bool
    task: bool
    answer: dict[str, Any]
    asked: str | None = None
    replayed: bool = False

    def stored(self) -> dict[str, Any]:
        """Return the outcome as plain data, to be kept. The words of the question are written nowhere."""
        answer = {name: value for name, value in self.answer.items() if name != "understood"}
        return {"outcome": "answered", **vars(self), "answer": answer, "replayed": False}

    @property
    def stopped(self) -> str:
        """Why the answer ended; "task" for a client's own request."""
        return "task" if self.task else str(self.answer["stopped"])

    @property
    def receipt(self) -> dict[str, Any]:
        """The receipt, as the analyst gets it."""
        receipt: dict[str, Any] = dict(self.answer["receipt"] or {})
        charges = receipt.get("charges", [])
        return receipt | {"charges": sum(charge["times"] for charge in charges)}

    @property
    def epsilon(self) -> float:
        """What the answer cost any one unit at most."""
        return float(self.receipt.get("epsilon") or 0.0)

    @property
    def delta(self) -> float:
        """The failure probability of the receipt."""
        return float(self.receipt.get("delta") or 0.0)


def stored_error(error: FrontError) -> dict[str, Any]:
    """Return an error as plain data, to be kept: the same request gets it again, unpaid."""
    numbers = {name: getattr(error, name) for name in _NUMBERS}
    return {"outcome": "error", "code": error.code, "paid": error.paid, **numbers}


def restored(kept: dict[str, Any]) -> Outcome:
    """Return the outcome that was kept.

    Raises:
        FrontError: if an error was kept, or something that cannot be read.
    """
    fields = dict(kept)
    kind = fields.pop("outcome", "")
    if kind == "answered":
        return Outcome(**{**fields, "replayed": True})
    code = str(fields.get("code"))
    if kind != "error" or code not in ERRORS:
        raise FrontError("interrupted")
    asked, left, would_fit = (fields.get(name) for name in _NUMBERS)
    raise FrontError(code, paid=bool(fields.get("paid")), asked=asked, left=left, would_fit=would_fit)


NOTHING_RELEASED = "No answer: too few of the {unit}s' notes agree (or could pay)."
SAYS_NOTHING = "No useful answer: what was released says nothing. It was: {text}"
EMPTY = "No answer: the model wrote nothing."
UNDERSTOOD = "Understood as: {understood}"
FOOTER = "Receipt: epsilon {epsilon:.4g}. The key has epsilon {left:.4g} left."


def unit_word(field: str) -> str:
    """Return the word for one individual, from the name of its field: "patient" for "patient_id"."""
    # The front may not import `query.words`, which says the same.
    stem = re.sub(r"(?i)[\W_]+(id|ids|no|nr|number|key|name)$", "", field)
    return re.sub(r"[\W_]+", " ", stem).strip() or "unit"


def no_answer(outcome: Outcome) -> str:
    """Return the sentence for an answer that is none; "" if it is one. The model's own words are never in it."""
    answer, text = outcome.answer, str(outcome.answer["text"]).strip()
    if outcome.free:
        return "" if text else EMPTY
    if answer["stopped"] == "public":
        return NOTHING_RELEASED.format(unit=unit_word(outcome.unit))
    if answer["useless"]:
        return SAYS_NOTHING.format(text=text)
    return "" if text else EMPTY


def content_and_refusal(outcome: Outcome, request: ChatRequest, left: float | None) -> tuple[str | None, str | None]:
    """Return the content of the message, and the refusal: a sentence has no place in the JSON that a client parses.

    Args:
        outcome: what became of the question.
        request: the request that is replied to.
        left: the epsilon that the key has left, if the key asks for a footer; else None.
    """
    sentence = no_answer(outcome)
    if request.shape is not None:
        return (None, sentence) if sentence else (wrap(str(outcome.answer["text"]), request.shape), None)
    text = sentence or cut(str(outcome.answer["text"]).strip(), request.stops)
    if left is not None and not outcome.task:
        understood = outcome.answer.get("understood")
        lines = [UNDERSTOOD.format(understood=understood)] if understood else []
        lines.append(FOOTER.format(epsilon=outcome.epsilon, left=left))
        text = "\n\n".join([text, *lines])
    return text, None


def wrap(chosen: str, shape: tuple[str, ...]) -> str:
    """Return a chosen answer in the JSON objects of `shape`."""
    value: Any = chosen
    for name in reversed(shape):
        value = {name: value}
    return json.dumps(value, ensure_ascii=False)


def cut(text: str, stops: tuple[str, ...]) -> str:
    """Return a released text up to the first of `stops`. It costs nothing: the text was released as a whole."""
    ends = [place for stop in stops if (place := text.find(stop)) >= 0]
    return text[: min(ends, default=len(text))]


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

"""What became of a question: an answer or an error, its form in the store of replays, its words, and its reply.

The reply is OpenAI's completion object, with a receipt in `usage.discreet`. A key that may be absent has the default
None: `Absent`.
"""

import json
import time
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field

from discreet.system.words import EMPTY, nothing_released
from discreet_server.accounts import Key
from discreet_server.accounts.grants import MeterShown
from discreet_server.front.errors import ERRORS, ClosedModel, FrontError
from discreet_server.front.requests import ChatRequest
from discreet_server.wire import FigureFields, ReceiptNumbers, SupportFields

T = TypeVar("T")
Absent = Annotated[T | None, Field(exclude_if=lambda value: value is None)]
"""A value of a key that is left out if it is None."""
Ended = Literal["stop", "length"]
"""How a text ended, in OpenAI's words."""
CHUNK: Literal["chat.completion.chunk"] = "chat.completion.chunk"
_NUMBERS = ("asked", "left", "would_fit")


@dataclass(frozen=True)
class AnsweredQuestion:
    """An answered question, with nothing but what was released.

    Attributes:
        question_id: the question's id in the ledger.
        created: when it was answered, in seconds since 1970.
        model: the model's name as the client sent it.
        unit: the name of the field that names an individual.
        free: whether the model reads no private document, so that its own words are the answer.
        answer: the public fields of the answer (`wire.Answered`).
        asked: the question that was asked, if the message was rewritten; else None.
        replayed: whether it was answered before.
    """

    question_id: str
    created: int
    model: str
    unit: str
    free: bool
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
        return str(self.answer["stopped"])

    @property
    def task(self) -> bool:
        """Whether a client made the request by itself."""
        return self.stopped == "task"

    @property
    def receipt(self) -> "ReceiptTold":
        """The receipt, as the analyst gets it."""
        receipt = self.answer["receipt"]
        return receipt | {"charges": sum(charge["times"] for charge in receipt["charges"])}  # type: ignore[no-any-return]

    @property
    def epsilon(self) -> float:
        """What the answer cost any one unit at most."""
        return self.receipt["epsilon"] or 0.0

    @property
    def delta(self) -> float:
        """The failure probability of the receipt."""
        return self.receipt["delta"] or 0.0


def task_outcome(question_id: str, model: str, unit: str, text: str) -> AnsweredQuestion:
    """Return the outcome of a request that a client made by itself: a public text, for which nothing was asked."""
    answer = {"text": text, "stopped": "task", "algorithm": "none", "tokens": len(text.split())}
    flags = dict.fromkeys(("private", "useless", "same_without_documents"), False)
    words = {"relation": "", "unit": unit, "accountant": "", "noise": "", "public_corpus": "", "caveat": ""}
    numbers = {"epsilon": 0.0, "delta": 0.0, "charges": [], "reused": 0, "each": 0}
    receipt = words | numbers | {"private": True, "payment": "nobody"}
    fields: dict[str, Any] = answer | flags | {"released": [], "shares": None, "receipt": receipt}
    return AnsweredQuestion(question_id, int(time.time()), model, unit, free=True, answer=fields)


def stored_error(error: FrontError) -> dict[str, Any]:
    """Return an error as plain data, to be kept: the same request gets it again, unpaid."""
    numbers = {name: getattr(error, name) for name in _NUMBERS}
    return {"outcome": "error", "code": error.code, "paid": error.paid, **numbers}


def restored(kept: dict[str, Any]) -> AnsweredQuestion:
    """Return the outcome that was kept.

    Raises:
        FrontError: if an error was kept, or something that cannot be read.
    """
    fields = dict(kept)
    kind = fields.pop("outcome", "")
    if kind == "answered":
        return AnsweredQuestion(**{**fields, "replayed": True})
    code = str(fields.get("code"))
    if kind != "error" or code not in ERRORS:
        raise FrontError("interrupted")
    price, left, would_fit = (fields.get(name) for name in _NUMBERS)
    raise FrontError(code, paid=bool(fields.get("paid")), asked=price, left=left, would_fit=would_fit)


SAYS_NOTHING = "No useful answer: what was released says nothing. It was: {text}"
UNDERSTOOD = "Understood as: {understood}"
FOOTER = "Receipt: epsilon {epsilon:.4g} for this answer by itself. The key has used {part:.2%} of its cap."


def no_answer(outcome: AnsweredQuestion) -> str:
    """Return the sentence for an answer that is none; "" if it is one. The model's own words are never in it."""
    answer, text = outcome.answer, str(outcome.answer["text"]).strip()
    if outcome.free:
        return "" if text else EMPTY
    if answer["stopped"] == "public":
        return nothing_released(outcome.unit)
    if answer["useless"]:
        return SAYS_NOTHING.format(text=text)
    return "" if text else EMPTY


def content_and_refusal(
    outcome: AnsweredQuestion, request: ChatRequest, part: float | None
) -> tuple[str | None, str | None]:
    """Return the content of the message, and the refusal: a sentence has no place in the JSON that a client parses.

    Args:
        outcome: what became of the question.
        request: the request that is replied to.
        part: the part of its cap that the key has used, if the key asks for a footer; else None.
    """
    sentence = no_answer(outcome)
    if request.shape is not None:
        return (None, sentence) if sentence else (wrap(str(outcome.answer["text"]), request.shape), None)
    text = sentence or cut(str(outcome.answer["text"]).strip(), request.stops)
    if part is not None and not outcome.task:
        understood = outcome.answer.get("understood")
        lines = [UNDERSTOOD.format(understood=understood)] if understood else []
        lines.append(FOOTER.format(epsilon=outcome.epsilon, part=part))
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


class ReceiptTold(ReceiptNumbers):
    """The receipt of an answer, as the analyst gets it. `charges`: how many charges there are."""

    charges: int


class KeyNumbers(ClosedModel):
    """What a key may still cause, from its own receipts: never from a vault's balance.

    Attributes:
        granted, spent, left: epsilon of all its questions together, which grows most with the first ones.
        part: the part of its cap that is used up: equal questions use up equal parts.
        more: how many questions of the same kind fit; null if they are free.
        where: the population to which it is bound, as tests of declared fields; absent if it is bound to none.
    """

    granted: float
    spent: float
    left: float
    part: float
    more: int | None
    where: Absent[list[str]] = None

    @classmethod
    def of(cls, key: Key, meter: MeterShown, more: int | None, **after: float) -> Self:
        """Return the numbers of a key: those of its meter."""
        read = {name: getattr(meter, name) for name in ("granted", "spent", "left", "part")}
        return cls(**read, more=more, where=list(key.where) or None, **after)


class AnswerReceipt(ClosedModel):
    """What was released for a question, what it cost, and what the key has left: see docs/reference.md.

    Attributes:
        stopped: why the answer ended; "task" for a client's own request.
        key: the numbers of the key.
        replayed: whether it was answered before, and paid once.
        ignored: the fields of the request that changed nothing.
        support, table, released_at, understood, asked: absent if there is nothing to tell.
    """

    private: bool
    algorithm: str
    released: list[str]
    shares: dict[str, int] | None
    useless: bool
    support: Absent[SupportFields] = None
    table: Absent[list[FigureFields]] = None
    released_at: Absent[list[str]] = None
    understood: Absent[str] = None
    asked: Absent[str] = None
    question_id: str
    stopped: str
    same_without_documents: bool
    receipt: ReceiptTold
    key: KeyNumbers
    replayed: bool
    ignored: list[str]


class ToolAnswer(AnswerReceipt):
    """The result of a tool that asks. `answer`: the text, as a chat completion has it."""

    answer: str | None


class Usage(ClosedModel):
    """The usage of a chat completion. There is no tokenizer: `prompt_tokens` counts the words of the question."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    discreet: AnswerReceipt


class ReplyMessage(ClosedModel):
    """The message of the assistant. `refusal`: why there is no content, if the content would have to be JSON."""

    role: Literal["assistant"]
    content: str | None
    refusal: str | None


class CompletionChoice(ClosedModel):
    """The one choice of a chat completion."""

    index: int
    finish_reason: Ended
    logprobs: None
    message: ReplyMessage


class Delta(ClosedModel):
    """What a chunk adds to the message."""

    role: Absent[Literal["assistant"]] = None
    content: Absent[str] = None
    refusal: Absent[str] = None


class ChunkChoice(ClosedModel):
    """The one choice of a chunk."""

    index: int
    delta: Delta
    finish_reason: Ended | None
    logprobs: None


class _Head(ClosedModel):
    id: str
    created: int
    model: str
    system_fingerprint: str


class Completion(_Head):
    """A chat completion: an answer with its receipt."""

    object: Literal["chat.completion"]
    choices: list[CompletionChoice]
    usage: Usage


class Chunk(_Head):
    """A part of a chat completion that is sent as a stream: the data of an event.

    Attributes:
        choices: the choice; none in the chunk with the usage.
        usage: in the last chunk, if the request asks for it.
        discreet: in the chunk with the finish reason.
    """

    object: Literal["chat.completion.chunk"]
    choices: list[ChunkChoice]
    usage: Absent[Usage] = None
    discreet: Absent[AnswerReceipt] = None


@dataclass(frozen=True)
class CompletionReply:
    """What is sent for an answered question.

    Attributes:
        outcome: what became of the question.
        request: the request that is replied to; a replay may be shown in another way than the first reply.
        key: the numbers of the key.
        footer: whether a line with the receipt stands below each answer.
    """

    outcome: AnsweredQuestion
    request: ChatRequest
    key: KeyNumbers
    footer: bool = False

    @property
    def finish_reason(self) -> Ended:
        """How the text ended."""
        return "length" if self.outcome.answer["stopped"] in ("length", "budget") else "stop"

    def message(self) -> ReplyMessage:
        """Return the message of the assistant."""
        content, refusal = content_and_refusal(self.outcome, self.request, self.key.part if self.footer else None)
        return ReplyMessage(role="assistant", content=content, refusal=refusal)

    def usage(self) -> Usage:
        """Return the usage."""
        question = self.outcome.asked or self.request.question
        words, answered = len(question.split()), int(self.outcome.answer["tokens"])
        return Usage(
            prompt_tokens=words,
            completion_tokens=answered,
            total_tokens=words + answered,
            discreet=self.receipt(),
        )

    def receipt(self) -> AnswerReceipt:
        """Return the object `discreet` of the usage."""
        outcome, answer = self.outcome, self.outcome.answer
        same = ("private", "algorithm", "released", "shares", "useless", "same_without_documents")
        perhaps = ("support", "table", "released_at", "understood")
        told: dict[str, Any] = {name: answer.get(name) or None for name in perhaps}
        return AnswerReceipt(
            **{name: answer[name] for name in same},
            **told,
            asked=outcome.asked or answer.get("asked") or None,
            question_id=outcome.question_id,
            stopped=outcome.stopped,
            receipt=outcome.receipt,
            key=self.key,
            replayed=outcome.replayed and not outcome.task,
            ignored=list(self.request.ignored),
        )

    def body(self) -> Completion:
        """Return the completion object."""
        choice = CompletionChoice(index=0, finish_reason=self.finish_reason, logprobs=None, message=self.message())
        return Completion(**self._head(), object="chat.completion", choices=[choice], usage=self.usage())

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

    def chunks(self, first: Chunk) -> list[Chunk]:
        """Return the chunks of a stream after the first one, with its id: the whole content, and the end."""
        message, usage, head = self.message(), self.usage(), self._head() | {"id": first.id, "created": first.created}
        content = _chunk(head, Delta(content=message.content, refusal=message.refusal))
        last = _chunk(head, Delta(), self.finish_reason, usage.discreet)
        return [content, last, *([Chunk(**head, object=CHUNK, choices=[], usage=usage)] * self.request.stream_usage)]

    def _head(self) -> dict[str, Any]:
        return _head(self.outcome.question_id, self.outcome.created, self.request.model)


def role_chunk(question_id: str, created: int, model: str) -> Chunk:
    """Return the first chunk of a stream."""
    return _chunk(_head(question_id, created, model), Delta(role="assistant", content=""))


def _head(question_id: str, created: int, model: str) -> dict[str, Any]:
    """Return what a completion and its chunks have in common. The id of the completion is the question's."""
    return {
        "id": f"chatcmpl-{question_id}",
        "created": created,
        "model": model,
        "system_fingerprint": FINGERPRINT,
    }


def _chunk(head: dict[str, Any], delta: Delta, ended: Ended | None = None, told: AnswerReceipt | None = None) -> Chunk:
    choice = ChunkChoice(index=0, delta=delta, finish_reason=ended, logprobs=None)
    return Chunk(**head, object=CHUNK, choices=[choice], discreet=told)

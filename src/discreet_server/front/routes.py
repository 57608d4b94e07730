"""The routes of /v1 and /health: answers with receipts, what can be asked, and what a key has spent.

What a key has spent comes from its own receipts. Nothing here reads what a vault or a unit has left.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query
from pydantic import BaseModel, Field, StringConstraints, with_config
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from discreet.errors import UsageError
from discreet.system.plain import show_as
from discreet_server.accounts import Key
from discreet_server.accounts.books import QuestionReceipt
from discreet_server.accounts.grants import MeterShown
from discreet_server.accounts.keys import LARGEST, LONGEST_REASON, BudgetRequest
from discreet_server.front.catalog import Servable
from discreet_server.front.errors import RESPONSES, ClosedModel, ErrorReply, FrontError, invalid
from discreet_server.front.gate import BodyRoute, error_response, model_response
from discreet_server.front.pacing import Arrival
from discreet_server.front.replay import Boarding, too_often
from discreet_server.front.replies import AnsweredQuestion, Chunk, Completion, CompletionReply, KeyNumbers, role_chunk
from discreet_server.front.requests import ChatBody, ChatRequest
from discreet_server.front.services import Services, Status
from discreet_server.wire import Message, UnitCharge

# --- GET /health/live and /health/ready ------------------------------------------------------------------------------


async def shared(request: Request) -> Services:
    """Return what the routes share."""
    services: Services = request.app.state.services
    return services


async def current_key(request: Request) -> Key:
    """Return the key of the caller, which the gate has found."""
    key: Key = request.state.key
    return key


Shared = Annotated[Services, Depends(shared)]
Caller = Annotated[Key, Depends(current_key)]
open_routes, own_routes = APIRouter(), APIRouter(route_class=BodyRoute, responses=RESPONSES)
"""For all callers, and for those with a key."""


class FrontStatus(ClosedModel):
    """The state of the front."""

    status: Status


@open_routes.get("/health/live")
async def live() -> FrontStatus:
    """Tell that the front lives."""
    return FrontStatus(status="live")


@open_routes.get("/health/ready", responses={503: {"model": FrontStatus}})
async def ready(response: Response, services: Shared) -> FrontStatus:
    """Tell whether questions are answered."""
    status = await services.status()
    response.status_code = 200 if status == "ready" else 503
    return FrontStatus(status=status)


# --- GET /v1/models and POST /v1/estimate: nothing is paid here ------------------------------------------------------


class Allowance(ClosedModel):
    """A grant of a vault."""

    epsilon: float
    delta: float


class ModelNumbers(ClosedModel):
    """What a model of a vault costs, and what it reads.

    Attributes:
        epsilon_most, delta: the most that a question costs any one unit.
        unit: the word for an individual.
        free: whether a question costs nothing.
        private: whether documents are read.
        algorithm: how it answers.
        language: the code of the language that it reads; "" if it is not known.
        payment: who pays, "unit" or "corpus".
        grant: of the vault.
    """

    epsilon_most: float
    delta: float
    unit: str
    free: bool
    private: bool
    algorithm: str
    language: str
    payment: str
    grant: Allowance


class ModelEntry(ClosedModel):
    """A model that the key may ask, as OpenAI describes one."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    discreet: ModelNumbers

    @classmethod
    def of(cls, model: Servable) -> "ModelEntry":
        """Return the entry of a model."""
        vault, most = model.vault, model.model.most
        told = ModelNumbers(
            epsilon_most=most.epsilon,
            delta=most.delta,
            unit=vault.unit,
            free=not most.is_something,
            private=model.model.private,
            algorithm=model.model.algorithm,
            language=vault.language,
            payment=vault.payment,
            grant=Allowance(epsilon=vault.epsilon, delta=vault.delta),
        )
        return cls(id=model.name, object="model", created=0, owned_by=vault.name, discreet=told)


class ModelList(ClosedModel):
    """The models that the key may ask."""

    object: Literal["list"]
    data: list[ModelEntry]


class KeyAfter(KeyNumbers):
    """What the key may still cause. `left_after`: the epsilon that is left after the question, at its most."""

    left_after: float


class QuestionEstimate(ClosedModel):
    """What a question would cost at most.

    Attributes:
        epsilon_most, delta_most: what any one unit pays at most.
        free: whether it costs nothing.
        understood: what is asked, as a request in words; null for a question that voters answer.
        unit: the word for an individual.
        fits: whether the key may ask it. Whether units can pay for it is no part of this.
        ignored: the fields of the request that changed nothing.
    """

    object: Literal["discreet.estimate"]
    model: str
    epsilon_most: float
    delta_most: float
    free: bool
    understood: str | None
    unit: str
    fits: bool
    key: KeyAfter
    ignored: list[str]


@own_routes.get("/v1/models")
async def list_models(services: Shared, key: Caller) -> ModelList:
    """List the models that the key may ask."""
    return ModelList(object="list", data=[ModelEntry.of(one) for one in services.catalog.all(key)])


@own_routes.get("/v1/models/{model}")
async def show_model(services: Shared, key: Caller, model: str) -> ModelEntry:
    """Show one model that the key may ask."""
    return ModelEntry.of(services.catalog.find(key, model))


@own_routes.post("/v1/estimate")
async def estimate(services: Shared, key: Caller, body: ChatBody) -> QuestionEstimate:
    """Tell what a question would cost at most, from public values alone. Nothing is paid."""
    parsed = services.read(key, body)
    if parsed.turns:  # rewriting waits for its turn, and the reply of this route is not held back
        raise invalid("discreet.follow_up", "It must be 'as-is' here: a question is rewritten when it is asked.")
    return await estimate_of(services, key, parsed)


async def estimate_of(services: Services, key: Key, parsed: ChatRequest) -> QuestionEstimate:
    """Return what a question would cost at most, and what the key would have left.

    It is made of public values: whether units can pay for the question is no part of it.
    """
    prepared = services.asker.prepare(key, parsed)
    if (refused := await asyncio.to_thread(services.accounts.count_unpaid, key.id)) is not None:
        raise too_often(refused)
    estimate = await services.asker.estimate(prepared)
    most = UnitCharge.nothing() if estimate.free else estimate.most
    meter = await asyncio.to_thread(services.accounts.odometer, key.id)
    vault = prepared.model.vault.name
    fits = await asyncio.to_thread(meter.fits, most.spending, vault)
    limited = key.per_question is not None and most.epsilon > key.per_question
    none_left = meter.questions_left == 0 and most.is_something
    return QuestionEstimate(
        object="discreet.estimate",
        model=prepared.model.name,
        epsilon_most=most.epsilon,
        delta_most=most.delta,
        free=estimate.free or not most.is_something,
        understood=estimate.understood or None,
        unit=prepared.model.vault.unit,
        fits=not most.is_something or (fits and not limited and not none_left),
        key=KeyAfter.of(
            key,
            meter,
            await asyncio.to_thread(meter.more, estimate.most, vault),
            left_after=meter.budget.left(meter.spending + most.spending),
        ),
        ignored=list(parsed.ignored),
    )


# --- GET /v1/budget and /v1/receipts, and /v1/budget/requests --------------------------------------------------------


Limit = Annotated[int, Query(ge=1, le=1000, description="a whole number from 1 to 1000")]
Before = Annotated[str | None, Query(description="the id of a question: older receipts follow")]
_JSON_LINES = "application/x-ndjson"
_AS_LINES = {"content": {_JSON_LINES: {"schema": {"type": "string", "description": "A receipt in each line."}}}}


class MoreBudget(ClosedModel):
    """The body of a request for more budget."""

    epsilon: Annotated[float, Field(gt=0, le=LARGEST, description=f"a number above 0, at most {LARGEST:g}")]
    reason: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_REASON),
        Field(description=f"a text of 1 to {LONGEST_REASON} characters"),
    ]


class QuestionRate(ClosedModel):
    """So many questions in so many seconds at most."""

    questions: int
    seconds: float


class KeyBudget(MeterShown, Message):
    """What a key may cause, what its questions have spent, and how many more fit.

    Attributes:
        per_question: the most epsilon that it may pay for one question.
        expires: when it ends, ISO 8601.
        reserved: whether its cap is reserved in the grant.
        more: how many more questions of each model fit; null for a free model.
        where: tests of declared fields: each question is asked among the units that pass them.
    """

    object: Literal["discreet.budget"]
    key_id: str
    per_question: float | None
    rate: QuestionRate | None
    expires: str | None
    reserved: bool
    more: dict[str, int | None]
    where: tuple[str, ...]


@with_config(ClosedModel.model_config)
class ReceiptEntry(QuestionReceipt):
    """The receipt of a question."""

    object: Literal["discreet.receipt"]


class ReceiptPage(ClosedModel):
    """Receipts, the newest first. `next_before`: the id after which older ones follow; null if there are none."""

    object: Literal["list"]
    data: list[QuestionReceipt]
    next_before: str | None


class BudgetRequestEntry(BudgetRequest, Message):
    """A request for more budget."""

    object: Literal["discreet.budget_request"]


class BudgetRequestPage(ClosedModel):
    """Requests for more budget, the oldest first."""

    object: Literal["list"]
    data: list[BudgetRequestEntry]


@own_routes.get("/v1/budget")
async def budget(services: Shared, key: Caller) -> KeyBudget:
    """Tell what the key may cause, what its questions have spent, and how many more fit."""
    return await budget_of(services, key)


@own_routes.get("/v1/receipts", response_model=ReceiptPage, responses={200: _AS_LINES})
async def receipts(
    request: Request, services: Shared, key: Caller, limit: Limit = 100, before: Before = None
) -> ReceiptPage | Response:
    """List the key's receipts, the newest first; as JSON lines if the client accepts only these."""
    older = before.removeprefix("chatcmpl-") if before else None
    page = await asyncio.to_thread(services.accounts.receipts, key.id, before=older, limit=limit)
    if request.headers.get("accept", "").split(";")[0].strip() == _JSON_LINES:
        return Response("".join(json.dumps(one) + "\n" for one in page), media_type=_JSON_LINES)
    last = page[-1]["question_id"] if len(page) == limit else None
    return ReceiptPage(object="list", data=page, next_before=last)


@own_routes.get("/v1/receipts/{question_id}")
async def receipt(question_id: str, services: Shared, key: Caller) -> ReceiptEntry:
    """Show the receipt of one question of the key."""
    own_receipt = await asyncio.to_thread(services.accounts.receipt, key.id, question_id.removeprefix("chatcmpl-"))
    if own_receipt is None:
        raise FrontError("not_found")
    return {"object": "discreet.receipt", **own_receipt}


@own_routes.get("/v1/budget/requests")
async def list_requests(services: Shared, key: Caller) -> BudgetRequestPage:
    """List the key's requests for more budget, the oldest first."""
    requests = await asyncio.to_thread(services.accounts.requests_of, key.id)
    return BudgetRequestPage(object="list", data=list(map(_entry, requests)))


@own_routes.post("/v1/budget/requests", status_code=201)
async def ask_for_more(body: MoreBudget, services: Shared, key: Caller) -> BudgetRequestEntry:
    """Ask the custodian for more budget."""
    return _entry(await request_more(services, key, body))


async def request_more(services: Services, key: Key, wanted: MoreBudget) -> BudgetRequest:
    """Record a request of an analyst for more budget, and return it.

    Raises:
        FrontError: if too many are pending.
    """
    try:
        request = await asyncio.to_thread(services.accounts.request, key.id, wanted.epsilon, wanted.reason)
    except UsageError:
        raise invalid("reason", "Too many requests are pending, or a value is out of range.") from None
    await asyncio.to_thread(services.log.append, key.id, "request", key.id, request=request.id, epsilon=request.epsilon)
    return request


async def budget_of(services: Services, key: Key) -> KeyBudget:
    """Return the odometer of a key, with how many more questions of each model fit."""
    meter = await asyncio.to_thread(services.accounts.odometer, key.id)
    models = services.catalog.all(key) if services.catalog.loaded else []
    return show_as(
        KeyBudget,
        meter.shown(),
        object="discreet.budget",
        key_id=key.id,
        per_question=key.per_question,
        rate=QuestionRate(questions=key.rate[0], seconds=key.rate[1]) if key.rate else None,
        expires=key.expires,
        reserved=key.reserved,
        where=key.where,
        more={one.name: await asyncio.to_thread(meter.more, one.model.most, one.vault.name) for one in models},
    )


def _entry(found: BudgetRequest) -> BudgetRequestEntry:
    return show_as(BudgetRequestEntry, found, object="discreet.budget_request")


# --- POST /v1/chat/completions: at once, or as a stream --------------------------------------------------------------


Idempotency = Annotated[
    str | None,
    Header(alias="Idempotency-Key", max_length=200, pattern="^[ -~]*$", description="at most 200 printable characters"),
]
_STREAM_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no", "x-should-retry": "false"}
SCHEMAS = "#/components/schemas/"
_EVENT = {
    "type": "string",
    "contentMediaType": "application/json",
    "contentSchema": {"anyOf": [{"$ref": f"{SCHEMAS}{kind.__name__}"} for kind in (Chunk, ErrorReply)]},
}
_REPLY: dict[str, Any] = {
    "description": "A chat completion, or a stream of events: chunks, or an error, and [DONE] at last.",
    "content": {"text/event-stream": {"itemSchema": {"type": "object", "properties": {"data": _EVENT}}}},
}
"""The framework has no form for a route that gives one of the two."""


class ChatRoute(BodyRoute):
    """The route, of which a refusal of the request leaves as one of `Chat` does."""

    async def refuse(self, request: Request, error: FrontError) -> Response:
        """Return the refusal."""
        return await Chat(request.app.state.services, request).refuse(error)


chat_routes = APIRouter(route_class=ChatRoute)


@chat_routes.post("/v1/chat/completions", response_model=Completion, responses={**RESPONSES, 200: _REPLY})
async def chat(request: Request, services: Shared, body: ChatBody, name: Idempotency = None) -> Response:
    """Answer a question, and pay for it from the key's budget; the same question again costs nothing."""
    return await Chat(services, request).respond(body, name)


class Chat:
    """One request."""

    def __init__(self, services: Services, request: Request, key: Key | None = None) -> None:
        self._services, self._http = services, request
        self._key: Key = key or request.state.key
        self._arrival: Arrival = request.state.arrival
        self._line: dict[str, Any] = request.state.line
        self._model: Servable | None = None
        self._boarding: Boarding | None = None

    async def answer(self, read: Callable[[], ChatRequest], name: str | None = None) -> CompletionReply:
        """Return the reply to a question when it may leave. An error is raised then, too.

        Args:
            read: returns the request.
            name: its Idempotency-Key.

        Raises:
            FrontError: if it was refused, or broken off.
        """
        outcome = "internal_error"
        try:
            parsed = read()
            boarding = await self._board(parsed, name)
            reply = await self._reply(parsed, await boarding.outcome())
            outcome = reply.outcome.stopped
            return reply
        except FrontError as error:
            outcome = error.code
            raise
        finally:
            await self._pace(outcome)

    async def respond(self, body: ChatBody, name: str | None) -> Response:
        """Return the response when it may leave."""
        try:
            if not body.stream:
                reply = await self.answer(lambda: self._services.read(self._key, body), name or None)
                return model_response(reply.body(), reply.headers())
            parsed = self._services.read(self._key, body)
            boarding = await self._board(parsed, name or None)
            await boarding.flight.wait_reserved()
            return self._stream(parsed, boarding)
        except FrontError as error:
            failed = error
        except Exception as error:  # contained here, so that it leaves with its flight, too
            failed = FrontError("internal_error")
            self._line["exception"] = type(error).__name__
        if not body.stream:  # it has waited for its moment
            self._line["code"] = failed.code
            return error_response(failed)
        return await self.refuse(failed)

    async def refuse(self, error: FrontError) -> Response:
        """Return the response for an error, when it may leave."""
        self._line["code"] = error.code
        await self._pace(error.code)
        return error_response(error)

    async def _board(self, parsed: ChatRequest, name: str | None) -> Boarding:
        retries = self._http.headers.get("x-stainless-retry-count", "0")
        boarding = await self._services.asker.begin(self._key, parsed, name, again=retries not in ("", "0"))
        self._boarding = boarding
        model = self._services.catalog.find(self._key, parsed.model)
        self._model = model
        self._line |= {
            "question_id": boarding.flight.question_id,
            "vault": model.vault.name,
            "model": model.name,
            "waiting": self._services.asker.queue.waiting,
        }
        return boarding

    async def _reply(self, parsed: ChatRequest, outcome: AnsweredQuestion) -> CompletionReply:
        assert self._model is not None  # found when the question began: the catalog may have changed since
        self._line |= {
            "question_id": outcome.question_id,
            "algorithm": outcome.answer["algorithm"],
            "stopped": outcome.stopped,
            "epsilon": outcome.epsilon,
            "delta": outcome.delta,
            "replayed": outcome.replayed,
        }
        return CompletionReply(outcome, parsed, await self._services.numbers(self._key, self._model), self._key.footer)

    async def _pace(self, outcome: str) -> None:
        quanta = self._line["quanta"] = await self._services.until_due(self._arrival, self._boarding)
        name = self._model.name if self._model else ""
        self._services.metrics.count_question(name, outcome, quanta, self._services.asker.queue.waiting)

    def _stream(self, parsed: ChatRequest, boarding: Boarding) -> Response:
        """Return a stream: the role at once, comments, and the content at the quantum."""
        question_id = boarding.flight.question_id
        first = role_chunk(question_id, int(time.time()), parsed.model)

        async def parts() -> AsyncIterator[bytes]:
            yield event(first)
            async for part in with_comments(self._last_parts(parsed, boarding, first)):
                yield part

        headers = {**_STREAM_HEADERS, "x-discreet-question": question_id}
        return StreamingResponse(parts(), media_type="text/event-stream", headers=headers)

    async def _last_parts(self, parsed: ChatRequest, boarding: Boarding, first: Chunk) -> list[bytes]:
        """Return the events of the answer, or of the error that came after the question was reserved."""
        try:
            reply = await self._reply(parsed, await boarding.outcome())
            parts, outcome = [event(chunk) for chunk in reply.chunks(first)], reply.outcome.stopped
        except FrontError as error:
            parts, outcome = [event(error.body())], error.code
            self._line["code"] = error.code
        except Exception as error:  # the status was sent: the client gets an event in place of it
            found = FrontError("internal_error")
            parts, outcome = [event(found.body())], found.code
            self._line |= {"code": found.code, "exception": type(error).__name__}
        await self._pace(outcome)
        return [*parts, DONE]


CADENCE = 5.0
"""Seconds between comments: proxies and clients do not break the connection off."""
COMMENT = b": waiting\n\n"
DONE = b"data: [DONE]\n\n"


def event(data: BaseModel) -> bytes:
    """Return the bytes of an event."""
    return b"data: " + data.model_dump_json().encode() + b"\n\n"


async def with_comments(awaited: Awaitable[list[bytes]], cadence: float = CADENCE) -> AsyncIterator[bytes]:
    """Yield a comment every `cadence` seconds until `awaited` is there, then its events."""
    task = asyncio.ensure_future(awaited)
    try:
        while not (await asyncio.wait({task}, timeout=cadence))[0]:
            yield COMMENT
    finally:
        task.cancel()  # does nothing to one that is done; the question itself runs in a task of its own
    for part in task.result():
        yield part

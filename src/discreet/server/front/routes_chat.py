"""POST /v1/chat/completions: an answer with its receipt, at once or as a stream."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Header
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from discreet.server.accounts import Key
from discreet.server.front.bodies import BodyRoute
from discreet.server.front.catalog import Servable
from discreet.server.front.errors import RESPONSES, ErrorReply, FrontError
from discreet.server.front.gate import error_response, model_response
from discreet.server.front.pacing import Arrival
from discreet.server.front.replay import Boarding
from discreet.server.front.replies import Chunk, Completion, Outcome, Reply, role_chunk
from discreet.server.front.requests import ChatBody, ChatRequest
from discreet.server.front.services import Services
from discreet.server.front.telling import type_name

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


def chat_router(services: Services) -> APIRouter:
    """Return the router of the route."""
    router = APIRouter(route_class=ChatRoute)

    @router.post("/v1/chat/completions", response_model=Completion, responses={**RESPONSES, 200: _REPLY})
    async def chat(request: Request, body: ChatBody, name: Idempotency = None) -> Response:
        """Answer a question, and pay for it from the key's budget; the same question again costs nothing."""
        return await Chat(services, request).respond(body, name)

    return router


class Chat:
    """One request."""

    def __init__(self, services: Services, request: Request, key: Key | None = None) -> None:
        self._services, self._http = services, request
        self._key: Key = key or request.state.key
        self._arrival: Arrival = request.state.arrival
        self._line: dict[str, Any] = request.state.line
        self._model: Servable | None = None
        self._boarding: Boarding | None = None

    async def answer(self, read: Callable[[], ChatRequest], name: str | None = None) -> Reply:
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
            self._line["exception"] = type_name(error)
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
        found = self._services.catalog.find(self._key, parsed.model)
        self._model = found
        self._line |= {
            "question_id": boarding.flight.question_id,
            "vault": found.vault.name,
            "model": found.name,
            "waiting": self._services.asker.queue.waiting,
        }
        return boarding

    async def _reply(self, parsed: ChatRequest, outcome: Outcome) -> Reply:
        assert self._model is not None  # found when the question began: the catalog may have changed since
        self._line |= {
            "question_id": outcome.question_id,
            "algorithm": outcome.answer["algorithm"],
            "stopped": outcome.stopped,
            "epsilon": outcome.epsilon,
            "delta": outcome.delta,
            "replayed": outcome.replayed,
        }
        return Reply(outcome, parsed, await self._services.numbers(self._key, self._model), self._key.footer)

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
            self._line |= {"code": found.code, "exception": type_name(error)}
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

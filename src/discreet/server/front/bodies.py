"""The bodies of requests: each is read once, within bounds, as one JSON object in which no name stands twice."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.server.front.errors import FrontError, invalid
from discreet.server.front.requests import LARGEST_BODY, parse, parse_object, refusal
from discreet.server.wire import WireError, collect

BODY_S = 10.0
"""Seconds in which a body must arrive."""


async def read_body(request: Request) -> bytes:
    """Return the body of a request.

    Raises:
        FrontError: if it is larger than 64 KiB, or does not arrive in time.
    """
    try:
        async with asyncio.timeout(BODY_S):
            return await collect(request.stream(), LARGEST_BODY)
    except WireError:
        raise FrontError("too_large") from None
    except (TimeoutError, ClientDisconnect):
        raise FrontError("timed_out") from None


class BodyRoute(APIRoute):
    """A route that refuses a wrong request in the words of the table. The framework would repeat what was sent."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers a request."""
        answer = super().get_route_handler()
        named = self.body_field.field_info.annotation if self.body_field else None
        body = named if isinstance(named, type) and issubclass(named, BaseModel) else None
        params = (*self.dependant.query_params, *self.dependant.header_params)
        expected = {one.alias: one.field_info.description or "" for one in params}

        async def refuse_or_answer(request: Request) -> Response:
            try:
                return await answer(await _read(request, body) if body else request)
            except FrontError as error:
                failed = error
            except RequestValidationError as error:  # of the address or a header
                failed = refusal(error.errors()[0]["loc"][1:], expected)
            return await self.refuse(request, failed)

        return refuse_or_answer

    async def refuse(self, request: Request, error: FrontError) -> Response:
        """Refuse a request."""
        raise error


async def _read(request: Request, kind: type[BaseModel]) -> Request:
    """Return a request whose body was read. The framework finds the model in it, of any type that the client named.

    Raises:
        FrontError: if it is no such body, or if fields stand in the address or in headers, where none counts.
    """
    _check_places(request)
    found = parse(kind, await read_body(request))
    headers = [one for one in request.scope["headers"] if one[0] != b"content-type"]
    made = Request({**request.scope, "headers": [*headers, (b"content-type", b"application/json")]}, request.receive)
    made._body, made._json = b"{}", found
    return made


def _check_places(request: Request) -> None:
    """Refuse a request with fields where none counts.

    Raises:
        FrontError: if it has one in the address or in a header.
    """
    if request.url.query or any(name.startswith("x-discreet-") for name in request.headers):
        raise invalid(None, "Fields count in the body alone: send none in the address, and no header x-discreet-.")


def check_body(app: ASGIApp) -> ASGIApp:
    """Return an app for programs that parse bodies themselves: none gets to it in which a name stands twice."""

    async def check(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        _check_places(request)
        body = await read_body(request)
        found = parse_object(body)
        params = found.get("params")
        given = params.keys() if isinstance(params, dict) and found.get("method") == "tools/call" else set()
        if strange := given - {"name", "arguments", "_meta", "task"}:
            raise invalid("params", f"A call has a name and arguments alone; other fields: {len(strange)}.")
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return messages.pop() if messages else await receive()

        await app(scope, replay, send)

    return check

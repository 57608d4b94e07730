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
from discreet.server.front.requests import LARGEST_BODY, expected_of, parse_object, refusal

BODY_S = 10.0
"""Seconds in which a body must arrive."""


async def read_body(request: Request) -> bytes:
    """Return the body of a request.

    Raises:
        FrontError: if it is larger than 64 KiB, or does not arrive in time.
    """
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or len(declared) > len(str(LARGEST_BODY)) or int(declared) > LARGEST_BODY:
        raise FrontError("too_large")
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_S):
            async for part in request.stream():
                parts.append(part)
                size += len(part)
                if size > LARGEST_BODY:
                    raise FrontError("too_large")
    except (TimeoutError, ClientDisconnect):
        raise FrontError("timed_out") from None
    return b"".join(parts)


class BodyRoute(APIRoute):
    """A route that refuses a wrong request in the words of the table. The framework would repeat what was sent."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers a request."""
        answer = super().get_route_handler()
        body = self.body_field.field_info.annotation if self.body_field else None
        expected = expected_of(body) if isinstance(body, type) and issubclass(body, BaseModel) else {}
        for one in (*self.dependant.query_params, *self.dependant.header_params):
            expected[one.alias] = one.field_info.description or ""

        async def refuse_or_answer(request: Request) -> Response:
            try:
                return await answer(await _Read.of(request) if body else request)
            except FrontError as error:
                failed = error
            except RequestValidationError as error:
                failed = refusal(error.errors()[0]["loc"][1:], expected)
            return await self.refuse(request, failed)

        return refuse_or_answer

    async def refuse(self, request: Request, error: FrontError) -> Response:
        """Refuse a request."""
        raise error


class _Read(Request):
    """A request whose body was read. The framework finds it as JSON, of any type that the client named."""

    _object: dict[str, Any]

    @classmethod
    async def of(cls, request: Request) -> "_Read":
        """Read the body of a request.

        Raises:
            FrontError: if it is no such body, or if fields stand in the address or in headers, where none counts.
        """
        _check_places(request)
        found = parse_object(await read_body(request))
        headers = [one for one in request.scope["headers"] if one[0] != b"content-type"]
        headers.append((b"content-type", b"application/json"))
        made = cls({**request.scope, "headers": headers}, request.receive)
        made._object = found
        return made

    async def body(self) -> bytes:
        """Return that there is a body."""
        return b"{}"

    async def json(self) -> dict[str, Any]:
        """Return the object."""
        return self._object


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

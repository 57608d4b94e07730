"""The gate before every route: it denies by default, authenticates, adds headers, contains exceptions, reads bodies.

Its table has every route of the analysts' listener, with who may call it. What is not in the table is not served. The
body of a request is read once, within bounds, as one JSON object in which no name stands twice.
"""

import asyncio
import re
import secrets
from collections.abc import Callable, Coroutine, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet_server.accounts import AccountsError, Key
from discreet_server.front.errors import FrontError, invalid
from discreet_server.front.pacing import Pacer
from discreet_server.front.requests import LARGEST_BODY, parse, parse_object, refusal
from discreet_server.front.telling import write_line
from discreet_server.wire import WireError, collect

Who = Literal["all", "analyst", "page"]


class Route(NamedTuple):
    """A route.

    Attributes:
        method: the HTTP method.
        path: the path; "{name}" stands for one segment.
        who: "all", "analyst": a caller with a valid key, or "page": a browser, whose key is in a cookie.
    """

    method: str
    path: str
    who: Who


_PAGES = (
    "GET /, POST /price, POST /ask, GET /history, GET /budget, POST /budget, GET /connect, GET /style.css, "
    "GET /icon.svg, GET /sign-in, POST /sign-in, GET /sign-in/provider, GET /sign-in/callback, POST /sign-out"
)
ROUTES = (
    Route("POST", "/v1/chat/completions", "analyst"),
    Route("GET", "/v1/models", "analyst"),
    Route("GET", "/v1/models/{model}", "analyst"),
    Route("POST", "/v1/estimate", "analyst"),
    Route("GET", "/v1/budget", "analyst"),
    Route("GET", "/v1/receipts", "analyst"),
    Route("GET", "/v1/receipts/{question_id}", "analyst"),
    Route("GET", "/v1/budget/requests", "analyst"),
    Route("POST", "/v1/budget/requests", "analyst"),
    Route("POST", "/mcp", "analyst"),
    Route("GET", "/openapi.json", "analyst"),
    Route("GET", "/health/live", "all"),
    Route("GET", "/health/ready", "all"),
    *(Route(method, path, "page") for method, path in (one.split(" ") for one in _PAGES.split(", "))),
)
"""The table. A test compares it with the routes of the app."""


@cache
def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)))


def find_route(method: str, path: str) -> tuple[Route | None, tuple[str, ...]]:
    """Return the route of a request, or none, and the methods that its path allows."""
    own = [route for route in ROUTES if _pattern(route.path).fullmatch(path)]
    route_of = next((route for route in own if route.method == method), None)
    return route_of, tuple(sorted(route.method for route in own))


Find = Callable[[str], Key | None]
"""Returns the key of a secret; None for an unknown, an expired and a revoked one, in the same time."""

SECURITY_HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every response that does not set them itself."""


class Gate:
    """The outermost layer of the app. No exception, and so no traceback, gets past it."""

    def __init__(self, app: ASGIApp, find: Find, pacer: Pacer, count: Callable[[str, int], None]) -> None:
        self._app, self._find, self._pacer, self._count = app, find, pacer, count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of the app."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        # A connection of another type (a web socket) is dropped: no route has one.

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        line: dict[str, Any] = {"request_id": secrets.token_hex(8)}
        scope["state"] = {**scope.get("state", {}), "line": line, "arrival": self._pacer.arrive()}
        sending = _Sending(send, line)
        try:
            await self._authenticate(scope, line)
            await self._app(scope, receive, sending)
        except FrontError as error:
            line["code"] = error.code
            await self._refuse(error, scope, receive, sending)
        except (
            AccountsError
        ) as error:  # nothing was paid: `Asker` and `Services` turn those after a payment into others
            line |= {"code": "ledger_unavailable", "exception": type(error).__name__}
            await self._refuse(FrontError("ledger_unavailable"), scope, receive, sending)
        except Exception as error:  # contained: its text may hold anything
            line |= {"code": "internal_error", "exception": type(error).__name__}
            await self._refuse(FrontError("internal_error"), scope, receive, sending)
        finally:
            self._count(str(line.get("route", "none")), int(line.get("status", 0)))
            write_line(line)

    async def _authenticate(self, scope: Scope, line: dict[str, Any]) -> None:
        """Put the caller's key into the request's state, or refuse the request."""
        route, methods = find_route(scope["method"], scope["path"])
        if route is None:
            raise FrontError("method_not_allowed" if methods else "not_found")
        line["route"] = f"{route.method} {route.path}"
        if route.who in ("all", "page"):  # a page finds the key in a cookie, or shows the page to sign in
            return
        key = await asyncio.to_thread(self._find, bearer(Headers(scope=scope)))
        if key is None:
            raise FrontError("invalid_api_key")
        line["key_id"], scope["state"]["key"] = key.id, key

    async def _refuse(self, error: FrontError, scope: Scope, receive: Receive, sending: "_Sending") -> None:
        if not sending.begun:
            await error_response(error)(scope, receive, sending)


class _Sending:
    """A `send` that adds the headers, and notes the status."""

    def __init__(self, send: Send, line: dict[str, Any]) -> None:
        self._send, self._line, self.begun = send, line, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun, self._line["status"] = True, message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            headers["x-request-id"] = self._line["request_id"]
        await self._send(message)


def bearer(headers: Headers) -> str:
    """Return the secret of the Authorization header; "" if there is none."""
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def error_response(error: FrontError) -> Response:
    """Return the response for an error of the table."""
    return model_response(error.body(), error.headers(), error.status)


def model_response(body: BaseModel, headers: Mapping[str, str], status: int = 200) -> Response:
    """Return the response whose body is a model in JSON."""
    return Response(body.model_dump_json(), status, headers, "application/json")


# --- bodies ----------------------------------------------------------------------------------------------------------


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
    body = parse(kind, await read_body(request))
    headers = [one for one in request.scope["headers"] if one[0] != b"content-type"]
    as_json = Request({**request.scope, "headers": [*headers, (b"content-type", b"application/json")]}, request.receive)
    as_json._body, as_json._json = b"{}", body
    return as_json


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
        body_object = parse_object(body)
        params = body_object.get("params")
        given = params.keys() if isinstance(params, dict) and body_object.get("method") == "tools/call" else set()
        if strange := given - {"name", "arguments", "_meta", "task"}:
            raise invalid("params", f"A call has a name and arguments alone; other fields: {len(strange)}.")
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return messages.pop() if messages else await receive()

        await app(scope, replay, send)

    return check

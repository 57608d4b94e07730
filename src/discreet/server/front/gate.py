"""The gate before every route: it denies by default, authenticates, adds headers, and contains exceptions.

Its table has every route of the analysts' listener, with who may call it. What is not in the table is not served.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.server.accounts import AccountsError, Key
from discreet.server.front.errors import FrontError
from discreet.server.front.pacing import Pacer
from discreet.server.front.telling import type_name, write_line

Who = Literal["all", "analyst", "page"]


@dataclass(frozen=True)
class Route:
    """A route.

    Attributes:
        method: the HTTP method.
        path: the path; "{name}" stands for one segment.
        who: "all", "analyst": a caller with a valid key, or "page": a browser, whose key is in a cookie.
    """

    method: str
    path: str
    who: Who

    def matches(self, path: str) -> bool:
        """Return whether a path is one of this route."""
        own, other = self.path.split("/"), path.split("/")
        return len(own) == len(other) and all(
            (name.startswith("{") and bool(given)) or name == given for name, given in zip(own, other, strict=True)
        )


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


def find_route(method: str, path: str) -> tuple[Route | None, tuple[str, ...]]:
    """Return the route of a request, or none, and the methods that its path allows."""
    own = [route for route in ROUTES if route.matches(path)]
    found = next((route for route in own if route.method == method), None)
    return found, tuple(sorted(route.method for route in own))


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
            line |= {"code": "ledger_unavailable", "exception": type_name(error)}
            await self._refuse(FrontError("ledger_unavailable"), scope, receive, sending)
        except Exception as error:  # contained: its text may hold anything
            line |= {"code": "internal_error", "exception": type_name(error)}
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

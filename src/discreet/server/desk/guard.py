"""What stands before every page of the desk: hosts, origins, sizes, sessions, and the headers of replies."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from discreet.server.sessions import Remembered, cookie_name

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

CSP = (
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; img-src 'self'"
)
LOGIN, PROVIDER, RETURN = "/login", "/login/provider", "/login/callback"
"""Where the custodian logs in: by a link, by going to a provider of identities, and by coming back from it."""
OPEN = (LOGIN, PROVIDER, RETURN, "/metrics", "/static/desk.css", "/static/desk.js", "/static/icon.svg")
"""The paths without a session: they hold nothing private."""
COOKIE = "discreet_desk"
UPLOAD = "/documents/upload"
MOST_BYTES, MOST_UPLOADED = 64 * 1024, 2**30
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_HEADERS = {
    "content-security-policy": CSP,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not "no-referrer": with it, browsers send "Origin: null" with the desk's own forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """The guard of the pages: it lets the custodian pass alone.

    Args:
        app: the pages.
        host: where the desk listens.
        sessions: who is logged in.
    """

    def __init__(self, app: App, host: str, sessions: Remembered[bool]) -> None:
        self._app, self._sessions = app, sessions
        self._hosts = _LOOPBACK | {host} if host in _LOOPBACK else frozenset({host})
        self._any_host = host in ("0.0.0.0", "::")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    if name not in headers:
                        headers[name] = value
            await send(message)

        refused = self._refuse(scope, Headers(scope=scope))
        await (refused or self._app)(scope, receive, with_headers)

    def _refuse(self, scope: Scope, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        if not self._any_host and _hostname(host) not in self._hosts:
            return PlainTextResponse("This host is not the desk's. Use the link that was printed.", 421)
        if scope["method"] == "POST":
            if headers.get("origin") != f"{scope['scheme']}://{host}":
                return PlainTextResponse("The request does not come from a page of the desk.", 403)
            if headers.get("sec-fetch-site", "same-origin") != "same-origin":
                return PlainTextResponse("The request does not come from a page of the desk.", 403)
            if (answer := _check_size(scope["path"], headers)) is not None:
                return answer
        if scope["path"] in OPEN or self._sessions.find(cookie_of(HTTPConnection(scope), COOKIE)):
            return None
        if scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
            return RedirectResponse("/login", 303)
        return PlainTextResponse("Log in with the link that discreet serve printed.", 401)


def cookie_of(request: HTTPConnection, name: str) -> str:
    """Return the value of a cookie of a browser; "" if it has none."""
    return request.cookies.get(cookie_name(name, secure=request.scope["scheme"] == "https"), "")


def _hostname(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _check_size(path: str, headers: Headers) -> Response | None:
    most = MOST_UPLOADED if path == UPLOAD else MOST_BYTES
    length = headers.get("content-length", "")
    if not length.isdecimal():
        return PlainTextResponse("The request does not say how long it is.", 411)
    if len(length) > 20 or int(length) > most:
        return PlainTextResponse(f"The request is too long: at most {most:,} bytes. Send less at once.", 413)
    return None

"""The desk: who gets in and out, the app with its guard before every page, and the process.

The custodian comes by a link, or from a provider of identities. The guard looks at hosts, origins, sizes and sessions,
and adds the headers of replies. Every path is in one of the lists of routes.
"""

import asyncio
import signal
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import FormData, Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import DiscreetError, UsageError
from discreet_server.accounts import Accounts
from discreet_server.audit_log import AuditLog
from discreet_server.config import ServeConfig
from discreet_server.desk import pages
from discreet_server.desk.desk import COOKIE, Desk, action, page, text_of
from discreet_server.identities import Remembered, SignInFailed, SignIns, cookie_of, set_cookie
from discreet_server.sockets import silence_process, uvicorn_config
from discreet_server.state_folder import check_ports, hand_over, note_address, redeem

CSP = (
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; img-src 'self'"
)
LOGIN, PROVIDER, RETURN = "/login", "/login/provider", "/login/callback"
"""Where the custodian logs in: by a link, by going to a provider of identities, and by coming back from it."""
OPEN = (LOGIN, PROVIDER, RETURN, "/metrics", "/static/desk.css", "/static/desk.js", "/static/icon.svg")
"""The paths without a session: they hold nothing private."""
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

    def __init__(self, app: ASGIApp, host: str, sessions: Remembered[bool]) -> None:
        self._app, self._sessions = app, sessions
        self._hosts = _LOOPBACK | {host} if host in _LOOPBACK else frozenset({host})
        self._any_host = host in ("0.0.0.0", "::")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
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
            own = headers.get("origin") == f"{scope['scheme']}://{host}"
            if not own or headers.get("sec-fetch-site", "same-origin") != "same-origin":
                return PlainTextResponse("The request does not come from a page of the desk.", 403)
            if (answer := _check_size(scope["path"], headers)) is not None:
                return answer
        if scope["path"] in OPEN or self._sessions.find(cookie_of(HTTPConnection(scope), COOKIE)):
            return None
        if scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
            return RedirectResponse("/login", 303)
        return PlainTextResponse("Log in with the link that discreet serve printed.", 401)


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


# --- log in and out --------------------------------------------------------------------------------------------------


BEGUN = "discreet_desk_login"
"""The cookie of a browser that went to the provider."""
FAILED = "The provider did not confirm the sign-in. Try again, or log in with a link."
NO_CUSTODIAN = "The provider does not name you as a custodian. Ask for the group that serve.toml names."


def login_routes(desk: Desk) -> list[Route]:
    """Return the routes to log in and out."""
    found = [page(desk, LOGIN, _confirm), action(desk, LOGIN, _log_in), action(desk, "/logout", _log_out)]
    if desk.config.desk_oidc is None:
        return found
    sign_ins = SignIns(desk.config.desk_oidc, RETURN, BEGUN)
    return [
        *found,
        page(desk, PROVIDER, lambda desk, request: _go_to_provider(desk, request, sign_ins)),
        page(desk, RETURN, lambda desk, request: _come_back(desk, request, sign_ins)),
    ]


def _confirm(desk: Desk, request: Request) -> Response:
    """Show the button of a link: a program that previews links does not press it, and so uses none up."""
    return _ask(desk, request, 200, token=request.query_params.get("token", ""))


def _log_in(desk: Desk, request: Request, form: FormData) -> Response:
    token = text_of(form, "token")
    if not token:
        return _ask(desk, request, 200)
    if not redeem(desk.config, token):
        return _ask(desk, request, 403)
    desk.record("login", "desk")
    return _enter(desk, request)


def _go_to_provider(desk: Desk, request: Request, sign_ins: SignIns) -> Response:
    try:
        return asyncio.run(sign_ins.begin(request))
    except SignInFailed:
        return _ask(desk, request, 502, FAILED)


def _come_back(desk: Desk, request: Request, sign_ins: SignIns) -> Response:
    try:
        person, custodian = asyncio.run(sign_ins.finish(request))
    except SignInFailed:
        return _ask(desk, request, 401, FAILED)
    if custodian is None:
        desk.record("login-refused", "desk", subject=person.subject)
        return _ask(desk, request, 403, NO_CUSTODIAN)
    desk.record("login", "desk", subject=person.subject)
    response = _enter(desk, request)
    sign_ins.forget(response, request)
    return response


def _log_out(desk: Desk, request: Request, form: FormData) -> Response:
    desk.sessions.take(cookie_of(request, COOKIE))
    response = desk.go(request, LOGIN)
    set_cookie(response, request, COOKIE, "")
    return response


def _ask(desk: Desk, request: Request, status: int, wrong: str = "", token: str = "") -> Response:
    there = desk.config.desk_oidc is not None
    return desk.show(request, "login.html", "Log in", status, inside=False, provider=there, wrong=wrong, token=token)


def _enter(desk: Desk, request: Request) -> Response:
    # A page, not a redirect: with a strict cookie, a redirect from another site's link would come without it.
    response = desk.show(request, "login.html", "Logged in", inside=True)
    set_cookie(response, request, COOKIE, desk.sessions.begin(True))
    return response


# --- the app ---------------------------------------------------------------------------------------------------------


_STATIC = Path(__file__).parent / "static"


def all_routes(desk: Desk) -> list[Route]:
    """Return every route but the static files."""
    return [*login_routes(desk), *pages.routes(desk)]


def create_app(desk: Desk) -> Guard:
    """Return the app."""
    app = Starlette(routes=all_routes(desk), exception_handlers={404: _nothing, 405: _nothing, 500: _failed})
    app.mount("/static", StaticFiles(directory=_STATIC))
    return Guard(app, desk.config.desk_host, desk.sessions)


async def _nothing(_: Request, __: Exception) -> Response:
    return PlainTextResponse("There is no such page.", 404)


async def _failed(_: Request, error: Exception) -> Response:
    return PlainTextResponse(f"The desk failed ({type(error).__name__}).", 500)


# --- the process -----------------------------------------------------------------------------------------------------


_PATIENCE = 10
_CONNECTIONS = 64


def main(config: ServeConfig) -> int:
    """Run the desk until a signal stops it; return the exit code."""
    silence_process("desk")
    try:
        check_ports(config, "desk")
        config.uploads.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        config.uploads.mkdir(mode=0o700, exist_ok=True)
        # Where the parts of an upload lie until it is whole: not where other users put their files.
        tempfile.tempdir = str(config.uploads)
        desk = Desk(config, Accounts(config.accounts), AuditLog(config.audit_log))
        app = create_app(desk)
        hand_over(config)
        note_address(config)
    except DiscreetError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"{config.state} cannot be used: {error.strerror}.", file=sys.stderr)
        return UsageError.exit_code
    where = {"host": config.desk_host, "port": config.desk_port, "lifespan": "off", **config.tls}
    server = uvicorn.Server(uvicorn_config(app, _CONNECTIONS, timeout_graceful_shutdown=_PATIENCE, **where))
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # what uvicorn raises again at its end
    try:
        server.run()
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0

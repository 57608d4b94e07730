"""How the custodian logs in to the desk, by a link or at a provider of identities, and out again."""

import asyncio
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from discreet.server.desk.desk import Desk, action, page, text_of
from discreet.server.desk.guard import COOKIE, LOGIN, PROVIDER, RETURN, cookie_of
from discreet.server.desk.links import redeem
from discreet.server.identities import WAITS, SignInFailed, SignIns
from discreet.server.oidc_config import OidcConfig
from discreet.server.sessions import set_cookie

BEGUN = "discreet_desk_login"
"""The cookie of a browser that went to the provider."""
FAILED = "The provider did not confirm the sign-in. Try again, or log in with a link."
NO_CUSTODIAN = "The provider does not name you as a custodian. Ask for the group that serve.toml names."


def routes(desk: Desk) -> list[Route]:
    """Return the routes of this file."""
    found = [page(desk, LOGIN, _confirm), action(desk, LOGIN, _log_in), action(desk, "/logout", _log_out)]
    if desk.config.desk_oidc is None:
        return found
    sign_ins, config = SignIns(desk.config.desk_oidc), desk.config.desk_oidc
    return [
        *found,
        page(desk, PROVIDER, lambda desk, request: _go_to_provider(desk, request, sign_ins)),
        page(desk, RETURN, lambda desk, request: _come_back(desk, request, sign_ins, config)),
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
    back = f"{request.url.scheme}://{request.headers.get('host', '')}{RETURN}"
    try:
        begun = asyncio.run(sign_ins.begin(back))
    except SignInFailed:
        return _ask(desk, request, 502, FAILED)
    response = RedirectResponse(begun.url, 303)
    # "lax": the browser comes back from another site, and must have it then.
    _cookie(response, request, BEGUN, begun.state, age=WAITS, sent="lax")
    return response


def _come_back(desk: Desk, request: Request, sign_ins: SignIns, config: OidcConfig) -> Response:
    try:
        person = asyncio.run(sign_ins.finish(request.query_params, cookie_of(request, BEGUN)))
    except SignInFailed:
        return _ask(desk, request, 401, FAILED)
    if config.key_of(person.values) is None:
        desk.record("login-refused", "desk", subject=person.subject)
        return _ask(desk, request, 403, NO_CUSTODIAN)
    desk.record("login", "desk", subject=person.subject)
    response = _enter(desk, request)
    _cookie(response, request, BEGUN, "")
    return response


def _log_out(desk: Desk, request: Request, form: FormData) -> Response:
    desk.sessions.take(cookie_of(request, COOKIE))
    response = desk.go(request, LOGIN)
    _cookie(response, request, COOKIE, "")
    return response


def _ask(desk: Desk, request: Request, status: int, wrong: str = "", token: str = "") -> Response:
    there = desk.config.desk_oidc is not None
    return desk.show(request, "login.html", "Log in", status, inside=False, provider=there, wrong=wrong, token=token)


def _enter(desk: Desk, request: Request) -> Response:
    # A page, not a redirect: with a strict cookie, a redirect from another site's link would come without it.
    response = desk.show(request, "login.html", "Logged in", inside=True)
    _cookie(response, request, COOKIE, desk.sessions.begin(True))
    return response


def _cookie(response: Response, request: Request, name: str, value: str, **how: Any) -> None:
    set_cookie(response, name, value, secure=request.scope["scheme"] == "https", **how)

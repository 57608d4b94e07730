"""What a browser sends: the fields of a form, the question in them, and the session in a cookie.

A question is read as the request that a client of /v1 would have sent. A form of another site is not read.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from discreet.server.accounts import Accounts, Key
from discreet.server.front.errors import invalid
from discreet.server.front.requests import ChatRequest, parse_chat
from discreet.server.sessions import Remembered, cookie_name, set_cookie

_MOST_FIELDS = 16
_TYPE = "application/x-www-form-urlencoded"


def read_form(content_type: str, body: bytes) -> dict[str, str]:
    """Return the fields of a form.

    Raises:
        FrontError: if the body is no form.
    """
    if content_type.split(";")[0].strip().lower() != _TYPE:
        raise invalid(None, "The body must be a form.")
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError:
        raise invalid(None, "The body must be a form in UTF-8.") from None
    return {name: value.replace("\r\n", "\n") for name, value in pairs}


def question_of(form: Mapping[str, str]) -> ChatRequest:
    """Return the request in the form of a question.

    Raises:
        FrontError: if it would be refused at /v1/chat/completions.
    """
    options: dict[str, Any] = {}
    choices = [line.strip() for line in form.get("choices", "").splitlines() if line.strip()]
    if choices:
        options["choices"] = choices
    if form.get("epsilon", "").strip():
        options["epsilon"] = number_of(form["epsilon"], "epsilon")
    message = {"role": "user", "content": form.get("question", "")}
    body = {"model": form.get("model", ""), "messages": [message], "discreet": options}
    return parse_chat(json.dumps(body).encode())


def number_of(text: str, param: str) -> float:
    """Return a number of a form.

    Raises:
        FrontError: if it is none above 0.
    """
    try:
        value = float(text.strip().replace(",", "."))
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise invalid(param, "It must be a number above 0.")
    return value


def name_of(form: Mapping[str, str]) -> str | None:
    """Return the name of a question's page, in place of an Idempotency-Key; None if it has none.

    Raises:
        FrontError: if no page of this server sent it.
    """
    name = form.get("name") or None
    if name is not None and not (len(name) <= 64 and name.isascii() and name.isalnum()):
        raise invalid(None, "The form is damaged. Open the page again.")
    return name


COOKIE, LASTS = "discreet_session", 8 * 3600.0
"""The cookie of a browser that is signed in, and the seconds for which its session lasts."""


@dataclass(frozen=True)
class SignedIn:
    """A session of a browser.

    Attributes:
        key_id: the id of the key.
        digest: the hash of the secret with which it began, which ends with that secret; "" for a person whom a provider
            has named.
    """

    key_id: str
    digest: str = ""


Sessions = Remembered[SignedIn]


async def find_key(request: Request, accounts: Accounts, sessions: Sessions) -> Key | None:
    """Return the key of a session; None if there is none, or the key is not valid any more."""
    found = sessions.find(cookie_of(request, COOKIE))
    key = await asyncio.to_thread(accounts.find_named, found.key_id, found.digest) if found is not None else None
    if key is not None:
        request.state.line["key_id"] = key.id
    return key


def enter(response: Response, request: Request, sessions: Sessions, signed_in: SignedIn) -> None:
    """Begin a session: its secret, and never the key, is in a cookie until the browser ends."""
    set_cookie(response, COOKIE, sessions.begin(signed_in), secure=is_secure(request))


def leave(response: Response, request: Request, sessions: Sessions) -> None:
    """End a session: a copy of its cookie opens nothing any more."""
    sessions.take(cookie_of(request, COOKIE))
    set_cookie(response, COOKIE, "", secure=is_secure(request))


def cookie_of(request: Request, name: str) -> str:
    """Return the value of a cookie; "" if the browser has none."""
    return request.cookies.get(cookie_name(name, secure=is_secure(request)), "")


def is_secure(request: Request) -> bool:
    """Return whether the browser came by TLS, to this server or to a proxy in front of it."""
    # A client that forges the header harms its own cookie alone.
    return request.scope["scheme"] == "https" or request.headers.get("x-forwarded-proto", "") == "https"


def is_own_form(request: Request) -> bool:
    """Return whether a page of this server sent a form: browsers name the origin of each POST."""
    host = request.headers.get("host", "")
    try:
        origin = urlsplit(request.headers.get("origin", ""))
    except ValueError:  # no address
        return False
    return bool(host) and origin.scheme in ("http", "https") and origin.netloc == host


def address(request: Request) -> str:
    """Return the address of the server, as the browser knows it."""
    return f"{'https' if is_secure(request) else 'http'}://{request.headers.get('host', '127.0.0.1:8000')}"

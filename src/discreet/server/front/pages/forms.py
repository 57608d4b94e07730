"""What a browser sends: the fields of a form, the question in them, and the key in a cookie.

A question is read as the request that a client of /v1 would have sent. A form of another site is not read.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from discreet.server.accounts import Accounts, Key
from discreet.server.front.errors import invalid
from discreet.server.front.requests import ChatRequest, parse_chat

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


COOKIE = "discreet_key"


async def find_key(request: Request, accounts: Accounts, signed_in: str | None) -> Key | None:
    """Return the key of the cookie, or that of a person who is `signed_in` with the id of a key.

    None if there is neither, or the key is not valid any more.
    """
    secret = request.cookies.get(COOKIE, "")
    if secret:
        key = await asyncio.to_thread(accounts.find, secret)
    else:
        key = await asyncio.to_thread(accounts.find_named, signed_in) if signed_in is not None else None
    if key is not None:
        request.state.line["key_id"] = key.id
    return key


def keep_key(response: Response, request: Request, secret: str) -> None:
    """Put a key into a cookie that no script reads, no other site causes to be sent, and the browser's end removes."""
    response.set_cookie(COOKIE, secret, path="/", httponly=True, samesite="strict", secure=is_secure(request))


def forget_key(response: Response, request: Request) -> None:
    """Remove the cookie."""
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict", secure=is_secure(request))


def is_secure(request: Request) -> bool:
    """Return whether the browser came by TLS, to this server or to a proxy in front of it."""
    # A client that forges the header harms its own cookie alone.
    return request.url.scheme == "https" or request.headers.get("x-forwarded-proto", "") == "https"


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

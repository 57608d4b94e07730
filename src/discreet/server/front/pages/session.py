"""Who looks at a page: the key in a cookie, and the check that a form was sent by a page of this server."""

import asyncio
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from discreet.server.accounts import Accounts, Key

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
    origin, host = urlsplit(request.headers.get("origin", "")), request.headers.get("host", "")
    return bool(host) and origin.scheme in ("http", "https") and origin.netloc == host


def address(request: Request) -> str:
    """Return the address of the server, as the browser knows it."""
    return f"{'https' if is_secure(request) else 'http'}://{request.headers.get('host', '127.0.0.1:8000')}"

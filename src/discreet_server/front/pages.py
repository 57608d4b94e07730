"""Pages for analysts in a browser: ask, see what it costs, and read the receipts. They go the way of /v1.

A question is read as the request that a client of /v1 would have sent, and goes through the same `Asker`, so it is not
paid twice. A form of another site is not read. A provider of identities names a person's groups, and a group has a key:
the person never sees it. The browser gets a session, as with a key. The sentences of a page stand in its template.
"""

import asyncio
import json
import math
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from fastapi import APIRouter
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from discreet.errors import DiscreetError, UsageError
from discreet.system.words import unit_word
from discreet_server.accounts import Key
from discreet_server.accounts.keys import LONGEST_REASON, METER_READS, digest_of
from discreet_server.front.errors import FrontError, invalid
from discreet_server.front.gate import read_body
from discreet_server.front.replay import too_often
from discreet_server.front.requests import ChatRequest, chat_of, parse
from discreet_server.front.routes import Chat, MoreBudget, budget_of, estimate_of, request_more
from discreet_server.front.services import Services
from discreet_server.identities import (
    Remembered,
    SignInFailed,
    SignIns,
    address,
    cookie_of,
    set_cookie,
)

# --- what a page shows -----------------------------------------------------------------------------------------------


HERE = Path(__file__).parent
HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    # With "no-referrer" browsers hide the origin of a form, too.
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}
STOPPED = {
    "end": "answered",
    "length": "answered, cut at its longest length",
    "budget": "answered, cut where the budget ended",
    "public": "nothing was released",
    "task": "answered without documents",
}
"""How a question ended, by the receipt's word; an error's code stands for itself."""
_LARGEST_FACTOR = 1e6


def number(value: float) -> str:
    """Return a number with at most four digits."""
    return f"{value:.4g}"


def ended(stopped: str) -> str:
    """Return how a question ended."""
    return STOPPED.get(stopped, stopped.replace("_", " ") or "not settled")


def odds(epsilon: float) -> str:
    """Return the factor by which the odds of a guess about an individual change at most; "" if it says nothing."""
    factor = math.exp(min(epsilon, 50.0))
    return number(factor) if factor <= _LARGEST_FACTOR else ""


def page(template: str, status: int = 200, **values: Any) -> Response:
    """Return a page. Every value is escaped."""
    html = _environment().get_template(template).render(values)
    return HTMLResponse(html, status, headers=HEADERS)


def go(path: str) -> Response:
    """Return a redirection, after which the browser's reload sends no form again."""
    return RedirectResponse(path, 303, headers=HEADERS)


@cache
def asset(name: str) -> str:
    """Return the style sheet or the icon, which browsers ask for with each page."""
    return (HERE / "static" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "ended": ended, "unit_word": unit_word, "odds": odds}
    environment.globals["meter_reads"] = METER_READS
    return environment


# --- what a browser sends --------------------------------------------------------------------------------------------


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
    choices = [line.strip() for line in form.get("choices", "").splitlines() if line.strip()]
    epsilon = number_of(form["epsilon"], "epsilon") if form.get("epsilon", "").strip() else None
    return chat_of(form.get("model", ""), form.get("question", ""), choices=choices or None, epsilon=epsilon)


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


def is_own_form(request: Request) -> bool:
    """Return whether a page of this server sent a form: browsers name the origin of each POST."""
    host = request.headers.get("host", "")
    try:
        origin = urlsplit(request.headers.get("origin", ""))
    except ValueError:  # no address
        return False
    return bool(host) and origin.scheme in ("http", "https") and origin.netloc == host


# --- sign-in at a provider of identities -----------------------------------------------------------------------------


BACK = "/sign-in/callback"
BEGUN = "discreet_sign_on"
"""The cookie of a browser that went to the provider."""
NO_KEY = "You have no key here. Ask the custodian of the documents for one."
FAILED = "The sign-in was not confirmed. Try again, or sign in with a key."


# --- the pages -------------------------------------------------------------------------------------------------------


SIGN_IN = "/sign-in"
A_PAGE = 50
"""Receipts on a page of the history."""
FOREIGN = "This form was not sent by a page of this server. Nothing was done. Open the page again."
WRONG_KEY = "The key is not valid. Check that it is complete, or ask the custodian for another one."
Work = Callable[[Request, Key], Awaitable[Response]]


def pages_router(services: Services) -> APIRouter:
    """Return the router of the pages."""
    router, pages = APIRouter(include_in_schema=False), Pages(services)

    def add(method: str, path: str, answer: Callable[[Request], Awaitable[Response]]) -> None:
        async def endpoint(request: Request) -> Response:
            return await answer(request)

        router.add_api_route(path, endpoint, methods=[method])

    for method, path, work in (
        ("GET", "/", pages.start),
        ("POST", "/price", pages.price),
        ("POST", "/ask", pages.ask),
        ("GET", "/history", pages.history),
        ("GET", "/budget", pages.budget),
        ("POST", "/budget", pages.ask_for_more),
        ("GET", "/connect", pages.connect),
        ("POST", "/sign-out", pages.sign_out),
    ):
        add(method, path, partial(pages.show, work=work))
    for method, path, enter in (
        ("GET", SIGN_IN, pages.sign_in_page),
        ("POST", SIGN_IN, pages.sign_in),
        ("GET", "/sign-in/provider", pages.go_to_provider),
        ("GET", BACK, pages.come_back),
    ):
        add(method, path, partial(pages.open, work=enter))
    add("GET", "/style.css", partial(_asset, name="style.css", kind="text/css"))
    add("GET", "/icon.svg", partial(_asset, name="icon.svg", kind="image/svg+xml"))
    return router


class Pages:
    """The pages, each a method that returns it for a key; without a provider, its pages are not there."""

    def __init__(self, services: Services) -> None:
        self._services, self._sessions, provider = services, Remembered[SignedIn](LASTS), services.config.oidc
        self._sign_ins = SignIns(provider, BACK, BEGUN) if provider is not None else None

    async def show(self, request: Request, work: Work) -> Response:
        """Return the page that `work` makes for the key of a session; without one, the way to the page to sign in."""

        async def answer(request: Request) -> Response:
            key = await self._find_key(request)
            return go(SIGN_IN) if key is None else await work(request, key)

        return await self.open(request, answer)

    async def open(self, request: Request, work: Callable[[Request], Awaitable[Response]]) -> Response:
        """Return the page that `work` makes, or a page for each error. A form of another site is refused."""
        try:
            if request.method == "POST" and not is_own_form(request):
                request.state.line["code"] = "foreign_form"
                return page("failed.html", 403, key=None, error=None, message=FOREIGN)
            return await work(request)
        except FrontError as error:
            failed = error
        except DiscreetError as error:  # of the accounts or the audit log; the asker has errors of its own
            request.state.line["exception"] = type(error).__name__
            failed = FrontError("ledger_unavailable")
        request.state.line["code"] = failed.code
        key = getattr(request.state, "key", None)
        return page("failed.html", failed.status, key=key, error=failed, message=failed.body().error.message)

    async def sign_in_page(self, request: Request) -> Response:
        """Show the form for a key."""
        return self._sign_in_page()

    async def sign_in(self, request: Request) -> Response:
        """Begin a session of a key that is valid."""
        secret = (await _form(request)).get("key", "").strip()
        key = await asyncio.to_thread(self._services.accounts.find, secret)
        if key is None:
            return self._refuse(request, WRONG_KEY, 401)
        await self._count_sign_in(request, key)
        response = go("/")
        self._enter(response, request, SignedIn(key.id, digest_of(secret)))
        return response

    async def go_to_provider(self, request: Request) -> Response:
        """Send the browser to the provider."""
        if self._sign_ins is None:
            raise FrontError("not_found")
        try:
            return await self._sign_ins.begin(request)
        except SignInFailed:
            return self._refuse(request, FAILED, 502)

    async def come_back(self, request: Request) -> Response:
        """Begin a session of the person with whom the browser comes back: a group has a key."""
        if self._sign_ins is None:
            raise FrontError("not_found")
        try:
            person, name = await self._sign_ins.finish(request)
            key = await asyncio.to_thread(self._services.accounts.find_named, name) if name is not None else None
            if key is None:
                return self._refuse(request, NO_KEY, 403)
            await self._count_sign_in(request, key, subject=person.subject)
        except SignInFailed as error:
            request.state.line["exception"] = type(error).__name__
            return self._refuse(request, FAILED, 401)
        except UsageError:  # there is no such key
            return self._refuse(request, NO_KEY, 403)
        # A page, and no redirection: the browser came from another site, and would not send the cookie on.
        response = page("signed_in.html", key=None)
        self._enter(response, request, SignedIn(key.id))
        self._sign_ins.forget(response, request)
        return response

    async def sign_out(self, request: Request, key: Key) -> Response:
        """End the session: a copy of its cookie opens nothing any more."""
        response = go(SIGN_IN)
        self._sessions.take(cookie_of(request, COOKIE))
        set_cookie(response, request, COOKIE, "")
        return response

    async def start(self, request: Request, key: Key) -> Response:
        """Show the form for a question."""
        return self._form_page(key, {})

    async def price(self, request: Request, key: Key) -> Response:
        """Show the price of a question, and the button that pays it."""
        form = await _form(request)
        if form.get("change"):
            return self._form_page(key, form)
        parsed = question_of(form)
        estimate = await estimate_of(self._services, key, parsed)
        # The name makes the browser's "send again" find the same answer for a day.
        name = secrets.token_hex(16)
        return page("price.html", key=key, form=form, found=estimate, name=name)

    async def ask(self, request: Request, key: Key) -> Response:
        """Ask a question, and show the answer with its receipt, at a multiple of the quantum; a refusal, too."""
        form = await _form(request)
        reply = await Chat(self._services, request, key).answer(lambda: question_of(form), name_of(form))
        return page("answer.html", key=key, form=form, text=reply.message().content, reply=reply)

    async def history(self, request: Request, key: Key) -> Response:
        """Show the receipts of the key, the newest first."""
        before = request.query_params.get("before") or None
        receipts = await asyncio.to_thread(self._services.accounts.receipts, key.id, before=before, limit=A_PAGE)
        return page("history.html", key=key, receipts=receipts, older=receipts[-1] if len(receipts) == A_PAGE else None)

    async def budget(self, request: Request, key: Key) -> Response:
        """Show what the key may spend, has spent and has left."""
        budget = await budget_of(self._services, key)
        requests = await asyncio.to_thread(self._services.accounts.requests_of, key.id)
        return page("budget.html", key=key, meter=budget, more=budget.more, requests=requests, longest=LONGEST_REASON)

    async def ask_for_more(self, request: Request, key: Key) -> Response:
        """Send the custodian a request for more budget."""
        form = await _form(request)
        wanted = {"epsilon": number_of(form.get("epsilon", ""), "epsilon"), "reason": form.get("reason", "")}
        await request_more(self._services, key, parse(MoreBudget, json.dumps(wanted).encode()))
        return go("/budget")

    async def connect(self, request: Request, key: Key) -> Response:
        """Show how programs are connected, with a model that costs nothing if the key may ask one."""
        models = sorted(self._services.catalog.all(key), key=lambda one: one.model.most.is_something)
        name, costs = (models[0].name, models[0].model.most.is_something) if models else ("MODEL", True)
        return page("connect.html", key=key, address=address(request), model=name, costs=costs)

    def _form_page(self, key: Key, form: dict[str, str]) -> Response:
        return page("ask.html", key=key, form=form, models=self._services.catalog.all(key))

    def _sign_in_page(self, wrong: str = "", status: int = 200) -> Response:
        return page("sign_in.html", status, key=None, wrong=wrong, sign_on=self._sign_ins is not None)

    def _refuse(self, request: Request, wrong: str, status: int) -> Response:
        request.state.line["code"] = "invalid_api_key"
        return self._sign_in_page(wrong, status)

    async def _find_key(self, request: Request) -> Key | None:
        """Return the key of a session; None if there is none, or the key is not valid any more."""
        if (session := self._sessions.find(cookie_of(request, COOKIE))) is None:
            return None
        key = await asyncio.to_thread(self._services.accounts.find_named, session.key_id, session.digest)
        if key is not None:
            request.state.line["key_id"], request.state.key = key.id, key
        return key

    def _enter(self, response: Response, request: Request, signed_in: SignedIn) -> None:
        """Begin a session: its secret, and never the key, is in a cookie until the browser ends."""
        set_cookie(response, request, COOKIE, self._sessions.begin(signed_in))

    async def _count_sign_in(self, request: Request, key: Key, **details: str) -> None:
        """Note who signs in.

        Raises:
            FrontError: if the key, or the person, does so too often.
        """
        request.state.line["key_id"] = key.id
        person = details.get("subject", "")
        if (limited := await asyncio.to_thread(self._services.accounts.count_sign_in, key.id, person)) is not None:
            raise too_often(limited)
        await asyncio.to_thread(self._services.log.append, key.id, "sign-in", key.id, **details)


async def _asset(_: Request, name: str, kind: str) -> Response:
    return PlainTextResponse(asset(name), media_type=kind, headers={"cache-control": "max-age=3600"})


async def _form(request: Request) -> dict[str, str]:
    return read_form(request.headers.get("content-type", ""), await read_body(request))

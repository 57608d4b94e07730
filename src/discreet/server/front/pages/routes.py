"""The routes of the pages. A question goes through the same `Asker` as one of /v1, so it is not paid twice."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from functools import partial

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from discreet.errors import DiscreetError, UsageError
from discreet.server.accounts import Key
from discreet.server.accounts.keys import LARGEST, LONGEST_REASON
from discreet.server.audit_log import AuditLog
from discreet.server.front.bodies import read_body
from discreet.server.front.errors import FrontError, invalid
from discreet.server.front.pacing import SIGN_INS
from discreet.server.front.pages.forms import (
    SignedIn,
    address,
    enter,
    find_key,
    is_own_form,
    leave,
    name_of,
    number_of,
    question_of,
    read_form,
)
from discreet.server.front.pages.sign_on import BACK, SignOn
from discreet.server.front.pages.views import asset, go, page
from discreet.server.front.routes_accounts import budget_of
from discreet.server.front.routes_chat import Chat
from discreet.server.front.routes_models import estimate_of
from discreet.server.front.services import Services
from discreet.server.front.telling import type_name
from discreet.server.key_text import digest_of

SIGN_IN = "/sign-in"
A_PAGE = 50
"""Receipts on a page of the history."""
FOREIGN = "This form was not sent by a page of this server. Nothing was done. Open the page again."
WRONG_KEY = "The key is not valid. Check that it is complete, or ask the custodian for another one."
Work = Callable[[Request, Key], Awaitable[Response]]


def pages_router(services: Services, log: AuditLog, sign_on: SignOn) -> APIRouter:
    """Return the router of the pages."""
    router, pages = APIRouter(include_in_schema=False), Pages(services, log, sign_on)

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
    add("GET", SIGN_IN, pages.sign_in_page)
    add("POST", SIGN_IN, partial(pages.open, work=pages.sign_in))
    add("GET", "/sign-in/provider", partial(pages.open, work=sign_on.begin))
    add("GET", BACK, partial(pages.open, work=sign_on.finish))
    add("GET", "/style.css", partial(_asset, name="style.css", kind="text/css"))
    add("GET", "/icon.svg", partial(_asset, name="icon.svg", kind="image/svg+xml"))
    return router


class Pages:
    """The pages, each a method that returns it for a key."""

    def __init__(self, services: Services, log: AuditLog, sign_on: SignOn) -> None:
        self._services, self._log, self._sign_on = services, log, sign_on

    async def show(self, request: Request, work: Work) -> Response:
        """Return the page that `work` makes; the page to sign in without a key, and a page for each error."""
        key: Key | None = None
        try:
            if request.method == "POST" and not is_own_form(request):
                return self._refuse_foreign(request)
            key = await find_key(request, self._services.accounts, self._sign_on.sessions)
            return go(SIGN_IN) if key is None else await work(request, key)
        except FrontError as error:
            return self._failed(request, key, error)
        except DiscreetError as error:  # of the accounts or the audit log; the asker has errors of its own
            request.state.line["exception"] = type_name(error)
            return self._failed(request, key, FrontError("ledger_unavailable"))

    async def open(self, request: Request, work: Callable[[Request], Awaitable[Response]]) -> Response:
        """Return a page that needs no key; a page for each error."""
        try:
            return await work(request)
        except FrontError as error:
            return self._failed(request, None, error)
        except DiscreetError as error:  # of the accounts or the audit log
            request.state.line["exception"] = type_name(error)
            return self._failed(request, None, FrontError("ledger_unavailable"))

    async def sign_in_page(self, request: Request) -> Response:
        """Show the form for a key."""
        return page("sign_in.html", key=None, wrong="", sign_on=self._sign_on.is_there)

    async def sign_in(self, request: Request) -> Response:
        """Begin a session of a key that is valid."""
        if not is_own_form(request):
            return self._refuse_foreign(request)
        secret = (await _form(request)).get("key", "").strip()
        key = await asyncio.to_thread(self._services.accounts.find, secret)
        if key is None:
            request.state.line["code"] = "invalid_api_key"
            return page("sign_in.html", 401, key=None, wrong=WRONG_KEY, sign_on=self._sign_on.is_there)
        request.state.line["key_id"] = key.id
        self._services.asker.rates.count(f"sign-in {key.id}", SIGN_INS)
        await asyncio.to_thread(self._log.append, key.id, "sign-in", key.id)
        found = go("/")
        enter(found, request, self._sign_on.sessions, SignedIn(key.id, digest_of(secret)))
        return found

    async def sign_out(self, request: Request, key: Key) -> Response:
        """End the session."""
        found = go(SIGN_IN)
        leave(found, request, self._sign_on.sessions)
        return found

    async def start(self, request: Request, key: Key) -> Response:
        """Show the form for a question."""
        return self._form_page(key, {})

    async def price(self, request: Request, key: Key) -> Response:
        """Show the price of a question, and the button that pays it."""
        form = await _form(request)
        if form.get("change"):
            return self._form_page(key, form)
        parsed = question_of(form)
        found = await estimate_of(self._services, key, parsed)
        # The name makes the browser's "send again" find the same answer for a day.
        name = secrets.token_hex(16)
        return page("price.html", key=key, form=form, found=found, name=name)

    async def ask(self, request: Request, key: Key) -> Response:
        """Ask a question, and show the answer with its receipt, at a multiple of the quantum; a refusal, too."""
        form = await _form(request)
        reply = await Chat(self._services, request, key).answer(lambda: question_of(form), name_of(form))
        return page("answer.html", key=key, form=form, text=reply.message().content, reply=reply)

    async def history(self, request: Request, key: Key) -> Response:
        """Show the receipts of the key, the newest first."""
        before = request.query_params.get("before") or None
        found = await asyncio.to_thread(self._services.accounts.receipts, key.id, before=before, limit=A_PAGE)
        return page("history.html", key=key, receipts=found, older=found[-1] if len(found) == A_PAGE else None)

    async def budget(self, request: Request, key: Key) -> Response:
        """Show what the key may spend, has spent and has left."""
        accounts = self._services.accounts
        found = await budget_of(accounts, key, self._services.catalog.usual(key))
        made = await asyncio.to_thread(accounts.requests_of, key.id)
        return page("budget.html", key=key, meter=found, more=found.more, requests=made, longest=LONGEST_REASON)

    async def ask_for_more(self, request: Request, key: Key) -> Response:
        """Send the custodian a request for more budget."""
        form = await _form(request)
        epsilon = number_of(form.get("epsilon", ""), "epsilon")
        reason = form.get("reason", "").strip()
        if epsilon > LARGEST or not 0 < len(reason) <= LONGEST_REASON:
            raise invalid("reason", f"It must have 1 to {LONGEST_REASON} characters.")
        try:
            made = await asyncio.to_thread(self._services.accounts.request, key.id, epsilon, reason)
        except UsageError:
            raise invalid("reason", "Too many requests are pending, or a value is out of range.") from None
        await asyncio.to_thread(self._log.append, key.id, "request", key.id, request=made.id, epsilon=made.epsilon)
        return go("/budget")

    async def connect(self, request: Request, key: Key) -> Response:
        """Show how programs are connected."""
        models = self._services.catalog.all(key)
        name = models[0].name if models else "MODEL"
        return page("connect.html", key=key, address=address(request), model=name)

    def _form_page(self, key: Key, form: dict[str, str]) -> Response:
        return page("ask.html", key=key, form=form, models=self._services.catalog.all(key))

    def _failed(self, request: Request, key: Key | None, error: FrontError) -> Response:
        request.state.line["code"] = error.code
        message = error.body().error.message
        return page("failed.html", error.status, key=key, error=error, message=message)

    def _refuse_foreign(self, request: Request) -> Response:
        request.state.line["code"] = "foreign_form"
        return page("failed.html", 403, key=None, error=None, message=FOREIGN)


async def _asset(_: Request, name: str, kind: str) -> Response:
    return PlainTextResponse(asset(name), media_type=kind, headers={"cache-control": "max-age=3600"})


async def _form(request: Request) -> dict[str, str]:
    return read_form(request.headers.get("content-type", ""), await read_body(request))

"""The routes of the pages. A question goes through the same `Asker` as one of /v1, so it is not paid twice."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from discreet.errors import DiscreetError, UsageError
from discreet.server.accounts import Key
from discreet.server.accounts.keys import LARGEST, LONGEST_REASON
from discreet.server.audit_log import AuditLog
from discreet.server.front.bodies import read_body
from discreet.server.front.catalog import Servable
from discreet.server.front.errors import FrontError, invalid
from discreet.server.front.pages.forms import (
    address,
    find_key,
    forget_key,
    is_own_form,
    keep_key,
    name_of,
    number_of,
    question_of,
    read_form,
)
from discreet.server.front.pages.sign_on import BACK, SignOn
from discreet.server.front.pages.views import go, icon, page, price_words, receipt_words, snippets, style
from discreet.server.front.replay import Boarding
from discreet.server.front.replies import Reply
from discreet.server.front.requests import ChatRequest
from discreet.server.front.routes_accounts import budget_of
from discreet.server.front.routes_models import estimate_of
from discreet.server.front.services import Services
from discreet.server.front.telling import type_name

SIGN_IN = "/sign-in"
A_PAGE = 50
"""Receipts on a page of the history."""
FOREIGN = "This form was not sent by a page of this server. Nothing was done. Open the page again."
WRONG_KEY = "The key is not valid. Check that it is complete, or ask the custodian for another one."
Work = Callable[[Request, Key], Awaitable[Response]]


def pages_router(services: Services, log: AuditLog, sign_on: SignOn) -> APIRouter:
    """Return the router of the pages."""
    router = APIRouter(include_in_schema=False)
    pages = Pages(services, log, sign_on)

    @router.get("/")
    async def start(request: Request) -> Response:
        return await pages.show(request, pages.start)

    @router.post("/price")
    async def price(request: Request) -> Response:
        return await pages.show(request, pages.price)

    @router.post("/ask")
    async def ask(request: Request) -> Response:
        return await pages.show(request, pages.ask)

    @router.get("/history")
    async def history(request: Request) -> Response:
        return await pages.show(request, pages.history)

    @router.get("/budget")
    async def budget(request: Request) -> Response:
        return await pages.show(request, pages.budget)

    @router.post("/budget")
    async def ask_for_more(request: Request) -> Response:
        return await pages.show(request, pages.ask_for_more)

    @router.get("/connect")
    async def connect(request: Request) -> Response:
        return await pages.show(request, pages.connect)

    @router.get(SIGN_IN)
    async def sign_in_page(request: Request) -> Response:
        return page("sign_in.html", key=None, wrong="", sign_on=sign_on.is_there)

    @router.post(SIGN_IN)
    async def sign_in(request: Request) -> Response:
        return await pages.sign_in(request)

    @router.get("/sign-in/provider")
    async def to_provider(request: Request) -> Response:
        return await pages.open(request, sign_on.begin)

    @router.get(BACK)
    async def from_provider(request: Request) -> Response:
        return await pages.open(request, sign_on.finish)

    @router.post("/sign-out")
    async def sign_out(request: Request) -> Response:
        return await pages.show(request, pages.sign_out)

    @router.get("/style.css")
    async def sheet() -> Response:
        return PlainTextResponse(style(), media_type="text/css", headers={"cache-control": "max-age=3600"})

    @router.get("/icon.svg")
    async def image() -> Response:
        return PlainTextResponse(icon(), media_type="image/svg+xml", headers={"cache-control": "max-age=3600"})

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
            key = await find_key(request, self._services.accounts, self._sign_on.key_id(request))
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

    async def sign_in(self, request: Request) -> Response:
        """Keep a key that is valid in a cookie."""
        try:
            if not is_own_form(request):
                return self._refuse_foreign(request)
            secret = (await _form(request)).get("key", "").strip()
            key = await asyncio.to_thread(self._services.accounts.find, secret)
            if key is None:
                request.state.line["code"] = "invalid_api_key"
                return page("sign_in.html", 401, key=None, wrong=WRONG_KEY, sign_on=self._sign_on.is_there)
            request.state.line["key_id"] = key.id
            await asyncio.to_thread(self._log.append, key.id, "sign-in", key.id)
        except FrontError as error:
            return self._failed(request, None, error)
        except DiscreetError as error:
            request.state.line["exception"] = type_name(error)
            return self._failed(request, None, FrontError("ledger_unavailable"))
        found = go("/")
        keep_key(found, request, secret)
        return found

    async def sign_out(self, request: Request, key: Key) -> Response:
        """Forget the key."""
        found = go(SIGN_IN)
        forget_key(found, request)
        self._sign_on.end(request, found)
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
        return page("price.html", key=key, form=form, found=found, words=price_words(found), name=name)

    async def ask(self, request: Request, key: Key) -> Response:
        """Ask a question, and show the answer with its receipt, at a multiple of the quantum; a refusal, too."""
        form = await _form(request)
        line, outcome, model, boarding = request.state.line, "internal_error", None, None
        try:
            parsed = question_of(form)
            model = self._services.catalog.find(key, parsed.model)
            boarding = await self._services.asker.begin(key, parsed, name_of(form))
            reply = await self._answer(request, key, parsed, model, boarding)
            outcome = reply.outcome.stopped
        except FrontError as error:
            outcome = error.code
            raise
        finally:
            quanta = line["quanta"] = await self._services.until_due(request.state.arrival, boarding)
            waiting = self._services.asker.queue.waiting
            self._services.metrics.count_question(model.name if model else "", outcome, quanta, waiting)
        message = reply.message()
        told = receipt_words(reply.outcome, reply.key)
        return page("answer.html", key=key, form=form, text=message.content, reply=reply, words=told)

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
        return page("connect.html", key=key, snippets=snippets(address(request), name))

    def _form_page(self, key: Key, form: dict[str, str]) -> Response:
        return page("ask.html", key=key, form=form, models=self._services.catalog.all(key))

    async def _answer(
        self, request: Request, key: Key, parsed: ChatRequest, model: Servable, boarding: Boarding
    ) -> Reply:
        line = request.state.line
        line |= {"question_id": boarding.flight.question_id, "vault": model.vault.name, "model": model.name}
        outcome = await boarding.outcome()
        line |= {
            "question_id": outcome.question_id,
            "algorithm": outcome.answer["algorithm"],
            "stopped": outcome.stopped,
            "epsilon": outcome.epsilon,
            "delta": outcome.delta,
            "replayed": outcome.replayed,
        }
        return Reply(outcome, parsed, await self._services.numbers(key, model), key.footer)

    def _failed(self, request: Request, key: Key | None, error: FrontError) -> Response:
        request.state.line["code"] = error.code
        message = error.body().error.message
        return page("failed.html", error.status, key=key, error=error, message=message)

    def _refuse_foreign(self, request: Request) -> Response:
        request.state.line["code"] = "foreign_form"
        return page("failed.html", 403, key=None, error=None, message=FOREIGN)


async def _form(request: Request) -> dict[str, str]:
    return read_form(request.headers.get("content-type", ""), await read_body(request))

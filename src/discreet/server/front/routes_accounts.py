"""GET /v1/budget, GET /v1/receipts, and /v1/budget/requests: what a key has spent, and how to ask for more.

All of it comes from the key's own receipts. Nothing here reads what a vault or a unit has left.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import Field, StringConstraints, with_config
from starlette.requests import Request
from starlette.responses import Response

from discreet.errors import UsageError
from discreet.server.accounts import Accounts, Key
from discreet.server.accounts.books import QuestionReceipt
from discreet.server.accounts.grants import MeterShown
from discreet.server.accounts.keys import LARGEST, LONGEST_REASON, BudgetRequest
from discreet.server.audit_log import AuditLog
from discreet.server.front.bodies import BodyRoute
from discreet.server.front.errors import RESPONSES, ClosedModel, FrontError, invalid
from discreet.server.wire import Charge, Message
from discreet.system.plain import show_as

Usual = Callable[[Key], Mapping[str, tuple[str, Charge]]]
"""Returns, by the name of a model that a key may ask, its vault and the most that a question costs."""
Limit = Annotated[int, Query(ge=1, le=1000, description="a whole number from 1 to 1000")]
Before = Annotated[str | None, Query(description="the id of a question: older receipts follow")]
_JSON_LINES = "application/x-ndjson"
_AS_LINES = {"content": {_JSON_LINES: {"schema": {"type": "string", "description": "A receipt in each line."}}}}


class MoreBudget(ClosedModel):
    """The body of a request for more budget."""

    epsilon: Annotated[float, Field(gt=0, le=LARGEST, description=f"a number above 0, at most {LARGEST:g}")]
    reason: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_REASON),
        Field(description=f"a text of 1 to {LONGEST_REASON} characters"),
    ]


class QuestionRate(ClosedModel):
    """So many questions in so many seconds at most."""

    questions: int
    seconds: float


class KeyBudget(MeterShown, Message):
    """What a key may cause, what its questions have spent, and how many more fit.

    Attributes:
        per_question: the most epsilon that it may pay for one question.
        expires: when it ends, ISO 8601.
        reserved: whether its cap is reserved in the grant.
        more: how many more questions of each model fit; null for a free model.
        where: tests of declared fields: each question is asked among the units that pass them.
    """

    object: Literal["discreet.budget"]
    key_id: str
    per_question: float | None
    rate: QuestionRate | None
    expires: str | None
    reserved: bool
    more: dict[str, int | None]
    where: tuple[str, ...]


@with_config(ClosedModel.model_config)
class ReceiptEntry(QuestionReceipt):
    """The receipt of a question."""

    object: Literal["discreet.receipt"]


class ReceiptPage(ClosedModel):
    """Receipts, the newest first. `next_before`: the id after which older ones follow; null if there are none."""

    object: Literal["list"]
    data: list[QuestionReceipt]
    next_before: str | None


class BudgetRequestEntry(BudgetRequest, Message):
    """A request for more budget."""

    object: Literal["discreet.budget_request"]


class BudgetRequestPage(ClosedModel):
    """Requests for more budget, the oldest first."""

    object: Literal["list"]
    data: list[BudgetRequestEntry]


def no_models(_: Key) -> Mapping[str, tuple[str, Charge]]:
    """Return no model: then a budget does not tell how many more questions fit."""
    return {}


def accounts_router(
    accounts: Accounts,
    log: AuditLog,
    current_key: Callable[..., Key | Awaitable[Key]],
    usual: Usual = no_models,
) -> APIRouter:
    """Return the router of the routes.

    Args:
        accounts: the keys and what they have spent.
        log: where requests are recorded.
        current_key: the dependency that returns the caller's key, or refuses the caller.
        usual: what a question of each model costs, to tell how many more fit.
    """
    router = APIRouter(route_class=BodyRoute, responses=RESPONSES)
    Caller = Annotated[Key, Depends(current_key)]  # noqa: N806 - a type

    @router.get("/v1/budget")
    async def budget(key: Caller) -> KeyBudget:
        """Tell what the key may cause, what its questions have spent, and how many more fit."""
        return await budget_of(accounts, key, usual(key))

    @router.get("/v1/receipts", response_model=ReceiptPage, responses={200: _AS_LINES})
    async def receipts(
        request: Request, key: Caller, limit: Limit = 100, before: Before = None
    ) -> ReceiptPage | Response:
        """List the key's receipts, the newest first; as JSON lines if the client accepts only these."""
        older = before.removeprefix("chatcmpl-") if before else None
        found = await asyncio.to_thread(accounts.receipts, key.id, before=older, limit=limit)
        if request.headers.get("accept", "").split(";")[0].strip() == _JSON_LINES:
            return Response("".join(json.dumps(one) + "\n" for one in found), media_type=_JSON_LINES)
        last = found[-1]["question_id"] if len(found) == limit else None
        return ReceiptPage(object="list", data=found, next_before=last)

    @router.get("/v1/receipts/{question_id}")
    async def receipt(question_id: str, key: Caller) -> ReceiptEntry:
        """Show the receipt of one question of the key."""
        found = await asyncio.to_thread(accounts.receipt, key.id, question_id.removeprefix("chatcmpl-"))
        if found is None:
            raise FrontError("not_found")
        return {"object": "discreet.receipt", **found}

    @router.get("/v1/budget/requests")
    async def list_requests(key: Caller) -> BudgetRequestPage:
        """List the key's requests for more budget, the oldest first."""
        found = await asyncio.to_thread(accounts.requests_of, key.id)
        return BudgetRequestPage(object="list", data=list(map(_entry, found)))

    @router.post("/v1/budget/requests", status_code=201)
    async def ask_for_more(body: MoreBudget, key: Caller) -> BudgetRequestEntry:
        """Ask the custodian for more budget."""
        try:
            made = await asyncio.to_thread(accounts.request, key.id, body.epsilon, body.reason)
        except UsageError:
            raise invalid("reason", "Too many requests are pending, or a value is out of range.") from None
        await asyncio.to_thread(log.append, key.id, "request", key.id, request=made.id, epsilon=made.epsilon)
        return _entry(made)

    return router


async def budget_of(accounts: Accounts, key: Key, usual: Mapping[str, tuple[str, Charge]]) -> KeyBudget:
    """Return the odometer of a key, with how many more questions of each model fit."""
    meter = await asyncio.to_thread(accounts.odometer, key.id)
    return show_as(
        KeyBudget,
        meter.shown(),
        object="discreet.budget",
        key_id=key.id,
        per_question=key.per_question,
        rate=QuestionRate(questions=key.rate[0], seconds=key.rate[1]) if key.rate else None,
        expires=key.expires,
        reserved=key.reserved,
        where=key.where,
        more={name: await asyncio.to_thread(meter.more, most, vault) for name, (vault, most) in usual.items()},
    )


def _entry(found: BudgetRequest) -> BudgetRequestEntry:
    return show_as(BudgetRequestEntry, found, object="discreet.budget_request")

"""GET /v1/budget, GET /v1/receipts, and /v1/budget/requests: what a key has spent, and how to ask for more.

All of it comes from the key's own receipts. Nothing here reads what a vault or a unit has left.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from discreet.errors import UsageError
from discreet.server.accounts import Accounts, Key, Meter
from discreet.server.accounts.requests import LARGEST, LONGEST_REASON
from discreet.server.accounts.sums import Charged
from discreet.server.audit_log import AuditLog
from discreet.server.front.errors import FrontError, invalid
from discreet.server.front.openapi import RECEIPTS, replies

Usual = Callable[[Key], Mapping[str, tuple[str, Charged]]]
"""Returns, by the name of a model that a key may ask, its vault and the most that a question costs."""
_DEFAULT, _MOST = 100, 1000
_JSON_LINES = "application/x-ndjson"
_FIELDS = {"epsilon", "reason"}


def no_models(_: Key) -> Mapping[str, tuple[str, Charged]]:
    """Return no model: then a budget does not tell how many more questions fit."""
    return {}


def accounts_router(
    accounts: Accounts,
    log: AuditLog,
    current_key: Callable[..., Key | Awaitable[Key]],
    read_body: Callable[[Request], Awaitable[bytes]],
    usual: Usual = no_models,
) -> APIRouter:
    """Return the router of the routes.

    Args:
        accounts: the keys and what they have spent.
        log: where requests are recorded.
        current_key: the dependency that returns the caller's key, or refuses the caller.
        read_body: returns the body of a request, or refuses it.
        usual: what a question of each model costs, to tell how many more fit.
    """
    router = APIRouter()
    Caller = Annotated[Key, Depends(current_key)]  # noqa: N806 - a type

    @router.get("/v1/budget", openapi_extra=replies("What the key may cause, and has spent."))
    async def budget(key: Caller) -> JSONResponse:
        """Tell what the key may cause, what its questions have spent, and how many more fit."""
        meter = await asyncio.to_thread(accounts.odometer, key.id)
        return JSONResponse(await asyncio.to_thread(describe_budget, key, meter, usual(key)))

    @router.get("/v1/receipts", openapi_extra=RECEIPTS)
    async def receipts(request: Request, key: Caller) -> Response:
        """List the key's receipts, the newest first; as JSON lines if the client accepts only these."""
        limit, before = _page(request)
        found = await asyncio.to_thread(accounts.receipts, key.id, before=before, limit=limit)
        if request.headers.get("accept", "").split(";")[0].strip() == _JSON_LINES:
            return Response("".join(json.dumps(one) + "\n" for one in found), media_type=_JSON_LINES)
        last = found[-1]["question_id"] if len(found) == limit else None
        return JSONResponse({"object": "list", "data": found, "next_before": last})

    @router.get("/v1/receipts/{question_id}", openapi_extra=replies("A receipt.", "404"))
    async def receipt(question_id: str, key: Caller) -> JSONResponse:
        """Show the receipt of one question of the key."""
        found = await asyncio.to_thread(accounts.receipt, key.id, question_id.removeprefix("chatcmpl-"))
        if found is None:
            raise FrontError("not_found")
        return JSONResponse({"object": "discreet.receipt"} | found)

    @router.get("/v1/budget/requests", openapi_extra=replies("Requests, the oldest first."))
    async def list_requests(key: Caller) -> JSONResponse:
        """List the key's requests for more budget, the oldest first."""
        found = await asyncio.to_thread(accounts.requests_of, key.id)
        return JSONResponse({"object": "list", "data": [one.describe() for one in found]})

    @router.post("/v1/budget/requests", status_code=201, openapi_extra={"requestBody": _BODY} | _MADE)
    async def ask_for_more(request: Request, key: Caller) -> JSONResponse:
        """Ask the custodian for more budget."""
        epsilon, reason = _parse(await read_body(request))
        try:
            made = await asyncio.to_thread(accounts.request, key.id, epsilon, reason)
        except UsageError:
            raise invalid("reason", "Too many requests are pending, or a value is out of range.") from None
        await asyncio.to_thread(log.append, key.id, "request", key.id, request=made.id, epsilon=made.epsilon)
        return JSONResponse({"object": "discreet.budget_request"} | made.describe(), 201)

    return router


def describe_budget(key: Key, meter: Meter, usual: Mapping[str, tuple[str, Charged]]) -> dict[str, Any]:
    """Return an odometer as plain data, with how many more questions of each model fit; null for a free model."""
    more = {name: meter.more(most, vault) for name, (vault, most) in usual.items()}
    limits = {
        "per_question": key.per_question,
        "rate": {"questions": key.rate[0], "seconds": key.rate[1]} if key.rate else None,
        "expires": key.expires.isoformat(timespec="seconds") if key.expires else None,
        "reserved": key.reserved,
    }
    return {"object": "discreet.budget", "key_id": key.id} | meter.describe() | limits | {"more": more}


def _page(request: Request) -> tuple[int, str | None]:
    text, before = request.query_params.get("limit", str(_DEFAULT)), request.query_params.get("before")
    if not (text.isdecimal() and len(text) <= len(str(_MOST)) and 1 <= int(text) <= _MOST):
        raise invalid("limit", f"It is a whole number from 1 to {_MOST}.")
    return int(text), before.removeprefix("chatcmpl-") if before else None


def _parse(body: bytes) -> tuple[float, str]:
    """Return epsilon and the reason of a request. What the client sent is never repeated."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise invalid(None, "The body is no JSON.") from None
    if not isinstance(content, dict) or not content.keys() >= _FIELDS:
        raise invalid(None, "The body is an object with epsilon and reason.")
    epsilon, reason = content["epsilon"], content["reason"]
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0 < epsilon <= LARGEST:
        raise invalid("epsilon", "It is a number above 0.")
    if not isinstance(reason, str) or not 0 < len(reason.strip()) <= LONGEST_REASON or not _is_text(reason):
        raise invalid("reason", f"It is a text of 1 to {LONGEST_REASON} characters.")
    return float(epsilon), reason


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


_BODY = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": sorted(_FIELDS),
                "properties": {
                    "epsilon": {"type": "number", "exclusiveMinimum": 0, "maximum": LARGEST},
                    "reason": {"type": "string", "minLength": 1, "maxLength": LONGEST_REASON},
                },
            }
        }
    },
}
_MADE = replies("The request was made.", "400", "408", "413", status="201")

"""GET /v1/models and POST /v1/estimate: what can be asked, and what it would cost. Nothing is paid here."""

import asyncio
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse

from discreet.server.accounts import Key
from discreet.server.front.bodies import BodyRoute
from discreet.server.front.catalog import Servable
from discreet.server.front.errors import RESPONSES, invalid
from discreet.server.front.requests import ChatBody, ChatRequest, request_of
from discreet.server.front.services import Services
from discreet.server.wire import Charge


def models_router(services: Services) -> APIRouter:
    """Return the router of the routes."""
    router = APIRouter(route_class=BodyRoute, responses=RESPONSES)

    @router.get("/v1/models", response_model=dict[str, Any])
    async def list_models(request: Request) -> JSONResponse:
        """List the models that the key may ask."""
        found = services.catalog.all(request.state.key)
        return JSONResponse({"object": "list", "data": [describe_model(model) for model in found]})

    @router.get("/v1/models/{model}", response_model=dict[str, Any])
    async def show_model(request: Request, model: str) -> JSONResponse:
        """Show one model that the key may ask."""
        return JSONResponse(describe_model(services.catalog.find(request.state.key, model)))

    @router.post("/v1/estimate", response_model=dict[str, Any])
    async def estimate(request: Request, body: ChatBody) -> JSONResponse:
        """Tell what a question would cost at most, from public values alone. Nothing is paid."""
        parsed = request_of(body)
        if parsed.turns:  # rewriting waits for its turn, and the reply of this route is not held back
            raise invalid("discreet.follow_up", "It must be 'as-is' here: a question is rewritten when it is asked.")
        return JSONResponse(await estimate_of(services, request.state.key, parsed))

    return router


def describe_model(model: Servable) -> dict[str, Any]:
    """Return a model as plain data."""
    most = model.model.most
    told = {
        "epsilon_most": most.epsilon,
        "delta": most.delta,
        "unit": model.vault.unit,
        "free": not most.is_something,
        "private": model.model.private,
        "algorithm": model.model.algorithm,
        "language": model.vault.language,
        "payment": model.vault.payment,
        "grant": {"epsilon": model.vault.epsilon, "delta": model.vault.delta},
    }
    return {"id": model.name, "object": "model", "created": 0, "owned_by": model.vault.name, "discreet": told}


async def estimate_of(services: Services, key: Key, parsed: ChatRequest) -> dict[str, Any]:
    """Return what a question would cost at most, and what the key would have left.

    It is made of public values: whether units can pay for the question is no part of it.
    """
    asked = services.asker.prepare(key, parsed)
    found = await services.asker.estimate(asked)
    most = Charge.nothing() if found.free else found.most
    meter = await asyncio.to_thread(services.accounts.odometer, key.id)
    vault = asked.model.vault.name
    fits = await asyncio.to_thread(meter.fits, most.spending, vault)
    limited = key.per_question is not None and most.epsilon > key.per_question
    none_left = meter.questions_left == 0 and most.is_something
    return {
        "object": "discreet.estimate",
        "model": asked.model.name,
        "epsilon_most": most.epsilon,
        "delta_most": most.delta,
        "free": found.free or not most.is_something,
        "understood": found.understood or None,
        "unit": asked.model.vault.unit,
        "fits": not most.is_something or (fits and not limited and not none_left),
        "key": {
            "granted": meter.granted,
            "spent": meter.spent,
            "left": meter.left,
            "left_after": meter.budget.left(meter.spending + most.spending),
            "more": await asyncio.to_thread(meter.more, found.most, vault),
        },
        "ignored": list(parsed.ignored),
    }

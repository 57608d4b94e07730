"""GET /v1/models and POST /v1/estimate: what can be asked, and what it would cost. Nothing is paid here."""

import asyncio
from typing import Literal

from fastapi import APIRouter
from starlette.requests import Request

from discreet.server.accounts import Key
from discreet.server.front.bodies import BodyRoute
from discreet.server.front.catalog import Servable
from discreet.server.front.errors import RESPONSES, ClosedModel, invalid
from discreet.server.front.pacing import UNPAID
from discreet.server.front.replies import KeyNumbers
from discreet.server.front.requests import ChatBody, ChatRequest
from discreet.server.front.services import Services
from discreet.server.wire import Charge


class Allowance(ClosedModel):
    """A grant of a vault."""

    epsilon: float
    delta: float


class ModelNumbers(ClosedModel):
    """What a model of a vault costs, and what it reads.

    Attributes:
        epsilon_most, delta: the most that a question costs any one unit.
        unit: the word for an individual.
        free: whether a question costs nothing.
        private: whether documents are read.
        algorithm: how it answers.
        language: the code of the language that it reads; "" if it is not known.
        payment: who pays, "unit" or "corpus".
        grant: of the vault.
    """

    epsilon_most: float
    delta: float
    unit: str
    free: bool
    private: bool
    algorithm: str
    language: str
    payment: str
    grant: Allowance


class ModelEntry(ClosedModel):
    """A model that the key may ask, as OpenAI describes one."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    discreet: ModelNumbers

    @classmethod
    def of(cls, model: Servable) -> "ModelEntry":
        """Return the entry of a model."""
        vault, most = model.vault, model.model.most
        told = ModelNumbers(
            epsilon_most=most.epsilon,
            delta=most.delta,
            unit=vault.unit,
            free=not most.is_something,
            private=model.model.private,
            algorithm=model.model.algorithm,
            language=vault.language,
            payment=vault.payment,
            grant=Allowance(epsilon=vault.epsilon, delta=vault.delta),
        )
        return cls(id=model.name, object="model", created=0, owned_by=vault.name, discreet=told)


class ModelList(ClosedModel):
    """The models that the key may ask."""

    object: Literal["list"]
    data: list[ModelEntry]


class KeyAfter(KeyNumbers):
    """What the key may still cause. `left_after`: the epsilon that is left after the question, at its most."""

    left_after: float


class QuestionEstimate(ClosedModel):
    """What a question would cost at most.

    Attributes:
        epsilon_most, delta_most: what any one unit pays at most.
        free: whether it costs nothing.
        understood: what is asked, as a request in words; null for a question that voters answer.
        unit: the word for an individual.
        fits: whether the key may ask it. Whether units can pay for it is no part of this.
        ignored: the fields of the request that changed nothing.
    """

    object: Literal["discreet.estimate"]
    model: str
    epsilon_most: float
    delta_most: float
    free: bool
    understood: str | None
    unit: str
    fits: bool
    key: KeyAfter
    ignored: list[str]


def models_router(services: Services) -> APIRouter:
    """Return the router of the routes."""
    router = APIRouter(route_class=BodyRoute, responses=RESPONSES)

    @router.get("/v1/models")
    async def list_models(request: Request) -> ModelList:
        """List the models that the key may ask."""
        return ModelList(object="list", data=[ModelEntry.of(one) for one in services.catalog.all(request.state.key)])

    @router.get("/v1/models/{model}")
    async def show_model(request: Request, model: str) -> ModelEntry:
        """Show one model that the key may ask."""
        return ModelEntry.of(services.catalog.find(request.state.key, model))

    @router.post("/v1/estimate")
    async def estimate(request: Request, body: ChatBody) -> QuestionEstimate:
        """Tell what a question would cost at most, from public values alone. Nothing is paid."""
        parsed = services.read(request.state.key, body)
        if parsed.turns:  # rewriting waits for its turn, and the reply of this route is not held back
            raise invalid("discreet.follow_up", "It must be 'as-is' here: a question is rewritten when it is asked.")
        return await estimate_of(services, request.state.key, parsed)

    return router


async def estimate_of(services: Services, key: Key, parsed: ChatRequest) -> QuestionEstimate:
    """Return what a question would cost at most, and what the key would have left.

    It is made of public values: whether units can pay for the question is no part of it.
    """
    asked = services.asker.prepare(key, parsed)
    services.asker.rates.count(key.id, UNPAID)
    found = await services.asker.estimate(asked)
    most = Charge.nothing() if found.free else found.most
    meter = await asyncio.to_thread(services.accounts.odometer, key.id)
    vault = asked.model.vault.name
    fits = await asyncio.to_thread(meter.fits, most.spending, vault)
    limited = key.per_question is not None and most.epsilon > key.per_question
    none_left = meter.questions_left == 0 and most.is_something
    return QuestionEstimate(
        object="discreet.estimate",
        model=asked.model.name,
        epsilon_most=most.epsilon,
        delta_most=most.delta,
        free=found.free or not most.is_something,
        understood=found.understood or None,
        unit=asked.model.vault.unit,
        fits=not most.is_something or (fits and not limited and not none_left),
        key=KeyAfter(
            granted=meter.granted,
            spent=meter.spent,
            left=meter.left,
            part=meter.part,
            left_after=meter.budget.left(meter.spending + most.spending),
            more=await asyncio.to_thread(meter.more, found.most, vault),
            where=list(key.where) or None,
        ),
        ignored=list(parsed.ignored),
    )

"""The routes for askers of this package: the calls of `served_model` and of `served_embedder` as JSON."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.requests import Request

from discreet.generation.model import Prompt
from discreet.generation.remote.served_model import ANSWERS, CHAT, DECODE, DESCRIBE, ENCODE
from discreet.retrieval.served_embedder import EMBED, MOST_TEXTS
from discreet.server.model_worker.serving import Serving


class Texts(BaseModel):
    """Texts to encode."""

    texts: list[str]


class Tokens(BaseModel):
    """Tokens to decode."""

    tokens: list[int]


class Chat(BaseModel):
    """A chat template to render."""

    system: str
    examples: list[tuple[str, str]]


class Rows(BaseModel):
    """The rows of one question: the padding of each, and its tokens."""

    shared: list[int]
    prompts: list[tuple[int, list[int]]]
    max_tokens: int
    all_steps: bool = True


class Embedded(BaseModel):
    """Texts to embed, and the name of the embedder."""

    embedder: str
    texts: list[str] = Field(max_length=MOST_TEXTS)


def exact_routes(serving: Serving) -> APIRouter:
    """Return the routes under /discreet."""
    routes, model = APIRouter(prefix="/discreet"), serving.model

    @routes.get(DESCRIBE)
    async def describe() -> dict[str, Any]:
        return model.describe()

    @routes.post(ENCODE)
    def encode(asked: Texts) -> dict[str, Any]:
        return model.reply(ENCODE, asked.model_dump())

    @routes.post(DECODE)
    def decode(asked: Tokens) -> dict[str, Any]:
        return model.reply(DECODE, asked.model_dump())

    @routes.post(CHAT)
    def chat(asked: Chat) -> dict[str, Any]:
        return model.reply(CHAT, asked.model_dump())

    @routes.post(ANSWERS)
    async def answers(request: Request, asked: Rows) -> dict[str, Any]:
        # Checked before the queue, too: rows that cannot be read wait for no turn.
        model.check_rows(asked.shared, [Prompt(tuple(own), pads) for pads, own in asked.prompts], asked.max_tokens)
        return await serving.compute(request, lambda: model.reply(ANSWERS, asked.model_dump()), serving.turns)

    @routes.post(EMBED)
    async def embed(request: Request, asked: Embedded) -> dict[str, Any]:
        return await serving.compute(request, lambda: serving.embedder.reply(**asked.model_dump()), serving.embedding)

    return routes

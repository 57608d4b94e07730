"""The routes for askers of this package: whole batches of token ids, so that answers are those of one process."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.requests import Request

from discreet.generation.model import Prompt
from discreet.server.model_worker.served_model import ServedModel
from discreet.server.model_worker.serving import Refusal, Serving

MOST_TOKENS = 4096
"""The longest answer."""
MOST_ROWS = 1024
"""The most rows of a question."""


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


def exact_routes(serving: Serving) -> APIRouter:
    """Return the routes under /discreet."""
    routes, model = APIRouter(prefix="/discreet"), serving.model

    @routes.get("/model")
    async def describe() -> dict[str, Any]:
        return model.describe()

    @routes.post("/encode")
    def encode(asked: Texts) -> dict[str, Any]:
        return {"tokens": [_encoded_or_none(model, text) for text in asked.texts]}

    @routes.post("/decode")
    def decode(asked: Tokens) -> dict[str, Any]:
        return {"text": model.decode(asked.tokens)}

    @routes.post("/chat")
    def chat(asked: Chat) -> dict[str, Any]:
        before, after = model.chat(asked.system, asked.examples)
        return {"before": before, "after": after}

    @routes.post("/answers")
    async def answers(request: Request, asked: Rows) -> dict[str, Any]:
        prompts = [Prompt(tuple(tokens), padding) for padding, tokens in asked.prompts]
        check_rows(serving, asked.shared, prompts, asked.max_tokens)
        written = await serving.compute(
            request, lambda: model.answers(asked.shared, prompts, asked.max_tokens, all_steps=asked.all_steps)
        )
        rows = [{"text": one.text, "tokens": list(one.tokens), "ended": one.ended} for one in written]
        return {"answers": rows, "digest": model.digest}

    return routes


def _encoded_or_none(model: ServedModel, text: str) -> list[int] | None:
    """Return the tokens of a text; None if the tokenizer fails with it, as the asker's own would."""
    try:
        return model.encode(text)
    except Exception:
        return None


def check_rows(serving: Serving, shared: list[int], prompts: list[Prompt], max_tokens: int) -> None:
    """Refuse rows that the model cannot read.

    Raises:
        Refusal: if there is no row, if rows have different lengths, or if they are too long.
    """
    model = serving.model
    lengths = {len(prompt.tokens) for prompt in prompts}
    if not all(0 <= prompt.padding <= len(prompt.tokens) for prompt in prompts) or len(prompts) > MOST_ROWS:
        raise Refusal(f"The padding of a row is in the row, and there are at most {MOST_ROWS} rows.")
    if len(lengths) != 1 or not 1 <= max_tokens <= MOST_TOKENS:
        raise Refusal(f"Rows have one length, and at most {MOST_TOKENS} tokens are written.")
    if len(shared) + max(lengths) + max_tokens > model.context_length:
        raise Refusal(f"The rows do not fit into the model's context of {model.context_length} tokens.")
    tokens = {*shared, *(token for prompt in prompts for token in prompt.tokens)}
    if not all(0 <= token < model.vocabulary_size for token in tokens):
        raise Refusal("A token is not in the model's vocabulary.")

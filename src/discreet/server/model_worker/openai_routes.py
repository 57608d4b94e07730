"""The routes of OpenAI's protocol: models, completions, and completions of a chat. Greedy, without a stream."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.requests import Request

from discreet.generation.answers import Written
from discreet.generation.model import Prompt
from discreet.generation.remote.served_model import Refusal
from discreet.server.model_worker.serving import Serving


class Asked(BaseModel):
    """The fields of both kinds of completions; others are ignored."""

    model: str = ""
    max_tokens: int = 16
    temperature: float = 0.0
    stream: bool = False
    n: int = 1
    stop: str | list[str] | None = None

    def check(self, name: str) -> None:
        """Refuse what the worker cannot do.

        Raises:
            Refusal: if another model, a stream, several answers or sampling are asked for.
        """
        if self.model not in ("", name):
            raise Refusal(f"There is no such model. This worker serves '{name}'.", 404)
        if self.stream or self.n != 1 or self.temperature != 0:
            raise Refusal("The worker completes greedily: temperature 0, n 1, and no stream.")

    def cut(self, written: Written) -> tuple[str, str]:
        """Return the text up to the first stop, and why it ended."""
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        places = [place for stop in stops if stop and (place := written.text.find(stop)) >= 0]
        if places:
            return written.text[: min(places)], "stop"
        return written.text, "stop" if written.ended else "length"


class Completion(Asked):
    """A request for completions: a text, texts, tokens, or several lists of tokens."""

    prompt: str | list[int] | list[str] | list[list[int]]


class Message(BaseModel):
    """A message of a chat."""

    role: str
    content: str


class ChatCompletion(Asked):
    """A request for the completion of a chat."""

    messages: list[Message]


def openai_routes(serving: Serving) -> APIRouter:
    """Return the routes under /v1."""
    routes, model = APIRouter(prefix="/v1"), serving.model

    @routes.get("/models")
    async def models() -> dict[str, Any]:
        card = {"id": model.name, "object": "model", "owned_by": "discreet", "max_model_len": model.context_length}
        return {"object": "list", "data": [card]}

    async def write(request: Request, asked: Asked, rows: list[list[int]]) -> list[tuple[str, str]]:
        prompts = [Prompt(tuple(row or [model.pad_token]), 0) for row in rows]
        for prompt in prompts:
            model.check_rows([], [prompt], asked.max_tokens)
        # Each in a batch of its own: an answer depends on its own prompt alone.
        done = await serving.compute(
            request, lambda: [model.answers((), [prompt], asked.max_tokens)[0] for prompt in prompts], serving.turns
        )
        return [asked.cut(written) for written in done]

    @routes.post("/completions")
    async def complete(request: Request, asked: Completion) -> dict[str, Any]:
        asked.check(model.name)
        found = await write(request, asked, _rows(serving, asked.prompt))
        choices = [
            {"index": at, "text": text, "finish_reason": reason, "logprobs": None}
            for at, (text, reason) in enumerate(found)
        ]
        return {"id": "", "object": "text_completion", "created": 0, "model": model.name, "choices": choices}

    @routes.post("/chat/completions")
    async def complete_chat(request: Request, asked: ChatCompletion) -> dict[str, Any]:
        asked.check(model.name)
        ((text, reason),) = await write(request, asked, [_chat_row(serving, asked.messages)])
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return {"id": "", "object": "chat.completion", "created": 0, "model": model.name, "choices": [choice]}

    return routes


def _rows(serving: Serving, prompt: str | list[int] | list[str] | list[list[int]]) -> list[list[int]]:
    if isinstance(prompt, str):
        return [serving.model.encode(prompt)]
    if prompt and isinstance(prompt[0], int):
        return [[int(token) for token in prompt if isinstance(token, int)]]
    return [serving.model.encode(one) if isinstance(one, str) else [*one] for one in prompt if not isinstance(one, int)]


def _chat_row(serving: Serving, messages: list[Message]) -> list[int]:
    """Return the tokens of a chat: an optional system message, pairs of user and assistant, and the last user's.

    Raises:
        Refusal: if the messages are in another order.
    """
    system = messages[0].content if messages and messages[0].role == "system" else ""
    said = [one for one in messages if one.role != "system"]
    begun = said.pop().content if said and said[-1].role == "assistant" else ""
    roles = [one.role for one in said]
    if roles != ["user", "assistant"] * (len(said) // 2) + ["user"]:
        raise Refusal("A chat is an optional system message, and turns of user and assistant.")
    examples = [(said[at].content, said[at + 1].content) for at in range(0, len(said) - 1, 2)]
    before, after = serving.model.chat(system, examples)
    return [*before, *serving.model.encode(said[-1].content), *after, *serving.model.encode(begun)]

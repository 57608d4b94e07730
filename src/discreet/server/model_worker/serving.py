"""What all routes of a worker share: the model, the embedder, their queues, and errors without a text of a request."""

import asyncio
import hmac
from collections.abc import Callable
from typing import TypeVar

from starlette.requests import Request

from discreet.generation.remote.endpoint import KEY, read_key
from discreet.generation.remote.served_model import Refusal, ServedModel
from discreet.retrieval.served_embedder import ServedEmbedder
from discreet.server.model_worker.turns import JobFailed, Turns

R = TypeVar("R")
_LOOK = 0.5
"""Seconds after which it is checked whether an asker that waits has left."""


class Serving:
    """The model and the embedder of a worker, and the queue before each.

    Attributes:
        model: the language model.
        embedder: the embedder, for questions.
        turns: the queue before the model.
        embedding: the queue before the embedder. A question's vector takes milliseconds, and waits for no answer.
    """

    def __init__(self, model: ServedModel, embedder: ServedEmbedder) -> None:
        self.model, self.embedder = model, embedder
        self.turns, self.embedding = Turns("model"), Turns("embedder")
        self._key = read_key()

    def check_key(self, request: Request) -> None:
        """Refuse a request without the key, if the worker has one.

        Raises:
            Refusal: if the key is missing or wrong.
        """
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self._key and not hmac.compare_digest(given.encode(), self._key.encode()):
            raise Refusal(f"The key is missing or wrong. Set {KEY} as the worker has it.", 401)

    async def compute(self, request: Request, job: Callable[[], R], turns: Turns) -> R:
        """Return the result of a job in its turn of a queue; drop the job if its asker leaves before.

        Raises:
            Refusal: if the job fails.
        """
        done = turns.put(job)
        waiting = asyncio.wrap_future(done)
        while not (await asyncio.wait({waiting}, timeout=_LOOK))[0]:
            if await request.is_disconnected() and done.cancel():
                raise Refusal("The asker left.", 499)
        try:
            return waiting.result()
        except JobFailed as error:
            raise Refusal(f"The worker failed with {error}.", 500) from None

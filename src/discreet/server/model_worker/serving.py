"""What all routes of a model worker share: the model, its queue, and errors without a text of a request."""

import asyncio
import hmac
from collections.abc import Callable
from typing import TypeVar

from starlette.requests import Request

from discreet.generation.remote.endpoint import KEY, read_key
from discreet.generation.remote.served_model import Refusal, ServedModel
from discreet.server.model_worker.turns import JobFailed, Turns

R = TypeVar("R")
_LOOK = 0.5
"""Seconds after which it is checked whether an asker that waits has left."""


class Serving:
    """The model of a worker, and the queue before it."""

    def __init__(self, model: ServedModel) -> None:
        self.model = model
        self._turns = Turns()
        self._key = read_key()

    def check_key(self, request: Request) -> None:
        """Refuse a request without the key, if the worker has one.

        Raises:
            Refusal: if the key is missing or wrong.
        """
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self._key and not hmac.compare_digest(given.encode(), self._key.encode()):
            raise Refusal(f"The key is missing or wrong. Set {KEY} as the worker has it.", 401)

    async def compute(self, request: Request, job: Callable[[], R]) -> R:
        """Return the result of a job in its turn; drop the job if its asker leaves before.

        Raises:
            Refusal: if the job fails.
        """
        done = self._turns.put(job)
        waiting = asyncio.wrap_future(done)
        while not (await asyncio.wait({waiting}, timeout=_LOOK))[0]:
            if await request.is_disconnected() and done.cancel():
                raise Refusal("The asker left.", 499)
        try:
            return waiting.result()
        except JobFailed as error:
            raise Refusal(f"The model failed with {error}.", 500) from None

"""A model worker with a toy model: python -m tests.server.model_worker.worker SOCKET|PORT [SLEEP] [DEFAULT] [EMBEDDER].

With the embedder "none" it is as one of an older version: it embeds nothing.
"""

import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from discreet.generation.model import Prompt
from discreet.generation.toy import ToyDecoding, ToyModel
from discreet.retrieval.served_embedder import EMBED
from discreet.server.model_worker.app import create_app
from discreet.server.model_worker.main import bind_port, bind_socket, serve


class SlowModel(ToyModel):
    """A toy model that takes a while for each batch, and longer for the word `stall`."""

    def __init__(self, seconds: float, default: str, vocabulary: Sequence[str] = ()) -> None:
        super().__init__(vocabulary, default, size=100_000 + len(default))  # so that its digest tells the default
        self.seconds = seconds

    def encode(self, text: str) -> list[int]:
        """Fail with one word, as a tokenizer may."""
        if text == "unreadable":
            raise RuntimeError
        return super().encode(text)

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> ToyDecoding:
        time.sleep(self.seconds)
        if any("stall" in self.decode(prompt.tokens) for prompt in prompts):
            time.sleep(60)
        return super().start(shared, prompts, max_tokens)


async def embed_nothing(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    """Answer as a worker of an older version does, which has no route for the embedder."""
    if request.url.path == f"/discreet{EMBED}":
        return JSONResponse({"detail": "Not Found"}, 404)
    return await call_next(request)


if __name__ == "__main__":
    place, seconds, default, embedder = [
        *sys.argv[1:],
        *("", "0", "nothing known", "minilm+words")[len(sys.argv) - 1 :],
    ]
    listener = bind_port("127.0.0.1", int(place)) if place.isdigit() else bind_socket(Path(place))
    app = create_app(SlowModel(float(seconds), default), embedder)
    if embedder == "none":
        app.middleware("http")(embed_nothing)
    sys.exit(serve(app, listener, lambda: print(listener.getsockname(), flush=True)))

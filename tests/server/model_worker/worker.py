"""A model worker with a toy model: python -m tests.server.model_worker.worker SOCKET|PORT [SLEEP] [DEFAULT]."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from discreet.generation.model import Prompt
from discreet.generation.toy import ToyDecoding, ToyModel
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


if __name__ == "__main__":
    place, seconds, default = [*sys.argv[1:], *("", "0", "nothing known")[len(sys.argv) - 1 :]]
    listener = bind_port("127.0.0.1", int(place)) if place.isdigit() else bind_socket(Path(place))
    model = SlowModel(float(seconds), default)
    sys.exit(serve(create_app(model), listener, lambda: print(listener.getsockname(), flush=True)))

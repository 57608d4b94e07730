"""A language model that remembers: for experiments that ask the same question many times.

With the same documents and the same tokens so far, the voters' next tokens are the same. An experiment over
several epsilons and seeds retraces the same paths; this wrapper computes each path once. Not for a vault in use:
a cache keyed by documents shows in the time that an answer takes.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.generation.model import Decoding, LanguageModel, Prompt

Path = tuple[int | tuple[int, ...], ...]
"""What was appended: one token for all rows, or one for each."""


class RememberingModel:
    """Wraps a `LanguageModel`. Remembers the paths of the batches of prompts that were used last.

    Args:
        model: the model.
        rows: how many prompts the batches remembered may hold together; each keeps its KV cache.
    """

    def __init__(self, model: LanguageModel, rows: int = 300) -> None:
        self._model, self._most = model, rows
        self.name, self.context = model.name, model.context
        self.end_tokens, self.pad_token = model.end_tokens, model.pad_token
        self._known: dict[tuple[tuple[int, ...], tuple[Prompt, ...], int], _Paths] = {}

    @property
    def vocabulary_size(self) -> int:
        """As the model's."""
        return self._model.vocabulary_size

    def encode(self, text: str) -> list[int]:
        """As the model's."""
        return self._model.encode(text)

    def decode(self, tokens: Sequence[int]) -> str:
        """As the model's."""
        return self._model.decode(tokens)

    def chat(self, system: str, examples: Sequence[tuple[str, str]]) -> tuple[list[int], list[int]]:
        """As the model's."""
        return self._model.chat(system, examples)

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> "_Remembered":
        """Begin decoding; the order of prompts does not matter to what is remembered."""
        order = sorted(range(len(prompts)), key=lambda row: prompts[row].tokens)
        key = (tuple(shared), tuple(prompts[row] for row in order), max_tokens)
        paths = self._known.pop(key, None)
        self._known[key] = paths or _Paths(partial(self._model.start, *key))  # now the last one
        while len(self._known) > 1 and sum(len(known[1]) for known in self._known) > self._most:
            self._known.pop(next(iter(self._known)))
        place = np.empty(len(prompts), dtype=np.int64)
        place[order] = np.arange(len(prompts))
        return _Remembered(self._known[key], place)


class _Paths:
    """The best next tokens after every path that was walked, for one batch of prompts."""

    def __init__(self, start: Callable[[], Decoding]) -> None:
        self._start = start
        self._best: dict[Path, NDArray[np.int64]] = {}
        self._decoding: Decoding | None = None
        self._at: Path = ()

    def best(self, path: Path) -> NDArray[np.int64]:
        """The best next token of each row after `path`."""
        if path not in self._best:
            self._walk(path)
        return self._best[path]

    def _walk(self, path: Path) -> None:
        if self._decoding is None:
            self._decoding = self._start()
        shared = 0
        while shared < min(len(path), len(self._at)) and path[shared] == self._at[shared]:
            shared += 1
        if shared < len(self._at):
            # One step further back and forth again, so that the decoding's logits are those of the path.
            shared = max(0, shared - 1)
            self._decoding.truncate(shared)
        for step in path[shared:]:
            if isinstance(step, int):
                self._decoding.append(step)
            else:
                self._decoding.append_each(step)
        self._at = path
        self._best[path] = self._decoding.best()


class _Remembered:
    """A `Decoding` that walks remembered paths."""

    def __init__(self, paths: _Paths, place: NDArray[np.int64]) -> None:
        self._paths, self._place = paths, place
        self._path: Path = ()

    def best(self) -> NDArray[np.int64]:
        """The best next token of each row."""
        return self._paths.best(self._path)[self._place]

    def append(self, token: int) -> None:
        """Continue every row with `token`."""
        self._path = (*self._path, int(token))

    def append_each(self, tokens: Sequence[int]) -> None:
        """Continue every row with a token of its own."""
        step = np.empty(len(tokens), dtype=np.int64)
        step[self._place] = tokens
        self._path = (*self._path, tuple(step.tolist()))

    def truncate(self, length: int) -> None:
        """Back to the first `length` tokens."""
        self._path = self._path[:length]

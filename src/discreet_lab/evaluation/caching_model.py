"""A language model with a cache, for experiments that ask the same questions many times.

A row of a batch is a function of its own prompt and of the tokens appended to it. An experiment over several epsilons
and seeds reads the same documents again, beside others: this wrapper computes each row once.
A batch of the wrapper may have fewer rows than the batch of the experiment, and another number of rows may round in
another way. The tokens are the same, unless two tokens are equally likely up to rounding. Do not use it in a vault that
answers questions: the time of an answer would reveal cached documents.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.generation.model import Decoding, Prompt, VotingModel
from discreet.generation.wrapping import WrappedModel

Path = tuple[int, ...]
"""The tokens appended to a row."""
Key = tuple[tuple[int, ...], Prompt, int]
"""What comes before a row's own prompt, the prompt, and the most tokens."""


class CachingModel(WrappedModel):
    """A wrapped `VotingModel` that keeps every row's tokens, and the KV caches that were used last.

    Args:
        model: the model.
        rows: the maximum number of rows of all KV caches.
    """

    def __init__(self, model: VotingModel, rows: int = 300) -> None:
        super().__init__(model)
        self._most = rows
        self._known: dict[Key, _Row] = {}
        self._batches: list[_Batch] = []  # the last used comes last

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> "_Remembered":
        """Begin decoding; compute nothing before it is requested."""
        keys = [(tuple(shared), prompt, max_tokens) for prompt in prompts]
        return _Remembered(self, [self._known.setdefault(key, _Row(key)) for key in keys])

    @property
    def tokens(self) -> dict[Key, dict[Path, int]]:
        """The best next tokens that are known: for each row, after every path that was walked."""
        return {key: row.best for key, row in self._known.items()}

    def remember(self, tokens: Mapping[Key, Mapping[Path, int]]) -> None:
        """Add `tokens` of an earlier experiment with the same model. Do not keep them with private texts."""
        for key, best in tokens.items():
            self._known.setdefault(key, _Row(key)).best.update(best)

    def _learn(self, wanted: dict["_Row", Path]) -> None:
        """Compute the next token of rows after their paths, all of one length."""
        homeless = [row for row in wanted if row.batch is None]
        if homeless:
            self._batches.append(_Batch(self._model, homeless))
        for batch in {row.batch: None for row in wanted}:
            assert batch is not None
            self._batches.remove(batch)
            self._batches.append(batch)
            batch.walk(wanted)
        while len(self._batches) > 1 and sum(len(batch.rows) for batch in self._batches) > self._most:
            self._batches.pop(0).leave()


class _Row:
    """One prompt: its best next token after every path that was walked, and the batch whose cache has it."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.best: dict[Path, int] = {}
        self.batch: _Batch | None = None


class _Batch:
    """Rows that are decoded together."""

    def __init__(self, model: VotingModel, rows: Sequence[_Row]) -> None:
        self.rows = list(rows)
        shared, _, max_tokens = rows[0].key
        self._decoding: Decoding = model.start(shared, [row.key[1] for row in rows], max_tokens)
        self._at: list[Path] = [()] * len(rows)
        self._fill = model.pad_token
        for row in rows:
            row.batch = self
        self._note()

    def walk(self, wanted: dict[_Row, Path]) -> None:
        """Move the wanted rows to their paths; move the other rows of the batch as little as possible."""
        length = len(next(iter(wanted.values())))
        paths = [
            wanted[row] if row in wanted else (at + (self._fill,) * length)[:length]
            for row, at in zip(self.rows, self._at, strict=True)
        ]
        same = min(_common(path, at) for path, at in zip(paths, self._at, strict=True))
        if same < len(self._at[0]):
            # One more step back, and one append, so that the logits are those of the path.
            same = max(0, same - 1)
            self._decoding.truncate(same)
        for step in range(same, length):
            self._decoding.append_each([path[step] for path in paths])
            self._at = [path[: step + 1] for path in paths]
            self._note()

    def leave(self) -> None:
        """Forget the cache."""
        for row in self.rows:
            row.batch = None

    def _note(self) -> None:
        for row, at, token in zip(self.rows, self._at, self._decoding.best().tolist(), strict=True):
            row.best[at] = token


def _common(one: Path, other: Path) -> int:
    """Return the number of tokens in the common beginning of two paths."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


class _Remembered:
    """A `Decoding` that reads rows from the cache."""

    def __init__(self, model: CachingModel, rows: Sequence[_Row]) -> None:
        self._model, self._rows = model, rows
        self._paths: list[Path] = [()] * len(rows)

    def best(self) -> NDArray[np.int64]:
        """Return the best next token of each row; the end token again for a row that has ended."""
        at = list(zip(self._rows, self._paths, strict=True))
        while unknown := {row: path for row, path in at if path not in row.best and self._end(path) is None}:
            # Rows with one prompt may have gone different ways: one way at a time.
            self._model._learn(unknown)
        ends = [self._end(path) for path in self._paths]
        return np.array(
            [row.best[path] if end is None else end for (row, path), end in zip(at, ends, strict=True)], dtype=np.int64
        )

    def _end(self, path: Path) -> int | None:
        """Return the end token in a path; the tokens after it are never used."""
        return next((token for token in path if token in self._model.end_tokens), None)

    def append(self, token: int) -> None:
        """Continue every row with `token`."""
        self.append_each([int(token)] * len(self._rows))

    def append_each(self, tokens: Sequence[int]) -> None:
        """Continue every row with a token of its own."""
        self._paths = [(*path, int(token)) for path, token in zip(self._paths, tokens, strict=True)]

    def truncate(self, length: int) -> None:
        """Forget all but the first `length` tokens."""
        self._paths = [path[:length] for path in self._paths]

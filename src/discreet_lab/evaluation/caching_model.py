"""A language model with a cache, for experiments that ask the same questions many times.

A row of a batch is a function of its own prompt and of the tokens appended to it. An experiment over several epsilons
and seeds reads the same documents again, beside others: this wrapper computes each row once.
A batch of the wrapper may have fewer rows than the batch of the experiment, and another number of rows may round in
another way. The tokens are the same, unless two tokens are equally likely up to rounding. Do not use it in a vault that
answers questions: the time of an answer would reveal cached documents.
A file can keep the tokens, so that a run of hours that was broken off resumes where it was.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path as FilePath

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.models.capabilities import probe
from discreet.models.completer import WrappedModel
from discreet.models.protocol import Decoding, Prompt, VotingModel

Path = tuple[int, ...]
"""The tokens appended to a row."""
Key = tuple[tuple[int, ...], Prompt, int]
"""What comes before a row's own prompt, the prompt, and the most tokens."""


class CachingModel(WrappedModel):
    """A wrapped `VotingModel` that keeps every row's tokens, and the KV caches that were used last.

    Args:
        model: the model.
        rows: the maximum number of rows of all KV caches.
        kept: the file that keeps the tokens, made if it is not there; None to keep them in memory alone.

    Raises:
        UsageError: if the file is of another model or another kind of machine, or cannot be used.
    """

    def __init__(self, model: VotingModel, rows: int = 300, kept: FilePath | None = None) -> None:
        super().__init__(model)
        self._most = rows
        self._kept = None if kept is None else _KeptTokens(kept, model)
        self._known: dict[Key, _Row] = {}
        self._batches: list[_Batch] = []  # the last used comes last

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> "_Remembered":
        """Begin decoding; compute nothing before it is requested."""
        keys = [(tuple(shared), prompt, max_tokens) for prompt in prompts]
        return _Remembered(self, [self._known.setdefault(key, _Row(key)) for key in keys])

    def _is_known(self, row: "_Row", path: Path) -> bool:
        """Return whether the next token of a row after a path is known, from the file as well."""
        if path not in row.best and self._kept is not None and (token := self._kept.find(row.key, path)) is not None:
            row.best[path] = token
        return path in row.best

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
        if self._kept is not None:
            self._kept.add([(row.key, path, row.best[path]) for row, path in wanted.items()])
        while len(self._batches) > 1 and sum(len(batch.rows) for batch in self._batches) > self._most:
            self._batches.pop(0).leave()


class _KeptTokens:
    """A file of tokens by the digest of a row and of the path after which each came. It holds no text.

    It tells who has a document whether the document was read, so it is kept as a vault is. Records are appended; of one
    that a crash cut off, nothing is read.
    """

    _RECORD = np.dtype([("key", "S16"), ("token", "<i4")])

    def __init__(self, path: FilePath, model: VotingModel) -> None:
        head = b"discreet tokens\n" + hashlib.blake2b(probe(model).encode(), digest_size=16).digest()
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            held = path.read_bytes() or head
            whole = len(held) - (len(held) - len(head)) % self._RECORD.itemsize
            if held[: len(head)] != head:
                raise UsageError(
                    f"{path} keeps no tokens of '{model.name}' as this machine computes it. Give another file."
                )
            os.truncate(path, min(whole, os.fstat(self._file).st_size))
            if not os.fstat(self._file).st_size:
                os.write(self._file, head)
        except OSError as error:
            raise UsageError(f"{path} cannot be used: {error.strerror}. Give another file.") from error
        records = np.frombuffer(held[len(head) : whole], self._RECORD)
        # numpy drops zeros at the end of bytes; `ljust` puts them back.
        keys = (key.ljust(16, b"\0") for key in records["key"].tolist())
        self._tokens = dict(zip(keys, records["token"].tolist(), strict=True))

    def find(self, row: Key, path: Path) -> int | None:
        return self._tokens.get(_digest(row, path))

    def add(self, said: Sequence[tuple[Key, Path, int]]) -> None:
        tokens = {_digest(row, path): token for row, path, token in said}
        self._tokens |= tokens
        os.write(self._file, np.array(list(tokens.items()), self._RECORD).tobytes())


def _digest(row: Key, path: Path) -> bytes:
    shared, prompt, most = row
    named = shared, prompt.tokens, prompt.padding, most, path  # a prompt shows no tokens in its `repr`
    return hashlib.blake2b(repr(named).encode(), digest_size=16).digest()


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
        is_known = self._model._is_known
        while unknown := {row: path for row, path in at if self._end(path) is None and not is_known(row, path)}:
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

"""The datastore of kNN-LM: for each position of each text, the model's hidden state and the next token.

Khandelwal et al. (2019), Section 2. The states are projected as in Yao and Li (Algorithm 1). Their nearest neighbours
are found exactly, for many vectors at once.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadData, StoreError
from discreet.models.length_buckets import length_buckets
from discreet.models.prompts import encode_or_empty
from discreet.models.protocol import ContextModel, Prompt
from discreet_lab.projection import Transform

# --- brute force knn --------------------------------------------------------------------------------------------------


Vectors = NDArray[np.float32]
_AT_ONCE = 2**24
"""The number of distances that are held at a time: 64 MiB."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Keys for exhaustive search by Euclidean distance.

    Attributes:
        keys: shape (keys, size); may be mapped into memory.
        squares: the squared length of each key, shape (keys,).
    """

    keys: Vectors
    squares: Vectors

    @staticmethod
    def of(keys: Vectors) -> "Neighbours":
        """Return the neighbours of these keys, with their squared lengths."""
        return Neighbours(keys, np.einsum("ij,ij->i", keys, keys, dtype=np.float32))

    def nearest(self, vectors: Vectors, count: int) -> tuple[Vectors, NDArray[np.intp]]:
        """Return squared distances and indices of the nearest keys, nearest first, each of shape (vectors, count).

        Equally near keys come in the order of their indices. `count` is cut to the number of keys.
        """
        count = min(count, len(self.keys))
        rows = max(1, _AT_ONCE // max(1, len(self.keys)))
        parts = [self._nearest(vectors[start : start + rows], count) for start in range(0, len(vectors), rows)]
        if not parts:
            return np.empty((0, count), np.float32), np.empty((0, count), np.intp)
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def _nearest(self, vectors: Vectors, count: int) -> tuple[Vectors, NDArray[np.intp]]:
        # The length of the vector is the same for all keys. It is added at the end.
        scores = vectors @ np.asarray(self.keys).T
        scores *= -2
        scores += self.squares
        places = np.argpartition(scores, max(0, count - 1), axis=1)[:, :count] if count else np.empty((len(vectors), 0))
        places = np.sort(places.astype(np.intp), axis=1)
        nearest_scores = np.take_along_axis(scores, places, axis=1)
        order = np.argsort(nearest_scores, axis=1, kind="stable")
        own = np.einsum("ij,ij->i", vectors, vectors)[:, None]
        distances = np.maximum(np.take_along_axis(nearest_scores, order, axis=1) + own, 0)
        return np.asarray(distances, np.float32), np.take_along_axis(places, order, axis=1)


# --- datastore --------------------------------------------------------------------------------------------------------

# keys.f32      the states, transformed, float32 (entries, size), read through a memory map
# tokens.i32    the next tokens
# about.json    fingerprints of the model, the matrix and the texts, to detect a change

# The folder is as private as the documents. An erasure removes folders of the name datastore-*
# (`discreet.vault.components`).


Tokens = NDArray[np.int32]
ENTRIES, TEXT_TOKENS = 500_000, 512
"""The largest number of entries (the paper's n), and the length in tokens to which a text is cut."""
_ROWS = 32
"""The number of texts in a batch."""


@dataclass(frozen=True, eq=False)
class Datastore:
    """States and next tokens.

    Attributes:
        transform: the transform that was applied to the states.
        keys: the states, in a search index.
        tokens: the next tokens, shape (entries,).
    """

    transform: Transform
    keys: Neighbours = field(repr=False)
    tokens: Tokens = field(repr=False)

    def __len__(self) -> int:
        return len(self.tokens)


def build(
    texts: Sequence[str],
    model: ContextModel,
    transform: Transform,
    entries: int = ENTRIES,
) -> Datastore:
    """Return a datastore in memory, from the first `entries` positions of the texts, in order."""
    parts = list(_parts(texts, model, transform, entries))
    keys = np.concatenate([np.empty((0, transform.size), np.float32), *(keys for keys, _ in parts)])
    tokens = np.concatenate([np.empty(0, np.int32), *(tokens for _, tokens in parts)])
    return Datastore(transform, Neighbours.of(keys), tokens)


def kept(
    folder: Path, texts: Sequence[str], model: ContextModel, transform: Transform, entries: int = ENTRIES
) -> Datastore:
    """Load the datastore in `folder`. Build it there if it is missing, or if the texts have changed.

    Raises:
        BadData: if it was built with another model or matrix, or is damaged.
        StoreError: if it cannot be written.
    """
    about = _about(texts, model, transform, entries)
    if (folder / "about.json").exists():
        found = _read_about(folder)
        if found["collection"] == about["collection"]:
            return opened(folder, model, transform)
    part = folder.with_name(folder.name + ".part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True, mode=0o700)
        count = 0
        with (part / "keys.f32").open("wb") as keys_file, (part / "tokens.i32").open("wb") as tokens_file:
            for keys, tokens in _parts(texts, model, transform, entries):
                keys_file.write(keys.tobytes())
                tokens_file.write(tokens.tobytes())
                count += len(tokens)
        (part / "about.json").write_text(json.dumps(about | {"entries": count}))
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
    except OSError as error:
        raise StoreError(f"The datastore cannot be written: {error.strerror}. Make room, and ask again.") from error
    return opened(folder, model, transform)


def opened(folder: Path, model: ContextModel, transform: Transform) -> Datastore:
    """Load the datastore in `folder`.

    Raises:
        BadData: if it was built with another model or matrix, or is damaged.
    """
    about = _read_about(folder)
    for what, wanted in (("model", _model(model)), ("matrix", _digest(transform.fingerprint))):
        if about[what] != wanted:
            raise BadData(
                f"The datastore at {folder} was built with another {what}, so its states cannot be compared. "
                f"Use that {what}, or remove the folder and ask again to rebuild it."
            )
    count, size = int(about["entries"]), transform.size
    files = (folder / "keys.f32", count * size * 4), (folder / "tokens.i32", count * 4)
    if not all(file.exists() and file.stat().st_size == length for file, length in files):
        raise BadData(f"The datastore at {folder} is damaged. Remove the folder and ask again to rebuild it.")
    if not count:
        return Datastore(transform, Neighbours.of(np.empty((0, size), np.float32)), np.empty(0, np.int32))
    keys = np.memmap(files[0][0], dtype=np.float32, mode="r", shape=(count, size))
    return Datastore(transform, Neighbours.of(keys), np.fromfile(files[1][0], dtype=np.int32))


def _parts(
    texts: Sequence[str],
    model: ContextModel,
    transform: Transform,
    entries: int,
) -> Iterator[tuple[Vectors, Tokens]]:
    """Yield keys and tokens batch by batch, for the first `entries` positions. A batch has texts of similar length."""
    most = min(TEXT_TOKENS, model.context_length)
    read: list[list[int]] = []
    total = 0
    for text in texts:
        tokens = encode_or_empty(model, text)[:most][: entries - total + 1]
        if len(tokens) > 1:
            read.append(tokens)
            total += len(tokens) - 1
        if total >= entries:
            break
    for room, rows in length_buckets([len(tokens) for tokens in read], most, _ROWS):
        batch = [read[row] for row in rows]
        prompts = [Prompt((model.pad_token,) * (room - len(t)) + tuple(t), room - len(t)) for t in batch]
        states = model.hidden_states(prompts)
        # The state after all but the last token predicts the next one.
        keys = [states[row, room - len(t) : -1] for row, t in enumerate(batch)]
        yield transform.documents(np.concatenate(keys)), np.array([n for t in batch for n in t[1:]], dtype=np.int32)


def _about(texts: Sequence[str], model: ContextModel, transform: Transform, entries: int) -> dict[str, Any]:
    content = hashlib.sha256(str(entries).encode())
    for text in texts:
        content.update(hashlib.sha256(text.encode()).digest())
    return {
        "model": _model(model),
        "matrix": _digest(transform.fingerprint),
        "collection": content.hexdigest(),
        "size": transform.size,
    }


def _model(model: ContextModel) -> str:
    return f"{model.name} {model.state_size} {model.vocabulary_size}"


def _digest(fingerprint: str) -> str:
    return hashlib.sha256(fingerprint.encode()).hexdigest()


def _read_about(folder: Path) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads((folder / "about.json").read_text())
        if not {"model", "matrix", "collection", "entries"} <= dict(about).keys():
            raise ValueError
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise BadData(
            f"The datastore at {folder} is missing or damaged. Remove the folder and ask again to rebuild it."
        ) from error
    return about

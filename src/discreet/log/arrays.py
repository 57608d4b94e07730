"""Arrays with a header in one file, which is mapped into memory: the form of a snapshot.

A snapshot is a cache of a state. It may be deleted at any moment, and is never trusted: the check of a log replays all
rows and compares (replay.py). A process reads only the pages that it searches, and writes to copies of them in memory.
The file is written beside its place and then renamed, so a process never maps half of it.
"""

import json
import mmap
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Sequence[NDArray[Any]]
_MAGIC = b"discreet 1\0"
_PAD = 64


def pack(header: dict[str, Any], arrays: Arrays) -> bytes:
    """Return a header and arrays as bytes."""
    return b"".join(_pieces(header, arrays))


def unpack(content: bytearray | mmap.mmap) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """Return the header, and the arrays as views of `content`.

    Raises:
        ValueError: if the content is damaged.
    """
    if content[: len(_MAGIC)] != _MAGIC:
        raise ValueError("no arrays")
    start = len(_MAGIC) + 8
    size = int.from_bytes(content[len(_MAGIC) : start], "big")
    about = json.loads(bytes(content[start : start + size]))
    place, arrays = _padded(start + size), list[NDArray[Any]]()
    for kind, shape in about["arrays"]:
        count = int(np.prod(shape))
        array = np.frombuffer(content, dtype=kind, count=count, offset=place) if count else np.empty(0, dtype=kind)
        arrays.append(array.reshape(shape))
        place = _padded(place + count * np.dtype(kind).itemsize)
    return about["header"], arrays


def save(path: Path, header: dict[str, Any], arrays: Arrays) -> tuple[int, ...] | None:
    """Write a file at `path` that its owner alone may read. Return its identity.

    A full or read-only disk leaves the old file; then return None.
    """
    with suppress(OSError):
        file, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
        try:
            with os.fdopen(file, "wb") as written:
                for piece in _pieces(header, arrays):
                    written.write(piece)
            file_identity = identity(Path(name))
            os.replace(name, path)
            return file_identity
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    return None


def identity(path: Path) -> tuple[int, ...] | None:
    """Return what tells one file at `path` from another one; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def load(path: Path) -> tuple[dict[str, Any], list[NDArray[Any]]] | None:
    """Return the header of the file at `path`, and its mapped arrays; None if it is missing or damaged."""
    try:
        with path.open("rb") as file:
            return unpack(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _pieces(header: dict[str, Any], arrays: Arrays) -> list[bytes | memoryview]:
    about = {"header": header, "arrays": [[array.dtype.str, list(array.shape)] for array in arrays]}
    named = json.dumps(about).encode()
    head = _MAGIC + len(named).to_bytes(8, "big") + named
    pieces: list[bytes | memoryview] = [head.ljust(_padded(len(head)), b"\0")]
    for array in arrays:
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        pieces += [content.data, bytes(_padded(len(content)) - len(content))]
    return pieces


def _padded(size: int) -> int:
    return -(-size // _PAD) * _PAD

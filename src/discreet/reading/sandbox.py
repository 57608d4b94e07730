"""Processes that read files of office programs. Each file has a time limit, and a failure affects only its own file."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any

from discreet.reading.sandboxed import Wanted

SECONDS = 60.0
"""The time limit for each file; with OCR, for each page."""
STARTING = 300.0
"""The time limit for the start of a process, which loads its libraries."""
LARGEST = 2**27
"""The largest file, in bytes."""
LARGEST_FRAME = 2**28
SERVED = 500
"""The number of files that one process reads before a new process replaces it."""
_GROUPS = (("pdf",), ("xlsx",), ("docx", "odt", "pptx", "html", "eml", "mbox"))
"""The formats that one process reads, grouped by library."""
_CODES = {
    "damaged": "damaged, or of another format than its suffix states",
    "encrypted": "encrypted: save it without a password",
    "encrypted_or_old": "encrypted, or in a format from before 2007: save it again without a password",
    "too_large": "too large, or it needs too much memory: split it into several files",
    "doubtful": "its encoding is in doubt. Give it: --encoding NAME",
}
_REASONS = {
    **_CODES,
    "empty": "empty",
    "too_long": "reading takes too long: split it into several files",
    "died": "the reading process ended: the file is damaged, or needs too much memory",
    "unsound": "damaged",
}


class Failed(Exception):  # noqa: N818 - it is a fact about a file
    """A file that could not be read. The message is one of a few codes."""

    @property
    def reason(self) -> str:
        """The reason in words."""
        return _REASONS[str(self)]


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        Failed: if it is empty or too large.
    """
    with path.open("rb") as opened:
        data = opened.read(LARGEST + 1)
    if not data or len(data) > LARGEST:
        raise Failed("too_large" if data else "empty")
    return data


class Sandbox:
    """A set of processes that read documents. They start at first use, and end with the `with` block.

    Args:
        seconds: the time limit for each file.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._workers: dict[tuple[str, ...], _Worker] = {}

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for group in [*self._workers]:
            self._workers.pop(group).end()

    def frames(self, kind: str, data: bytes, wanted: Wanted | None = None) -> Iterator[dict[str, Any]]:
        """Read a file of a format in the form that is wanted.

        Yields:
            the frames of `sandboxed.worker`.

        Raises:
            Failed: if the file is damaged, encrypted or too large, or needs too much memory or time.
        """
        wanted = wanted or Wanted()
        group: tuple[str, ...] = next(group for group in _GROUPS if kind in group)
        group += ("ocr",) * (kind == "pdf" and wanted.ocr)
        worker = self._workers.get(group)
        if worker is None or worker.served >= SERVED:
            if worker:
                worker.end()
            worker = self._workers[group] = _Worker(group)
        sound = False
        try:
            yield from worker.read({"kind": kind, **asdict(wanted)}, data, self.seconds)
            sound = True
        except Failed as failure:
            sound = str(failure) in _CODES
            raise
        finally:
            if not sound:  # the process died, was late, sent invalid frames, or has not finished the file
                worker.end()
                self._workers.pop(group, None)


class _Worker:
    def __init__(self, kinds: tuple[str, ...]) -> None:
        self.served, self._left = 0, 0.0
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-s", "-m", "discreet.reading.sandboxed.worker", *kinds],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.DEVNULL,
                cwd=os.sep,
                env={
                    "PYTHONPATH": os.pathsep.join(folder or os.getcwd() for folder in sys.path),
                    "PYTHONDONTWRITEBYTECODE": "1",
                },
                start_new_session=True,  # Ctrl-C must reach only the parent, which ends this process
            )

    def end(self) -> None:
        """End the process in any state."""
        self._process.kill()
        self._process.wait()
        self._socket.close()

    def read(self, request: dict[str, Any], data: bytes, seconds: float) -> Iterator[dict[str, Any]]:
        """Yield the frames of the process for a file. Its time counts while the parent waits for the process."""
        self._left = seconds if self.served else STARTING
        self.served += 1
        asked = json.dumps(request).encode()
        self._send(len(asked).to_bytes(4, "big") + asked + len(data).to_bytes(8, "big"))
        self._send(data)
        while "end" not in (frame := self._receive()):
            if "page" in frame:
                self._left = seconds
            else:
                yield frame
        if frame["end"]:
            raise Failed(frame["end"] if frame["end"] in [*_CODES] else "unsound")

    def _send(self, data: bytes) -> None:
        begun = monotonic()
        self._socket.settimeout(max(self._left, 0.001))
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise self._failed(error) from error
        self._left -= monotonic() - begun

    def _receive(self) -> dict[str, Any]:
        """Return the next frame."""
        try:
            size = int.from_bytes(self._exactly(4), "big")
            frame = json.loads(self._exactly(size)) if size <= LARGEST_FRAME else None
        except (OSError, ValueError, EOFError, RecursionError) as error:
            raise self._failed(error) from error
        if not isinstance(frame, dict):
            raise Failed("died")
        return frame

    def _exactly(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            begun = monotonic()
            self._socket.settimeout(max(self._left, 0.001))
            piece = self._socket.recv(min(size - len(found), 2**20))
            self._left -= monotonic() - begun
            if not piece:
                raise EOFError
            found += piece
        return bytes(found)

    def _failed(self, error: Exception) -> Failed:
        return Failed("too_long" if isinstance(error, TimeoutError) or self._left <= 0 else "died")

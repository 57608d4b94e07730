"""Processes that read files of office programs. Each file has a time limit, and a failure affects only its own file."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from threading import Timer
from time import monotonic
from types import TracebackType
from typing import IO, Any

from discreet.reading.sandboxed.extracted import Wanted

SECONDS = 60.0
"""The time limit for each file."""
LARGEST = 2**27
"""The largest file, in bytes."""
LARGEST_FRAME = 2**28
SERVED = 500
"""The number of files that one process reads before a new process replaces it."""
_GROUPS = (("pdf",), ("xlsx",), ("docx", "odt", "pptx", "html", "eml", "mbox"))
"""The formats that one process reads, grouped by library."""
_CODES = frozenset({"", "damaged", "encrypted", "encrypted_or_old", "too_large", "doubtful"})


class Failed(Exception):  # noqa: N818 - it is a fact about a file
    """A file that could not be read. The message is one of a few codes."""


class Sandbox:
    """A set of processes that read documents. They start at first use, and end with the `with` block.

    Args:
        seconds: the time limit for each file.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._workers: dict[tuple[str, ...], _Worker] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers.values():
            worker.end()
        self._workers.clear()
        if self._folder:
            self._folder.cleanup()
            self._folder = None

    def frames(self, kind: str, data: bytes, wanted: Wanted | None = None) -> Iterator[dict[str, Any]]:
        """Read a file of a format in the form that is wanted.

        Yields:
            the frames of `sandboxed.worker`.

        Raises:
            Failed: if the file is damaged, encrypted or too large, or needs too much memory or time.
        """
        group = next(group for group in _GROUPS if kind in group)
        worker = self._workers.get(group)
        if worker is None or worker.served >= SERVED:
            if worker:
                worker.end()
            worker = self._workers[group] = _Worker(group, self._own_folder())
        sound = False
        try:
            yield from worker.read({"kind": kind, **asdict(wanted or Wanted())}, data, self.seconds)
            sound = True
        except Failed as failure:
            sound = str(failure) in _CODES
            raise
        finally:
            if not sound:  # the process died, was late, sent invalid frames, or has not finished the file
                worker.end()
                del self._workers[group]

    def _own_folder(self) -> str:
        # kreuzberg unpacks and loads a library there. In a shared folder, another user could replace the library.
        self._folder = self._folder or tempfile.TemporaryDirectory(prefix="discreet-")
        return self._folder.name


class _Worker:
    def __init__(self, kinds: tuple[str, ...], folder: str) -> None:
        self.served = 0
        path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-s", "-m", "discreet.reading.sandboxed.worker", *kinds],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=os.sep,
            env={
                "PYTHONPATH": path,
                "PYTHONDONTWRITEBYTECODE": "1",
                "TMPDIR": folder,
                "HOME": folder,
            },
            start_new_session=True,  # Ctrl-C must reach only the parent, which ends this process
        )
        assert self._process.stdin
        assert self._process.stdout
        self._in, self._out = self._process.stdin, self._process.stdout

    def end(self) -> None:
        """End the process in any state."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._in, self._out):
            with contextlib.suppress(OSError):
                pipe.close()

    def read(self, request: dict[str, Any], data: bytes, seconds: float) -> Iterator[dict[str, Any]]:
        """Yield the frames of the process for a file."""
        self.served += 1
        with self._within(seconds) as clock:
            asked = json.dumps(request).encode()
            self._in.write(len(asked).to_bytes(4, "big") + asked + len(data).to_bytes(8, "big"))
            self._in.write(data)
            self._in.flush()
        while True:
            with self._within(clock.left) as clock:
                frame = _frame(self._out)
            if "end" in frame:
                break
            yield frame
        code = frame["end"]
        if code:
            raise Failed(code if code in _CODES else "unsound")

    @contextlib.contextmanager
    def _within(self, seconds: float) -> Iterator["_Clock"]:
        clock = _Clock(seconds)
        timer = Timer(seconds, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            yield clock
        except (OSError, ValueError, EOFError) as error:
            raise Failed("too_long" if clock.left <= 0 else "died") from error
        finally:
            timer.cancel()
            clock.stop()


class _Clock:
    """The rest of a file's time. Time counts only while the parent waits for the process."""

    def __init__(self, seconds: float) -> None:
        self._end = monotonic() + seconds
        self._stopped: float | None = None

    def stop(self) -> None:
        self._stopped = self.left

    @property
    def left(self) -> float:
        return self._stopped if self._stopped is not None else self._end - monotonic()


def _frame(pipe: IO[bytes]) -> dict[str, Any]:
    size = int.from_bytes(_exactly(pipe, 4), "big")
    if size > LARGEST_FRAME:
        raise ValueError("too large a frame")
    frame = json.loads(_exactly(pipe, size))
    if not isinstance(frame, dict):
        raise ValueError("not a frame")
    return frame


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    found = pipe.read(size)
    if len(found) < size:
        raise EOFError
    return found

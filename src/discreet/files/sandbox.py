"""Processes that read documents. Each file has a time limit, and a failure affects only its own file.

    python -m discreet.files.sandbox KIND ...

Such a process has limits of memory and time, and can open no file. Its standard input is a socket with messages: of a
request as JSON, and of the bytes of a file; and its answers as JSON. `{"page": 0}` states that the process is ready,
`{"page": number}` that a page was read; the last answer about a file is `{"end": reason}`. Other reasons than those of
a list are not believed, as an error message could contain text of the file.
"""

import codecs
import encodings
import io
import json
import os
import pkgutil
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib import import_module
from threading import Timer
from time import monotonic
from types import TracebackType
from typing import Any, TypeVar

from discreet.files import documents
from discreet.files.records import Doubtful, FoundFile, ReadingOptions, Unreadable, kind_of

_Form = TypeVar("_Form")

SECONDS = 60.0
"""The time limit for each file; with OCR, for each page."""
STARTING = 300.0
"""The time limit for the start of a process, which loads its libraries."""
LARGEST = 2**27
"""The largest file, in bytes."""
LARGEST_ANSWER = 2**28
SERVED = 500
"""The number of files that one process reads before a new process replaces it."""
_GROUPS = (("pdf",), ("xlsx",), ("docx", "odt", "pptx", "html", "eml", "mbox"))
"""The formats that one process reads, grouped by library."""
TOO_LONG = "reading takes too long: split it into several files"
DIED = "the reading process ended: the file is damaged, or needs too much memory"
UNSOUND = "damaged"
_DOUBTFUL = "its encoding is in doubt. Give it: --encoding NAME"
_BELIEVED = (documents.DAMAGED, documents.ENCRYPTED, documents.ENCRYPTED_OR_OLD, documents.TOO_LARGE, _DOUBTFUL)


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

    def read(self, form: type[_Form], file: FoundFile, options: ReadingOptions | None = None) -> Iterator[_Form]:
        """Yield what a process read in a file, in the form that `documents.READERS` yield for its format.

        The process has read an untrusted file, so it is believed in nothing but the form.

        Raises:
            Unreadable: if the file is empty, damaged, encrypted or too large, or needs too much memory or time.
        """
        from pydantic import TypeAdapter, ValidationError  # later: tables of text need neither

        with file.path.open("rb") as opened:
            data = opened.read(LARGEST + 1)
        if not data or len(data) > LARGEST:
            raise Unreadable(documents.TOO_LARGE if data else "empty")
        for frame in self.frames(kind_of(file.path), data, options):
            try:
                yield TypeAdapter(form).validate_python(frame)
            except ValidationError:
                raise Unreadable(UNSOUND) from None

    def frames(self, kind: str, data: bytes, options: ReadingOptions | None = None) -> Iterator[dict[str, Any]]:
        """Yield what a process read in a file of a format, unchecked.

        Raises:
            Unreadable: if the file is damaged, encrypted or too large, or needs too much memory or time.
        """
        options = options or ReadingOptions()
        group: tuple[str, ...] = next(group for group in _GROUPS if kind in group)
        group += ("ocr",) * (kind == "pdf" and options.ocr)
        worker = self._workers.get(group)
        if worker is None or worker.served >= SERVED:
            if worker:
                worker.end()
            worker = self._workers[group] = _Worker(group)
        try:
            yield from worker.read(kind, data, options, self.seconds)
        finally:
            if not worker.idle:  # the process died, was late, sent an invalid answer, or has not finished the file
                worker.end()
                self._workers.pop(group, None)


class _Worker:
    """A process, with the number of files that it got, and whether it has finished the last one."""

    def __init__(self, kinds: tuple[str, ...]) -> None:
        from multiprocessing import Pipe  # later: tables of text need no process

        self.served, self.idle, self._left = 0, True, 0.0
        self._pipe, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-s", "-m", "discreet.files.sandbox", *kinds],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
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
        self._pipe.close()

    def read(self, kind: str, data: bytes, options: ReadingOptions, seconds: float) -> Iterator[dict[str, Any]]:
        """Yield the answers of the process about a file. Its time counts while the parent waits for the process."""
        self._left = seconds if self.served else STARTING
        self.served += 1
        self.idle = False
        about = {"encoding": options.encoding, "without_quotes": options.without_quotes, "ocr": options.ocr}
        with self._in_time():
            self._pipe.send_bytes(json.dumps({"kind": kind, **about}).encode())
            self._pipe.send_bytes(data)
        while "end" not in (answer := self._receive()):
            if "page" in answer:
                self._left = seconds
            else:
                yield answer
        reason = answer["end"]
        self.idle = reason == "" or reason in _BELIEVED
        if reason:
            raise Unreadable(reason if self.idle else UNSOUND)

    def _receive(self) -> dict[str, Any]:
        with self._in_time():
            answer = json.loads(self._pipe.recv_bytes(LARGEST_ANSWER))
        if not isinstance(answer, dict):
            raise Unreadable(DIED)
        return answer

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """End the process if the block takes longer than what is left of its time.

        Raises:
            Unreadable: if it was ended, or ended by itself, or if its answer is not sound.
        """
        begun, late = monotonic(), Timer(self._left, self._process.kill)
        late.start()
        try:
            yield
            if monotonic() - begun >= self._left:  # it is ended, and serves no other file
                raise Unreadable(TOO_LONG)
        except (OSError, EOFError, ValueError, RecursionError) as error:
            raise Unreadable(TOO_LONG if monotonic() - begun >= self._left else DIED) from error
        finally:
            late.cancel()
            self._left -= monotonic() - begun


# --- the process -----------------------------------------------------------------------------------------------------

MEMORY = 2**31
"""The limit of the address space, in bytes."""
PROCESSOR = 3600
"""The limit of processor time, in seconds. It ends a busy process whose parent died."""


def main() -> None:
    """Answer requests until the standard input ends."""
    from multiprocessing.connection import Connection

    pipe, ocr = Connection(os.dup(0)), "ocr" in sys.argv[1:]
    for kind in sys.argv[1:]:
        _make_ready(kind, ocr)
    _limit(PROCESSOR * (24 if ocr else 1))
    pipe.send_bytes(b'{"page": 0}')
    while True:
        try:
            request, data = json.loads(pipe.recv_bytes()), pipe.recv_bytes()
        except EOFError:
            return
        for answer in _answer(request.pop("kind"), data, ReadingOptions(**request)):
            pipe.send_bytes(json.dumps(answer).encode())


def _answer(kind: str, data: bytes, options: ReadingOptions) -> Iterator[dict[str, object]]:
    reason = ""
    try:
        for result in documents.READERS[kind](data, options):
            yield result if isinstance(result, dict) else asdict(result)
    except Doubtful:
        reason = _DOUBTFUL
    except Unreadable as error:
        reason = str(error)
    except MemoryError:
        reason = documents.TOO_LARGE
    except Exception:
        reason = documents.DAMAGED
    yield {"end": reason}


def _make_ready(kind: str, ocr: bool) -> None:
    """Load all modules that the first file needs. Later, the process cannot open files."""
    for module in pkgutil.iter_modules(encodings.__path__):
        try:
            codecs.lookup(module.name)
        except (LookupError, ImportError):
            continue
    if kind == "xlsx":
        from openpyxl import Workbook

        buffer = io.BytesIO()
        Workbook().save(buffer)
        list(documents.read_xlsx(buffer.getvalue(), ReadingOptions()))
    elif kind in documents.READERS:
        list(_answer(kind, documents.SMALL, ReadingOptions(ocr=ocr)))
    import_module("chardetng_py")
    import_module("xml.etree.ElementTree").fromstring("<a>&#65;</a>")


def _limit(seconds: int = PROCESSOR) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))  # no file and no socket can be opened


if __name__ == "__main__":
    main()

"""What keeps private values inside the keeper's process when something goes wrong: no traces, no dumps, no chatter."""

import ctypes
import faulthandler
import logging
import os
import resource
import sys
import threading
import time
import warnings
from types import TracebackType
from typing import IO

_SET_PDEATHSIG, _SET_DUMPABLE = 1, 4  # of prctl, in Linux


def with_time(line: str) -> str:
    """Return a line of the server with the time before it."""
    return f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {line}"


class KeeperLog:
    """The keeper's lines: a time, and words of a fixed set; of an error, its type and a question's id alone."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream, self._lock = stream, threading.Lock()

    def write(self, what: str, question: str = "", error: BaseException | type[BaseException] | None = None) -> None:
        """Write a line.

        Args:
            what: what happened, in fixed words.
            question: the id of the question.
            error: of which only the type's name is written.
        """
        kind = error if isinstance(error, type) or error is None else type(error)
        parts = "keeper", what, question, kind.__name__ if kind else ""
        with self._lock:
            try:
                self._stream.write(with_time(" ".join(filter(None, parts))) + "\n")
                self._stream.flush()
            except (OSError, ValueError):  # a log that cannot be written is no reason to stop
                return


def open_log() -> KeeperLog:
    """Return the log, on what was standard error; what libraries write to standard output and error is dropped."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)
    return KeeperLog(os.fdopen(kept, "w", encoding="utf-8"))


def harden(log: KeeperLog) -> None:
    """Have no error show its text, its frames or the process's memory; end with the process that started this one."""
    faulthandler.disable()
    logging.disable(logging.CRITICAL)
    warnings.filterwarnings("ignore")

    def hook(kind: type[BaseException], _: BaseException, __: TracebackType | None) -> None:
        log.write("stopped by", error=kind)

    sys.excepthook = hook
    sys.unraisablehook = lambda lost: log.write("lost", error=lost.exc_type)
    threading.excepthook = lambda lost: log.write("a thread stopped by", error=lost.exc_type)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        _control(_SET_DUMPABLE, 0)


def end_with_parent(number: int) -> None:
    """Have Linux send this process a signal when the process that started it is gone."""
    if sys.platform == "linux":
        _control(_SET_PDEATHSIG, number)


def _control(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)

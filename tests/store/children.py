"""Work in a child process: a fork, which starts at once."""

import os
import signal
from collections.abc import Callable
from typing import NoReturn


def start(work: Callable[[], object]) -> int:
    """Start some work in a child, which ends with 0 if it comes to its end. Return its number."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return child


def end_of(child: int) -> int:
    """Wait for a child; return its exit code, or minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed(work: Callable[[], object]) -> bool:
    """Do some work in a child that kills itself in its middle, or at its end. Return whether it was killed."""

    def and_kill() -> None:
        work()
        kill_now()

    return end_of(start(and_kill)) == -signal.SIGKILL


def kill_now() -> NoReturn:
    """Kill this process."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError

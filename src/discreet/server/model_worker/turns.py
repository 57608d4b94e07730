"""A queue of a model worker: one thread computes, first come, first served."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

R = TypeVar("R")


class Turns:
    """Runs one job at a time, in the order of their arrival. A job whose asker left before its turn is dropped."""

    def __init__(self, name: str = "model") -> None:
        """Start the thread, with the name of what it computes."""
        self._jobs: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def put(self, job: Callable[[], R]) -> "Future[R]":
        """Return the future result of a job; cancel it to drop the job."""
        done: Future[R] = Future()
        self._jobs.put((job, done))
        return done

    def _run(self) -> None:
        while True:
            job, done = self._jobs.get()
            if not done.set_running_or_notify_cancel():
                continue
            result, failure = _do(job)
            if failure:
                done.set_exception(JobFailed(failure))
            else:
                done.set_result(result)


def _do(job: Callable[[], Any]) -> tuple[Any, str]:
    """Return the result and "", or None and the type of the error: its frames hold prompts, its message may."""
    try:
        return job(), ""
    except BaseException as error:
        return None, type(error).__name__


class JobFailed(Exception):  # noqa: N818
    """A job that failed. The message is the type of its error alone."""

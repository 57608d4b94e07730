"""Long work that the custodian started: an addition or a corpus, in a thread that waits for the keeper."""

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.errors import DiscreetError, UsageError

RUNNING, DONE, FAILED = "running", "done", "failed"
_KEPT = 20


@dataclass(frozen=True)
class Task:
    """Long work.

    Attributes:
        id: its id.
        what: "add" or "make".
        vault: in which vault.
        started: when, in seconds.
        state: "running", "done" or "failed".
        result: what came of it.
        message: why it failed.
    """

    id: str
    what: str
    vault: str
    started: float
    state: str = RUNNING
    result: Any = field(default=None, repr=False)
    message: str = ""


class Tasks:
    """The long work of a desk, one after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks: dict[str, Task] = {}

    def start(self, what: str, vault: str, act: Callable[[], Any]) -> Task:
        """Start work, and return at once.

        Raises:
            UsageError: if other work runs.
        """
        with self._lock:
            if any(task.state == RUNNING for task in self._tasks.values()):
                raise UsageError("Other long work runs. Wait until it is done: see Progress.")
            task = Task(secrets.token_hex(8), what, vault, time.time())
            self._tasks[task.id] = task
            for old in list(self._tasks)[:-_KEPT]:
                del self._tasks[old]
        threading.Thread(target=self._run, args=(task, act), name="task", daemon=True).start()
        return task

    def latest(self) -> Task | None:
        """Return the work that was started last."""
        with self._lock:
            return next(reversed(self._tasks.values()), None)

    def _run(self, task: Task, act: Callable[[], Any]) -> None:
        try:
            ended = replace(task, state=DONE, result=act())
        except DiscreetError as error:
            ended = replace(task, state=FAILED, message=str(error))
        except BaseException as error:
            ended = replace(task, state=FAILED, message=f"The desk failed: {type(error).__name__}.")
        with self._lock:
            self._tasks[task.id] = ended

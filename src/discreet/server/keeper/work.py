"""Work of the custodian in the thread that holds the vaults."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from discreet.errors import UsageError
from discreet.server.keeper.served import Served

Act = Callable[[Mapping[str, Served]], Any]


class Work:
    """Something to do between two questions.

    Args:
        act: gets the vaults by name; what it returns or raises goes to the thread that waits.
    """

    def __init__(self, act: Act) -> None:
        self._act = act
        self.done: Future[Any] = Future()

    def do(self, served: Mapping[str, Served], *, stopping: bool) -> None:
        """Do it, in the thread of the vaults; no error leaves."""
        try:
            if stopping:
                raise UsageError("The server stops, so nothing was done. Start it again: discreet serve VAULT")
            self.done.set_result(self._act(served))
        except BaseException as error:
            self.done.set_exception(error)

"""The check of a large ledger, beside the opening of its vault.

The check reads all balances, so its time grows with the number of units. A vault that was opened loads models first,
which takes seconds. The check runs meanwhile, in a thread with a connection of its own. The first payment waits for its
result, so nothing is charged or released from a ledger that was not checked as a whole.
"""

import os
import weakref
from collections.abc import Callable
from threading import Thread

from discreet.errors import DiscreetError, LedgerError
from discreet.system.weak_sets import members

LARGE = 2**25
"""The size of a ledger, in bytes, from which its check runs beside. A smaller one is checked in about 0.2 seconds."""

_RUNNING: "weakref.WeakSet[LateCheck]" = weakref.WeakSet()


class LateCheck:
    """A check that runs in a thread, from its creation on."""

    def __init__(self, check: Callable[[], None]) -> None:
        self._error: str | None = "The check of the ledger did not end. Nothing was released. Try again."
        self._thread = Thread(target=self._run, args=(check,), name="check of the ledger")
        self._thread.start()
        _RUNNING.add(self)

    def wait(self) -> None:
        """Wait for the result.

        Raises:
            LedgerError: if the ledger is not sound, or if it could not be checked.
        """
        self._thread.join()
        if self._error is not None:
            raise LedgerError(self._error)

    def finish(self) -> None:
        """Wait for the end of the check, sound or not."""
        self._thread.join()

    def _run(self, check: Callable[[], None]) -> None:
        try:
            check()
            self._error = None
        except DiscreetError as error:
            self._error = str(error)
        except BaseException as error:
            self._error = f"The ledger could not be checked ({type(error).__name__}). Nothing was released. Try again."


def _finish_all() -> None:
    for check in members(_RUNNING):
        check.finish()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_finish_all)  # a child has no thread that could finish it

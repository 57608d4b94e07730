"""Settlements of questions. One that the accounts do not take is tried again until they do.

A question that is not settled stays charged at its ceiling, and the same request waits for it. So a short failure of
the accounts, such as a restart of their database, must not leave it that way until the front starts again.
"""

import asyncio
from typing import Any

from discreet.errors import UsageError
from discreet.server.accounts import Accounts, AccountsError
from discreet.server.front.access_log import note_failure
from discreet.server.wire import Charge

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds before a settlement is tried again: doubled each time, up to the longest."""


class Settlements:
    """Settles questions, in the background where it does not succeed at once."""

    def __init__(self, accounts: Accounts, first_wait: float = FIRST_WAIT) -> None:
        self._accounts, self._first_wait = accounts, first_wait
        self._late: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._late)

    async def settle(self, question: str, spent: Charge, reply: dict[str, Any] | None, stopped: str) -> None:
        """Charge a key what its question has spent; if the accounts fail, return, and try again beside."""
        if not await self._try(question, spent, reply, stopped):
            self._settle_beside(question, spent, reply, stopped)

    def release(self, question: str) -> None:
        """Give back what was charged for a question that was not asked, since its reservation failed.

        The accounts may have it nevertheless, if the connection broke before they replied.
        """
        self._settle_beside(question, Charge.nothing(), None, "ledger_unavailable")

    def _settle_beside(self, *values: Any) -> None:
        task = asyncio.create_task(self._settle_late(*values))
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    async def _settle_late(self, question: str, spent: Charge, reply: dict[str, Any] | None, stopped: str) -> None:
        wait = self._first_wait
        await asyncio.sleep(wait)
        while not await self._try(question, spent, reply, stopped):
            wait = min(2 * wait, LONGEST_WAIT)
            await asyncio.sleep(wait)

    async def _try(self, question: str, spent: Charge, reply: dict[str, Any] | None, stopped: str) -> bool:
        try:
            settled = await asyncio.to_thread(self._accounts.settle, question, spent, reply, stopped=stopped)
        except AccountsError as error:
            note_failure("settle", error, question)  # it stays charged at its ceiling
            return False
        except UsageError:  # it was never reserved
            return True
        if settled.exceeded:
            note_failure("settle: above the ceiling", None, question)
        return True

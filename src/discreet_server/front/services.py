"""What the routes of the front share."""

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Literal

from discreet.errors import DiscreetError
from discreet.privacy.accounting import Spending
from discreet_server.accounts import Accounts, AccountsError, Key
from discreet_server.accounts.grants import VaultGrant
from discreet_server.audit_log import AuditLog
from discreet_server.config import ServeConfig
from discreet_server.front.asking import Asker
from discreet_server.front.catalog import CatalogCache, Servable
from discreet_server.front.errors import FrontError
from discreet_server.front.pacing import SHARE, Arrival, Pacer, Queue, Ticket, default_quantum
from discreet_server.front.replay import Boarding
from discreet_server.front.replies import KeyNumbers
from discreet_server.front.requests import ChatBody, ChatRequest, request_of
from discreet_server.front.telling import Metrics
from discreet_server.sockets import REPLY_PATIENCE, Keeper, KeeperGone
from discreet_server.wire import LANES, Lane, Readied, Ready

FRESH = 2.0
"""Seconds for which the last word of the keeper on whether it can answer counts."""
Status = Literal["live", "ready", "starting", "stopping"]


class Services:
    """What the routes of the front share. Until the keeper has said its longest answer, the quantum is the least.

    Args:
        config: the server's configuration.
        keeper: the other side of the wall.
        accounts: keys, meters and what was answered.
        log: the audit log.
        clock: by which replies leave.
        resumed: whether a front before this one left a question in flight. The keeper may still answer it, so it holds
            the queue as if this front had sent it when it started.

    Attributes:
        catalog: what is served.
        asker: asks questions.
        pacer: when replies leave.
        metrics: what is counted.
    """

    def __init__(
        self,
        config: ServeConfig,
        keeper: Keeper,
        accounts: Accounts,
        log: AuditLog,
        clock: Callable[[], float] = time.monotonic,
        *,
        resumed: bool = False,
    ) -> None:
        self.config, self.accounts, self.log, self.metrics = config, accounts, log, Metrics()
        self._keeper, self._clock = keeper, clock
        self.pacer = Pacer(default_quantum(0.0) if config.quantum is None else config.quantum, clock)
        queue = Queue(config.queue, min(SHARE, config.queue), clock, on_turn=self.metrics.count_wait)
        self.catalog, self._resumed = CatalogCache(keeper, self._take_over), resumed
        self.asker = Asker(keeper, accounts, log, self.catalog, queue, self.pacer)
        self._ready, self._ready_until, self._one_looks = False, -math.inf, asyncio.Lock()

    def _take_over(self, longest: Mapping[Lane, float]) -> None:
        """Take over how long the longest answers take: a catalog has come."""
        if self.config.quantum is None:
            self.pacer.measured(longest)
        if self._resumed:
            held = self.asker.queue.hold(max(self.pacer.spacing(lane) for lane in LANES))
            self._resumed, self._leaving = False, asyncio.create_task(self._leave(held))

    async def _leave(self, held: Ticket) -> None:
        """Give the place back when the keeper has answered what it had. One that is gone answers nothing any more."""
        with suppress(KeeperGone):
            await self._keeper.call(Ready(idle=True))
        self.asker.queue.leave(held)

    def read(self, key: Key, body: ChatBody) -> ChatRequest:
        """Return the request that a body of a key asks for.

        Raises:
            FrontError: if it asks for none.
        """
        rewritten = key.follow_ups or any(fnmatchcase(body.model, one) for one in self.config.follow_ups)
        return request_of(body, tasks=key.tasks, follow_ups=rewritten)

    async def until_due(self, arrival: Arrival, boarding: Boarding | None) -> int:
        """Wait until a reply may leave; return after how many quanta that is.

        It leaves with its flight, which has landed. Without a flight nothing private was read, and it leaves at once.
        """
        quanta = boarding.flight.quanta if boarding is not None else None
        return await self.pacer.until_due(arrival) if quanta is None else quanta

    async def numbers(self, key: Key, model: Servable) -> KeyNumbers:
        """Return what a key may still cause, and how many more questions of a model that allows.

        Raises:
            FrontError: if the accounts cannot be read. A question was answered before: it is kept for a replay.
        """
        try:
            return await asyncio.to_thread(self._numbers, key, model)
        except AccountsError:
            raise FrontError("ledger_unavailable", paid=True) from None

    async def note_state(self) -> None:
        """Note in the metrics whether the keeper can answer, and what is left of each grant, by receipts alone."""
        try:
            left = await asyncio.to_thread(self._grants_left)
        except AccountsError:
            left = {}
        self.metrics.note_state(up=await self._is_ready(), left=left)

    def _grants_left(self) -> dict[str, float]:
        left: dict[str, tuple[VaultGrant, Spending]] = {}
        for key in self.accounts.list_keys():
            for room in self.accounts.odometer(key.id).rooms:
                grant, spent = left.get(room.grant.vault, (room.grant, room.grant.pool))
                left[grant.vault] = (grant, spent + room.spent if key.reserved else spent)
        return {vault: grant.budget.left(spent) for vault, (grant, spent) in left.items()}

    def _numbers(self, key: Key, model: Servable) -> KeyNumbers:
        meter = self.accounts.odometer(key.id)
        return KeyNumbers.of(key, meter, meter.more(model.model.most, model.vault.name))

    async def status(self) -> Status:
        """Return "ready", "starting" or "stopping": a cached word on whether questions are answered."""
        if self.asker.stopping:
            return "stopping"
        async with self._one_looks:
            if self._clock() >= self._ready_until:
                self._ready = self.catalog.loaded and await self._is_ready()
                self._ready_until = self._clock() + FRESH
        return "ready" if self._ready else "starting"

    async def _is_ready(self) -> bool:
        """Return whether the keeper has loaded its model and can write its ledger."""
        try:
            reply = await self._keeper.call(Ready(), REPLY_PATIENCE)
        except DiscreetError:
            return False
        return isinstance(reply, Readied) and reply.loaded and reply.ledger_writable

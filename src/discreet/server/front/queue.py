"""The questions that wait for the keeper: a bounded number, in turns between the keys.

How long an answer takes may depend on documents. So a question that waits must not start when the one before it ends:
its reply would show that time. Questions start at least `spacing` apart instead, the time of the longest answer. If one
took longer, the next one starts at a multiple of `spacing` after it began.
"""

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from discreet.server.front.errors import FrontError

WAITING = 32
"""So many questions wait at most; one more is refused before it is paid."""
A_KEY = 2
"""So many questions of one key are with the keeper at most."""
SHARE = 16
"""So many questions of one key wait at most, so that one key cannot fill the queue."""


@dataclass(eq=False)
class Ticket:
    """A place in the queue.

    Attributes:
        key_id: whose it is.
        ready: whether its question may be called: it is reserved.
        turn: done when the question may go to the keeper.
    """

    key_id: str
    ready: bool = False
    turn: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Queue:
    """The questions that wait, and those with the keeper. No private value decides an order or a refusal.

    Attributes:
        spacing: seconds between two starts, at least; 0 for none.
    """

    def __init__(
        self,
        slots: int = 1,
        waiting: int = WAITING,
        a_key: int = A_KEY,
        share: int = SHARE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._slots, self._most, self._a_key, self._share = slots, waiting, a_key, share
        self._clock, self._next_start, self.spacing = clock, 0.0, 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: OrderedDict[str, deque[Ticket]] = OrderedDict()
        self._running: dict[str, int] = {}

    @property
    def waiting(self) -> int:
        """How many questions wait."""
        return sum(len(tickets) for tickets in self._waiting.values())

    @property
    def running(self) -> int:
        """How many questions are with the keeper."""
        return sum(self._running.values())

    def enter(self, key_id: str) -> Ticket:
        """Return a place in the queue. Its turn may come at once.

        Raises:
            FrontError: if the queue is full, or holds the key's share already. Nothing was paid.
        """
        own = len(self._waiting.get(key_id, ()))
        if self.waiting >= self._most or own >= self._share:
            raise FrontError("queue_full")
        ticket = Ticket(key_id)
        self._waiting.setdefault(key_id, deque()).append(ticket)
        return ticket

    async def wait(self, ticket: Ticket) -> None:
        """Wait until the ticket's question may go to the keeper. `leave` must follow, in any case."""
        ticket.ready = True
        self._call()
        await ticket.turn

    def leave(self, ticket: Ticket) -> None:
        """Give the place back, from the queue or from the keeper."""
        if ticket.turn.done() and not ticket.turn.cancelled():
            self._keep_distance()
            self._running[ticket.key_id] -= 1
            if not self._running[ticket.key_id]:
                del self._running[ticket.key_id]
        elif ticket in (own := self._waiting.get(ticket.key_id, deque())):
            own.remove(ticket)
            if not own:
                del self._waiting[ticket.key_id]
        self._call()

    def _call(self) -> None:
        """Call as many questions as there are slots, one key after the other, `spacing` apart."""
        while self.running < self._slots and self._has_next():
            if (left := self._next_start - self._clock()) > 0:
                self._call_later(left)
                return
            ticket = self._next()
            assert ticket is not None
            self._next_start = self._clock() + self.spacing
            self._running[ticket.key_id] = self._running.get(ticket.key_id, 0) + 1
            ticket.turn.set_result(None)

    def _keep_distance(self) -> None:
        """Move the next start to a multiple of `spacing` if the question that ends has taken longer."""
        late = self._clock() - self._next_start
        if self.spacing and late > 0:
            self._next_start += math.ceil(late / self.spacing) * self.spacing

    def _call_later(self, seconds: float) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._call()

    def _has_next(self) -> bool:
        return any(
            one.ready and not one.turn.done()
            for key_id, tickets in self._waiting.items()
            if self._running.get(key_id, 0) < self._a_key
            for one in tickets
        )

    def _next(self) -> Ticket | None:
        """Return the next question that may be called, out of the queue; its key goes to the end of the round."""
        for key_id, tickets in self._waiting.items():
            if self._running.get(key_id, 0) >= self._a_key:
                continue
            ticket = next((one for one in tickets if one.ready and not one.turn.done()), None)
            if ticket:
                tickets.remove(ticket)
                self._waiting.move_to_end(key_id)
                if not tickets:
                    del self._waiting[key_id]
                return ticket
        return None

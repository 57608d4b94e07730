"""When a question starts, and when its reply leaves: neither tells how long an answer took, but in steps.

A reply leaves at a multiple of a quantum after its request came. A bounded number of questions waits for the keeper, in
turns between the keys. How long an answer takes may depend on documents. So a question that waits must not start when
the one before it ends: its reply would show that time. Questions start at least `spacing` apart instead, the time of
the longest answer. If one took longer, the next one starts at a multiple of `spacing` after it began.
"""

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from discreet.server.front.errors import FrontError

Sleep = Callable[[float], Awaitable[None]]

MARGIN, OVERHEAD = 1.1, 0.05
"""By which an answer may take longer than a measured one, and seconds of the server's own work beside it."""


def default_quantum(longest_answers: list[float]) -> float:
    """Return the default quantum in seconds: twice the longest answer that a keeper measured, with a margin."""
    return 2 * (MARGIN * max(longest_answers, default=0.0) + OVERHEAD)


@dataclass(frozen=True)
class Arrival:
    """When a request came.

    Attributes:
        at: the time of the monotonic clock.
    """

    at: float


class Pacer:
    """The clock by which replies leave. A quantum of 0 holds nothing back."""

    def __init__(
        self, quantum: float, clock: Callable[[], float] = time.monotonic, sleep: Sleep = asyncio.sleep
    ) -> None:
        self.quantum = quantum
        self._clock, self._sleep = clock, sleep

    def arrive(self) -> Arrival:
        """Return the arrival of a request that came now."""
        return Arrival(self._clock())

    def quanta(self, arrival: Arrival) -> int:
        """Return after how many quanta a reply that is ready now leaves; at least 1."""
        if not self.quantum:
            return 0
        return max(1, math.ceil((self._clock() - arrival.at) / self.quantum))

    async def until_due(self, arrival: Arrival) -> int:
        """Wait until a reply that is ready now may leave; return after how many quanta that is."""
        quanta = self.quanta(arrival)
        await self._wait(arrival.at + quanta * self.quantum)
        return quanta

    async def until_step(self, arrival: Arrival, step: float) -> int:
        """Wait for a multiple of a step in seconds, or of the quantum if that is less; return 0, no whole quantum."""
        step = min(step, self.quantum)
        if step:
            await self._wait(arrival.at + math.ceil((self._clock() - arrival.at) / step) * step)
        return 0

    async def _wait(self, due: float) -> None:
        while (left := due - self._clock()) > 0:
            await self._sleep(left)


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

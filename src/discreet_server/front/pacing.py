"""When a question starts, and when its reply leaves: from public values alone.

docs/privacy-details.md, "The clock of a server", has the argument.

What needs no private work leaves at once: at a step after its request. An answer leaves at a multiple of the quantum of
its lane after its turn. How long it took may depend on documents. So a question that waits must not start when the one
before it ends: its reply would show that time. Questions start at least the `spacing` of the one before apart, which is
the time of the longest answer of its lane. If one took longer, the next one starts at a multiple of that.

One question runs at a time. What a question finds depends on whether the one before has paid yet, and is released yet.
Beside each other, the order of these would follow from how long each takes, and an answer would show it.
"""

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from itertools import count

from discreet_server.front.errors import FrontError
from discreet_server.wire import LANES, Lane

Sleep = Callable[[float], Awaitable[None]]

MARGIN, OVERHEAD = 1.1, 0.05
"""By which an answer may take longer than a measured one, and seconds of the server's own work beside it."""
STEP = 0.075
"""Seconds, or the least quantum if that is less: far above the time of an estimate beside an answer."""
TICK, A_TICK = 0.025, 16
"""Replies leave at multiples of so many seconds of the clock, and so many at most at one of them."""
_DIGITS = 6


def default_quantum(longest_answer: float) -> float:
    """Return the default quantum in seconds: twice the longest answer that a keeper measured, with a margin."""
    return 2 * (MARGIN * longest_answer + OVERHEAD)


@dataclass(frozen=True)
class Arrival:
    """When a request came, or its turn.

    Attributes:
        at: the time of the monotonic clock.
        step: the reply leaves at a multiple of so many seconds after it; at once if 0.
        lane: of which the step is the quantum; None if nothing private is read.
        number: how many arrivals were before.
    """

    at: float
    step: float
    lane: Lane | None
    number: int


class Pacer:
    """The clock by which replies leave.

    Args:
        quantum: seconds, of both lanes; 0 holds nothing back.
    """

    def __init__(
        self, quantum: float, clock: Callable[[], float] = time.monotonic, sleep: Sleep = asyncio.sleep
    ) -> None:
        self.quanta: dict[Lane, float] = dict.fromkeys(LANES, quantum)
        self._clock, self._sleep, self._numbers = clock, sleep, count()
        self._waiting, self._left = dict[int, int](), dict[int, int]()

    def measured(self, longest: Mapping[Lane, float]) -> None:
        """Set the quanta to the default ones for the longest answer of each lane."""
        self.quanta = {lane: default_quantum(longest[lane]) for lane in LANES}

    def spacing(self, lane: Lane) -> float:
        """Return the longest answer of a lane, unless the custodian set another quantum."""
        return self.quanta[lane] / 2

    def arrive(self, lane: Lane | None = None) -> Arrival:
        """Return the arrival of a request that came now, or of a question of a lane whose turn came now."""
        step = self.quanta[lane] if lane else min(STEP, *self.quanta.values())
        return Arrival(self._clock(), step, lane, next(self._numbers))

    async def until_due(self, arrival: Arrival) -> int:
        """Wait until a reply that is ready now may leave.

        Return after how many quanta that is: at least 1, and 0 for what needs no private work.
        """
        if not arrival.step:
            return 0
        steps = max(1 if arrival.lane else 0, math.ceil((self._clock() - arrival.at) / arrival.step))
        await self._until_tick((arrival.at + steps * arrival.step) / TICK, arrival.number)
        return steps if arrival.lane else 0

    async def _until_tick(self, due: float, number: int) -> None:
        """Wait for the first tick that has room. Those that came first leave first, not those that were ready first."""
        self._waiting[number] = tick = math.ceil(round(due, _DIGITS))
        try:
            while True:
                while (left := tick * TICK - self._clock()) > 0:
                    await self._sleep(left)
                # The tick of the clock, and not the one that was waited for: a late loop makes no room for more.
                tick = max(tick, math.floor(round(self._clock() / TICK, _DIGITS)))
                before = sum(one < number and its <= tick for one, its in self._waiting.items())
                if before + self._left.get(tick, 0) < A_TICK:
                    self._left = {tick: self._left.get(tick, 0) + 1}
                    return
                self._waiting[number] = tick = tick + 1
        finally:
            del self._waiting[number]


WAITING = 32
"""So many questions wait at most; one more is refused before it is paid."""
SHARE = 16
"""So many questions of one key wait at most, so that one key cannot fill the queue."""


@dataclass(eq=False)
class Ticket:
    """A place in the queue.

    Attributes:
        key_id: whose it is.
        entered: when.
        spacing: seconds until the next question may start after this one's turn; None before it may be called.
        turn: done when the question may go to the keeper.
    """

    key_id: str
    entered: float
    spacing: float | None = None
    turn: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Queue:
    """The questions that wait, and the one that is with the keeper. No private value decides an order or a refusal."""

    def __init__(
        self,
        waiting: int = WAITING,
        share: int = SHARE,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        on_turn: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._most, self._share, self._clock, self._sleep, self._on_turn = waiting, share, clock, sleep, on_turn
        self._next_start = 0.0
        self._waiting: OrderedDict[str, deque[Ticket]] = OrderedDict()
        self._timer: asyncio.Task[None] | None = None
        self.running: Ticket | None = None

    @property
    def waiting(self) -> int:
        """How many questions wait."""
        return sum(len(tickets) for tickets in self._waiting.values())

    def enter(self, key_id: str) -> Ticket:
        """Return a place in the queue. Its turn may come at once.

        Raises:
            FrontError: if the queue is full, or holds the key's share already. Nothing was paid.
        """
        own = len(self._waiting.get(key_id, ()))
        if self.waiting >= self._most or own >= self._share:
            raise FrontError("queue_full", retry_after=max(1, math.ceil(self._next_start - self._clock())))
        ticket = Ticket(key_id, self._clock())
        self._waiting.setdefault(key_id, deque()).append(ticket)
        return ticket

    def hold(self, spacing: float) -> Ticket:
        """Return the place of a question that a front before this one left with the keeper: its turn begins now."""
        self._next_start = self._clock() + spacing
        self.running = Ticket("", self._clock(), spacing)
        return self.running

    async def wait(self, ticket: Ticket, spacing: float = 0.0) -> None:
        """Wait until the ticket's question may go to the keeper. `leave` must follow, in any case."""
        ticket.spacing = spacing
        self._call()
        await ticket.turn

    def leave(self, ticket: Ticket) -> None:
        """Give the place back, from the queue or from the keeper."""
        if ticket is self.running:
            late = self._clock() - self._next_start
            if ticket.spacing and late > 0:  # it has taken longer
                self._next_start += math.ceil(late / ticket.spacing) * ticket.spacing
            self.running = None
        elif ticket in self._waiting.get(ticket.key_id, ()):
            self._remove(ticket)
        self._call()

    def _remove(self, ticket: Ticket) -> None:
        own = self._waiting[ticket.key_id]
        own.remove(ticket)
        self._waiting.move_to_end(ticket.key_id)  # to the end of the round
        if not own:
            del self._waiting[ticket.key_id]

    def _call(self) -> None:
        """Call the next question, if none runs and its time has come."""
        if self.running is not None or (ticket := self._next()) is None:
            return
        if (left := self._next_start - self._clock()) > 0:
            if self._timer is None:
                self._timer = asyncio.create_task(self._wake(left))
            return
        assert ticket.spacing is not None
        self._remove(ticket)
        self._next_start, self.running = self._clock() + ticket.spacing, ticket
        ticket.turn.set_result(None)
        self._on_turn(self._clock() - ticket.entered)

    async def _wake(self, left: float) -> None:
        await self._sleep(left)
        self._timer = None
        self._call()

    def _next(self) -> Ticket | None:
        """Return the next question that may be called: of the keys in their round, a short one before a long one.

        One that has waited for its own spacing goes before those that have not.
        """
        now, due = self._clock(), list[tuple[bool, float, Ticket]]()
        for tickets in self._waiting.values():
            for one in tickets:
                if one.spacing is not None and not one.turn.done():
                    overdue = now - one.entered > one.spacing
                    due.append((not overdue, 0.0 if overdue else one.spacing, one))
        return min(due, key=lambda one: one[:2], default=(False, 0.0, None))[2]

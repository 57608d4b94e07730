"""When a reply leaves: at a multiple of a quantum after its request came, so that its time shows only in steps."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

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

    def wait_s(self, arrival: Arrival) -> float:
        """Return how long a reply that is ready now waits, in seconds."""
        return max(0.0, arrival.at + self.quanta(arrival) * self.quantum - self._clock())

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

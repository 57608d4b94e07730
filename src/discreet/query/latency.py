"""Quantized latency: an answer comes at a multiple of a quantum, so that its duration is visible only in steps."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from discreet.errors import UsageError

LONGEST = 3600.0
"""The upper limit of a quantum in seconds, to catch typing errors."""


@dataclass(frozen=True)
class Pace:
    """When the reply to a question leaves.

    Attributes:
        begun: when the quanta begin, in seconds since 1970.
        quantum: seconds; the reply leaves at a multiple of them, or at once if 0.
    """

    begun: float = 0.0
    quantum: float = 0.0

    def minute(self) -> str:
        """Return the minute in which a reply that is ready now leaves, UTC: when it was ready must not show."""
        leaves = time.time()
        if self.quantum:
            leaves = self.begun + self.quantum * _quanta(leaves - self.begun, self.quantum)
        return datetime.fromtimestamp(leaves, UTC).isoformat(timespec="minutes")


AT_ONCE = Pace()


@contextmanager
def at_a_multiple(
    quantum: float, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
) -> Iterator[Pace]:
    """Leave the block, also by an error, only at a multiple of `quantum` seconds after its beginning. Yield its pace.

    A quantum that is longer than every answer hides the duration. A shorter one reveals the number of quanta. With 0
    there is no wait.

    Raises:
        UsageError: if the quantum is negative or above `LONGEST`.
    """
    if not 0 <= quantum <= LONGEST:
        raise UsageError(
            f"The quantum is {quantum:g}. Expected: from 0 to {LONGEST:g} seconds. Try --quantum 10, or 0 for none."
        )
    begun = clock()
    try:
        yield Pace(time.time(), quantum)
    finally:
        if quantum:
            due = begun + quantum * _quanta(clock() - begun, quantum)
            while (left := due - clock()) > 0:
                sleep(left)


def _quanta(seconds: float, quantum: float) -> int:
    return max(1, math.ceil(seconds / quantum))

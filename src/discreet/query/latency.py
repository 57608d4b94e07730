"""Quantized latency: an answer comes at a multiple of a quantum, so that its duration is visible only in steps."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from discreet.errors import UsageError

LONGEST = 3600.0
"""The upper limit of a quantum in seconds, to catch typing errors."""


@contextmanager
def at_a_multiple(
    quantum: float, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
) -> Iterator[None]:
    """Leave the block, also by an error, only at a multiple of `quantum` seconds after its beginning.

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
        yield
    finally:
        if quantum:
            due = begun + quantum * max(1, math.ceil((clock() - begun) / quantum))
            while (left := due - clock()) > 0:
                sleep(left)

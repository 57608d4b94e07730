"""When an answer is given: at a multiple of a quantum of time, so that how long it took shows only in steps."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from discreet.errors import UsageError

LONGEST = 3600.0
"""Seconds. A longer quantum is a slip of the pen."""


@contextmanager
def at_a_multiple(
    quantum: float, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
) -> Iterator[None]:
    """Leave the block only at a multiple of `quantum` seconds after it was entered, also by an error.

    A quantum that is longer than any answer takes hides the time altogether; a shorter one leaves the number of
    quanta to be seen. No quantum, 0, waits for nothing.

    Raises:
        UsageError: the quantum is no such time.
    """
    if not 0 <= quantum <= LONGEST:
        raise UsageError(f"A quantum is a time from 0 to {LONGEST:g} seconds, not {quantum:g}. Try 10, or 0 for none.")
    begun = clock()
    try:
        yield
    finally:
        if quantum:
            due = begun + quantum * max(1, math.ceil((clock() - begun) / quantum))
            while (left := due - clock()) > 0:
                sleep(left)

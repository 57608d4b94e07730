"""Values under random names, each for a while: sign-ins that have begun, and sessions."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

MOST = 10_000
Clock = Callable[[], float]
Value = TypeVar("Value")


class Remembered(Generic[Value]):
    """Values under random names, each for a while, and a bounded number of them: the oldest go first."""

    def __init__(self, seconds: float, clock: Clock = time.monotonic, most: int = MOST) -> None:
        self._seconds, self._clock, self._most = seconds, clock, most
        self._values: OrderedDict[str, tuple[float, Value]] = OrderedDict()

    def keep(self, name: str, value: Value) -> None:
        """Keep a value."""
        self._values[name] = (self._clock() + self._seconds, value)
        while len(self._values) > self._most:
            self._values.popitem(last=False)

    def find(self, name: str) -> Value | None:
        """Return a value; None if it is unknown or too old."""
        end, value = self._values.get(name, (0.0, None))
        return value if self._clock() < end else None

    def take(self, name: str) -> Value | None:
        """Return a value, and forget it."""
        found = self.find(name)
        self._values.pop(name, None)
        return found

"""Sessions of the desk: in memory, so a new start ends them all."""

import hashlib
import secrets
import threading
import time
from collections.abc import Callable

COOKIE = "discreet_desk"
LASTS = 12 * 3600.0
IDLE = 3600.0
"""Seconds after which a session ends: in any case, and without a request."""


class Sessions:
    """Who is logged in. Of a session's secret, the hash alone is kept.

    Args:
        clock: the time, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._open: dict[str, tuple[float, float]] = {}

    def begin(self) -> str:
        """Begin a session, and return its secret."""
        secret, now = secrets.token_urlsafe(32), self._clock()
        with self._lock:
            self._open = {name: times for name, times in self._open.items() if self._is_open(times, now)}
            self._open[_digest(secret)] = (now, now)
        return secret

    def holds(self, secret: str) -> bool:
        """Return whether a session is open; its idle time begins anew."""
        name, now = _digest(secret), self._clock()
        with self._lock:
            times = self._open.get(name)
            if times is None or not self._is_open(times, now):
                self._open.pop(name, None)
                return False
            self._open[name] = (times[0], now)
            return True

    def end(self, secret: str) -> None:
        """End a session."""
        with self._lock:
            self._open.pop(_digest(secret), None)

    @staticmethod
    def _is_open(times: tuple[float, float], now: float) -> bool:
        return now - times[0] <= LASTS and now - times[1] <= IDLE


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()

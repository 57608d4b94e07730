"""Sessions of browsers, and sign-ins that have begun: values under random secrets, in memory, each for a while.

A restart ends them all, and the end of a session does too: a copy of its cookie is worth nothing afterwards.
"""

import hashlib
import math
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, Literal, TypeVar

from starlette.responses import Response

MOST = 10_000
Clock = Callable[[], float]
Value = TypeVar("Value")


def cookie_name(name: str, *, secure: bool) -> str:
    """Return the name of a cookie: by TLS one that no other host and no page without TLS can set."""
    return f"__Host-{name}" if secure else name


def set_cookie(
    response: Response,
    name: str,
    value: str,
    *,
    secure: bool,
    age: int | None = None,
    sent: Literal["strict", "lax"] = "strict",
) -> None:
    """Put a value into a cookie that no script reads; without one, remove the cookie.

    Args:
        response: to the browser.
        name: of the cookie, as in `cookie_name`.
        value: its value.
        secure: whether the browser came by TLS.
        age: seconds for which it lasts; as long as the browser's session if None.
        sent: "strict" if no other site causes it to be sent, "lax" if one may bring the browser back with it.
    """
    whole, lasts = cookie_name(name, secure=secure), age if value else 0
    response.set_cookie(whole, value, lasts, path="/", httponly=True, samesite=sent, secure=secure)


class Remembered(Generic[Value]):
    """Values under secrets, of which the hash alone is kept; a bounded number of them: the oldest go first.

    Args:
        seconds: for which a value is remembered.
        clock: the time, in seconds.
        most: so many values.
        idle: seconds without a look at a value after which it is forgotten.
    """

    def __init__(
        self, seconds: float, clock: Clock = time.monotonic, most: int = MOST, *, idle: float = math.inf
    ) -> None:
        self._seconds, self._clock, self._most, self._idle = seconds, clock, most, idle
        self._values: OrderedDict[str, tuple[float, float, Value]] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, value: Value) -> str:
        """Keep a value under a new secret. Return the secret."""
        secret = secrets.token_urlsafe(32)
        self.keep(secret, value)
        return secret

    def keep(self, secret: str, value: Value) -> None:
        """Keep a value."""
        now = self._clock()
        with self._lock:
            self._values[_digest(secret)] = (now + self._seconds, now, value)
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def find(self, secret: str) -> Value | None:
        """Return a value, whose idle time begins anew; None if it is unknown or too old."""
        name, now = _digest(secret), self._clock()
        with self._lock:
            end, seen, value = self._values.get(name, (-math.inf, now, None))
            if value is None or now >= end or now - seen > self._idle:
                self._values.pop(name, None)
                return None
            self._values[name] = (end, now, value)
            return value

    def take(self, secret: str) -> Value | None:
        """Return a value, and forget it."""
        found = self.find(secret)
        with self._lock:
            self._values.pop(_digest(secret), None)
        return found


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()

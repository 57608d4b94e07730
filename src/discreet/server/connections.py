"""What all listeners of the server have in common: they repeat nothing of a request, and close idle connections.

Else some connections that bring no request would keep every client out.
"""

import asyncio
import logging
import sys
from types import TracebackType
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 30.0
"""Seconds in which the head of a request must have come, after the connection or after the reply before it."""
LONGEST_HEAD = 16 * 1024
"""Bytes of the head of a request."""


class PatientProtocol(H11Protocol):
    """HTTP/1.1 of uvicorn, which closes idle connections only after a first request."""

    patience = PATIENCE
    _waits: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request. One connection too many closes the one that has waited longest for one.

        So no number of idle connections keeps another client out.
        """
        super().connection_made(transport)
        most = self.limit_concurrency
        if most is not None and len(self.connections) >= most:
            idle = [one for one in self.connections if isinstance(one, PatientProtocol) and one._waits is not None]
            if idle:
                oldest = min(idle, key=lambda one: one._waits.when() if one._waits else 0.0)
                self.connections.discard(oldest)
                oldest.transport.abort()
            else:
                self.no_room()
        self._wait_or_not()

    def no_room(self) -> None:
        """Take a connection although all others have requests: its own gets 503."""

    def data_received(self, data: bytes) -> None:
        """Read what came; wait on if it is no whole head of a request."""
        super().data_received(data)
        self._wait_or_not()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._wait_or_not()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop()
        super().connection_lost(exc)

    def _wait_or_not(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()
        elif self._waits is None:
            self._waits = self.loop.call_later(self.patience, self.transport.close)

    def _stop(self) -> None:
        if self._waits is not None:
            self._waits.cancel()
            self._waits = None


def uvicorn_config(app: Any, most: int, **how: Any) -> uvicorn.Config:
    """Return uvicorn's settings: no access log, no server header, nothing that repeats a request.

    Args:
        app: the app.
        most: so many connections less one at most; a further one takes the room of an idle one, or gets 503 at once.
        how: where it listens, and any other setting.
    """
    common = {
        "access_log": False,
        "log_config": None,
        "server_header": False,
        "proxy_headers": False,
        "http": PatientProtocol,
        "timeout_keep_alive": int(PATIENCE),
        "h11_max_incomplete_event_size": LONGEST_HEAD,
        "limit_concurrency": most,
        "ws": "none",
    }
    return uvicorn.Config(app, **(common | how))


def silence(*libraries: str) -> None:
    """Have libraries log nothing: what they write may hold names, questions or secrets."""
    for name in libraries:
        logger = logging.getLogger(name)
        logger.setLevel(logging.CRITICAL + 1)
        logger.propagate = False
        logger.addHandler(logging.NullHandler())


def silence_process(name: str) -> None:
    """Have a process write no traceback and no text of an exception, and say the type of the one that ends it."""

    def hook(kind: type[BaseException], _: BaseException, __: TracebackType | None) -> None:
        print(f"The {name} stopped: {kind.__name__}.", file=sys.stderr)

    logging.lastResort, sys.excepthook = None, hook
    silence("uvicorn", "asyncio", "fastapi", "starlette")

"""Connections that bring no request are closed: else a few thousand idle ones would keep every client out."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 30.0
"""Seconds in which the head of a request must have come, after the connection or after the reply before it."""


class PatientProtocol(H11Protocol):
    """HTTP/1.1 of uvicorn, which closes idle connections only after a first request."""

    patience = PATIENCE
    _waits: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait_or_not()

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
        elif self._waits is None and not self.transport.is_closing():
            self._waits = self.loop.call_later(self.patience, self._end)

    def _stop(self) -> None:
        if self._waits is not None:
            self._waits.cancel()
            self._waits = None

    def _end(self) -> None:
        self._waits = None
        if not self.transport.is_closing():
            self.transport.close()

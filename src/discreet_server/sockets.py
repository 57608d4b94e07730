"""The private sockets of the server: HTTP on Unix sockets.

Listeners repeat nothing of a request, and close idle connections: else some connections that bring no request would
keep every client out. The asking side opens a new connection for each message, and sends none twice.
"""

import asyncio
import logging
import sys
from contextlib import aclosing
from http import HTTPStatus
from pathlib import Path
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from types import TracebackType
from typing import Any, Protocol, TypeVar

import httpx2
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet.errors import DiscreetError
from discreet_server.wire import Call, Refused, Wire, WireError, collect, decode, encode, path_of, reply_of

# --- connections ------------------------------------------------------------------------------------------------------

# Else some connections that bring no request would keep every client out.


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


# --- caller -----------------------------------------------------------------------------------------------------------

# No message is sent twice: no connection is kept that could have died meanwhile, and nothing is tried again.


R = TypeVar("R")

NO_TLS = SSLContext(PROTOCOL_TLS_CLIENT)
"""Given so that none is made, which takes long: nothing is encrypted on a Unix socket."""
REPLIED, REFUSED = 200, 409
"""The statuses of a reply and of a refusal. With any other, the message was not answered."""
REPLY_PATIENCE = 10.0
"""Seconds to wait for a reply that waits for no question."""


class KeeperGone(DiscreetError):  # noqa: N818 - reads better without the suffix
    """The keeper cannot be reached, or closed the connection before it replied.

    A question may have been paid: ask again under the same id, which is never paid twice.

    Attributes:
        sent: whether the message had left. If not, nothing was done.
    """

    def __init__(self, sent: bool) -> None:
        super().__init__(
            "The keeper ended before it replied. Look at the lists for what was done, and try again."
            if sent
            else "The keeper cannot be reached. Try again in a moment; then look at the messages of discreet serve."
        )
        self.sent = sent


class Keeper(Protocol):
    """What the front needs of the keeper: a `Caller`."""

    async def call(self, message: Call[R], patience: float | None = None) -> R | Refused:
        """Return the reply to a message, or the refusal."""


class Caller:
    """Sends messages to one socket. Any number of calls may be under way at once, in one thread.

    Args:
        path: the socket.
        wire: what may cross it.
    """

    def __init__(self, path: str | Path, wire: Wire) -> None:
        self._wire = wire
        limits = httpx2.Limits(max_keepalive_connections=0)
        self._transport = httpx2.AsyncHTTPTransport(uds=str(path), verify=NO_TLS, limits=limits, retries=0)

    async def call(self, message: Call[R], patience: float | None = None) -> R | Any:
        """Return the reply to a message, or the refusal.

        Args:
            message: the message.
            patience: seconds to wait for the reply; None for as long as it takes.

        Raises:
            KeeperGone: if there is none.
        """
        request = httpx2.Request("POST", f"http://keeper{path_of(type(message))}", content=encode(message))
        kinds = {REPLIED: reply_of(type(message)), REFUSED: self._wire.refused}
        send = self._transport.handle_async_request
        try:
            async with asyncio.timeout(patience), aclosing(await send(request)) as response:
                content = await collect(response.aiter_raw(), self._wire.most_replied)
            if response.status_code in kinds:
                return decode(kinds[response.status_code], content)
        except httpx2.ConnectError:
            raise KeeperGone(sent=False) from None
        except (httpx2.TransportError, OSError, WireError):  # a timeout, too, and a keeper of another version
            raise KeeperGone(sent=True) from None
        # without a reply of its own the keeper failed while it answered, or took no message
        raise KeeperGone(sent=response.status_code == HTTPStatus.INTERNAL_SERVER_ERROR)


def call_once(path: str | Path, wire: Wire, message: Call[R], patience: float | None = None) -> R | Any:
    """Return the reply to a message, in a thread that may wait; see `Caller.call`."""
    return asyncio.run(Caller(path, wire).call(message, patience))

"""The asking side of a private socket: HTTP on a Unix socket, a new connection for each message.

No message is sent twice: no connection is kept that could have died meanwhile, and nothing is tried again.
"""

import asyncio
from contextlib import aclosing
from http import HTTPStatus
from pathlib import Path
from ssl import PROTOCOL_TLS_CLIENT, SSLContext
from typing import Any, Protocol, TypeVar

import httpx2

from discreet.errors import DiscreetError
from discreet.server.wire import Call, Refused, Wire, WireError, collect, decode, encode, path_of, reply_of

R = TypeVar("R")

NO_TLS = SSLContext(PROTOCOL_TLS_CLIENT)
"""Given so that none is made, which takes long: nothing is encrypted on a Unix socket."""
REPLIED, REFUSED = 200, 409
"""The statuses of a reply and of a refusal. With any other, the message was not answered."""
PATIENCE = 10.0
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

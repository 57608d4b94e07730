"""The front's side of the wall: one connection for each message, and one reply on it."""

import asyncio
import socket
from pathlib import Path
from typing import TypeVar

from discreet.errors import DiscreetError
from discreet.server.wire import (
    MOST_REPLIED,
    Answered,
    Asked,
    Catalog,
    Catalogued,
    Condense,
    Condensed,
    Estimate,
    Estimated,
    Question,
    Readied,
    Ready,
    Refused,
    Reply,
    WireError,
    decode,
    encode,
    frame,
    length,
)

R = TypeVar("R")
HEAD = 4
"""Bytes: the length before a message."""


class KeeperGone(DiscreetError):  # noqa: N818 - reads better without the suffix
    """The keeper cannot be reached, or closed the connection before it replied.

    A question may have been paid: ask again under the same id, which is never paid twice.

    Attributes:
        sent: whether the message had left the front. If not, nothing was paid.
    """

    def __init__(self, sent: bool) -> None:
        super().__init__("The keeper is gone. It is started again: ask again in a moment.")
        self.sent = sent


class KeeperClient:
    """Asks the keeper over its Unix socket. Any number of calls may be under way at once."""

    def __init__(self, path: str | Path, patience: float = 10.0) -> None:
        """For one socket.

        Args:
            path: the socket, `run/ask.sock` in the server's folder.
            patience: seconds to wait for any reply but an answer.
        """
        self._path, self._patience = str(path), patience

    async def ask(self, question: Question) -> Answered | Refused:
        """Return the answer to a question, or the refusal. It takes as long as the questions before it.

        Raises:
            KeeperGone: if the connection closes before a reply. The keeper finishes a question that it began.
        """
        reply = await self._exchange(question)
        return reply if isinstance(reply, Refused) else _expected(reply, Answered)

    async def estimate(self, asked: Estimate) -> Estimated | Refused:
        """Return what a question would cost at most, from public values; nothing is paid.

        Raises:
            KeeperGone: if the keeper does not reply.
        """
        reply = await self._soon(asked)
        return reply if isinstance(reply, Refused) else _expected(reply, Estimated)

    async def condense(self, asked: Condense) -> Condensed | Refused:
        """Return the last message as a question that stands alone. It takes as long as the questions before it.

        Raises:
            KeeperGone: if the connection closes before a reply. Nothing was paid.
        """
        reply = await self._exchange(asked)
        return reply if isinstance(reply, Refused) else _expected(reply, Condensed)

    async def catalog(self) -> Catalogued:
        """Return the vaults and models that are served.

        Raises:
            KeeperGone: if the keeper does not reply, as while it loads a model.
        """
        return _expected(await self._soon(Catalog()), Catalogued)

    async def ready(self) -> Readied:
        """Return whether the keeper can answer.

        Raises:
            KeeperGone: if the keeper does not reply.
        """
        return _expected(await self._soon(Ready()), Readied)

    async def _soon(self, message: Asked) -> Reply:
        try:
            async with asyncio.timeout(self._patience):
                return await self._exchange(message)
        except TimeoutError:
            raise KeeperGone(sent=True) from None

    async def _exchange(self, message: Asked) -> Reply:
        content, loop = frame(encode(message)), asyncio.get_running_loop()
        # A bare socket: for one message and one reply, the streams of asyncio take longer than the rest.
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.setblocking(False)
            try:
                await loop.sock_connect(connection, self._path)
            except OSError:
                raise KeeperGone(sent=False) from None
            try:
                await loop.sock_sendall(connection, content)
                size = length(await _receive(connection, HEAD), MOST_REPLIED)
                reply = decode(await _receive(connection, size))
            except (OSError, WireError):
                raise KeeperGone(sent=True) from None
        if isinstance(reply, Question | Estimate | Condense | Catalog | Ready):
            raise KeeperGone(sent=True)
        return reply


async def _receive(connection: socket.socket, size: int) -> bytes:
    """Return so many bytes.

    Raises:
        ConnectionError: if the connection ends before.
    """
    loop, parts = asyncio.get_running_loop(), list[bytes]()
    while size > 0:
        part = await loop.sock_recv(connection, min(size, 65_536))
        if not part:
            raise ConnectionError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _expected(reply: Reply, kind: type[R]) -> R:
    """Return a reply of that kind; a keeper that sends another is of another version."""
    if isinstance(reply, kind):
        return reply
    raise KeeperGone(sent=True)

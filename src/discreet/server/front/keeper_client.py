"""The front's side of the wall."""

from pathlib import Path
from typing import TypeVar

from discreet.server.caller import Caller, KeeperGone
from discreet.server.wire import (
    ANALYSTS,
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
)

__all__ = ["KeeperClient", "KeeperGone"]

R = TypeVar("R")


class KeeperClient:
    """Asks the keeper over its Unix socket. Any number of calls may be under way at once.

    Each call raises `KeeperGone` if the connection ends before a reply. The keeper finishes a question that it began.
    """

    def __init__(self, path: str | Path, patience: float = 10.0) -> None:
        """For one socket.

        Args:
            path: the socket, `run/ask.sock` in the server's folder.
            patience: seconds to wait for any reply but an answer; four times as long for an estimate, which may wait
                for the model that reads questions (`questions.model_parser.PATIENCE`).
        """
        self._caller, self._patience = Caller(path, ANALYSTS), patience

    async def ask(self, question: Question) -> Answered | Refused:
        """Return the answer to a question, or the refusal. It takes as long as the questions before it."""
        return await self._call(question, Answered, None)

    async def estimate(self, asked: Estimate) -> Estimated | Refused:
        """Return what a question would cost at most, from public values; nothing is paid."""
        return await self._call(asked, Estimated, 4 * self._patience)

    async def condense(self, asked: Condense) -> Condensed | Refused:
        """Return the last message as a question that stands alone. It takes as long as the questions before it."""
        return await self._call(asked, Condensed, None)

    async def catalog(self) -> Catalogued:
        """Return the vaults and models that are served; there is no reply while the keeper loads a model."""
        return _only(await self._call(Catalog(), Catalogued, self._patience))

    async def ready(self) -> Readied:
        """Return whether the keeper can answer."""
        return _only(await self._call(Ready(), Readied, self._patience))

    async def _call(self, message: Asked, kind: type[R], patience: float | None) -> R | Refused:
        reply = await self._caller.call(message, patience)
        assert isinstance(reply, kind | Refused)
        return reply


def _only(reply: R | Refused) -> R:
    if isinstance(reply, Refused):
        raise KeeperGone(sent=True)
    return reply

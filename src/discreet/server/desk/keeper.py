"""The desk's side of the keeper's socket."""

from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.server.caller import KeeperGone, call_once
from discreet.server.custody_messages import CUSTODY, Asked, Failed

__all__ = ["Keeper", "KeeperBusy", "KeeperGone", "Refused"]


class KeeperBusy(DiscreetError):  # noqa: N818 - reads better without the suffix
    """A keeper at long work."""


class Refused(DiscreetError):  # noqa: N818
    """A refusal of the keeper, in words for the custodian."""


class Keeper:
    """Asks the keeper, each time over a new connection.

    Args:
        path: the keeper's socket for the desk.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def ask(self, message: Asked) -> Any:
        """Return the reply to a message. It may take as long as it takes.

        Raises:
            KeeperGone, KeeperBusy, Refused: if there is none.
        """
        reply = call_once(self._path, CUSTODY, message)
        if isinstance(reply, Failed):
            raise KeeperBusy(reply.message) if reply.code == "busy" else Refused(reply.message)
        return reply

"""The desk's side of the keeper's socket."""

import socket
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.server.custody_messages import Asked, Failed
from discreet.server.custody_wire import WireError, read_message, write_message

_PATIENCE = 10.0
"""Seconds to reach the keeper; a reply may take as long as it takes."""


class KeeperGone(DiscreetError):  # noqa: N818 - reads better without the suffix
    """A keeper that cannot be reached, or that ended before it replied."""


class KeeperBusy(DiscreetError):  # noqa: N818
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
        """Return the reply to a message.

        Raises:
            KeeperGone, KeeperBusy, Refused: if there is none.
        """
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(_PATIENCE)
                connection.connect(str(self._path))
                write_message(connection, message)
                connection.settimeout(None)
                reply = read_message(connection)
        except (OSError, WireError):
            raise KeeperGone(
                "The keeper cannot be reached. It may be starting. Try again in a moment; then look at the messages "
                "of discreet serve."
            ) from None
        if reply is None:
            raise KeeperGone("The keeper ended before it replied. Look at the lists for what was done, and try again.")
        if isinstance(reply, Failed):
            raise KeeperBusy(reply.message) if reply.code == "busy" else Refused(reply.message)
        return reply

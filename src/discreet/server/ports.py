"""The ports of a server: whether one can be listened at, and whether a process listens."""

import socket
from contextlib import ExitStack

from discreet.errors import UsageError
from discreet.server.config import ServeConfig


def find_ports(config: ServeConfig) -> dict[str, tuple[str, int]]:
    """Return host and port by the name of the process that listens there."""
    return {"front": (config.host, config.port), "desk": (config.desk_host, config.desk_port)}


def check_ports(config: ServeConfig, *names: str) -> None:
    """Refuse ports of the processes `names` that another program has, or that two of them would have.

    Raises:
        UsageError: if there is one.
    """
    with ExitStack() as opened:
        for name in names:
            host, port = find_ports(config)[name]
            try:
                family = socket.getaddrinfo(host, port)[0][0]
                opened.enter_context(socket.create_server((host, port), family=family))
            except OSError as error:
                option = "--desk-port" if name == "desk" else "--port"
                raise UsageError(
                    f"Port {port} of {host} cannot be used: {error.strerror}. Give another one: {option} NUMBER"
                ) from None


def listens(host: str, port: int) -> bool:
    """Return whether a process listens at a port."""
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True

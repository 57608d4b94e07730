"""GET /metrics for Prometheus: what the front counts, which is public, fetched from its socket."""

import http.client
import socket
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from discreet.server.desk.desk import Desk, page

_PATIENCE = 5.0
_MOST = 2**20


class _Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_PATIENCE)
        self.sock.connect(str(self._path))


def routes(desk: Desk) -> list[Route]:
    """Return the routes of this file."""
    return [page(desk, "/metrics", _show)]


def _show(desk: Desk, request: Request) -> Response:
    connection = _Connection(desk.config.metrics_socket)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read(_MOST).decode(errors="replace")
    except (OSError, http.client.HTTPException):
        return PlainTextResponse("The front cannot be reached.\n", 503)
    finally:
        connection.close()
    return PlainTextResponse(text)

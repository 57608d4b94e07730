"""JSON over HTTP, HTTPS or a Unix socket: one connection for each request, no proxy, no redirect, no retry.

Requests hold texts of documents. So no error repeats a request or a reply, and a redirect is not followed.
"""

import http.client
import ipaddress
import json
import os
import socket
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from discreet.errors import DiscreetError, UsageError

KEY = "DISCREET_MODEL_KEY"
"""The environment variable with the server's key. It stands in no setting, no command line and no log."""
CONNECTING = 5.0
"""Seconds to wait for a connection."""
ANSWERING = 600.0
"""Seconds to wait for a reply: those of the queue before it included."""
_LARGEST = 1 << 26


class ServerGone(DiscreetError):  # noqa: N818
    """A server that cannot be reached, stopped in the middle of a request, or sent no valid reply."""


@dataclass(frozen=True)
class Reply:
    """The reply to a request.

    Attributes:
        status: the status of HTTP.
        content: the JSON object; empty if the reply is none.
    """

    status: int
    content: dict[str, Any]


@dataclass(frozen=True)
class Endpoint:
    """The address of a server.

    Attributes:
        scheme: "http", "https" or "unix".
        host: the host; the path of the socket for "unix".
        port: the port; 0 for "unix".
        base: the path before each request's own, such as "/v1".
    """

    scheme: str
    host: str
    port: int = 0
    base: str = ""

    @staticmethod
    def parse(url: str) -> "Endpoint":
        """Return the endpoint of an address such as http://127.0.0.1:8000/v1 or unix:/run/model.sock.

        Raises:
            UsageError: if it is none. The message does not repeat an address with a password.
        """
        if url.startswith("unix:"):
            path = url.removeprefix("unix:").removeprefix("//")
            if not path:
                raise UsageError("The path of the socket is missing. Write unix:/run/model.sock.")
            return Endpoint("unix", path)
        try:
            found = urlsplit(url)
            port = found.port
        except ValueError:
            raise UsageError("The address of the model's server is invalid. Try http://127.0.0.1:8000/v1.") from None
        if found.username or found.password:
            raise UsageError(f"The address of a model has no password. Put the key into the variable {KEY}.")
        if found.scheme not in ("http", "https") or not found.hostname:
            raise UsageError(f"'{url}' is no address of a model's server. Try http://127.0.0.1:8000/v1.")
        return Endpoint(
            found.scheme, found.hostname, port or (443 if found.scheme == "https" else 80), found.path.rstrip("/")
        )

    @property
    def stays_here(self) -> bool:
        """Whether what is sent stays on this machine."""
        if self.scheme == "unix" or self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        if self.scheme == "unix":
            return f"unix:{self.host}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.base}"

    def request(self, method: str, path: str, body: object = None, *, timeout: float = ANSWERING) -> Reply:
        """Return the reply to one request.

        Raises:
            ServerGone: if the server cannot be reached, does not answer in time, or sends no HTTP.
        """
        sent, failure = None if body is None else json.dumps(body).encode(), ""
        headers = {"Content-Type": "application/json", "Connection": "close"}
        if key := os.environ.get(KEY):
            headers["Authorization"] = f"Bearer {key}"
        try:
            with closing(self._connect()) as connection:
                connection.connect()
                assert connection.sock is not None
                connection.sock.settimeout(timeout)
                connection.request(method, self.base + path, sent, headers)
                response = connection.getresponse()
                content = response.read(_LARGEST)
                return Reply(response.status, _parse(content))
        except (OSError, http.client.HTTPException) as error:
            failure = type(error).__name__
        # Raised outside of the handler: the frames of the error hold the request.
        raise ServerGone(f"The model's server at {self} does not answer ({failure}). Start it, and ask again.")

    def _connect(self) -> http.client.HTTPConnection:
        if self.scheme == "unix":
            return _UnixConnection(self.host)
        kind = http.client.HTTPSConnection if self.scheme == "https" else http.client.HTTPConnection
        return kind(self.host, self.port, timeout=CONNECTING)


class _UnixConnection(http.client.HTTPConnection):
    """A connection over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=CONNECTING)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(CONNECTING)
        self.sock.connect(self._path)


def _parse(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}

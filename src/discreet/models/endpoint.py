"""JSON over HTTP, HTTPS or a Unix socket: one connection for each request, no proxy, no redirect, no retry.

Requests hold texts of documents. So no error repeats a request or a reply, and a redirect is not followed.
"""

import http.client
import ipaddress
import json
import os
import socket
import struct
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from discreet.errors import EngineFailed, UsageError

KEY, PARSER_KEY = "DISCREET_MODEL_KEY", "DISCREET_PARSER_KEY"
"""The environment variables with a server's key: that of the vault's model, and that of the model that reads questions.

A key stands in no setting, no command line and no log, and goes to no other server."""
CONNECTING = 5.0
"""Seconds to wait for a connection."""
ANSWERING = 600.0
"""Seconds to wait for a reply: those of the queue before it included."""
_LARGEST = 1 << 26
FAILED = "No answer was released. What the question could have cost is charged."
"""What an error says if an engine failed after documents were sent to it."""


class ServerGone(EngineFailed):
    """A server that cannot be reached, stopped in the middle of a request, or sent no valid reply."""


class KeyRefused(EngineFailed, UsageError):  # noqa: N818
    """A key that is missing or wrong at the server."""


@dataclass(frozen=True)
class EndpointReply:
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
        key: the environment variable with the key.
    """

    scheme: str
    host: str
    port: int = 0
    base: str = ""
    key: str = KEY

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
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise UsageError("The address of the model's server is invalid. Try http://127.0.0.1:8000/v1.") from None
        if parts.username or parts.password:
            raise UsageError(f"The address of a model has no password. Its key stands in a variable, such as {KEY}.")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"'{url}' is no address of a model's server. Try http://127.0.0.1:8000/v1.")
        return Endpoint(
            parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80), parts.path.rstrip("/")
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

    def request(self, method: str, path: str, body: object = None, *, timeout: float = ANSWERING) -> EndpointReply:
        """Return the reply to one request.

        Raises:
            ServerGone: if the server cannot be reached, does not answer in time, or sends no HTTP.
        """
        sent, failure = None if body is None else json.dumps(body).encode(), ""
        headers = {"Content-Type": "application/json", "Connection": "close"}
        if key := read_key(self.key):
            headers["Authorization"] = f"Bearer {key}"
        try:
            with closing(self._connect()) as connection:
                connection.connect()
                assert connection.sock is not None
                connection.sock.settimeout(timeout)
                until = time.monotonic() + timeout
                with suppress(BrokenPipeError):  # a server may refuse before it has read all, and its reply counts
                    connection.request(method, self.base + path, sent, headers)
                response = connection.getresponse()
                return EndpointReply(response.status, _parse(_read(response, until)))
        except (OSError, UnicodeError, http.client.HTTPException) as error:
            failure = type(error).__name__
        # Raised outside of the handler: the frames of the error hold the request.
        raise ServerGone(f"The model's server at {self} does not answer ({failure}). Start it, and ask again.")

    def listens(self) -> bool:
        """Return whether a server of this user, or one on a port, accepts connections. Nothing is sent."""
        try:
            with closing(self._connect()) as connection:
                connection.connect()
        except (OSError, UnicodeError):
            return False
        return True

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
        if hasattr(socket, "SO_PEERCRED"):
            _, owner, _ = struct.unpack("3i", self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if owner not in (0, os.geteuid()):
                raise PermissionError("Another user listens at the socket.")


def read_key(variable: str = KEY) -> str:
    """Return the key in a variable of the environment, without a line break at its end; "" if there is none.

    Raises:
        UsageError: if it has characters that no key has. The message does not repeat it.
    """
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise UsageError(f"The value of {variable} has characters that no key has, such as a line break. Set it again.")
    return key


def _read(response: http.client.HTTPResponse, until: float) -> bytes:
    """Return the body of a reply, if it arrives until a moment (`time.monotonic`)."""
    content = bytearray()
    while chunk := response.read1(_LARGEST):
        content += chunk
        if len(content) > _LARGEST or time.monotonic() > until:
            raise TimeoutError
    return bytes(content)


def _parse(content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}

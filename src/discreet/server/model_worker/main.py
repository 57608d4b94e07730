"""A model worker as a process: uvicorn on a Unix socket or a port of this machine, without an access log."""

import ipaddress
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from discreet.errors import UsageError
from discreet.system.shell import quoted

_PATIENCE = 5
"""Seconds in which requests may end after a signal."""
_WAITING = 128
"""Connections that wait while the model is loaded."""


def bind_socket(path: Path) -> socket.socket:
    """Return a Unix socket for the owner of this process alone.

    Raises:
        UsageError: if another worker listens there, or if the path is no socket or cannot be made.
    """
    folder = path.parent
    if not folder.is_dir():
        raise UsageError(
            f"No socket can be made at {path}: there is no folder {folder}. Make it for yourself alone, and run the "
            f"command again: mkdir -p -m 700 {quoted(folder)}"
        )
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        if path.is_socket():
            _remove_stale(path)
        listener.bind(str(path))
        listener.listen(_WAITING)  # a second worker sees at once that this one has the path
    except OSError as error:
        raise UsageError(f"No socket can be made at {path}: {error.strerror or error}. Give another path.") from None
    finally:
        os.umask(before)
    return listener


def remove_socket(path: Path, listener: socket.socket) -> None:
    """Remove the path of a socket, unless another worker has it by now."""
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        listener.close()
        probe.connect(str(path))
        return  # another worker listens there
    path.unlink(missing_ok=True)


def bind_port(host: str, port: int) -> socket.socket:
    """Return a socket of this machine's loopback.

    Raises:
        UsageError: if the host is another one, or if the port is taken.
    """
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise UsageError(f"A model worker listens on this machine alone: 127.0.0.1 or a socket, not {host}.")
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_WAITING)
    except OSError as error:
        raise UsageError(f"Port {port} of {host} cannot be used: {error.strerror}. Give another one.") from None
    return listener


def serve(app: FastAPI, listener: socket.socket, on_ready: Callable[[], None] = lambda: None) -> int:
    """Serve until a signal; return the exit code."""
    _quiet()
    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_PATIENCE,
        ws="none",
        lifespan="off",
    )
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # what uvicorn raises again at its end
    try:
        on_ready()
        uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:
        return 0
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0


def _remove_stale(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()  # what a worker that was killed left
            return
    raise UsageError(f"Another worker listens at {path}. Stop it, or give another path.")


def _quiet() -> None:
    """Write no traceback and no text of an exception: they may hold prompts."""
    for name in ("uvicorn", "asyncio", "fastapi", "starlette"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.CRITICAL + 1)
        logger.propagate = False

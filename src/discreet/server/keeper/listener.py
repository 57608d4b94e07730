"""A Unix socket on which messages are answered: a thread for each connection, one message after the other.

Threads are kept for the next connection: to wake one takes less time than to start one.
"""

import os
import socket
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from discreet.server.keeper.hardening import Log
from discreet.server.wire import (
    Answered,
    Asked,
    Catalogued,
    Condensed,
    Estimated,
    Readied,
    Refused,
    Reply,
    WireError,
    read_message,
    write_message,
)

MOST_CONNECTIONS = 256
_MOST_WAITING = 4
"""So many threads wait for a connection at most."""
_PATIENCE = 30.0
"""Seconds in which a message must have come."""
_BACKLOG = 128


@dataclass(frozen=True)
class Owner:
    """Who may use a socket, beside the keeper's own user."""

    uid: int
    gid: int


def share_with_group(path: Path) -> None:
    """Let the group of a folder use a socket in it, if the folder passes its group on: the front is another user."""
    if path.parent.stat().st_mode & stat.S_ISGID:
        path.chmod(0o660)


class Listener:
    """Listens on a socket until it is closed.

    Args:
        path: of the socket; one that is there is replaced.
        reply: returns the reply to a message.
        log: where errors are named.
        owner: the user who may connect; the keeper's if None.
    """

    def __init__(self, path: Path, reply: Callable[[Asked], Reply], log: Log, owner: Owner | None = None) -> None:
        self._path, self._reply, self._log = path, reply, log
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._open: dict[threading.Thread, socket.socket] = {}
        self._waiting = 0
        self._lock = threading.Lock()
        self._closed = threading.Event()
        path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            self._socket.bind(os.fspath(path))
        finally:
            os.umask(before)
        if owner is not None:
            os.chown(path, owner.uid, owner.gid)
        self._socket.listen(_BACKLOG)
        self._start_thread()

    def close(self, patience: float) -> None:
        """Take no more connections or messages, and wait up to `patience` seconds for replies that are on their way."""
        self._closed.set()
        self._path.unlink(missing_ok=True)
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # which ends the wait for a connection
        self._socket.close()
        with self._lock:
            left = dict(self._open)
        for connection in left.values():
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)  # an idle connection ends at once, and a reply is still written
        for thread in left:
            thread.join(patience / max(1, len(left)))

    def _start_thread(self) -> None:
        threading.Thread(target=self._take_turns, name="connection", daemon=True).start()

    def _take_turns(self) -> None:
        """Serve one connection after the other. Meanwhile another thread waits for the next one."""
        while (connection := self._accept()) is not None:
            with self._lock:
                self._open[threading.current_thread()] = connection
                last = not self._waiting
            if last:
                with suppress(RuntimeError):  # too many threads: this one waits again when it has replied
                    self._start_thread()
            self._serve(connection)
            with self._lock:
                if self._waiting >= _MOST_WAITING:
                    return

    def _accept(self) -> socket.socket | None:
        """Return the next connection that may be served; None when the listener is closed."""
        with self._lock:
            self._waiting += 1
        try:
            return self._next_connection()
        finally:
            with self._lock:
                self._waiting -= 1

    def _next_connection(self) -> socket.socket | None:
        while not self._closed.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:  # it was closed, or there are too many files: the front tries again
                self._closed.wait(0.05)
                continue
            if self._free.acquire(blocking=False):
                return connection
            connection.close()
        return None

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.settimeout(_PATIENCE)
                while self._one(connection):
                    pass
        except (OSError, WireError) as error:  # who went away, or sent what is no message, is not answered
            self._log.write("a connection ended by", error=error)
        finally:
            self._free.release()
            with self._lock:
                self._open.pop(threading.current_thread(), None)

    def _one(self, connection: socket.socket) -> bool:
        """Answer one message; whether there was one."""
        message = read_message(connection)
        if message is None or self._closed.is_set():
            return False
        if isinstance(message, Answered | Estimated | Condensed | Catalogued | Readied | Refused):
            raise WireError("A reply was sent to the keeper.")
        write_message(connection, self._reply(message))
        return True

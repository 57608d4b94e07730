"""A link to the database that is cut in the middle of a payment.

`Link` passes bytes between a host and the database, and reads the host's statements. At the `commit` of a transaction
that has a certain statement, it cuts: from then on it passes nothing, in no direction, and closes nothing. With
`before`, the database never gets the commit. With `after`, it gets it, and the host never gets the reply. With `late`,
the database gets the commit a while after the link is mended, when the host has given the connection up.
"""

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

STATEMENTS = {
    "payment": (b'search_path to "vault_', b"insert into log", b"reserve"),
    "settlement": (b'search_path to "vault_', b"insert into log", b"settle"),
    "reservation of the key": (b'search_path to "accounts"', b"insert into log", b"reserve"),
    "settlement of the key": (b'search_path to "accounts"', b"insert into log", b"settle"),
}
"""What the statements and values of the transaction that is cut have, by what the transaction does."""
BEFORE, AFTER, LATE = "before", "after", "late"
_DELAY = 1.0
"""Seconds after which a late commit comes."""
_STARTUP = (196608, 196610)  # the codes of a first message; others ask for encryption, and come before it
_PIECE = 65536


class Closed(Exception):  # noqa: N818 - reads better without the suffix
    """The end of a connection."""


@dataclass
class _Statements:
    """What a connection has prepared, and what of the wanted its transaction has had."""

    wanted: tuple[bytes, ...]
    prepared: dict[bytes, bytes] = field(default_factory=dict)
    found: set[bytes] = field(default_factory=set)

    def is_commit(self, kind: bytes, content: bytes) -> bool:
        """Read a message; return whether it commits a transaction that has the statement."""
        text = b""
        if kind == b"Q":
            text = content.rstrip(b"\0")
        elif kind == b"P":
            name, text = content.split(b"\0")[:2]
            self.prepared[name] = text
        elif kind == b"B":
            text = self.prepared.get(content.split(b"\0")[1], b"")
        values = content.lower() if kind == b"B" else b""
        self.found |= {one for one in self.wanted if one in text.lower() or one in values}
        last, whole = text.lower().strip(), bool(self.wanted) and self.found >= set(self.wanted)
        if last in (b"commit", b"rollback"):
            self.found = set()
        return whole and last == b"commit"


class Link:
    """A link, in both directions, to the socket of a database. Threads pass the bytes."""

    def __init__(self, database: str, host: str = "127.0.0.1", on_cut: Callable[[], None] = lambda: None) -> None:
        """Listen.

        Args:
            database: the path of the database's Unix socket.
            host: the address on which the link listens.
            on_cut: called when the link is cut, before anything else happens.
        """
        self._database, self._on_cut = database, on_cut
        self._listener = socket.create_server((host, 0), backlog=64)
        self.port = int(self._listener.getsockname()[1])
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._armed: tuple[tuple[bytes, ...], str] | None = None
        self._held: tuple[socket.socket, bytes] | None = None
        self.cut, self.mended, self._lock = threading.Event(), threading.Event(), threading.Lock()
        self.mended.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, what: str, when: str) -> None:
        """Cut at the next commit of a transaction that does `what`: before the database has it, or after."""
        self.cut.clear()
        self._armed = (STATEMENTS[what], when)

    def mend(self) -> None:
        """Pass bytes again, on new connections. What was under way is lost."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
            held, self._held = self._held, None
        for one in (one for pair in pairs for one in pair):
            if held is None or one is not held[0]:
                _end(one)
        if held is not None:
            threading.Timer(_DELAY, _deliver, held).start()
        self.mended.set()

    def close(self) -> None:
        """End the link."""
        self._listener.close()
        self.mend()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        self.mended.wait()
        far = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            far.connect(self._database)
        except OSError:
            near.close()
            return
        with self._lock:
            self._pairs.append((near, far))
        for act in (self._send, self._receive):
            threading.Thread(target=self._pass, args=(act, near, far), daemon=True).start()

    def _pass(
        self, act: Callable[[socket.socket, socket.socket], None], near: socket.socket, far: socket.socket
    ) -> None:
        try:
            act(near, far)
        except (Closed, OSError, ValueError):
            if not self.mended.is_set():
                return  # a cut link closes nothing
            for one in (near, far):
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def _send(self, near: socket.socket, far: socket.socket) -> None:
        """Pass messages to the database, one by one."""
        code = 0
        while code not in _STARTUP:
            head = _read(near, 8)
            size, code = struct.unpack("!II", head)
            self._to(far, head + _read(near, size - 8))
        statements = _Statements(())
        while True:
            head = _read(near, 5)
            content = _read(near, struct.unpack("!I", head[1:])[0] - 4)
            armed = self._armed
            statements.wanted = armed[0] if armed else ()
            if statements.is_commit(head[:1], content) and armed is not None and self._take():
                self.mended.clear()
                self._on_cut()
                if armed[1] == AFTER:
                    far.sendall(head + content)
                if armed[1] == LATE:
                    self._held = (far, head + content)
                self.cut.set()
                raise Closed
            self._to(far, head + content)

    def _take(self) -> bool:
        """Return whether this commit is the one to cut: the first."""
        with self._lock:
            armed, self._armed = self._armed, None
            return armed is not None

    def _receive(self, near: socket.socket, far: socket.socket) -> None:
        """Pass what the database says."""
        while piece := far.recv(_PIECE):
            self._to(near, piece)
        raise Closed

    def _to(self, to: socket.socket, content: bytes) -> None:
        """Send, or lose it if the link is cut."""
        if self.mended.is_set():
            to.sendall(content)


def _deliver(far: socket.socket, content: bytes) -> None:
    """Send a commit that was held, read the reply, and end."""
    with suppress(OSError):
        far.sendall(content)
        far.settimeout(_DELAY)
        far.recv(_PIECE)
    _end(far)


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


def _read(near: socket.socket, size: int) -> bytes:
    parts = b""
    while len(parts) < size:
        piece = near.recv(size - len(parts))
        if not piece:
            raise Closed
        parts += piece
    return parts

"""A private socket: its limits, its end, and replies that wait for nothing but themselves."""

import io
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from discreet_server.keeper import process as listening
from discreet_server.keeper.hardening import KeeperLog
from discreet_server.keeper.process import Listener
from discreet_server.sockets import KeeperGone, PatientProtocol, call_once
from discreet_server.wire import ANALYSTS, Catalogued, Readied, Ready, encode
from tests.server.keepers import Connection, read_message, request_of, write_message

READY = Readied(True, True)
Listen = Callable[..., Listener]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ask.sock"


@pytest.fixture
def log() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def listen(path: Path, log: io.StringIO) -> Iterator[Listen]:
    """Return a function that makes a listener with a reply, and closes it at the end."""
    with ExitStack() as made:

        def make(reply: Callable[[Any], Any] = lambda _: READY) -> Listener:
            listener = Listener(path, ANALYSTS, reply, KeeperLog(log))
            made.callback(listener.close, 5.0)
            return listener

        yield make


def _connect(path: Path) -> Connection:
    connection = Connection(socket.AF_UNIX)
    connection.settimeout(10)
    connection.connect(str(path))
    return connection


def _read_all(connection: socket.socket) -> bytes:
    got = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            got += part
    return got


def test_socket_is_for_its_owner_alone(listen: Listen, path: Path) -> None:
    path.write_text("what a killed keeper left")
    listen()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert call_once(path, ANALYSTS, Ready(), patience=10) == READY


def test_connection_beyond_busy_ones_is_closed_at_once(
    listen: Listen, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "MOST_CONNECTIONS", 2)
    begun, go = threading.Semaphore(0), threading.Event()

    def reply(_: Any) -> Any:
        begun.release()
        assert go.wait(30)
        return READY

    listen(reply)
    with _connect(path) as first, _connect(path) as second:
        for one in (first, second):
            write_message(one, Ready())
            assert begun.acquire(timeout=10)
        with _connect(path) as third:
            assert third.recv(1) == b""
        go.set()
        assert [read_message(one) for one in (first, second)] == [READY, READY]


def test_message_that_does_not_come_is_not_waited_for(
    listen: Listen, path: Path, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "PATIENCE", 0.2)
    monkeypatch.setattr(PatientProtocol, "patience", 0.2)
    listen()
    whole = request_of("/ready", encode(Ready()))
    with _connect(path) as silent, _connect(path) as slow:
        slow.sendall(whole[:-1])
        assert silent.recv(1) == b""
        assert _read_all(slow).startswith(b"HTTP/1.1 422")
    assert "a message was not read: TimeoutError" in log.getvalue()


def test_no_error_repeats_what_came_or_what_was_replied(listen: Listen, path: Path, log: io.StringIO) -> None:
    def reply(_: Any) -> Any:
        raise ValueError("canary")

    listen(reply)
    for sent, status in (
        (request_of("/ready", encode(Ready())), 500),
        (request_of("/ready", b'{"canary": "canary"}'), 422),
        (request_of("/ready", b"{canary"), 422),
        (request_of("/canary?canary", b"canary"), 404),
        (request_of("/ready", encode(Ready()), b"canary: canary\r\n canary canary\r\nx\r\n"), 400),
        (b"canary\r\n\r\n", 400),
    ):
        with _connect(path) as connection:
            connection.sendall(sent)
            got = _read_all(connection)
        assert got.startswith(f"HTTP/1.1 {status}".encode())
        assert b"canary" not in got
    assert "a message was not answered: ValueError" in log.getvalue()
    assert "canary" not in log.getvalue()


def test_reply_of_another_kind_does_not_leave(listen: Listen, path: Path) -> None:
    listen(lambda _: Catalogued(()))
    with pytest.raises(KeeperGone) as caught:
        call_once(path, ANALYSTS, Ready(), patience=10)
    assert caught.value.sent


def test_message_is_sent_once_and_not_again(path: Path) -> None:
    """A keeper that dies after it read a message: the question may be paid. Only the asker may ask it again."""
    came: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
        bound.listen(5)
        bound.settimeout(0.5)

        def die() -> None:
            with suppress(TimeoutError):
                while True:
                    connection, _ = bound.accept()
                    with connection:
                        came.append(connection.recv(65_536))

        dying = threading.Thread(target=die)
        dying.start()
        with pytest.raises(KeeperGone) as caught:
            call_once(path, ANALYSTS, Ready(), patience=10)
        dying.join()
    assert caught.value.sent
    assert len(came) == 1
    with pytest.raises(KeeperGone) as caught:
        call_once(path, ANALYSTS, Ready(), patience=10)
    assert not caught.value.sent


@pytest.mark.parametrize(("status", "sent"), [(503, False), (404, False), (500, True)])
def test_only_a_keeper_that_answered_may_have_been_paid(path: Path, status: int, sent: bool) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
        bound.listen(1)

        def reply() -> None:
            connection, _ = bound.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(f"HTTP/1.1 {status} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode())

        replying = threading.Thread(target=reply)
        replying.start()
        with pytest.raises(KeeperGone) as caught:
            call_once(path, ANALYSTS, Ready(), patience=10)
        replying.join()
    assert caught.value.sent is sent


def test_at_the_end_an_idle_connection_is_closed_at_once_and_a_reply_is_written(listen: Listen, path: Path) -> None:
    begun, go = threading.Event(), threading.Event()

    def reply(_: Any) -> Any:
        begun.set()
        assert go.wait(10)
        return READY

    listener = listen(reply)
    with _connect(path) as idle, _connect(path) as busy:
        write_message(busy, Ready())
        assert begun.wait(10)
        ending = threading.Thread(target=listener.close, args=(60.0,))
        ending.start()
        assert idle.recv(1) == b""
        go.set()
        assert read_message(busy) == READY
        ending.join(10)
        assert not ending.is_alive()

"""The keeper's listener: each connection has a thread, and threads are kept for the next one."""

import io
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from discreet.server.keeper import listener as listening
from discreet.server.keeper.hardening import Log
from discreet.server.keeper.listener import Listener
from discreet.server.wire import Asked, Readied, Ready, Reply, read_message, write_message
from tests.server.keepers import wait_until

READY = Readied(True, True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ask.sock"


@pytest.fixture
def listener(path: Path) -> Iterator[Listener]:
    made = Listener(path, lambda _: READY, Log(io.StringIO()))
    yield made
    made.close(5.0)


def _connect(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(10)
    connection.connect(str(path))
    return connection


def _is_answered(connection: socket.socket) -> bool:
    write_message(connection, Ready())
    return read_message(connection) == READY


def _threads() -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name == "connection"}


def test_threads_are_kept_for_the_next_connection(listener: Listener, path: Path) -> None:
    before, seen = _threads(), set[threading.Thread]()
    others = len(before) - 1  # of other listeners: this one has one thread
    for _ in range(50):
        with _connect(path) as connection:
            assert _is_answered(connection)
            seen |= _threads()
        # On a busy processor the thread that answered may not wait again before the next connection comes.
        wait_until(lambda: listener._waiting == len(_threads()) - others)
    assert len(seen - before) <= listening._MOST_WAITING


def test_held_connections_leave_a_thread_for_the_next(listener: Listener, path: Path) -> None:
    with ExitStack() as held:
        connections = [held.enter_context(_connect(path)) for _ in range(40)]
        assert all(_is_answered(one) for one in reversed(connections))
        assert all(_is_answered(one) for one in connections)


def test_threads_beyond_those_that_wait_end(listener: Listener, path: Path) -> None:
    before = _threads()
    with ExitStack() as held:
        assert all(_is_answered(held.enter_context(_connect(path))) for _ in range(20))
        assert len(_threads() - before) >= 20
    wait_until(lambda: len(_threads() - before) <= listening._MOST_WAITING)


def test_connection_beyond_the_limit_is_closed_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "MOST_CONNECTIONS", 2)
    listener = Listener(path, lambda _: READY, Log(io.StringIO()))
    try:
        with _connect(path) as first, _connect(path) as second:
            assert _is_answered(first)
            assert _is_answered(second)
            with _connect(path) as third:
                assert third.recv(1) == b""
            assert _is_answered(first)
    finally:
        listener.close(5.0)


def test_no_thread_is_left_after_the_end(path: Path) -> None:
    before = _threads()
    listener = Listener(path, lambda _: READY, Log(io.StringIO()))
    with _connect(path) as connection:
        assert _is_answered(connection)
    made = _threads() - before
    listener.close(5.0)
    for one in made:
        one.join(5.0)
    assert not [one for one in made if one.is_alive()]
    assert not path.exists()


def test_at_the_end_an_idle_connection_is_closed_at_once_and_a_reply_is_written(path: Path) -> None:
    begun, go = threading.Event(), threading.Event()

    def reply(_: Asked) -> Reply:
        begun.set()
        assert go.wait(10)
        return READY

    listener = Listener(path, reply, Log(io.StringIO()))
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

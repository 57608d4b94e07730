"""The keeper's process: two Unix sockets and no network. It ends when it is asked to, after the question that runs.

A private socket has an app for each message of a wire, served by HTTP. Each reply is made in a thread of its own: no
number of answers that wait keeps another reply waiting.
"""

import asyncio
import os
import signal
import socket
import stat
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.errors import UsageError
from discreet.vault import Vault
from discreet_server.config import ServeConfig
from discreet_server.custody_messages import CUSTODY
from discreet_server.keeper.answering import Answering
from discreet_server.keeper.custody import Custody
from discreet_server.keeper.hardening import KeeperLog, harden, open_log
from discreet_server.keeper.served import Opener
from discreet_server.sockets import PATIENCE, REFUSED, REPLIED, PatientProtocol, uvicorn_config
from discreet_server.state_folder import KEEPER_LOCK, find_user, lock_file
from discreet_server.wire import ANALYSTS, Call, Wire, WireError, collect, decode, encode, path_of, reply_of

MOST_CONNECTIONS = 256
"""A further one is closed at once. So many replies may be under way, too: their callers may have gone away."""
_BACKLOG = 1024
"""Connections that wait to be taken; a Unix socket refuses a further one."""
_CLOSE = {"connection": "close"}


def share_with_group(path: Path) -> None:
    """Let the group of a folder use a socket in it, if the folder passes its group on: the front is another user."""
    if path.parent.stat().st_mode & stat.S_ISGID:
        path.chmod(0o660)


class Listener:
    """Listens on a socket until it is closed, in a thread of its own.

    Args:
        path: of the socket; one that is there is replaced.
        wire: what may cross it.
        reply: returns the reply to a message, or the refusal.
        log: where errors are named.
        owner: the user who may connect, and the group: two ids; the keeper's own if None.
    """

    def __init__(
        self, path: Path, wire: Wire, reply: Callable[[Any], Any], log: KeeperLog, owner: tuple[int, int] | None = None
    ) -> None:
        self._path = path
        bound = _bind(path, owner)
        how = {"loop": "asyncio", "lifespan": "off", "date_header": False, "backlog": _BACKLOG}
        most = MOST_CONNECTIONS + 1  # it counts the connection that asks
        config = uvicorn_config(make_app(wire, reply, log), most, http=_LimitedProtocol, **how)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([bound],), name="listener", daemon=True)
        self._thread.start()

    def close(self, patience: float) -> None:
        """Take no more connections or messages, and wait up to `patience` seconds for replies that are on their way."""
        self._path.unlink(missing_ok=True)
        self._server.config.timeout_graceful_shutdown = round(patience)
        self._server.should_exit = True
        self._thread.join(patience + 1.0)


class _LimitedProtocol(PatientProtocol):
    """Closes a connection beyond the limit at once if all others have messages: 503 would be no reply of the wire."""

    def no_room(self) -> None:
        self.transport.close()


def make_app(wire: Wire, reply: Callable[[Any], Any], log: KeeperLog) -> Starlette:
    """Return the app of a wire: a path for each kind of message. No reply and no log line repeats what came.

    Args:
        wire: what may cross.
        reply: returns the reply to a message; it is called in a thread of its own.
        log: where errors are named.
    """

    def route(kind: type[Call[Any]]) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                async with asyncio.timeout(PATIENCE):  # the head of a message may take as long
                    content = await collect(request.stream(), wire.most_asked)
                message = decode(kind, content)
            except (WireError, TimeoutError, ClientDisconnect) as error:
                log.write("a message was not read:", error=error)
                return Response(status_code=422, headers=_CLOSE)
            done: Future[Response] = Future()
            done.set_running_or_notify_cancel()
            # a thread that does not keep the process from ending
            threading.Thread(target=lambda: done.set_result(respond(message)), name="reply", daemon=True).start()
            return await asyncio.wrap_future(done)

        return answer

    def respond(message: Call[Any]) -> Response:
        try:
            replied = reply(message)
            if type(replied) not in (reply_of(type(message)), wire.refused):
                raise WireError("A reply of another kind does not leave.")
            return Response(encode(replied), REFUSED if isinstance(replied, wire.refused) else REPLIED)
        except BaseException as error:
            log.write("a message was not answered:", error=error)
            return Response(status_code=500, headers=_CLOSE)

    async def refuse(_: Request, error: Exception) -> Response:
        return Response(status_code=getattr(error, "status_code", 500), headers=_CLOSE)

    routes = [Route(path_of(kind), route(kind), methods=["POST"]) for kind in wire.kinds]
    app = Starlette(routes=routes, exception_handlers={HTTPException: refuse})
    app.router.redirect_slashes = False  # a redirect would repeat the path
    return app


def _bind(path: Path, owner: tuple[int, int] | None) -> socket.socket:
    """Return a socket that listens, and that its owner alone may use."""
    path.unlink(missing_ok=True)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        bound.bind(os.fspath(path))
    finally:
        os.umask(before)
    if owner is not None:
        os.chown(path, *owner)
    bound.listen(_BACKLOG)
    return bound


# --- the process -----------------------------------------------------------------------------------------------------


_PATIENCE = 10.0
"""Seconds for replies that are on their way when the keeper ends."""
FAILED = 1


def main(config: ServeConfig, open_vault: Opener = Vault.open) -> int:
    """Run the keeper until SIGTERM; return the exit code.

    Args:
        config: the server's.
        open_vault: opens a vault; for tests, with another model.
    """
    log = open_log()
    harden(log)
    try:
        with _alone(config):
            return _serve(config, open_vault, log)
    except BaseException as error:
        log.write("stopped by", error=error)
        return FAILED


def _serve(config: ServeConfig, open_vault: Opener, log: KeeperLog) -> int:
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    answering = Answering(config, open_vault, log, on_end=ended.set)
    owner = find_user(config.front_user) if config.front_user else None
    listener = Listener(config.ask_socket, ANALYSTS, answering.reply, log, owner and (owner.pw_uid, owner.pw_gid))
    share_with_group(config.ask_socket)
    custody = Custody(config, answering)
    desk = Listener(config.desk_socket, CUSTODY, custody.reply, log) if config.desk else None
    answering.start()
    while not ended.wait(1.0):  # in steps: a signal is heard between two of them
        pass
    log.write("stopping")
    loaded = answering.loaded
    answering.stop()
    for one in (listener, desk):
        if one is not None:
            one.close(_PATIENCE)
    log.write("stopped")
    return 0 if loaded and not answering.failed else FAILED


@contextmanager
def _alone(config: ServeConfig) -> Iterator[None]:
    """Hold the state folder: two keepers on one socket would take each other's questions."""
    config.run.mkdir(parents=True, exist_ok=True)
    with lock_file(config.run / KEEPER_LOCK) as held:
        if held is None:
            raise UsageError(f"Another keeper runs in {config.state}. Stop it, or name another folder: --state DIR")
        yield

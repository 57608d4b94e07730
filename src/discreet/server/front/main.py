"""The front as a process: uvicorn without its access log, its server header and its tracebacks."""

import asyncio
import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import uvicorn

from discreet.errors import DiscreetError
from discreet.server.accounts import Accounts
from discreet.server.audit_log import AuditLog
from discreet.server.caller import Caller
from discreet.server.config import ServeConfig
from discreet.server.connections import uvicorn_config
from discreet.server.front.app import create_app
from discreet.server.front.asking import Asker, settle_lost
from discreet.server.front.telling import LOGGER, metrics_app, type_name
from discreet.server.ports import check_ports
from discreet.server.shared_accounts import read_server_id
from discreet.server.wire import ANALYSTS

CONNECTIONS = 2048
"""So many connections at most; a further one gets 503 at once."""


class FrontServer(uvicorn.Server):
    """A server that refuses new questions from the signal on, and answers those that it has."""

    def __init__(self, config: uvicorn.Config, asker: Asker) -> None:
        super().__init__(config)
        self._asker = asker

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop: new questions get 503, questions in flight are answered."""
        self._asker.stopping = True
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal. The framework would raise it again at the end, and the process would die of it."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def main(config: ServeConfig) -> int:
    """Run the front until a signal stops it. Return the exit status."""
    quiet()
    try:
        check_ports(config, "front")
        accounts = Accounts(config.accounts, server=read_server_id(Path(config.state)))
        settle_lost(accounts)
        app = create_app(config, Caller(config.ask_socket, ANALYSTS), accounts, AuditLog(config.audit_log))
    except DiscreetError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    asyncio.run(_serve(app, config))
    return 0


def quiet() -> None:
    """Write the front's own lines to stderr, and no other: no traceback, no text of an exception."""
    logging.lastResort = None
    for name in ("uvicorn", "asyncio", "fastapi", "starlette"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.CRITICAL + 1)
        logger.propagate = False
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    LOGGER.handlers = [handler]
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    sys.excepthook = _write_type


async def _serve(app: Any, config: ServeConfig) -> None:
    asyncio.get_running_loop().set_exception_handler(_note)
    services = app.state.services
    tls = {"ssl_certfile": config.tls_cert, "ssl_keyfile": config.tls_key} if config.tls_cert else {}
    server = FrontServer(uvicorn_config(app, CONNECTIONS, host=config.host, port=config.port, **tls), services.asker)
    socket = str(config.metrics_socket)
    shown = metrics_app(services.metrics, services.note_state)
    listener = uvicorn.Server(uvicorn_config(shown, CONNECTIONS, uds=socket, lifespan="off"))
    listener.capture_signals = _no_signals  # type: ignore[method-assign]
    beside = asyncio.create_task(listener.serve())
    await server.serve()
    listener.should_exit = True
    await beside


@contextmanager
def _no_signals() -> Iterator[None]:
    """Leave the signals to the server of the analysts."""
    yield


def _note(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Write the type of an exception that no task has read."""
    error = context.get("exception")
    LOGGER.warning('{"failed":"task","exception":"%s"}', type_name(error) if error else "none")


def _write_type(kind: type[BaseException], _: BaseException, __: TracebackType | None) -> None:
    print(f"The front stopped: {kind.__name__}.", file=sys.stderr)

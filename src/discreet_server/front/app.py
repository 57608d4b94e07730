"""The front: the app of the analysts' listener, and its process, without access log, server header and tracebacks."""

import asyncio
import logging
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from discreet.errors import DiscreetError
from discreet_server.accounts import Accounts, AccountsError
from discreet_server.audit_log import AuditLog
from discreet_server.config import ServeConfig, read_server_id
from discreet_server.front.asking import settle_lost
from discreet_server.front.errors import FrontError, invalid
from discreet_server.front.gate import Gate, error_response
from discreet_server.front.mcp import mcp_app, mcp_server
from discreet_server.front.pages import pages_router
from discreet_server.front.replies import Chunk
from discreet_server.front.routes import SCHEMAS, chat_routes, open_routes, own_routes
from discreet_server.front.services import Services
from discreet_server.front.telling import LOGGER, metrics_app, note_failure
from discreet_server.sockets import Caller, silence_process, uvicorn_config
from discreet_server.state_folder import check_ports
from discreet_server.wire import ANALYSTS

FORGETTING = 3600.0
"""Seconds between two deletions of old replies."""
_CODES = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}


def create_app(services: Services) -> FastAPI:
    """Return the app. It holds no document, and opens no vault."""
    tools = mcp_server(services)
    mounted = mcp_app(tools)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await services.catalog.read()
        beside = [
            asyncio.create_task(services.catalog.keep_reading()),
            asyncio.create_task(keep_forgetting(services.accounts)),
        ]
        async with tools.session_manager.run():
            yield
            services.asker.stopping = True
            await services.asker.flights.drain()
        for task in beside:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    app = FastAPI(
        title="discreet",
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers=_handlers(),
    )
    app.state.services = services
    for router in (chat_routes, own_routes, open_routes, pages_router(services)):
        app.include_router(router)
    app.router.routes.extend(mounted.routes)

    @app.get("/openapi.json", include_in_schema=False)
    async def describe(_: Request) -> JSONResponse:
        description, chunk = (
            app.openapi(),
            Chunk.model_json_schema(mode="serialization", ref_template=SCHEMAS + "{model}"),
        )
        description["components"]["schemas"] |= chunk.pop("$defs") | {
            "Chunk": chunk
        }  # a stream's parts: see `chat_routes`
        return JSONResponse(description)

    app.add_middleware(Gate, find=services.accounts.find, pacer=services.pacer, count=services.metrics.count_request)
    return app


async def keep_forgetting(accounts: Accounts, pause: float = FORGETTING) -> None:
    """Delete old replies again and again, until the task is cancelled."""
    while True:
        try:
            await asyncio.to_thread(accounts.forget)
        except AccountsError as error:  # the next time may do better
            note_failure("forget", error, "")
        await asyncio.sleep(pause)


def _handlers() -> dict[int | type[Exception], Callable[[Request, Any], Any]]:
    """Return handlers in place of the framework's, which would repeat what a client sent."""

    async def refuse(_: Request, error: FrontError) -> Response:
        return error_response(error)

    async def not_valid(_: Request, __: RequestValidationError) -> Response:
        return error_response(invalid(None, "A field is missing, or has another type."))

    async def http_error(_: Request, error: HTTPException) -> Response:
        return error_response(FrontError(_CODES.get(error.status_code, "invalid_request")))

    return {FrontError: refuse, RequestValidationError: not_valid, HTTPException: http_error}


# --- the process -----------------------------------------------------------------------------------------------------


CONNECTIONS = 2048
"""So many connections at most; a further one gets 503 at once."""


class QuietServer(uvicorn.Server):
    """A server that leaves signals alone. The framework would raise them again, and the process would die of it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def main(config: ServeConfig) -> int:
    """Run the front until a signal stops it. Return the exit status."""
    silence_process("front")
    log_lines()
    try:
        check_ports(config, "front")
        accounts = Accounts(config.accounts, server=read_server_id(Path(config.state)))
        lost = settle_lost(accounts)
        keeper = Caller(config.ask_socket, ANALYSTS)
        services = Services(config, keeper, accounts, AuditLog(config.audit_log), resumed=bool(lost))
        app = create_app(services)
    except DiscreetError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    asyncio.run(_serve(app, services))
    return 0


def log_lines() -> None:
    """Write the front's own lines to stderr."""
    handler = logging.StreamHandler()
    LOGGER.handlers = [handler]
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False


async def _serve(app: FastAPI, services: Services) -> None:
    asyncio.get_running_loop().set_exception_handler(_note)
    config = services.config
    server = QuietServer(uvicorn_config(app, CONNECTIONS, host=config.host, port=config.port, **config.tls))
    socket = str(config.metrics_socket)
    shown = metrics_app(services.metrics, services.note_state)
    listener = QuietServer(uvicorn_config(shown, CONNECTIONS, uds=socket, lifespan="off"))

    def stop(number: int) -> None:
        """Stop: new questions get 503, questions in flight are answered; at a second Ctrl-C none."""
        services.asker.stopping = True
        server.handle_exit(number, None)

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop, number)
    beside = asyncio.create_task(listener.serve())
    await server.serve()
    listener.should_exit = True
    await beside


def _note(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Write the type of an exception that no task has read."""
    error = context.get("exception")
    LOGGER.warning('{"failed":"task","exception":"%s"}', type(error).__name__ if error else "none")

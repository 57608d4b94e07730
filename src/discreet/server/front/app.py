"""The app of the analysts' listener."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from discreet.server.accounts import Accounts, AccountsError, Key
from discreet.server.audit_log import AuditLog
from discreet.server.caller import Keeper
from discreet.server.config import ServeConfig
from discreet.server.front.asking import Asker
from discreet.server.front.catalog import CatalogCache
from discreet.server.front.errors import FrontError, invalid
from discreet.server.front.gate import Gate, error_response
from discreet.server.front.mcp import mcp_app, mcp_server
from discreet.server.front.pacing import SHARE, Pacer, Queue, Rates, default_quantum
from discreet.server.front.pages.routes import pages_router
from discreet.server.front.pages.sign_on import SignOn
from discreet.server.front.replies import Chunk
from discreet.server.front.routes_accounts import accounts_router
from discreet.server.front.routes_chat import SCHEMAS, chat_router
from discreet.server.front.routes_health import health_router
from discreet.server.front.routes_models import models_router
from discreet.server.front.services import Services
from discreet.server.front.telling import Metrics, note_failure

FORGETTING = 3600.0
"""Seconds between two deletions of old replies."""
_CODES = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}


def create_app(
    config: ServeConfig,
    keeper: Keeper,
    accounts: Accounts,
    log: AuditLog,
    clock: Callable[[], float] = time.monotonic,
) -> FastAPI:
    """Return the app. It holds no document, and opens no vault.

    Args:
        config: the server's configuration.
        keeper: the other side of the wall.
        accounts: keys, meters and what was answered.
        log: the audit log.
        clock: by which replies leave.
    """
    services = make_services(config, keeper, accounts, log, clock)
    tools = mcp_server(services)
    mounted = mcp_app(tools)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await services.catalog.read()
        beside = [asyncio.create_task(services.catalog.keep_reading()), asyncio.create_task(keep_forgetting(accounts))]
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
    own = accounts_router(accounts, log, current_key, services.catalog.usual)
    pages = pages_router(services, log, SignOn(config.oidc, accounts, log, services.asker.rates))
    for router in (chat_router(services), models_router(services), health_router(services), own, pages):
        app.include_router(router)
    app.router.routes.extend(mounted.routes)

    @app.get("/openapi.json", include_in_schema=False)
    async def describe(_: Request) -> JSONResponse:
        found, chunk = app.openapi(), Chunk.model_json_schema(mode="serialization", ref_template=SCHEMAS + "{model}")
        found["components"]["schemas"] |= chunk.pop("$defs") | {"Chunk": chunk}  # a stream's parts: see `chat_router`
        return JSONResponse(found)

    app.add_middleware(Gate, find=accounts.find, pacer=services.pacer, count=services.metrics.count_request)
    return app


async def keep_forgetting(accounts: Accounts, pause: float = FORGETTING) -> None:
    """Delete old replies again and again, until the task is cancelled."""
    while True:
        try:
            await asyncio.to_thread(accounts.forget_replies)
        except AccountsError as error:  # the next time may do better
            note_failure("forget", error, "")
        await asyncio.sleep(pause)


async def current_key(request: Request) -> Key:
    """Return the key of the caller, which the gate has found."""
    found: Key = request.state.key
    return found


def make_services(
    config: ServeConfig,
    keeper: Keeper,
    accounts: Accounts,
    log: AuditLog,
    clock: Callable[[], float] = time.monotonic,
) -> Services:
    """Return what the routes share. Until the keeper has said its longest answer, the default quantum is the least."""
    pacer = Pacer(default_quantum(0.0) if config.quantum is None else config.quantum, clock)
    metrics = Metrics()
    queue = Queue(config.queue, min(SHARE, config.queue), clock, on_turn=metrics.count_wait)
    catalog = CatalogCache(keeper, pacer.measured) if config.quantum is None else CatalogCache(keeper)
    asker = Asker(keeper, accounts, log, catalog, queue, pacer, Rates(clock))
    return Services(keeper, accounts, catalog, asker, pacer, metrics, config.follow_ups)


def _handlers() -> dict[int | type[Exception], Callable[[Request, Any], Any]]:
    """Return handlers in place of the framework's, which would repeat what a client sent."""

    async def refuse(_: Request, error: FrontError) -> Response:
        return error_response(error)

    async def not_valid(_: Request, __: RequestValidationError) -> Response:
        return error_response(invalid(None, "A field is missing, or has another type."))

    async def http_error(_: Request, error: HTTPException) -> Response:
        return error_response(FrontError(_CODES.get(error.status_code, "invalid_request")))

    return {FrontError: refuse, RequestValidationError: not_valid, HTTPException: http_error}

"""GET /health/live and /health/ready: whether the front lives, and a cached word on whether questions are answered."""

import asyncio
import time
from collections.abc import Callable

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse

from discreet.server.front.services import Services, is_ready

FRESH = 2.0
"""Seconds for which the last word of the keeper counts."""


class Readiness:
    """The keeper's last word on whether it can answer."""

    def __init__(self, services: Services, clock: Callable[[], float] = time.monotonic) -> None:
        self._services, self._clock = services, clock
        self._word, self._until, self._one_asks = False, 0.0, asyncio.Lock()

    async def word(self) -> str:
        """Return "ready", "starting" or "stopping"."""
        if self._services.asker.stopping:
            return "stopping"
        async with self._one_asks:
            if self._clock() >= self._until:
                self._word = self._services.catalog.loaded and await is_ready(self._services.keeper)
                self._until = self._clock() + FRESH
        return "ready" if self._word else "starting"


def health_router(services: Services) -> APIRouter:
    """Return the router of the routes."""
    router, readiness = APIRouter(), Readiness(services)

    @router.get("/health/live", response_model=dict[str, str])
    async def live(_: Request) -> JSONResponse:
        """Tell that the front lives."""
        return JSONResponse({"status": "live"})

    @router.get("/health/ready", response_model=dict[str, str], responses={503: {"model": dict[str, str]}})
    async def ready(_: Request) -> JSONResponse:
        """Tell whether questions are answered."""
        word = await readiness.word()
        return JSONResponse({"status": word}, 200 if word == "ready" else 503)

    return router

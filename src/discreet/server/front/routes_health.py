"""GET /health/live and /health/ready: whether the front lives, and a cached word on whether questions are answered."""

import asyncio
import time
from collections.abc import Callable
from typing import Literal

from fastapi import APIRouter
from starlette.responses import Response

from discreet.server.front.errors import ClosedModel
from discreet.server.front.services import Services, is_ready

FRESH = 2.0
"""Seconds for which the last word of the keeper counts."""


class FrontStatus(ClosedModel):
    """The state of the front."""

    status: Literal["live", "ready", "starting", "stopping"]


class Readiness:
    """The keeper's last word on whether it can answer."""

    def __init__(self, services: Services, clock: Callable[[], float] = time.monotonic) -> None:
        self._services, self._clock = services, clock
        self._word, self._until, self._one_asks = False, 0.0, asyncio.Lock()

    async def word(self) -> Literal["ready", "starting", "stopping"]:
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

    @router.get("/health/live")
    async def live() -> FrontStatus:
        """Tell that the front lives."""
        return FrontStatus(status="live")

    @router.get("/health/ready", responses={503: {"model": FrontStatus}})
    async def ready(response: Response) -> FrontStatus:
        """Tell whether questions are answered."""
        word = await readiness.word()
        response.status_code = 200 if word == "ready" else 503
        return FrontStatus(status=word)

    return router

"""The app of the desk: pages behind the guard. Every path of it is in one of the lists of routes."""

from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from discreet.server.desk import (
    pages_corpora,
    pages_documents,
    pages_erasure,
    pages_keys,
    pages_login,
    pages_metrics,
    pages_overview,
    pages_records,
)
from discreet.server.desk.desk import Desk
from discreet.server.desk.guard import Guard

_PARTS = (
    pages_overview,
    pages_login,
    pages_keys,
    pages_documents,
    pages_erasure,
    pages_corpora,
    pages_records,
    pages_metrics,
)
_STATIC = Path(__file__).parent / "static"


def all_routes(desk: Desk) -> list[Route]:
    """Return every route but the static files."""
    return [route for part in _PARTS for route in part.routes(desk)]


def create_app(desk: Desk) -> Guard:
    """Return the app."""
    pages = Starlette(routes=all_routes(desk), exception_handlers={404: _nothing, 405: _nothing, 500: _failed})
    pages.mount("/static", StaticFiles(directory=_STATIC))
    return Guard(pages, desk.config.desk_host, desk.sessions)


async def _nothing(_: Request, __: Exception) -> Response:
    return PlainTextResponse("There is no such page.", 404)


async def _failed(_: Request, error: Exception) -> Response:
    return PlainTextResponse(f"The desk failed ({type(error).__name__}).", 500)

"""The desk: its app, pages behind the guard, and its process. Every path is in one of the lists of routes."""

import signal
import sys
import tempfile
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from discreet.errors import DiscreetError, UsageError
from discreet.server.accounts import Accounts
from discreet.server.audit_log import AuditLog
from discreet.server.config import ServeConfig
from discreet.server.connections import silence_process, uvicorn_config
from discreet.server.desk import login, pages_keys, pages_overview, pages_vault
from discreet.server.desk.desk import Desk
from discreet.server.desk.login import Guard
from discreet.server.state_folder import check_ports, hand_over, note_address

_PARTS = (pages_overview, login, pages_keys, pages_vault)
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


# --- the process -----------------------------------------------------------------------------------------------------


_PATIENCE = 10
_CONNECTIONS = 64


def main(config: ServeConfig) -> int:
    """Run the desk until a signal stops it; return the exit code."""
    silence_process("desk")
    try:
        check_ports(config, "desk")
        config.uploads.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        config.uploads.mkdir(mode=0o700, exist_ok=True)
        # Where the parts of an upload lie until it is whole: not where other users put their files.
        tempfile.tempdir = str(config.uploads)
        desk = Desk(config, Accounts(config.accounts), AuditLog(config.audit_log))
        app = create_app(desk)
        hand_over(config)
        note_address(config)
    except DiscreetError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"{config.state} cannot be used: {error.strerror}.", file=sys.stderr)
        return UsageError.exit_code
    where = {"host": config.desk_host, "port": config.desk_port, "lifespan": "off", **config.tls}
    server = uvicorn.Server(uvicorn_config(app, _CONNECTIONS, timeout_graceful_shutdown=_PATIENCE, **where))
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # what uvicorn raises again at its end
    try:
        server.run()
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0

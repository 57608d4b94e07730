"""GET /metrics for Prometheus: what the front counts, which is public, fetched from its socket."""

import httpx2
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from discreet.server.caller import NO_TLS
from discreet.server.desk.desk import Desk, page

_PATIENCE = 5.0
_MOST = 2**20


def routes(desk: Desk) -> list[Route]:
    """Return the routes of this file."""
    return [page(desk, "/metrics", _show)]


def _show(desk: Desk, request: Request) -> Response:
    transport = httpx2.HTTPTransport(uds=str(desk.config.metrics_socket), verify=NO_TLS)
    try:
        with (
            httpx2.Client(transport=transport, timeout=_PATIENCE) as client,
            client.stream("GET", "http://front/metrics") as reply,
        ):
            return PlainTextResponse(next(reply.iter_text(_MOST), ""))
    except httpx2.HTTPError:
        return PlainTextResponse("The front cannot be reached.\n", 503)

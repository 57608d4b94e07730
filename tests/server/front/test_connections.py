import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from discreet_server.sockets import PatientProtocol, uvicorn_config

REQUEST = b"GET / HTTP/1.1\r\nhost: h\r\n\r\n"


class Hurried(PatientProtocol):
    patience = 0.4


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answer after longer than a connection may be idle."""
    await asyncio.sleep(0.8)
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def serving(most: int, http: type[PatientProtocol]) -> AsyncIterator[int]:
    """Serve the app, and yield the port."""
    config = uvicorn_config(app, most, host="127.0.0.1", port=0, lifespan="off")
    config.http = http
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await running


def test_idle_connections_keep_no_client_out() -> None:
    async def test() -> None:
        async with serving(8, PatientProtocol) as port:
            idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
            for _, begun in idle[:5]:
                begun.write(b"GET / HT")
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(REQUEST)
            assert b"204" in await asyncio.wait_for(reader.readline(), 10)
            assert await asyncio.wait_for(idle[5][0].read(), 10) == b""  # it was closed to make room
            for _, one in [*idle, (reader, writer)]:
                one.close()

    asyncio.run(test())


@pytest.mark.parametrize(
    ("sent", "replied"),
    [(b"", b""), (b"GET / HT", b""), (REQUEST, b"204"), (REQUEST + b"GET /", b"204")],
)
def test_connection_without_a_request_is_closed(sent: bytes, replied: bytes) -> None:
    async def test() -> None:
        async with serving(64, Hurried) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            found = await asyncio.wait_for(reader.read(), 10)  # until the server closes the connection
            assert replied in found
            writer.close()

    asyncio.run(test())

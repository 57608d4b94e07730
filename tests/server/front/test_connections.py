import asyncio
from typing import Any

import pytest
import uvicorn

from discreet.server.connections import PatientProtocol, uvicorn_config

REQUEST = b"GET / HTTP/1.1\r\nhost: h\r\n\r\n"


class Hurried(PatientProtocol):
    patience = 0.4


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answer after longer than a connection may be idle."""
    await asyncio.sleep(0.8)
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize(
    ("sent", "replied"),
    [(b"", b""), (b"GET / HT", b""), (REQUEST, b"204"), (REQUEST + b"GET /", b"204")],
)
def test_connection_without_a_request_is_closed(sent: bytes, replied: bytes) -> None:
    async def test() -> None:
        config = uvicorn_config(app, 64, host="127.0.0.1", port=0, lifespan="off")
        config.http = Hurried
        server = uvicorn.Server(config)
        running = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        found = await asyncio.wait_for(reader.read(), 10)  # until the server closes the connection
        assert replied in found
        writer.close()
        server.should_exit = True
        await running

    asyncio.run(test())

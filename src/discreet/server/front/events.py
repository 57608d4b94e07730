"""Server-sent events: one release in one chunk, and comments at a constant cadence until then."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from typing import Any

CADENCE = 5.0
"""Seconds between comments: proxies and clients do not break the connection off."""
COMMENT = b": waiting\n\n"
DONE = b"data: [DONE]\n\n"


def event(data: dict[str, Any]) -> bytes:
    """Return the bytes of an event."""
    return b"data: " + json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


async def with_comments(awaited: Awaitable[list[bytes]], cadence: float = CADENCE) -> AsyncIterator[bytes]:
    """Yield a comment every `cadence` seconds until `awaited` is there, then its events."""
    task = asyncio.ensure_future(awaited)
    try:
        while not (await asyncio.wait({task}, timeout=cadence))[0]:
            yield COMMENT
    finally:
        task.cancel()  # does nothing to one that is done; the question itself runs in a task of its own
    for part in task.result():
        yield part

"""The schema between the desk and the keeper: the frames of `wire`, around the messages of `custody_messages`.

The checks follow from the types of the fields. A field that the schema does not have is refused, on both sides.
"""

import json
import socket
import struct
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from discreet.server import custody_messages
from discreet.server.custody_messages import Asked, Replied
from discreet.server.wire_fields import (
    Check,
    WireError,
    built,
    mapping_of,
    number,
    optional,
    refuse,
    text,
    truth,
    tuple_of,
    whole,
)

MOST = 64 * 1024 * 1024
"""Bytes: the longest message. A report lists up to a thousand questions, a preview every record that is refused."""
_HEAD = struct.Struct(">I")
_MOST_ENTRIES = 1_000_000
_LARGEST = 2**62
_PART = 65_536


def encode(message: Asked | Replied) -> bytes:
    """Return a message with its length in front of it. What the receiver would refuse does not leave.

    Raises:
        WireError: if a field is not as the schema says.
    """
    try:
        content = json.dumps({"type": type(message).__name__, **asdict(message)}, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise refuse("a message of plain values") from None
    if len(content) > MOST:
        raise refuse(f"a message of at most {MOST} bytes")
    decode(content)
    return _HEAD.pack(len(content)) + content


def decode(content: bytes) -> Any:
    """Return the message that bytes hold.

    Raises:
        WireError: if they hold none.
    """
    try:
        found = json.loads(content.decode())
    except (ValueError, RecursionError):
        raise refuse("JSON in UTF-8") from None
    if not isinstance(found, dict):
        raise refuse("an object")
    name = found.pop("type", None)
    if not isinstance(name, str) or name not in _KINDS:
        raise refuse(f"a type of {', '.join(sorted(_KINDS))}")
    return _KINDS[name](found)


def write_message(connection: socket.socket, message: Asked | Replied) -> None:
    """Send a message."""
    connection.sendall(encode(message))


def read_message(connection: socket.socket) -> Any:
    """Return the next message of a connection; None if it was closed between two messages.

    Raises:
        WireError: if what came is no message, or ended too early.
    """
    head = _receive(connection, _HEAD.size)
    if not head:
        return None
    if len(head) != _HEAD.size or (size := _HEAD.unpack(head)[0]) > MOST:
        raise refuse(f"a message of at most {MOST} bytes")
    content = _receive(connection, size)
    if len(content) != size:
        raise refuse(f"a message of {size} bytes")
    return decode(content)


def _receive(connection: socket.socket, size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0 and (part := connection.recv(min(size, _PART))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _check_of(kind: Any) -> Check:
    """Return the check of a field of this type."""
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return built(_as_class(kind), {name: _check_of(hint) for name, hint in hints.items()})
    origin = get_origin(kind)
    if origin is tuple:
        return tuple_of(_check_of(get_args(kind)[0]), _MOST_ENTRIES)
    if origin is dict:
        return mapping_of(lambda value: value, _MOST_ENTRIES, text(_LARGEST))  # plain data of `describe()`
    if origin in (Union, UnionType):
        (inner,) = (one for one in get_args(kind) if one is not NoneType)
        return optional(_check_of(inner))
    return _PLAIN[kind]


def _as_class(kind: Any) -> Callable[..., Any]:
    return lambda **values: kind(**values)


_PLAIN: dict[Any, Check] = {
    str: text(_LARGEST),
    bool: truth,
    int: whole(-_LARGEST, _LARGEST),
    float: number(-1e300, 1e300),
}
_KINDS: dict[str, Check] = {
    kind.__name__: _check_of(kind) for kind in (*get_args(custody_messages.Asked), *get_args(custody_messages.Replied))
}

__all__ = ["MOST", "WireError", "decode", "encode", "read_message", "write_message"]

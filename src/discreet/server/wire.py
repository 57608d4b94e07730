"""The schema that crosses the wall between the front and the keeper: all that can leave, and all that can come in.

A message is a length of four bytes, big-endian, and so many bytes of UTF-8: a JSON object with its `type`. A field
that the schema does not have is refused, on both sides.

    front -> keeper    Question  Estimate  Condense  Catalog  Ready
    keeper -> front    Answered  Estimated  Condensed  Catalogued  Readied  Refused
"""

import json
import socket
import struct
from dataclasses import is_dataclass
from typing import Any

from discreet.privacy.accounting import ATTO, CUT
from discreet.privacy.costs import ORDERS
from discreet.server.wire_answer import ANSWER
from discreet.server.wire_fields import (
    Check,
    WireError,
    built,
    list_of,
    number,
    one_of,
    optional,
    pattern,
    refuse,
    text,
    truth,
    tuple_of,
    whole,
)
from discreet.server.wire_messages import (
    CODES,
    MOST_EPSILON,
    Answered,
    Asked,
    Catalog,
    Catalogued,
    Charge,
    Condense,
    Condensed,
    Estimate,
    Estimated,
    Message,
    ModelCard,
    Question,
    Readied,
    Ready,
    Refused,
    Reply,
    Turn,
    VaultCard,
)

__all__ = [
    "CODES",
    "LONGEST_CONDENSED",
    "LONGEST_QUESTION",
    "LONGEST_TURN",
    "MOST_ASKED",
    "MOST_REPLIED",
    "MOST_TURNS",
    "Answered",
    "Asked",
    "Catalog",
    "Catalogued",
    "Charge",
    "Condense",
    "Condensed",
    "Estimate",
    "Estimated",
    "Message",
    "ModelCard",
    "Question",
    "Readied",
    "Ready",
    "Refused",
    "Reply",
    "Turn",
    "VaultCard",
    "WireError",
    "decode",
    "encode",
    "frame",
    "length",
    "read_message",
    "write_message",
]

MOST_ASKED = 256 * 1024
"""Bytes: the longest message that the keeper reads."""
MOST_REPLIED = 4 * 1024 * 1024
"""Bytes: the longest message that the front reads; a catalog of many vaults is long."""
LONGEST_QUESTION = 65_536
"""Characters."""
LONGEST_TURN = 600
"""Characters of a message that is read to rewrite a question."""
MOST_TURNS = 8
"""The most messages that are read for that, the question included."""
LONGEST_CONDENSED = 500
"""Characters of a rewritten question."""
_HEAD = struct.Struct(">I")
_LONGEST_NAME = 200
_MOST_CHOICES = 64
_MOST_TOKENS = 4096
_MOST_IN_THE_AIR = 1000


_name = text(_LONGEST_NAME)
_epsilon = number(0.0, MOST_EPSILON)
_charge = built(
    lambda loss_nano, **rest: Charge(loss_nano=tuple(loss_nano), **rest),
    {
        "epsilon": _epsilon,
        "delta": number(0.0, 1.0),
        "loss_nano": list_of(whole(0, CUT), len(ORDERS), len(ORDERS)),
        "failure_atto": whole(0, ATTO),
    },
)
_id = pattern("[0-9a-f]{32}")
_question = built(
    Question,
    {
        "id": _id,
        "vault": text(_LONGEST_NAME, 1),
        "model": _name,
        "question": text(LONGEST_QUESTION),
        "choices": tuple_of(text(1000, 1), _MOST_CHOICES),
        "epsilon": optional(number(1e-6, MOST_EPSILON)),
        "max_tokens": optional(whole(1, _MOST_TOKENS)),
        "anew": truth,
        "ceiling": optional(_charge),
        "begun": number(),
        "quantum": number(),
    },
)
_turn = built(Turn, {"role": one_of("user", "assistant"), "text": text(LONGEST_TURN, 1)})
_condense = built(Condense, {"vault": text(_LONGEST_NAME, 1), "messages": tuple_of(_turn, MOST_TURNS)})
_model = built(ModelCard, {"name": _name, "algorithm": _name, "private": truth, "most": _charge})
_vault = built(
    VaultCard,
    {
        "name": text(_LONGEST_NAME, 1),
        "unit": _name,
        "epsilon": _epsilon,
        "delta": number(0.0, 1.0),
        "payment": one_of("unit", "corpus"),
        "language": _name,
        "models": tuple_of(_model, 1000),
        "longest_answer_s": number(),
    },
)
_refused = built(
    Refused,
    {
        "code": one_of(*CODES),
        "asked": optional(_epsilon),
        "left": optional(_epsilon),
        "would_fit": optional(_epsilon),
        "kind": pattern("[a-z-]{0,40}"),
        "paid": _charge,
    },
)
_KINDS: dict[str, tuple[type[Message], Check]] = {
    "question": (Question, _question),
    "estimate": (Estimate, built(Estimate, {"question": _question, "air": tuple_of(_id, _MOST_IN_THE_AIR)})),
    "condense": (Condense, _condense),
    "catalog": (Catalog, built(Catalog, {})),
    "ready": (Ready, built(Ready, {})),
    "answered": (Answered, built(Answered, {"answer": ANSWER, "spent": _charge})),
    "estimated": (Estimated, built(Estimated, {"most": _charge, "free": truth})),
    "condensed": (Condensed, built(Condensed, {"question": text(LONGEST_CONDENSED)})),
    "catalogued": (Catalogued, built(Catalogued, {"vaults": tuple_of(_vault, 1000)})),
    "readied": (Readied, built(Readied, {"loaded": truth, "ledger_writable": truth})),
    "refused": (Refused, _refused),
}
_NAMES = {kind: name for name, (kind, _) in _KINDS.items()}


def encode(message: Message) -> bytes:
    """Return the bytes of a message, without its length. What the receiver would refuse does not leave.

    Raises:
        WireError: if a field is not as the schema says.
    """
    name = _NAMES[type(message)]
    try:
        fields = {"type": name, **vars(message)}
        content = json.dumps(fields, default=_fields, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError):
        raise refuse("a message of plain values") from None
    decode(content)
    return content


def decode(content: bytes) -> Message:
    """Return the message that bytes hold.

    Raises:
        WireError: if they hold none: no JSON, a field too many or too few, or a value out of range.
    """
    found = _parse(content)
    if not isinstance(found, dict):
        raise refuse("an object")
    name = found.pop("type", None)
    if not isinstance(name, str) or name not in _KINDS:
        raise refuse(f"a type of {', '.join(sorted(_KINDS))}")
    message: Message = _KINDS[name][1](found)
    return message


def frame(content: bytes) -> bytes:
    """Return the bytes of a message with its length in front of them."""
    if len(content) > MOST_REPLIED:
        raise refuse(f"a message of at most {MOST_REPLIED} bytes")
    return _HEAD.pack(len(content)) + content


def length(head: bytes, most: int) -> int:
    """Return the length that the first four bytes of a message say.

    Raises:
        WireError: if it is above `most`, or there are not four bytes.
    """
    if len(head) != _HEAD.size:
        raise refuse(f"a head of {_HEAD.size} bytes")
    (size,) = _HEAD.unpack(head)
    if size > most:
        raise refuse(f"a message of at most {most} bytes")
    return int(size)


def write_message(connection: socket.socket, message: Message) -> None:
    """Send a message."""
    connection.sendall(frame(encode(message)))


def read_message(connection: socket.socket, most: int = MOST_ASKED) -> Message | None:
    """Return the next message of a connection; None if it was closed between two messages.

    Raises:
        WireError: if what came is no message, or ended too early.
    """
    head = _receive(connection, _HEAD.size)
    if not head:
        return None
    content = _receive(connection, size := length(head, most))
    if len(content) != size:
        raise refuse(f"a message of {size} bytes")
    return decode(content)


def _receive(connection: socket.socket, size: int) -> bytes:
    """Return so many bytes, fewer at the end of the connection."""
    parts: list[bytes] = []
    while size > 0 and (part := connection.recv(min(size, 65_536))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _fields(value: object) -> dict[str, Any]:
    """Return the fields of a part of a message. `asdict` would copy each number of a charge, which takes longer."""
    if is_dataclass(value) and not isinstance(value, type):
        return vars(value)
    raise TypeError


def _parse(content: bytes) -> object:
    try:
        return json.loads(content.decode(), object_pairs_hook=_object, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise refuse("JSON in UTF-8") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise refuse("an object that names each field once")
    return found


def _no_constant(name: str) -> Any:
    raise refuse("a finite number")

"""The front's own line for a request: a fixed list of public fields, and nothing that a client wrote."""

import json
import logging
from collections.abc import Mapping
from typing import Any

LOGGER = logging.getLogger("discreet.server.front")

FIELDS = (
    "route",
    "status",
    "code",
    "request_id",
    "question_id",
    "key_id",
    "vault",
    "model",
    "algorithm",
    "stopped",
    "epsilon",
    "delta",
    "quanta",
    "waiting",
    "replayed",
    "exception",
)
"""Every field that a line may have."""


def write_line(found: Mapping[str, Any]) -> None:
    """Write a line with the fields of `found` that are on the list."""
    line = {name: found[name] for name in FIELDS if found.get(name) is not None}
    LOGGER.info(json.dumps(line, separators=(",", ":")))


def type_name(error: BaseException) -> str:
    """Return the type of an exception: all that a log may have of it."""
    return type(error).__name__


def note_failure(what: str, error: BaseException | None, question_id: str) -> None:
    """Write a line about a failure behind a reply: its type and the question's id alone."""
    line = {"failed": what, "question_id": question_id, "exception": type_name(error) if error else None}
    LOGGER.warning(json.dumps({name: one for name, one in line.items() if one is not None}, separators=(",", ":")))

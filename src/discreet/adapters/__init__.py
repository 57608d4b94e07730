"""Adapters for other tools: one file a tool. An adapter passes answers and receipts on, and never a document.

A source of answers is a server, or a vault in this process, with the checks of a server. The latter is the entry point
`vault` of `discreet.sources`.
"""

import inspect
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.adapters.server_source import ServerSource
from discreet.adapters.source import AnswerSource
from discreet.errors import MissingPart, UsageError
from discreet.plugins import SOURCES, load_plugin


def open_source(where: str | Path, **options: Any) -> AnswerSource:
    """Return the source at an address: a server for one that begins with http, else a vault in this process.

    Args:
        where: the URL of a server, or the folder of a vault.
        options: further arguments of `ServerSource` or `VaultSource`.

    Raises:
        DiscreetError: if the vault cannot be opened, or if the address, the key or an argument is wrong.
    """
    address = os.fspath(where)
    if address.lower().startswith(("http://", "https://")):
        _check_names(ServerSource, "A server", options)
        return ServerSource(address, **options)
    if re.match(r"[\w.-]+:\d+(/|$)", address) and not os.path.exists(address):
        raise UsageError(
            f"There is no vault at {address}. If it is a server, begin the address with http:// or https://."
        )
    kind = load_plugin(SOURCES, "vault")
    if kind is None:
        raise MissingPart("This installation has no vaults in this process. Install it anew: make install")
    _check_names(kind, "A vault in this process", options)
    source: AnswerSource = kind(address, **options)
    return source


def _check_names(kind: type, what: str, options: Mapping[str, Any]) -> None:
    """Check the names of arguments.

    Raises:
        UsageError: if one does not belong to this kind of source.
    """
    known = [name for name in inspect.signature(kind).parameters if name not in ("vault", "url")]
    wrong = [name for name in options if name not in known]
    if wrong:
        raise UsageError(f"{what} takes no argument {', '.join(wrong)}. Expected: {', '.join(known)}.")

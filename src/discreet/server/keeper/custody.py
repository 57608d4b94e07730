"""What the custodian does with the vaults, for the desk: over a socket of the keeper's own user.

All of it runs in the thread of the answers, since a vault's store is for one thread. So it waits for the question that
is being answered, and questions wait for it. While long work runs (an addition, a corpus), other requests are refused
as "busy" instead of waiting, and `Progress` says how far it is.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from discreet.errors import DiscreetError, UsageError
from discreet.operations.page import as_page
from discreet.operations.report import gather
from discreet.server.config import ServeConfig
from discreet.server.custody_messages import (
    Add,
    Corpora,
    Erase,
    Failed,
    Listing,
    Make,
    OfVault,
    Overview,
    Paper,
    Plan,
    Preview,
    Progress,
    Progressed,
    Readmit,
    Remains,
    Undo,
)
from discreet.server.keeper.answering import Answering
from discreet.server.keeper.custody_corpora import list_corpora, make_synthetic, plan_corpus
from discreet.server.keeper.custody_intake import add_upload, preview_upload
from discreet.server.keeper.custody_vault import erase, list_entries, overview, readmit, remains, undo
from discreet.server.keeper.served import Served
from discreet.server.wire import Call

Told = Callable[[str, int, int], None]
"""Told (the step, how much of it is done, of how much; 0 if that is not known)."""
LONG = {Add: "add", Make: "make"}
BUSY = "The keeper is at long work. This page will be there when it is done: see Progress."


class Custody:
    """Replies to the desk.

    Args:
        config: the server's.
        answering: whose thread holds the vaults.
    """

    def __init__(self, config: ServeConfig, answering: Answering) -> None:
        self._config, self._answering = config, answering
        self._lock = threading.Lock()
        self._progress = Progressed(running=False)

    def reply(self, message: Call[Any]) -> Any:
        """Return the reply; no error leaves but as a message for the custodian."""
        if isinstance(message, Progress):
            return self._progress
        if self._progress.running:
            return Failed("busy", BUSY)
        try:
            if type(message) in LONG:
                return self._at_length(message)
            return self._in_turn(lambda served: self._do(message, served))
        except DiscreetError as error:
            return Failed("refused", str(error))
        except BaseException as error:
            return Failed("internal", f"The keeper failed ({type(error).__name__}). Look at the vault: discreet doctor")

    def _in_turn(self, act: Callable[[Mapping[str, Served]], Any]) -> Any:
        return self._answering.work(act)

    def _at_length(self, message: Call[Any]) -> Any:
        with self._lock:
            if self._progress.running:
                return Failed("busy", BUSY)
            self._progress = Progressed(running=True, what=LONG[type(message)], step="waiting")
        try:
            return self._in_turn(lambda served: self._do(message, served))
        finally:
            self._progress = Progressed(running=False)

    def _told(self, step: str, done: int, of: int) -> None:
        if self._answering.stopping:
            raise UsageError("The server stops. What was done before stays; start the same again to go on.")
        self._progress = Progressed(True, self._progress.what, step, done, of)

    def _do(self, message: Call[Any], served: Mapping[str, Served]) -> Any:
        if isinstance(message, Overview):
            return overview(served)
        assert isinstance(message, OfVault)
        vault = _find(served, message.vault).vault
        if isinstance(message, Preview):
            return preview_upload(vault, message, self._config)
        if isinstance(message, Add):
            return add_upload(vault, message, self._config, self._told)
        if isinstance(message, Make):
            return make_synthetic(vault, message, self._config, self._told)
        return _ACTS[type(message)](vault, message)


_ACTS: dict[type[Any], Callable[[Any, Any], Any]] = {
    Listing: list_entries,
    Undo: undo,
    Erase: erase,
    Readmit: readmit,
    Remains: lambda vault, message: remains(vault, message.unit),
    Paper: lambda vault, _: as_page(gather(vault.path)),
    Plan: lambda vault, message: plan_corpus(vault, message.wanted),
    Corpora: lambda vault, _: list_corpora(vault),
}


def _find(served: Mapping[str, Served], name: str) -> Served:
    if name not in served:
        raise UsageError(f"There is no vault '{name}' here. Served: {', '.join(sorted(served))}.")
    return served[name]

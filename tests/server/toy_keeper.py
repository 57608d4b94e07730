"""A keeper whose vaults have the toy model, which may pause: `python -m tests.server.toy_keeper`."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from discreet.models.toy import ToyModel
from discreet.vault import Vault
from discreet_server.config import ServeConfig
from discreet_server.keeper.hardening import end_with_parent
from discreet_server.keeper.process import main

PAUSE = "TOY_KEEPER_PAUSE"
"""The environment variable that names a folder. An answer waits there in its middle for a file `go`."""


class PausingModel(ToyModel):
    """Says that an answer began, and waits until it may go on."""

    def __init__(self, folder: Path) -> None:
        super().__init__(default="yes")
        self._folder = folder

    def start(self, shared: Any, prompts: Any, max_tokens: int) -> Any:
        (self._folder / "begun").touch()
        while not (self._folder / "go").exists():
            time.sleep(0.01)
        return super().start(shared, prompts, max_tokens)


def open_vault(path: Path) -> Vault:
    """Open a vault with the toy model."""
    folder = os.environ.get(PAUSE, "")
    return Vault.open(path, model=PausingModel(Path(folder)) if folder else ToyModel(default="yes"))


if __name__ == "__main__":
    end_with_parent(signal.SIGTERM)
    sys.exit(main(ServeConfig.from_environment(), open_vault))

"""A keeper whose model fails or waits on request, and its broken twins.

    python -m tests.guarantee.server.canary_keeper

A twin writes the context of errors, releases what the model has read, or repeats a broken message.
The search for canaries must find it.
"""

import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from starlette.responses import Response

from discreet.models.answers import write_answers
from discreet.models.toy import ToyModel
from discreet.models.voters import VoterBatch
from discreet.privacy import private
from discreet.vault import Vault
from discreet_server.config import ServeConfig
from discreet_server.keeper import process, served
from discreet_server.keeper.hardening import KeeperLog, end_with_parent
from discreet_server.keeper.process import main
from discreet_server.wire import collect

FOLDER, TWIN = "CANARY_FOLDER", "CANARY_TWIN"
"""Environment variables: the folder of the files `begun` and `go`, and which twin it is ("" for the sound keeper)."""
PRIVATE = "qvxz"
"""Each canary begins with it, so that a part of one is found, too."""
FAILS, WAITS = "explosively", "slowly"
"""Words of a question at which the model fails, and waits."""


class CanaryModel(ToyModel):
    """Fails with the texts that it has read, as a faulty backend does, or waits in the middle of an answer."""

    longest = ""

    def start(self, shared: Sequence[int], prompts: Any, max_tokens: int) -> Any:
        read = self.decode(shared) + " ".join(self.decode(prompt.tokens) for prompt in prompts)
        CanaryModel.longest = max(CanaryModel.longest, read, key=len)
        if FAILS in read and (PRIVATE in read or len(prompts) == 1):  # with documents, or of the free model
            try:
                raise KeyError(read)
            except KeyError:
                raise RuntimeError(f"The backend failed on: {read}")  # noqa: B904 - the context is the point
        if WAITS in read:
            folder = Path(os.environ[FOLDER])
            (folder / "begun").touch()
            while not (folder / "go").exists():
                time.sleep(0.01)
        return super().start(shared, prompts, max_tokens)


def open_vault(path: Path) -> Vault:
    """Open a vault with the model."""
    return Vault.open(path, model=CanaryModel(default="yes", size=4000))


def break_log() -> None:
    """Have errors keep their context, and have the log write it, as a careless handler does."""
    write = KeeperLog.write

    def leak(self: KeeperLog, what: str, question: str = "", error: Any = None) -> None:
        write(self, f"{what} {getattr(error, '__context__', None)!r}", question, error)

    setattr(KeeperLog, "write", leak)  # noqa: B010
    setattr(private, "_run", lambda work, shares: (tuple(work(shares)), None))  # noqa: B010 - else there is no context
    setattr(VoterBatch, "_write", write_openly)  # noqa: B010


def write_openly(self: Any) -> tuple[list[str], None]:
    """Write the answers of voters without withholding what fails."""
    own = (getattr(self, f"_VoterBatch__{name}") for name in ("model", "shared", "prompts", "steps"))
    return [answer.text for answer in write_answers(*own)], None


def break_replies() -> None:
    """Have each answer hold words of what the model has read."""
    describe = served.describe

    def leak(answer: Any) -> Any:
        words = [word for word in CanaryModel.longest.split() if len(word) > 8][:20]
        return describe(answer) | {"text": " ".join(words)}

    setattr(served, "describe", leak)  # noqa: B010


def break_messages() -> None:
    """Have a private socket repeat what it could not read, as the errors of many frameworks do."""
    came = [b""]

    async def keep(*given: Any) -> bytes:
        came[0] = await collect(*given)
        return came[0]

    class Repeats(Response):
        def __init__(self, content: bytes | None = None, status_code: int = 200, **how: Any) -> None:
            super().__init__(came[0] if status_code == 422 else content, status_code, **how)

    setattr(process, "collect", keep)  # noqa: B010
    setattr(process, "Response", Repeats)  # noqa: B010


TWINS = {"": lambda: None, "log": break_log, "replies": break_replies, "messages": break_messages}

if __name__ == "__main__":
    end_with_parent(signal.SIGTERM)
    TWINS[os.environ.get(TWIN, "")]()
    sys.exit(main(ServeConfig.from_environment(), open_vault))

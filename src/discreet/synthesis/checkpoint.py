"""The draws of an unfinished run, kept in VAULT/synthesis, so that no value is drawn twice.

All of it is private, as the vault is (`discreet.synthesis.runner`).
"""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from discreet.errors import StoreError, UsageError

R = TypeVar("R")
VERSION = 5
"""The format of a checkpoint. A run is resumed only by a version of discreet with the same format."""


class RunCheckpoint:
    """The draws of a run, one a line, each durable before it is used. For several threads at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writing = Lock()
        self._drawing: dict[str, Lock] = {}
        self._lines: dict[str, Any] = {}
        if path.exists():
            for line in path.read_text(encoding="ascii", errors="replace").split("\n"):
                try:
                    fields = json.loads(line)
                    self._lines[fields["name"]] = fields["value"]
                except (ValueError, KeyError, TypeError, RecursionError):
                    continue  # cut off by a crash: it was not used

    @property
    def fresh(self) -> bool:
        """Whether no run has begun."""
        return self._lines.get("begun") is None

    def begun(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the beginning of the run.

        Raises:
            UsageError: if the run has other parameters, or began elsewhere.
            StoreError: if its content is damaged.
        """
        started: dict[str, Any] = self._lines["begun"]
        if not (isinstance(started, dict) and isinstance(started.get("asked"), dict)):
            raise StoreError(
                f"{self._path} is damaged: how the run began cannot be read. Restore it from a copy, or give the run "
                "up by removing it: what was paid stays paid."
            )
        then, now, anyhow = started["asked"], json.loads(json.dumps(asked)), {"machine": ""}
        if then.get("version") != now["version"]:
            raise UsageError(
                "A synthesis was begun in this vault by another version of discreet. Finish it with that one, or give "
                f"it up by removing {self._path}: what was paid stays paid."
            )
        if then | anyhow != now | anyhow:
            raise UsageError(
                "A synthesis with other parameters was interrupted in this vault. Run it again with its own "
                f"parameters, to finish what is paid, or give it up by removing {self._path}: what was paid stays paid."
            )
        if then != now:
            raise UsageError(
                "A synthesis was begun in this vault on another kind of machine, or with another version of torch: the "
                "model says something else here, by rounding if nothing else. Finish it there, or give it up by "
                f"removing {self._path}: what was paid stays paid."
            )
        return started

    def begin(
        self, asked: dict[str, Any], question: str, documents: Sequence[str], steps: dict[str, Any]
    ) -> dict[str, Any]:
        """Record the beginning of a run; remove an earlier one."""
        self._path.unlink(missing_ok=True)
        self._lines = {}
        value = {"asked": asked, "question": question, "documents": sorted(set(documents)), "steps": steps}
        self.put("begun", value)
        return value

    def once(self, name: str, draw: Callable[[], R]) -> R:
        """Return the value that was drawn under this name; draw it now, and keep it durably, if there is none.

        A thread that asks for a name during its draw waits, so the name is not drawn twice. Other names do not wait.
        """
        with self._drawing.setdefault(name, Lock()):
            if name not in self._lines:
                self.put(name, draw())
            result: R = self._lines[name]
        return result

    def put(self, name: str, value: object) -> None:
        """Keep a value durably."""
        line = json.dumps({"name": name, "value": value})
        try:
            # One at a time: a long line is written in pieces.
            with self._writing, self._path.open("a", encoding="utf-8") as file:
                # A line that was cut off ends here.
                file.write("\n" + line + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(
                f"The run could not be kept in {self._path}: {error.strerror}. Nothing was released. Make room, and "
                "run the command again: it goes on where it stopped, and is paid once."
            ) from error
        self._lines[name] = value

"""What the making of a synthetic corpus keeps in VAULT/synthesis, so that nothing is drawn twice or read twice.

All of it is private, as the vault is (`discreet.synthesis`).
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, TextIO, TypeVar

from discreet.errors import StoreError, UsageError

R = TypeVar("R")
Read = Callable[[Sequence[str]], Iterable[tuple[int, Any]]]
VERSION = 5
"""Of what a run keeps: one is gone on with by a version of discreet that makes the same of it."""
KEYWORDS, FACTS = "keywords.jsonl", "facts.jsonl"
"""The files of what the model made of texts."""


class Journal:
    """What a run has drawn, a line each, durable before anything is made of it. For several threads at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writing = Lock()
        self._drawing: dict[str, Lock] = {}
        self._lines: dict[str, Any] = {}
        if path.exists():
            for line in path.read_text(encoding="ascii", errors="replace").split("\n"):
                try:
                    found = json.loads(line)
                    self._lines[found["name"]] = found["value"]
                except (ValueError, KeyError, TypeError, RecursionError):
                    continue  # cut off by a crash: it was not used

    @property
    def fresh(self) -> bool:
        """Whether no run has begun."""
        return self._lines.get("begun") is None

    def begun(self, asked: dict[str, Any]) -> dict[str, Any]:
        """How the run began.

        Raises:
            UsageError: it is one for something else.
            StoreError: what it says is damaged.
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
                "A synthesis with other parameters was interrupted in this vault. Run it again as it was, to finish "
                f"what is paid, or give it up by removing {self._path}: what was paid stays paid."
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
        """Note how a run begins; nothing of an earlier one is left."""
        self._path.unlink(missing_ok=True)
        self._lines = {}
        value = {"asked": asked, "question": question, "documents": sorted(set(documents)), "steps": steps}
        self.put("begun", value)
        return value

    def once(self, name: str, draw: Callable[[], R]) -> R:
        """What was drawn under this name; drawn now, and kept durably, if nothing was.

        Who asks for a name that is being drawn waits for it: it is not drawn twice. Other names are drawn meanwhile.
        """
        with self._drawing.setdefault(name, Lock()):
            if name not in self._lines:
                self.put(name, draw())
            found: R = self._lines[name]
        return found

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


class Readings:
    """What the model makes of texts, by their content: a run that goes on, or the next one, need not read them again.

    Args:
        file: where they are kept (`open_readings`).
        about: how they are read, as plain data: what was read in another way does not count.
        read: what the model makes of each of some texts, as plain data, with the text's place among them.
    """

    def __init__(self, file: TextIO, about: Sequence[Any], read: Read) -> None:
        self._file, self._about, self._read = file, list(about), read

    def of(self, texts: Sequence[str], told: Callable[[int], None]) -> list[Any]:
        """What it makes of each text; `told` how many are done."""
        known = self._known()
        fresh = sorted({text for text in texts if _digest(text) not in known})
        done = len(texts) - len(fresh)
        told(done)
        for place, found in self._read(fresh):
            digest = _digest(fresh[place])
            line = json.dumps([*self._about, digest, found])
            known[digest] = json.loads(line)[-1]
            self._keep(line)
            done += 1
            told(done)
        return [known[_digest(text)] for text in texts]

    def _keep(self, line: str) -> None:
        try:
            self._file.write("\n" + line + "\n")
            self._file.flush()
        except OSError as error:
            raise StoreError(
                f"What was read of the documents could not be kept in {self._file.name}: {error.strerror}. Make room, "
                "and run the command again: it goes on where it stopped."
            ) from error

    def _known(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._file.seek(0)
        for line in self._file.read().split("\n"):
            try:
                *about, digest, value = json.loads(line)
            except (ValueError, TypeError, RecursionError):
                continue
            if about == self._about and isinstance(digest, str):
                found[digest] = value
        return found


@contextmanager
def open_readings(folder: Path) -> Iterator[Mapping[str, TextIO]]:
    """The files of readings by name, for a run; to be opened before the run looks which documents there are.

    If they are forgotten while it lasts, what it still reads goes with them.
    """
    files = {name: (folder / name).open("a+", encoding="ascii", errors="replace") for name in (KEYWORDS, FACTS)}
    try:
        yield files
    finally:
        for file in files.values():
            with suppress(OSError):  # on a full disk, what could not be written
                file.close()


def forget_readings(folder: Path) -> None:
    """Forget what was made of all texts: something is being erased.

    Raises:
        StoreError: a file could not be removed, and is named.
    """
    for name in (KEYWORDS, FACTS):
        try:
            (folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"{folder / name} holds words of documents and cannot be removed: {error.strerror}."
            ) from error


def replace_file(path: Path, content: str) -> None:
    """Write a file as a whole or not at all, and durably."""
    replace_files({path: content})


def replace_files(contents: Mapping[Path, str]) -> None:
    """Write files of one folder, each as a whole; where there is no room for all of them, none."""
    beside = {path: path.with_name(path.name + ".part") for path in contents}
    try:
        for path, content in contents.items():
            with beside[path].open("w", encoding="utf-8") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
    except OSError:
        for part in beside.values():
            with suppress(OSError):
                part.unlink()
        raise
    for path, part in beside.items():
        os.replace(part, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # their names, too
    finally:
        os.close(folder)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()

"""A base for small stores that hold all documents in memory, and keep them in one file of JSON lines.

The file is replaced as a whole after each change, so the time of a change grows with the number of documents.
"""

import json
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.errors import StoreError
from discreet.store.protocol import Store
from discreet.system.files import replace_file


def _saved(name: str) -> Callable[..., Any]:
    """Return a method that changes the store in memory by its method of this name, and saves the file."""

    def change(self: "WholeFileStore", *given: Any, **how: Any) -> Any:
        with self._change():
            return getattr(super(WholeFileStore, self), name)(*given, **how)

    return change


class WholeFileStore(Store):
    """A mixin for a store in memory: class MyStore(WholeFileStore, MyStoreInMemory). For one process at a time.

    A change is durable when its method returns; a failed change leaves neither a document nor an erasure. The file
    holds no text of a removed document. The disk may keep the replaced file's blocks until it reuses them.
    """

    _file: Path
    _depth = 0

    @abstractmethod
    def dump(self) -> list[Any]:
        """Return the content as JSON values, one for each line of the file."""

    @abstractmethod
    def load(self, lines: list[Any]) -> None:
        """Replace the content by that of the lines of a file."""

    def open_file(self, file: Path, new: list[Any]) -> None:
        """Load the content of a file; without a file, load and save the lines of a new store.

        Args:
            file: the file.
            new: the lines of a store without documents.

        Raises:
            StoreError: if the file is damaged, or cannot be read or written.
        """
        self._file = file
        self._reload(new)
        if not file.exists():
            self._save()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Save what is put within, or forget it after an error."""
        with self._change():
            yield

    remove, remove_unit = _saved("remove"), _saved("remove_unit")
    remove_batch, remove_source = _saved("remove_batch"), _saved("remove_source")
    bury, join, readmit = _saved("bury"), _saved("join"), _saved("readmit")

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Save once, at the end of the outermost change; after an error, return to the saved content."""
        self._depth += 1
        try:
            yield
            if self._depth == 1:
                self._save()
        except BaseException:
            if self._depth == 1:
                self._reload([])
            raise
        finally:
            self._depth -= 1

    def _reload(self, new: list[Any]) -> None:
        self.load(read_file(self._file) or new)

    def _save(self) -> None:
        content = "".join(json.dumps(line) + "\n" for line in self.dump())
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self._file, content)
        except OSError as error:
            raise StoreError(f"{self._file} cannot be written: {error.strerror}. Make room, and try again.") from error


def read_file(file: Path) -> list[Any]:
    """Return the JSON values of the lines of a file; none if there is no file.

    Raises:
        StoreError: if the file is damaged or cannot be read.
    """
    try:
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError):
        reason = "is damaged or cannot be read. Restore it from a backup: discreet restore"
    # Raised outside of the handler: the cause may quote a document.
    raise StoreError(f"{file} {reason}.")

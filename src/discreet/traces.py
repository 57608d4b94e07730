"""What is made of documents and kept outside the store: forgotten whenever somebody is erased.

VAULT/synthesis, VAULT/synthesis-simulated    what the model read in texts (`discreet.journal`)
VAULT/claims                                  the datastores of knn-lm (`discreet.algorithms.datastore`)
VAULT/adding.PID                              there while a process adds documents; all is forgotten if it was killed
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.adding import Added
from discreet.algorithms.datastore import forget as forget_datastores
from discreet.journal import forget_readings
from discreet.retrieval.embedded_store import EmbeddedStore

SYNTHESIS, SIMULATED, CLAIMS = "synthesis", "synthesis-simulated", "claims"
_MARK = "adding"


class Traces:
    """The traces of documents in a vault's folder."""

    def __init__(self, folder: Path, store: EmbeddedStore) -> None:
        self._folder, self._store = folder, store
        self._mark = folder / f"{_MARK}.{os.getpid()}"

    def make_up(self) -> None:
        """Forget, if a process was killed while it added documents, of which some may have been replaced.

        Raises:
            StoreError: something could not be removed, and is named.
        """
        left = [mark for mark in self._folder.glob(f"{_MARK}.*") if not _runs(mark.suffix[1:])]
        if left:
            self.forget()
            for mark in left:
                mark.unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove all of them.

        Raises:
            StoreError: something could not be removed, and is named.
        """
        for name in (SYNTHESIS, SIMULATED):
            forget_readings(self._folder / name)
        forget_datastores(self._folder / CLAIMS)

    @contextmanager
    def erasing(self) -> Iterator[None]:
        """Forget first, so that a crash leaves nothing; and last, since a synthesis may have read meanwhile."""
        self.forget()
        try:
            yield
        finally:
            self.forget()

    def adding(self, add: Callable[[], Added]) -> Added:
        """Add documents; forget if some were replaced, also if it was interrupted."""
        self._mark.touch()
        try:
            added = add()
        except BaseException:
            if self._store.unsettled():  # some were replaced already, and will not be again
                self.forget()
            self._mark.unlink(missing_ok=True)
            raise
        if added.replaced:
            self.forget()
        self._mark.unlink(missing_ok=True)
        return added


def _runs(process: str) -> bool:
    """Whether a process runs on this machine; one of another machine counts as ended, which costs some reading."""
    try:
        os.kill(int(process), 0)
    except PermissionError:
        return True
    except (ValueError, OSError, OverflowError):
        return False
    return True

"""What is made of documents and kept outside the store: forgotten whenever somebody is erased.

VAULT/synthesis, VAULT/synthesis-simulated    what the model read in texts (`discreet.synthesis.checkpoint`)
VAULT/claims                                  the datastores of knn-lm (`discreet.baselines.datastore`)
VAULT/adding.*                                held while documents are added; all is forgotten if one is left, and free
"""

import fcntl
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.baselines.datastore import forget as forget_datastores
from discreet.retrieval.store import Store
from discreet.synthesis.extraction_cache import forget_extractions
from discreet.vault.ingestion import Added

SYNTHESIS, SIMULATED, CLAIMS = "synthesis", "synthesis-simulated", "claims"
_MARK = "adding"


class DerivedData:
    """The traces of documents in a vault's folder."""

    def __init__(self, folder: Path, store: Store) -> None:
        self._folder, self._store = folder, store

    def make_up(self) -> None:
        """Forget, if a process was killed while it added documents, of which some may have been replaced.

        Raises:
            StoreError: something could not be removed, and is named.
        """
        for mark in self._folder.glob(f"{_MARK}.*"):
            if _is_free(mark):
                self.forget()
                mark.unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove all of them.

        Raises:
            StoreError: something could not be removed, and is named.
        """
        for name in (SYNTHESIS, SIMULATED):
            forget_extractions(self._folder / name)
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
        with self._marked():
            try:
                added = add()
            except BaseException:
                if self._store.unsettled():  # some were replaced already, and will not be again
                    self.forget()
                raise
            if added.replaced:
                self.forget()
            return added

    @contextmanager
    def _marked(self) -> Iterator[None]:
        """While this lasts a mark is held, which the system lets go of if the process is killed."""
        mark = self._folder / f"{_MARK}.{secrets.token_hex(8)}"
        made = mark.with_name(f".{mark.name}")
        with made.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            made.rename(mark)  # held before anybody can see it
            try:
                yield
            finally:
                mark.unlink(missing_ok=True)


def _is_free(mark: Path) -> bool:
    """Whether nobody holds a mark any more that is still there."""
    try:
        with mark.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, FileNotFoundError):  # somebody adds, or was done just now
        return False
    return True

"""Data that is derived from documents and kept outside the store. Each erasure removes it.

VAULT/synthesis, VAULT/synthesis-simulated    the extractions of synthesis (`discreet.synthesis.checkpoint`)
VAULT/claims                                  what baselines keep of documents, in folders datastore-*
VAULT/readings                                the statements of texts (`synthesis.readings`); those of other texts stay
VAULT/adding.*                                a mark, locked while documents change; an unlocked one shows a crash
VAULT/erasures                                the number of erasures that this folder has seen, in a shared store
"""

import fcntl
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.errors import StoreError
from discreet.retrieval.store import Store
from discreet.retrieval.unit_records import owned_texts
from discreet.synthesis.extraction_cache import forget_extractions
from discreet.synthesis.readings import FOLDER as READINGS
from discreet.synthesis.readings import Readings
from discreet.system.atomic_write import replace_file
from discreet.vault.ingestion import Added

SYNTHESIS, SIMULATED, CLAIMS = "synthesis", "synthesis-simulated", "claims"
_MARK, _SEEN = "adding", "erasures"


class DerivedData:
    """The derived data in the folder of a vault."""

    def __init__(self, folder: Path, store: Store) -> None:
        self._folder, self._store = folder, store

    def make_up(self) -> None:
        """Remove the derived data if a process was killed while it added or erased documents.

        Remove it also after an erasure from another folder, on another machine, that shares the store.

        Raises:
            StoreError: if a file could not be removed; the error names it.
        """
        for mark in self._folder.glob(f"{_MARK}.*"):
            if _is_free(mark):
                self.forget()
                mark.unlink(missing_ok=True)
        erasures, seen = getattr(self._store, "erasures", 0), self._folder / _SEEN
        if erasures and str(erasures) != (seen.read_text() if seen.exists() else ""):
            self.forget()
            with suppress(OSError):  # a reader of the folder may not write it
                replace_file(seen, str(erasures))

    def forget(self) -> None:
        """Remove all derived data; of the readings, those of texts that are no longer stored.

        Raises:
            StoreError: if a file could not be removed; the error names it.
        """
        self._forget_whole()
        if (self._folder / READINGS).exists():
            Readings(self._folder / READINGS).keep(owned_texts(self._store))

    def _forget_whole(self) -> None:
        """Remove the derived data that no document is to be told from: all but the readings."""
        for name in (SYNTHESIS, SIMULATED):
            forget_extractions(self._folder / name)
        _forget_datastores(self._folder / CLAIMS)

    @contextmanager
    def erasing(self) -> Iterator[None]:
        """Remove the derived data before and after the block; of the readings, after it those of erased texts.

        After a crash in the block, or if something cannot be removed, the next opening removes what is left. A
        synthesis may read documents during the block.
        """
        self._forget_whole()
        with self._mark() as mark:
            try:
                yield
            finally:
                self.forget()
                mark.unlink(missing_ok=True)

    def adding(self, add: Callable[[], Added]) -> Added:
        """Add documents. Remove the derived data if some were replaced, also after an interruption."""
        with self._mark() as mark:
            try:
                added = add()
            except BaseException:
                if self._store.unsettled():  # some were replaced; a later call counts them as unchanged
                    self.forget()
                mark.unlink(missing_ok=True)
                raise
            if added.replaced:
                self.forget()
            mark.unlink(missing_ok=True)
            return added

    @contextmanager
    def _mark(self) -> Iterator[Path]:
        """Make a mark, and lock it during the block, which unlinks it when nothing is left to remove.

        The system unlocks it if the process is killed. An unlocked mark makes the next opening remove derived data.
        """
        mark = self._folder / f"{_MARK}.{secrets.token_hex(8)}"
        made = mark.with_name(f".{mark.name}")
        with made.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            made.rename(mark)  # locked before another process can see it
            yield mark


def _forget_datastores(folder: Path) -> None:
    """Remove the folders datastore-* below a folder. The other files there hold no data of documents.

    Raises:
        StoreError: if one could not be removed. The message names it.
    """
    for datastore in list(folder.rglob("datastore-*")):
        try:
            shutil.rmtree(datastore)
        except FileNotFoundError:
            continue  # another process removed it first
        except OSError as error:
            raise StoreError(
                f"{datastore} contains data of documents, and could not be removed: {error.strerror}. Remove it, and "
                "run the command again."
            ) from error


def _is_free(mark: Path) -> bool:
    """Return whether a mark is left over: it exists, and no process locks it."""
    try:
        with mark.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, FileNotFoundError):  # another process adds documents, or has just finished
        return False
    return True

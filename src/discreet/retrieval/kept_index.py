"""A copy of the index in a file, so that a process need not read all rows before its first search.

STORE/index.npz holds names and keyed hashes of units, so an erasure overwrites it before it is written anew. It is a
cache: the log of changes (`row_changes`) says whether it is of this store, and what changed since. A missing, damaged
or foreign file costs time, and changes no result.

It is copied into memory, and not mapped: an erasure overwrites the file, and a search of another process would read
zeros. A copy also lets the checksums find damage.
"""

import os
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from discreet.retrieval.row_changes import State
from discreet.retrieval.search import Index

FILE, UNFINISHED = "index.npz", "index.new"
_AT_ONCE = 2**20


class KeptIndex:
    """The file of a store's index. All writers hold the write lock of the store's database."""

    def __init__(self, folder: Path) -> None:
        self._path, self._unfinished = folder / FILE, folder / UNFINISHED

    def exists(self) -> bool:
        """Return whether there is a file."""
        return self._path.exists()

    def load(self) -> Index | None:
        """Return the index in the file, which may be of an earlier state; None if it cannot be read."""
        try:
            with np.load(self._path, allow_pickle=False) as file:
                number, used = (int(value) for value in file["numbers"])
                found = Index(
                    State(number, file["token"].tobytes()),
                    file["units"],
                    file["ties"],
                    file["names"].tobytes(),
                    file["ends"],
                    file["unit_of_row"].astype(np.intp),
                    used,
                )
        # A damaged file raises any of these; the checksums of the archive find damage within the arrays.
        except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile):
            return None
        return found if _is_sound(found) else None

    def save(self, index: Index) -> bool:
        """Write the index in place of the file. Return whether it was written."""
        try:
            with self._unfinished.open("wb") as file:
                np.savez(
                    file,
                    numbers=np.array([index.state.number, index.used], dtype=np.int64),
                    token=np.frombuffer(index.state.token, dtype=np.uint8),
                    units=index.units,
                    ties=index.ties,
                    names=np.frombuffer(index.names, dtype=np.uint8),
                    ends=index.ends,
                    unit_of_row=index.unit_of_row,
                )
                file.flush()
                os.fsync(file.fileno())
            os.replace(self._unfinished, self._path)
        except OSError:
            with suppress(OSError):
                _overwrite(self._unfinished)
            return False
        return True

    def erase(self) -> None:
        """Overwrite the files, durably, and remove them.

        Raises:
            OSError: if a file cannot be overwritten.
        """
        for path in (self._path, self._unfinished):
            _overwrite(path)


def _overwrite(path: Path) -> None:
    try:
        with path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            for start in range(0, size, _AT_ONCE):
                file.write(bytes(min(_AT_ONCE, size - start)))
            file.flush()
            os.fsync(file.fileno())
        path.unlink()
    except FileNotFoundError:
        return


def _is_sound(index: Index) -> bool:
    """Return whether the arrays fit together: a file of another program may have the same names."""
    units, rows = len(index.units), index.unit_of_row
    return (
        index.units.dtype == np.int64
        and index.ends.dtype == np.int64
        and index.ties.dtype == np.uint64
        and index.ties.shape == (units, 2)
        and index.ends.shape == index.units.shape == (units,)
        and bool((np.diff(index.units) > 0).all())
        and bool((np.diff(index.ends, prepend=0) >= 0).all())
        and (not units or int(index.ends[-1]) == len(index.names))
        and rows.ndim == 1
        and (not len(rows) or (int(rows.min()) >= -1 and int(rows.max()) < units))
    )

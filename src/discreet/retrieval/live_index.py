"""The index of a store in memory, brought up to date after each commit of any process.

A search after a commit reads only the rows that changed since the last one. A process that has no index yet reads the
file of `kept_index` and the changes since; without a file it reads all rows. Each way leads to the same results.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.retrieval import row_changes
from discreet.retrieval.kept_index import KeptIndex
from discreet.retrieval.row_changes import State
from discreet.retrieval.search import Index
from discreet.retrieval.sqlite_errors import damaged, rolled_back_on_error
from discreet.retrieval.vectors import Blocks, VectorFile

LEAST = 4096
"""The number of rows from which the index is kept in a file. Fewer rows are read in milliseconds."""
_SHARE = 4
_PATIENCE = 30_000


class LiveIndex:
    """The index and the vectors of a store.

    Attributes:
        index: the index of the last `refresh`; None before the first.
    """

    def __init__(self, database: sqlite3.Connection, vectors: VectorFile, folder: Path) -> None:
        self._database, self._vectors, self._kept = database, vectors, KeptIndex(folder)
        self.index: Index | None = None
        self._blocks = Blocks.none(vectors)
        self._seen: object = None

    @property
    def blocks(self) -> Blocks:
        """The vectors of all rows."""
        return self._blocks

    def refresh(self, seen: object) -> Index:
        """Return the index of this moment, within a transaction.

        Args:
            seen: a value that changes with each commit of any process.

        Raises:
            StoreError: if the store is damaged.
        """
        if self.index is None or seen != self._seen:
            state = row_changes.last_state(self._database)
            if state is None:
                raise damaged()
            self.index = self._brought_up(state)
            self._blocks = self._vectors.blocks(len(self.index.unit_of_row), self._blocks)
            self._seen = seen
        return self.index

    def _brought_up(self, state: State) -> Index:
        """Return the index of a state: from memory, else from the file, else from all rows."""
        found = self._followed(self.index, state) or self._followed(self._kept.load(), state)
        return found or Index.read(self._database, state)

    def _followed(self, index: Index | None, state: State) -> Index | None:
        """Return an index after all changes since; None if the log does not reach back to it."""
        if index is None or not row_changes.has_state(self._database, index.state):
            return None
        if index.state == state:
            return index
        size = self._database.execute("select coalesce(max(row), -1) + 1 from chunk").fetchone()[0]
        return index.changed(row_changes.rows_since(self._database, index.state), size, state)

    def can_load(self) -> bool:
        """Return whether `refresh` need not read all rows, as far as files can tell."""
        return self.index is not None or self._kept.exists()

    def is_worth_keeping(self) -> bool:
        """Return whether the file is missing or old, so that `keep` would spare other processes much reading."""
        top = self._database.execute("select max(row) from chunk").fetchone()[0]
        if top is None or top < LEAST:
            return False
        return not self._kept.exists() or row_changes.length(self._database) > max(LEAST, top // _SHARE)

    def keep(self) -> None:
        """Write the index to the file, unless another process writes to the store or is to erase something.

        A file is written under the write lock, and only while no erasure is due. So it never holds an erased unit
        that an erasure would not overwrite.
        """
        with self._locked() as locked:
            if not locked or self.index is None:
                return
            due = self._database.execute("select 1 from meta where name = 'due' and value != ''").fetchone()
            current = self.index.state == row_changes.last_state(self._database)
            # Compact, since an index in memory may still have the names of erased units.
            if due is None and current and self._kept.save(self.index.compact()):
                # Some entries stay for other processes, and for records of units, which have no file.
                row_changes.forget_before(self._database, self.index.state, LEAST // 2)

    @contextmanager
    def _locked(self) -> Iterator[bool]:
        """Hold the write lock for the block; yield whether it was free. Commit at the end."""
        self._database.execute("pragma busy_timeout = 0")
        try:
            self._database.execute("begin immediate")
        except sqlite3.OperationalError:  # another process writes, or the store is read-only
            yield False
            return
        finally:
            self._database.execute(f"pragma busy_timeout = {_PATIENCE}")
        with rolled_back_on_error(self._database):
            yield True
            self._database.execute("commit")

    def erase_kept(self) -> None:
        """Overwrite the file, under the write lock: a unit in it may have been erased.

        Raises:
            OSError: if it cannot be overwritten.
        """
        self._kept.erase()

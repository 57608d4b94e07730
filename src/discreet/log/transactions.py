"""A log that is open: it was checked, and it is read and written in transactions, each with the state of all its rows.

A row counts after its commit alone. If a transaction that appended one fails, whether the row was committed is not
known: the state in memory is thrown away, and comes from the log again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic

from sqlalchemy import Connection

from discreet.log import chain, replay
from discreet.log.chain import Entry
from discreet.log.postgres import PostgresSchema
from discreet.log.replay import Replay, S
from discreet.log.sqlite import SqliteFile

Place = SqliteFile | PostgresSchema
"""Where a log is."""


class Transaction(Generic[S]):
    """A transaction, and what it appends.

    Attributes:
        connection: its connection.
        state: what all rows give that it sees. It lacks what the transaction appends.
        head: the last row, with those that it appended.
        appended: whether it appended a row.
    """

    def __init__(self, connection: Connection, state: S) -> None:
        self.connection, self.state, self.head, self.appended = connection, state, state.head, False

    def append(self, entry: Entry) -> None:
        """Append a row. The transaction must be one that writes."""
        self.appended = True
        self.head = chain.append(self.connection, self.head, entry)


class Log(Generic[S]):
    """An open log. Threads and forked processes may share it.

    Attributes:
        place: where it is.
        replay: its state in this process.
    """

    def __init__(self, place: Place, kind: type[S], snapshot: Path | None = None) -> None:
        """Open a log. A small one is checked; the check of a large one starts in a thread.

        Args:
            place: where it is.
            kind: the class of its state.
            snapshot: the file for a snapshot of a large log; None for none.

        Raises:
            LedgerError: if it is missing, corrupt or out of reach.
            VaultVersionError: if it has another format.
        """
        self.place, self.replay = place, Replay(kind, snapshot)
        if place.check_open() >= replay.LARGE:
            self.replay.check_meanwhile(lambda: self._check(large=True))
        else:
            self._check(large=False)

    @contextmanager
    def reading(self, *, checked: bool = False) -> Iterator[Transaction[S]]:
        """Run the block on one consistent state; with `checked`, after the check of the whole log."""
        if checked:
            self.replay.wait()
        with self.place.reading() as connection, self.replay.caught_up(connection) as state:
            yield Transaction(connection, state)

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[Transaction[S]]:
        """Run the block alone with the log that was checked. With `durable`, its rows are on disk at the end."""
        self.replay.wait()
        found: Transaction[S] | None = None
        try:
            with self.place.writing(durable=durable) as connection, self.replay.caught_up(connection) as state:
                found = Transaction(connection, state)
                yield found
        except BaseException:
            if found is not None and found.appended:
                self.replay.forget()
            raise

    def _check(self, *, large: bool) -> None:
        with self.place.reading() as connection:
            self.place.check_pages(connection)
            self.replay.check(connection, large=large)

"""Where the accounts are: a log in an SQLite file, or in a PostgreSQL schema that several servers share.

    STATE/front/accounts.sqlite            the log (books.py), and the table of replies
    STATE/front/accounts.counter           number and hash of its last row, by which an older copy is noticed
    STATE/front/accounts.key               the key of the marks of questions and names; it is not in the database
    STATE/front/accounts.sqlite-snapshot   a cache of the state of a large log

A transaction that writes holds the lock of the database from its first statement on, so that what it reads cannot
change before it writes. Its commit is on disk when it returns. One that reads waits for no writer.

The counter cannot notice that the whole folder was put back from an older copy: a head of the audit log that was filed
elsewhere does (audit_log.py). Accounts in PostgreSQL have no counter beside them: each process knows the newest row
that it saw, and refuses a database that lacks it.

The replies that the same request finds for a while are outside the chain, since they are deleted after a day.
"""

import json
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, Float, MetaData, String, Table, Text, bindparam, delete, insert, select, text

from discreet.config import FORMAT
from discreet.errors import LedgerError
from discreet.log import chain
from discreet.log.chain import Entry, Head
from discreet.log.postgres import PostgresSchema
from discreet.log.replay import Counter, Log, Place, Reached, Transaction
from discreet.log.sqlite import RIGHTS, SqliteFile, make_log, making
from discreet.privacy.accounting import Spending
from discreet.server.accounts.books import BY_NAME, OPENING, Books, Kind
from discreet.server.accounts.errors import AccountsError, OlderCopy, explained, forked, older, other_format

SCHEMA = "accounts"
"""The schema of shared accounts."""
_VERSION = {"sqlite": "pragma user_version", "postgresql": "select version from format"}
_OLD = {  # the tables before format 9
    "sqlite": "select count(*) from sqlite_master where name = 'accounts_state'",
    "postgresql": "select count(*) from pg_tables where tablename = 'accounts_state'",
}
_TABLES = MetaData()
_REPLIES = Table(
    "replies",
    _TABLES,
    Column("question", String, primary_key=True),
    Column("settled", Float, nullable=False),
    Column("reply", Text, nullable=False),
)
_KEEP = insert(_REPLIES)
_KEPT = select(_REPLIES.c.reply).where(_REPLIES.c.question == bindparam("of_id"))


class Reading:
    """A transaction that reads.

    Attributes:
        connection: its connection.
        books: the accounts as all rows that it sees give them.
    """

    def __init__(self, transaction: Transaction[Books]) -> None:
        self._transaction = transaction
        self.connection, self.books = transaction.connection, transaction.state

    def reply(self, question: str) -> dict[str, Any] | None:
        """Return the reply that is kept for a question; None if none is."""
        found = self.connection.execute(_KEPT, {"of_id": question}).scalar()
        return None if found is None else dict(json.loads(found))


class Writing(Reading):
    """A transaction that no other one writes beside. The books do not have what it appends."""

    def append(
        self, kind: Kind, about: str, content: dict[str, Any], charged: Spending | None = None, *, again: bool = False
    ) -> None:
        """Append a row: see books.py.

        Args:
            kind: its kind.
            about: the vault, key, request or question that it is about.
            content: what else it says.
            charged: what a question is charged.
            again: whether there may be several rows of this kind about the same.
        """
        loss, failure = (b"", 0) if charged is None else charged.pack()
        part = self._transaction.head.id + 1 if again else 0
        self._transaction.append(Entry(about, kind, part, loss, failure, json.dumps(content).encode()))

    def keep_reply(self, question: str, reply: dict[str, Any], now: float) -> None:
        """Keep the reply that the same request is to get for a while."""
        content = json.dumps(reply, ensure_ascii=False, separators=(",", ":"))
        self.connection.execute(_KEEP, {"question": question, "settled": now, "reply": content})

    def forget_replies(self, now: float) -> None:
        """Delete the replies that no request can find any more."""
        self.connection.execute(delete(_REPLIES).where(_REPLIES.c.settled < now - BY_NAME))


class Database:
    """The log of the accounts, which is made if there is none. Threads and forked processes may share it."""

    def __init__(self, address: Path | str) -> None:
        """Open a database.

        Args:
            address: the path of a file, or a URL that begins with `postgresql`.

        Raises:
            AccountsError: if it cannot be used.
            OlderCopy: if it is missing, and was there before.
        """
        self.shared = str(address).startswith("postgresql")
        """Whether several servers may share the database."""
        self._counter: Counter | None = None
        self._secret = b""
        self._newest: Reached | None = None
        self._one_writes = threading.RLock()
        with explained():
            place: Place
            snapshot = None
            if self.shared:
                place = _open_schema(str(address))
            else:
                path = Path(address).absolute()
                self._counter = Counter(path.with_suffix(".counter"))
                self._secret = _make_files(path, self._counter)
                place, snapshot = SqliteFile(path), path.with_name(f"{path.name}-snapshot")
            _check_format(place)
            self._log = Log(place, Books, snapshot)

    @contextmanager
    def writing(self) -> Iterator[Writing]:
        """Hold a transaction that no other one writes beside; it is on disk afterwards, or nothing of it is.

        Raises:
            OlderCopy: if the database lacks a row that was there before.
        """
        with self._one_writes, explained(), self._log.writing() as found:
            self._check_newest(found.connection, found.head)
            yield Writing(found)
        if found.appended:
            self._note(found.head)

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        """Hold a transaction that reads one state of the database."""
        with explained(), self._log.reading() as found:
            yield Reading(found)

    def changes(self) -> int:
        """Return how many rows the log has."""
        with self.reading() as found:
            return found.books.head.id

    def check_copy(self) -> None:
        """Refuse a database that lacks changes which the counter has.

        Raises:
            OlderCopy: if it lacks some, or is another copy.
        """
        # The counter is read first: another process may write meanwhile, and the log is then further.
        known = None if self._counter is None else self._counter.read()
        with self.reading() as found:
            _check_reached(known, found.connection, found.books.head)

    def accept_copy(self) -> None:
        """Have the counter forget what this copy of the database lacks."""
        if self._counter is not None:
            self._counter.path.unlink(missing_ok=True)
            with self.reading() as found:
                self._note(found.books.head)

    def close(self) -> None:
        """Close the connections of this process."""
        self._log.place.engine.dispose()

    def mark(self, what: str, value: str) -> str:
        """Return a hash of a question or a name, with the key of the accounts.

        Without the key, no reader of the database can try which question has it. Shared accounts have no key: their
        servers would need the same one.
        """
        key, person = self._secret, what.encode()
        return blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16, key=key, person=person).hexdigest()

    def _check_newest(self, connection: Connection, head: Head) -> None:
        """Refuse a database that lacks a row which this process saw, or which the counter has."""
        for known in (self._newest, None if self._counter is None else self._counter.read()):
            _check_reached(known, connection, head)

    def _note(self, head: Head) -> None:
        reached = Reached(0, 0, head.id, head.hash.hex())
        if self._newest is None or self._newest.is_older(reached):
            self._newest = reached
        if self._counter is not None:
            self._counter.note(reached)


def _check_format(place: Place) -> None:
    with place.reading() as connection:
        kind = connection.dialect.name
        if connection.execute(text(_OLD[kind])).scalar():
            raise other_format(f"a format before {FORMAT}")
        if (found := connection.execute(text(_VERSION[kind])).scalar_one()) not in (0, FORMAT):
            raise other_format(f"format {found}")


def _check_reached(known: Reached | None, connection: Connection, head: Head) -> None:
    if known is None:
        return
    if head.id < known.row:
        raise older(head.id, known.row)
    found = head.hash if head.id == known.row else chain.hash_at(connection, known.row)
    if found is not None and found.hex() != known.hash:
        raise forked(known.row)


def _fill(connection: Connection) -> None:
    chain.make(connection, OPENING)
    _TABLES.create_all(connection, checkfirst=False)


def _open_schema(url: str) -> PostgresSchema:
    """Return the schema of shared accounts, which is made if there is none."""
    found = PostgresSchema(url, SCHEMA)
    if not _is_made(found):
        try:
            found.make(_fill)
        except LedgerError:
            if not _is_made(found):  # another server made it meanwhile
                raise
    return found


def _is_made(schema: PostgresSchema) -> bool:
    with schema.reading() as connection:
        if connection.execute(text(_OLD["postgresql"])).scalar():
            raise other_format(f"a format before {FORMAT}")
        return connection.execute(text(f"select to_regclass('{SCHEMA}.format')")).scalar() is not None


def _make_files(path: Path, counter: Counter) -> bytes:
    """Make the file of the accounts and their key, if there are none. Return the key."""
    try:
        with making(path.parent):
            if not path.exists():
                if (before := counter.read()) is not None:
                    raise OlderCopy(
                        f"The database {path} is missing, and had {before.row} changes. Restore it from a copy, and "
                        "run: discreet key accept-copy VAULT"
                    )
                make_log(path, _fill)
            return _read_secret(path.with_suffix(".key"))
    except OSError as error:
        raise AccountsError(
            f"No accounts can be made in {path.parent}: {error.strerror}. Choose another folder with --state."
        ) from None


def _read_secret(path: Path) -> bytes:
    """Return the key of the marks. A new one finds no question that was asked before: those are paid again."""
    with suppress(FileNotFoundError):
        if len(found := path.read_bytes()) == 32:
            return found
        path.unlink()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, RIGHTS)
    with os.fdopen(file, "wb") as made:
        made.write(secrets.token_bytes(32))
    return path.read_bytes()

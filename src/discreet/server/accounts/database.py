"""Where the accounts are: a log in an SQLite file, or in a PostgreSQL schema that several servers share.

    STATE/front/accounts.sqlite            the log (books.py), and the table of replies
    STATE/front/accounts.counter           number and hash of its last row, by which an older copy is noticed
    STATE/front/accounts.key               the key of the marks of questions and names; it is not in the database
    STATE/front/accounts.sqlite-snapshot   a cache of the state of a large log, also of one in PostgreSQL

A transaction that writes holds the lock of the database from its first statement on, so that what it reads cannot
change before it writes. Its commit is on disk when it returns. One that reads waits for no writer.

A process also knows the newest row that it wrote, and refuses a database that lacks it. Accounts in PostgreSQL, which
have no counter beside them, have that alone. That the whole folder was put back while no server ran is not noticed: a
head of the audit log that was filed elsewhere shows it (audit_log.py).

The replies that the same request finds for a while are outside the chain, since they are deleted after a day.

No error holds a secret, a question or an answer.
"""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, Float, MetaData, String, Table, Text, bindparam, delete, insert, select

from discreet.errors import DiscreetError, LedgerError, VaultVersionError
from discreet.log import CORRUPT, chain
from discreet.log.chain import Entry, Head
from discreet.log.postgres import PostgresSchema
from discreet.log.replay import Counter, Log, Place, Reached, Transaction
from discreet.log.sqlite import RIGHTS, SqliteFile, make_log, making
from discreet.privacy.accounting import Spending
from discreet.server.accounts.books import AGAIN, BY_NAME, OPENING, Books, Kind
from discreet.system.sharing import Turn

SCHEMA = "accounts"
"""The schema of shared accounts."""
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
_GOES_ON = "Put the newest copy back. To go on with this one: discreet key accept-copy VAULT"

Found = Transaction[Books]
"""A transaction. Its state are the accounts as all rows that it sees give them, without what it appends."""


class AccountsError(DiscreetError):
    """A database of accounts that cannot be used. Without it no question is asked."""


class OlderCopy(AccountsError):  # noqa: N818 - reads better without the suffix
    """A database of accounts that lacks changes which were made before: an older copy was put back."""


class _Counter(Counter):
    def older(self, now: Reached, known: Reached) -> OlderCopy:
        return OlderCopy(
            f"The accounts were put back from an older copy: they have {now.row} changes of {known.row}. Keys forget "
            f"what they spent since; the grant of each individual still holds. {_GOES_ON}"
        )

    def forked(self, row: int) -> OlderCopy:
        return OlderCopy(
            f"The accounts are another copy than the newest one: their change {row} is a different one. Keys forget "
            f"what they spent in the other copy; the grant of each individual still holds. {_GOES_ON}"
        )


class Database(Log[Books]):
    """The log of the accounts, which is made if there is none. Threads and forked processes may share it.

    Attributes:
        shared: whether several servers may share the database.
    """

    def __init__(self, address: Path | str, snapshot: Path | None = None) -> None:
        """Open a database.

        Args:
            address: the path of a file, or a URL that begins with `postgresql`.
            snapshot: the file of this machine for a snapshot of a large log; beside a file, if none is given.

        Raises:
            AccountsError: if it cannot be used.
            OlderCopy: if it is missing, and was there before.
        """
        self.shared, self._secret = str(address).startswith("postgresql"), b""
        self._one_writes = Turn()  # many threads ask; SQLite would have each try again and again
        place: Place
        with _explained():
            if self.shared:
                place, counter = _open_schema(str(address)), _Counter(None)
            else:
                path = Path(address).absolute()
                place, counter = SqliteFile(path), _Counter(path.with_suffix(".counter"))
                self._secret = _make_files(path, counter)
                snapshot = snapshot or path.with_name(f"{path.name}-snapshot")
            super().__init__(place, Books, snapshot)
        self.counter: Counter = counter

    @contextmanager
    def reading(self, *, checked: bool = True) -> Iterator[Found]:
        """Hold a transaction that reads one state of the database, after its check: no unchecked cache admits a key."""
        with _explained(), super().reading(checked=checked) as found:
            yield found

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[Found]:
        """Hold a transaction that no other one writes beside; it is on disk afterwards, or nothing of it is.

        Raises:
            OlderCopy: if the database lacks a row that was there before.
        """
        with self._one_writes, _explained(), super().writing(durable=durable) as found:
            yield found

    def accept_copy(self) -> None:
        """Have the counter forget what this copy of the database lacks."""
        self.counter.forget()
        self.note()

    def _note(self, head: Head) -> None:
        # Nothing is read back, which could fail: who gets an error here finds that nothing was changed.
        self.counter.note(Reached(0, 0, head.id, head.hash.hex()))

    def mark(self, what: str, value: str) -> str:
        """Return a hash of a question or a name, with the key of the accounts.

        Without the key, no reader of the database can try which question has it. Shared accounts have no key: their
        servers would need the same one.
        """
        key, person = self._secret, what.encode()
        return blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16, key=key, person=person).hexdigest()


def append(found: Found, kind: Kind, about: str, content: dict[str, Any], charged: Spending | None = None) -> None:
    """Append a row: see books.py.

    Args:
        found: a transaction that writes.
        kind: its kind.
        about: the vault, key, request or question that it is about.
        content: what else it says.
        charged: what a question is charged.
    """
    loss, failure = (b"", 0) if charged is None else charged.pack()
    part = found.head.id + 1 if kind in AGAIN else 0  # of another kind, there is one row about the same
    found.append(Entry(about, kind, part, loss, failure, json.dumps(content).encode()))


def find_reply(found: Found, question: str) -> dict[str, Any] | None:
    """Return the reply that is kept for a question; None if none is."""
    kept = found.connection.execute(_KEPT, {"of_id": question}).scalar()
    return None if kept is None else dict(json.loads(kept))


def keep_reply(found: Found, question: str, reply: dict[str, Any], now: float) -> None:
    """Keep the reply that the same request is to get for a while."""
    content = json.dumps(reply, ensure_ascii=False, separators=(",", ":"))
    found.connection.execute(_KEEP, {"question": question, "settled": now, "reply": content})


def forget_replies(found: Found, now: float) -> None:
    """Delete the replies that no request can find any more."""
    found.connection.execute(delete(_REPLIES).where(_REPLIES.c.settled < now - BY_NAME))


@contextmanager
def _explained() -> Iterator[None]:
    """Turn an error of the log into an `AccountsError` that names what to do."""
    try:
        yield
    except VaultVersionError as error:
        found = str(error).partition(" Or make ")[0].replace("The ledger has", "The accounts have")
        raise AccountsError(
            f"{found} Or move them away, and issue new keys: discreet key issue. Keys forget what they spent; the "
            "grant of each individual still holds."
        ) from None
    except LedgerError as error:
        said = str(error)
        if said == CORRUPT:
            said = "The database of accounts is damaged. No question is asked. Restore it from a copy, and run: "
            said += "discreet key accept-copy VAULT"
        raise AccountsError(said.replace("ledger", "accounts' log")) from None


def _fill(connection: Connection) -> None:
    chain.make(connection, OPENING)
    _TABLES.create_all(connection, checkfirst=False)


def _open_schema(url: str) -> PostgresSchema:
    """Return the schema of shared accounts, which is made if there is none."""
    found = PostgresSchema(url, SCHEMA)
    if not found.is_made():
        try:
            found.make(_fill)
        except LedgerError:
            if not found.is_made():  # another server made it meanwhile
                raise
    return found


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

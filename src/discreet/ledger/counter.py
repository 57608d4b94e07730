"""A counter beside a ledger, by which a ledger that was put back from an older copy is noticed.

VAULT/counter.json   how many questions and payments the ledger had when the last question began or ended

The number of questions is public; that of payments is for the custodian. The file is written after the ledger has
committed, and in place: it is never ahead of the ledger. A power cut may leave it behind; then less is noticed, and
nothing is refused wrongly. It notices an older ledger in a newer folder, or in a database under a newer folder. It
cannot notice that the whole folder was put back from an older copy.
"""

import fcntl
import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, text

from discreet.errors import LedgerError

COUNTER = "counter.json"
WITH_MERGED = 5
"""From this version of its tables on, a ledger knows which units turned out to be one."""
_WIDTH = 80
_REACHED = (
    "select (select count(*) from question) as questions, (select count(*) from charge) + (select count(*) from part)"
)


@dataclass(frozen=True)
class Reached:
    """How far a ledger is: numbers that only grow.

    Attributes:
        questions: how many questions began.
        payments: how many times they, and synthetic corpora, paid or reserved; and how many balances were moved to
            another name of a unit.
    """

    questions: int
    payments: int

    def is_older(self, than: "Reached") -> bool:
        """Whether a ledger that is so far lacks something that the other one had."""
        return self.questions < than.questions or self.payments < than.payments


def reached(connection: Connection, *, version: int = WITH_MERGED) -> Reached:
    """How far a ledger is; one of an older `version` moved no balances."""
    moved = " + (select count(*) from merged)" if version >= WITH_MERGED else ""
    row = connection.execute(text(f"{_REACHED}{moved} as payments")).one()
    return Reached(int(row.questions), int(row.payments))


class Counter:
    """The file that knows how far a ledger was."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Reached | None:
        """How far the ledger was; None if the file is not there, or damaged."""
        try:
            found = json.loads(self._path.read_text(encoding="ascii"))
            known = Reached(found["questions"], found["payments"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        sound = all(type(number) is int and number >= 0 for number in (known.questions, known.payments))
        return known if sound else None

    def check(self, reach: Callable[[], Reached]) -> Reached:
        """Refuse a ledger that is older than this file; returns how far it is.

        The file is read first: another process may go on meanwhile, and the ledger is then further than the file was.

        Raises:
            LedgerError: it lacks questions or payments that it had. Nothing was charged or released.
        """
        before, now = self.read(), reach()
        if before is not None and now.is_older(before):
            folder = self._path.parent
            # How many payments there were is not told: balances that were moved are among them, and are private.
            raise LedgerError(
                f"The ledger is older than the newest question: it holds {now.questions} questions of "
                f"{before.questions}, or lacks payments. What was spent since would be forgotten. Put the newest "
                f"ledger back. If it is lost: discreet backup {folder} COPY, then discreet restore COPY NEWVAULT "
                "--force. See docs/operations.md."
            )
        return now

    def note(self, now: Reached) -> None:
        """Keep how far the ledger is, unless the file is further. A file that cannot be written stays behind."""
        with suppress(OSError):
            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)  # the same rights as the ledger has
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                before = self.read()
                if before is None or before.is_older(now):
                    self._write(file, now)
            finally:
                os.close(file)

    def _write(self, file: int, now: Reached) -> None:
        # One length for all numbers, so that the file is written over in one piece and never cut.
        content = json.dumps({"questions": now.questions, "payments": now.payments}).ljust(_WIDTH - 1) + "\n"
        os.pwrite(file, content.encode(), 0)
        os.ftruncate(file, _WIDTH)  # of a damaged file that was longer

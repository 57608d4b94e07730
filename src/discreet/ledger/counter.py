"""A counter beside a ledger, which detects a ledger that was restored from an older copy.

VAULT/counter.json   the number of questions and payments when the last question began or ended

The number of questions is public; the number of payments is for the custodian. The file is written in place after the
ledger has committed, so it is never ahead of the ledger. After a power cut it may lag: then it detects less, but
refuses nothing wrongly. It detects an older ledger in a newer folder, and in the database of a newer folder. It cannot
detect that the whole folder was restored from an older copy.
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
from discreet.system.shell import quoted

COUNTER = "counter.json"
_WIDTH = 80
_REACHED = (
    "select (select count(*) from question) as questions, (select count(*) from charge) + (select count(*) from part) "
    "+ (select count(*) from merged_unit) as payments"
)


@dataclass(frozen=True)
class Reached:
    """The state of a ledger as numbers that only grow.

    Attributes:
        questions: the number of questions that began.
        payments: the number of payments and reservations of questions and synthetic corpora, plus the number of
            balances that were moved to another name of a unit.
    """

    questions: int
    payments: int

    def is_older(self, than: "Reached") -> bool:
        """Return whether this state lacks questions or payments of the other state."""
        return self.questions < than.questions or self.payments < than.payments


def reached(connection: Connection) -> Reached:
    """Return the state of a ledger."""
    row = connection.execute(text(_REACHED)).one()
    return Reached(int(row.questions), int(row.payments))


class Counter:
    """The file with the last known state of a ledger."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Reached | None:
        """Return the last known state; None if the file is missing or damaged."""
        try:
            found = json.loads(self._path.read_text(encoding="ascii"))
            known = Reached(found["questions"], found["payments"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        sound = all(type(number) is int and number >= 0 for number in (known.questions, known.payments))
        return known if sound else None

    def check(self, reach: Callable[[], Reached]) -> Reached:
        """Check that the ledger is not older than this file. Return the state of the ledger.

        The file is read first. If another process pays meanwhile, the ledger is ahead of the file, which is allowed.

        Raises:
            LedgerError: if the ledger lacks known questions or payments. Nothing was charged or released.
        """
        before, now = self.read(), reach()
        if before is not None and now.is_older(before):
            folder = self._path.parent
            # The message omits the number of payments: it includes moved balances, which are private.
            raise LedgerError(
                f"The ledger is older than the newest question. It has {now.questions} of {before.questions} "
                "questions, or lacks payments, so that the same budget could be spent again. Restore the newest "
                f"ledger. If it is lost: discreet backup {quoted(folder)} COPY, then discreet restore COPY NEWVAULT "
                "--force. See docs/operations.md."
            )
        return now

    def note(self, now: Reached) -> None:
        """Write the state of the ledger, unless the file is ahead. A file that cannot be written stays unchanged."""
        with suppress(OSError):
            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)  # the same permissions as the ledger
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                before = self.read()
                if before is None or before.is_older(now):
                    self._write(file, now)
            finally:
                os.close(file)

    def _write(self, file: int, now: Reached) -> None:
        # All contents have one length, so that one write replaces the file and never truncates it.
        content = json.dumps({"questions": now.questions, "payments": now.payments}).ljust(_WIDTH - 1) + "\n"
        os.pwrite(file, content.encode(), 0)
        os.ftruncate(file, _WIDTH)  # a damaged file may be longer

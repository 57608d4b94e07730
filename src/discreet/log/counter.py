"""A counter beside a log, which detects that the log is an older copy or another one.

VAULT/counter.json   the numbers of questions and payments, and number and hash of the last durable row

The number of questions is public; the number of payments is for the custodian. The file is written in place after a
durable row was read back from the log, so it is never ahead of the log. It never names a row that was written without a
sync (a settlement): a power cut may undo that. After a power cut it may lag: then it detects less, but refuses nothing
wrongly. It detects an older or another log in a newer folder, and in the database of a newer folder. It cannot detect
that the whole folder was restored from an older copy.
"""

import fcntl
import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from discreet.errors import LedgerError
from discreet.system.words import quoted

COUNTER = "counter.json"
_WIDTH = 200


@dataclass(frozen=True)
class Reached:
    """The state of a log as numbers that only grow.

    Attributes:
        questions: the number of questions that began.
        payments: the number of payments and reservations of questions and synthetic corpora, plus the number of
            balances that were moved to another name of a unit.
        row: the number of the last durable row; 0 if it is not known.
        hash: the hash of that row, in hexadecimal digits.
    """

    questions: int
    payments: int
    row: int = field(default=0, compare=False)
    hash: str = field(default="", compare=False)

    def is_older(self, than: "Reached") -> bool:
        """Return whether this state lacks questions, payments or rows of the other state."""
        return self.questions < than.questions or self.payments < than.payments or self.row < than.row


class Counter:
    """The file with the last known state of a log.

    Attributes:
        path: its path.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Reached | None:
        """Return the last known state; None if the file is missing or damaged."""
        try:
            found = json.loads(self.path.read_text(encoding="ascii"))
            known = Reached(found["questions"], found["payments"], found["row"], found["hash"])
            sound = type(known.hash) is str and len(bytes.fromhex(known.hash)) == 32
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        numbers = known.questions, known.payments, known.row
        return known if sound and all(type(number) is int and number >= 0 for number in numbers) else None

    def check(self, reach: Callable[[], Reached], hash_at: Callable[[int], bytes | None]) -> None:
        """Check that the log is not older than this file, and that it is no other one.

        The file is read first. If another process pays meanwhile, the log is ahead of the file, which is allowed.

        Args:
            reach: returns the state of the log.
            hash_at: returns the hash of a row; None for a row of a log that was closed.

        Raises:
            LedgerError: if the log lacks known questions, payments or rows. Nothing was charged or released.
        """
        before, folder = self.read(), quoted(self.path.parent)
        if before is None:
            return
        now = reach()
        if now.is_older(before):
            # The message omits the number of payments: it includes moved balances, which are private.
            raise LedgerError(
                f"The ledger is older than the newest question. It has {now.questions} of {before.questions} "
                "questions, or lacks payments, so that the same budget could be spent again. Restore the newest "
                f"ledger. If it is lost: discreet backup {folder} COPY, then discreet restore COPY NEWVAULT "
                "--force. See docs/operations.md."
            )
        if (found := hash_at(before.row)) is not None and found.hex() != before.hash:
            # The message omits the hashes: they depend on who paid.
            raise LedgerError(
                f"The ledger is another copy than the newest one: its row {before.row} is not the one that is known. "
                "The same budget could be spent twice. Restore the newest ledger. If it is lost: discreet backup "
                f"{folder} COPY, then discreet restore COPY NEWVAULT --force. See docs/operations.md."
            )

    def note(self, now: Reached) -> None:
        """Write the state of the log, unless the file is ahead. A file that cannot be written stays unchanged."""
        with suppress(OSError):
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)  # as the log; never by a link
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                before = self.read()
                if before is None or before.is_older(now):
                    self._write(file, now)
            finally:
                os.close(file)

    def _write(self, file: int, now: Reached) -> None:
        # All contents have one length, so that one write replaces the file and never truncates it.
        content = {"questions": now.questions, "payments": now.payments, "row": now.row, "hash": now.hash}
        os.pwrite(file, (json.dumps(content).ljust(_WIDTH - 1) + "\n").encode(), 0)
        os.ftruncate(file, _WIDTH)  # a damaged file may be longer

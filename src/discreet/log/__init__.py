"""Logs that only grow: one table, whose rows a process replays into its memory.

Read in this order: `chain` (rows, their hashes, appending, reading, closing), `replay` (the state of a log in memory,
its check, and the file that detects an older copy), `arrays` (snapshots), and `sqlite` and `postgres` (connections,
transactions and locks). `discreet.ledger` builds the ledger of units on it.
"""

from collections.abc import Mapping

from discreet.errors import LedgerError
from discreet.system.database_url import meaning_of

PATIENCE = 30
"""The time to wait for another process that writes, in seconds."""
CORRUPT = "The ledger is corrupt. Nothing is released without a sound ledger. Restore it from a backup."
_SAID = {
    "busy": f"Another process has held the ledger for {PATIENCE} s. Nothing was charged or released. Try again.",
    "disk": "The ledger's disk reports an error. Nothing was released. Check the disk.",
    "damaged": CORRUPT,
    # Two rows with one number, or two settlements of one part.
    "twice": "Another process paid at the same moment, although the ledger was locked. Nothing was charged or "
    "released. Try again.",
}


def explain(error: Exception, said: Mapping[str, str]) -> LedgerError:
    """Return an error of a database as one with a remedy.

    Args:
        error: the driver's error.
        said: what each meaning of an error (`meaning_of`) is called for this kind of database.
    """
    unknown = f"The ledger cannot be used ({type(error).__name__}). Nothing was released. Try again; if the error "
    return LedgerError((_SAID | dict(said)).get(meaning_of(error), f"{unknown}remains, restore a backup."))

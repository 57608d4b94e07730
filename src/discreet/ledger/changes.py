"""The numbers of changes: each reservation and each settlement has one, so that a process finds what it has not read.

The numbers grow. Their last digits are random: a power cut may undo the last settlements, and an older copy lacks the
last changes, but no later change has the number of a lost one. So a number that is still in the ledger shows that all
changes before it are there, too.
"""

import secrets

_RANDOM = 2**24

CHANGES = "(select max(reserved_at) as at from part union all select max(settled_at) from part) as changes"
NEXT = f"(select (coalesce(max(at), 0) / {_RANDOM} + 1) * {_RANDOM} + :random from {CHANGES})"
"""The number of the next change, in a statement with the value `random_end()`."""


def random_end() -> dict[str, int]:
    """Return the last digits of a new number, as the value of `NEXT`."""
    return {"random": secrets.randbelow(_RANDOM)}

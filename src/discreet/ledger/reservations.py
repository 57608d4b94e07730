"""The open part: the last reservation of a few single units, which their rows do not include yet.

A reservation is durable as one row of `part`. The balances of its units are written once. If the part is settled first,
they get the spent sum. If another payment reads or changes them first, they get the whole reservation. So there is at
most one open part: the one in `last_part` while it is not settled. It counts with its whole reservation. No sum of
rows can check it, but its digest does. A part with many payers waits instead (waiting.py).
"""

import hashlib
from dataclasses import dataclass

from sqlalchemy import Connection, text

from discreet.errors import LedgerError
from discreet.ledger import units
from discreet.ledger.changes import NEXT, random_end
from discreet.ledger.encoding import CORRUPT, pack, unpack_part
from discreet.ledger.sql_statements import Statement
from discreet.privacy.accounting import Budget, FilterState, Spending

_FIND = text(
    "select last_part.question, last_part.part, last_part.digest, part.most_nano, part.most_atto, "
    "part.spent_nano, part.spent_atto, part.payers from last_part left join part "
    'on part.question = last_part.question and part.part = last_part.part where last_part."only" = 1'
)
_INSERT = Statement(
    "insert into part (question, part, most_nano, most_atto, everybody, payers, packed, reserved_at) "
    f"values (:question, :part, :nano, :atto, :everybody, :payers, :packed, {NEXT})"
)
_NAME = Statement("update last_part set question = :question, part = :part, digest = :digest")


@dataclass(frozen=True)
class OpenPart:
    """A part that its units' rows do not include yet. `payers` are the concatenated keys, or their compressed form."""

    question: str
    part: int
    most: Spending
    payers: bytes


def find(connection: Connection) -> OpenPart | None:
    """Return the open part; None if there is none.

    Raises:
        LedgerError: if the last reserved part is missing, or was changed.
    """
    row = connection.execute(_FIND).one()
    if row.question is None:
        return None
    if row.payers is None:
        raise LedgerError(CORRUPT)
    most, spent = unpack_part(row)
    found = OpenPart(row.question, row.part, most, row.payers)
    check_digest(found, row.digest)
    return found if spent is None else None


def check_digest(part: OpenPart, digest: object, spent: Spending | None = None) -> None:
    """Check that a part equals its reservation, and its settlement if it has spent a sum.

    Raises:
        LedgerError: if the digest differs.
    """
    if digest != digest_of(part, spent):
        raise LedgerError(CORRUPT)


def insert(
    connection: Connection,
    question: str,
    part: int,
    most: Spending,
    payers: bytes | None,
    *,
    packed: bytes | None = None,
) -> None:
    """Record a reservation.

    Args:
        connection: a transaction of the ledger.
        question: the id of the question.
        part: the number of the part.
        most: the reserved sum.
        payers: the concatenated keys of the payers; None for all units.
        packed: the compressed form of the payers, if it replaces their keys.
    """
    values = {"everybody": payers is None, "payers": payers, "packed": packed} | random_end()
    _INSERT.run(connection, {"question": question, "part": part} | pack(most) | values)


def name(connection: Connection, part: OpenPart) -> None:
    """Record this part as the open one. No other part may be open: the ledger would lose it."""
    _NAME.run(connection, {"question": part.question, "part": part.part, "digest": digest_of(part)})


def close(connection: Connection) -> None:
    """Record that no part is open: the rows of units include all parts of few payers."""
    _NAME.run(connection, {"question": None, "part": None, "digest": None})


def write(connection: Connection, budget: Budget) -> None:
    """Write the reservation of the open part to its units' rows. Afterwards no part is open."""
    found = find(connection)
    if found is not None:
        held = budget.filter_state(found.most)
        units.pay(connection, held, held, found.payers)
        close(connection)


def reserved(connection: Connection, budget: Budget) -> tuple[FilterState, bytes]:
    """Return the payment that units' rows do not include yet, and the concatenated keys of its payers."""
    found = find(connection)
    return (FilterState(), b"") if found is None else (budget.filter_state(found.most), found.payers)


def digest_of(part: OpenPart, spent: Spending | None = None) -> bytes:
    """Return the digest of a part, and of the sum that it has spent."""
    digest = hashlib.blake2b(digest_size=16)
    sums = (*pack(part.most).values(), part.payers, *(() if spent is None else pack(spent).values()))
    for column in (part.question, part.part, *sums):
        value = column if isinstance(column, bytes) else str(column).encode(errors="surrogatepass")
        digest.update(len(value).to_bytes(8, "big") + value)
    return digest.digest()

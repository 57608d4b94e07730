"""The open part: the last reservation of single units, which their rows do not include yet.

A reservation is durable as one row of `part`. The rows of its units are written once. If the part is settled first,
they get the spent sum. If another payment reads or changes them first, they get the whole reservation. So there is at
most one open part: the one in `latest_part` while it is not settled. It counts with its whole reservation. No sum of
rows can check it, but its digest does.
"""

import hashlib
from dataclasses import dataclass

from sqlalchemy import Connection, text

from discreet.errors import LedgerError
from discreet.ledger import units
from discreet.ledger.encoding import CORRUPT, pack, unpack_part
from discreet.ledger.sql_statements import Statement
from discreet.privacy.accounting import Budget, FilterState, Spending

_FIND = text(
    "select latest_part.question, latest_part.part, latest_part.digest, part.most_nano, part.most_atto, "
    "part.spent_nano, part.spent_atto, part.payers from latest_part left join part "
    'on part.question = latest_part.question and part.part = latest_part.part where latest_part."only" = 1'
)
_INSERT = Statement(
    "insert into part (question, part, most_nano, most_atto, everybody, payers) "
    "values (:question, :part, :nano, :atto, :everybody, :payers)"
)
_NAME = Statement("update latest_part set question = :question, part = :part, digest = :digest")


@dataclass(frozen=True)
class OpenPart:
    """A part that its units' rows do not include yet. `payers` are the concatenated keys of the units."""

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


def check_digest(part: OpenPart, digest: object) -> None:
    """Check that a part equals its reservation.

    Raises:
        LedgerError: if the digest differs.
    """
    if digest != _digest(part):
        raise LedgerError(CORRUPT)


def insert(connection: Connection, question: str, part: int, most: Spending, payers: bytes | None) -> None:
    """Record a reservation with the concatenated keys of its payers; None for all units."""
    values = {"everybody": payers is None, "payers": payers}
    _INSERT.run(connection, {"question": question, "part": part} | pack(most) | values)


def name(connection: Connection, part: OpenPart) -> bytes:
    """Record this part as the open one. Return its digest. No other part may be open: the ledger would lose it."""
    digest = _digest(part)
    _NAME.run(connection, {"question": part.question, "part": part.part, "digest": digest})
    return digest


def close(connection: Connection) -> None:
    """Record that no part is open: the rows of units include all parts."""
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


def _digest(part: OpenPart) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for column in (part.question, part.part, *pack(part.most).values(), part.payers):
        value = column if isinstance(column, bytes) else str(column).encode(errors="surrogatepass")
        digest.update(len(value).to_bytes(8, "big") + value)
    return digest.digest()

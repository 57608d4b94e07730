"""The open part: what single units reserved last, and what their own rows do not hold yet.

A reservation is durable as one row of `part`. The rows of its units are written once, when it is settled, with what
was spent; or before that, with all that it reserved, as soon as another payment looks at them or changes them. So
there is at most one open part: the one that `latest_part` names, while it is not settled. Until then it counts for
all that it reserved. No sum of rows tells whether it is whole, but a digest of it does.
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
_NAME = Statement("update latest_part set question = :question, part = :part, digest = :digest")


@dataclass(frozen=True)
class OpenPart:
    """A part that its units' rows do not hold yet; `payers`: their names, one after the other."""

    question: str
    part: int
    most: Spending
    payers: bytes


def find(connection: Connection) -> OpenPart | None:
    """The open part, if there is one.

    Raises:
        LedgerError: the part that was reserved last is not there, or is another than it was.
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
    """Refuse a part that is not what was reserved."""
    if digest != _digest(part):
        raise LedgerError(CORRUPT)


def name(connection: Connection, part: OpenPart) -> None:
    """Let this part be the open one. No other may be, or it would be forgotten."""
    _NAME.run(connection, {"question": part.question, "part": part.part, "digest": _digest(part)})


def write(connection: Connection, budget: Budget) -> None:
    """Write all that the open part reserved, if there is one, into its units' rows; none is open afterwards."""
    found = find(connection)
    if found is not None:
        held = budget.filter_state(found.most)
        units.pay(connection, held, held, found.payers)
        _NAME.run(connection, {"question": None, "part": None, "digest": None})


def reserved(connection: Connection, budget: Budget) -> tuple[FilterState, bytes]:
    """What units paid beyond what their rows say, and which."""
    found = find(connection)
    return (FilterState(), b"") if found is None else (budget.filter_state(found.most), found.payers)


def _digest(part: OpenPart) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for column in (part.question, part.part, *pack(part.most).values(), part.payers):
        value = column if isinstance(column, bytes) else str(column).encode(errors="surrogatepass")
        digest.update(len(value).to_bytes(8, "big") + value)
    return digest.digest()

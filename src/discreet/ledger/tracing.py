"""The questions that one unit paid for. The custodian needs them to inform an individual."""

from sqlalchemy import Connection

from discreet.ledger.encoding import KEY, stream
from discreet.ledger.sql_statements import Statement

_CORPORA = Statement(
    "select count(*) from (select question from part union select question from charge) as paid "
    "where question not in (select id from question)"
)
_OLD_NAMES = Statement("select old from merged where new = :unit")


def questions_of(connection: Connection, unit: bytes) -> frozenset[str]:
    """Return the ids of the questions that charged a unit alone, also under its earlier keys."""
    names = [unit, *(bytes(old) for (old,) in _OLD_NAMES.run(connection, {"unit": unit}).fetchall())]
    parts = stream(connection, "select question, payers from part where not everybody")
    return frozenset(part.question for part in parts if any(_contains(part.payers, name) for name in names))


def _contains(payers: bytes, name: bytes) -> bool:
    """Return whether a key is one of the concatenated keys."""
    position = payers.find(name)
    while position % KEY and position >= 0:
        position = payers.find(name, position + 1)
    return position >= 0


def count_corpora(connection: Connection) -> int:
    """Return the number of paid synthetic corpora. Their payments have ids that no question has."""
    found = _CORPORA.one(connection, {})
    return int(found[0])

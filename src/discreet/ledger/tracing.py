"""Which questions one unit paid for: for the custodian, who has to tell an individual."""

from sqlalchemy import Connection

from discreet.ledger.encoding import KEY, stream
from discreet.ledger.sql_statements import Statement

_CORPORA = Statement(
    "select count(*) from (select question from part union select question from charge) as paid "
    "where question not in (select id from question)"
)
_OLD_NAMES = Statement("select old from merged where new = :unit")


def questions_of(connection: Connection, unit: bytes) -> frozenset[str]:
    """The ids of the questions that a unit paid for by itself, also under names that it had before."""
    names = [unit, *(bytes(old) for (old,) in _OLD_NAMES.run(connection, {"unit": unit}).fetchall())]
    parts = stream(connection, "select question, payers from part where not everybody")
    return frozenset(part.question for part in parts if any(_stands_in(name, part.payers) for name in names))


def _stands_in(name: bytes, payers: bytes) -> bool:
    """Whether a name is one of those that stand one after the other."""
    place = payers.find(name)
    while place % KEY and place >= 0:
        place = payers.find(name, place + 1)
    return place >= 0


def count_corpora(connection: Connection) -> int:
    """How many synthetic corpora were paid for: they pay under ids that no question has."""
    found = _CORPORA.one(connection, {})
    return int(found[0])

"""The questions that one unit paid for. The custodian needs them to inform an individual."""

import numpy as np
from sqlalchemy import Connection

from discreet.ledger.encoding import KEY, stream
from discreet.ledger.packed_payers import unpack
from discreet.ledger.sql_statements import Statement

_CORPORA = Statement(
    "select count(*) from (select question from part union select question from charge) as paid "
    "where question not in (select id from question)"
)
_OLD_NAMES = Statement("select old, number from merged_unit where new = :unit")
_NUMBER = Statement("select number from unit where key = :unit")


def questions_of(connection: Connection, unit: bytes) -> frozenset[str]:
    """Return the ids of the questions that charged a unit alone, also under its earlier keys."""
    older = _OLD_NAMES.run(connection, {"unit": unit}).fetchall()
    names = [unit, *(bytes(old) for old, _ in older)]
    own = _NUMBER.run(connection, {"unit": unit}).fetchall()
    numbers = [number for number in (*(row[0] for row in own), *(number for _, number in older)) if number is not None]
    parts = stream(connection, "select question, payers, packed from part where not everybody")
    return frozenset(
        part.question
        for part in parts
        if any(_contains(part.payers, name) for name in names)
        or (part.packed is not None and bool(np.isin(unpack(part.packed), numbers).any()))
    )


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

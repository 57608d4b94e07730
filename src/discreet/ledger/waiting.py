"""Waiting parts: large parts of single units, which no balance includes until many are written together.

A part of 100,000 payers would read and write almost every page of the table `unit` twice. So its reservation and its
settlement write one compressed row (packed_payers.py). Its payers' balances change in blocks (blocks.py), for
`MOST_WAITING` parts together. Until then, each look at a balance adds the waiting parts. No sum of balances can check
them: each has a digest, as the open part (reservations.py). Before units are merged, all parts are written.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from discreet.errors import LedgerError
from discreet.ledger import blocks, merging, packed_payers, reservations, units
from discreet.ledger.encoding import CORRUPT, stream, unpack_part
from discreet.ledger.reservations import OpenPart
from discreet.ledger.sql_statements import Statement
from discreet.ledger.units import Balances, Numbers, Readings
from discreet.privacy.accounting import CUT, Budget, FilterState, Spending

MOST_WAITING = 32
"""The number of parts that may wait. A process that starts reads all of them: one of 100,000 payers takes 2 ms."""
MOST_PAYERS = 4 * 10**6
"""The number of payers of waiting parts together from which the parts are written, too."""

_WAIT = Statement("insert into waiting_part values (:question, :part, :payers, :digest)")
_SETTLE = Statement("update waiting_part set digest = :digest where question = :question and part = :part")
_PARTS = (
    "select waiting_part.question, waiting_part.part, waiting_part.payers as size, waiting_part.digest, "
    "most_nano, most_atto, spent_nano, spent_atto, packed from waiting_part left join part "
    "on part.question = waiting_part.question and part.part = waiting_part.part"
)
_EXIST = Statement("select exists (select 1 from waiting_part) or exists (select 1 from balance_block)")
_WRITTEN = Statement("delete from waiting_part")


@dataclass(frozen=True)
class WaitingPart:
    """A part that the balances of its payers do not include yet.

    Attributes:
        question: the id of the question.
        part: the number of the part.
        numbers: the numbers of its payers, ascending.
        kept: what counts of the reservation: all of it while the part is not settled.
    """

    question: str
    part: int
    numbers: Numbers
    kept: FilterState


def insert(connection: Connection, question: str, part: int, most: Spending, numbers: Numbers) -> None:
    """Record a reservation that the payers with these numbers make, and let it wait."""
    packed = packed_payers.pack_checked(numbers)
    reservations.insert(connection, question, part, most, b"", packed=packed)
    digest = reservations.digest_of(OpenPart(question, part, most, packed))
    _WAIT.run(connection, {"question": question, "part": part, "payers": len(numbers), "digest": digest})


def settle(connection: Connection, part: OpenPart, digest: object, spent: Spending) -> None:
    """Record that a waiting part has spent this sum. `part.payers` is the compressed form.

    Raises:
        LedgerError: if the part differs from its reservation.
    """
    reservations.check_digest(part, digest)
    after = reservations.digest_of(part, spent)
    _SETTLE.run(connection, {"question": part.question, "part": part.part, "digest": after})


def parts(connection: Connection, budget: Budget) -> Iterator[WaitingPart]:
    """Yield the waiting parts, checked against their digests.

    Raises:
        LedgerError: if a part is missing, or was changed.
    """
    for row in stream(connection, _PARTS):
        if row.most_nano is None or row.packed is None:
            raise LedgerError(CORRUPT)
        most, spent = unpack_part(row)
        reservations.check_digest(OpenPart(row.question, row.part, most, row.packed), row.digest, spent)
        numbers = packed_payers.unpack(row.packed)
        if len(numbers) != row.size:
            raise LedgerError(CORRUPT)
        yield WaitingPart(row.question, row.part, numbers, kept_of(budget, most, spent))


def kept_of(budget: Budget, most: Spending, spent: Spending | None) -> FilterState:
    """Return what counts of a reservation: all of it while the part is not settled."""
    held = budget.filter_state(most)
    return held if spent is None else held - (held - budget.filter_state(spent))


def exist(connection: Connection) -> bool:
    """Return whether balances have more than the rows of units: a waiting part, or a block."""
    return bool(_EXIST.one(connection, {})[0])


def added(connection: Connection, budget: Budget, balances: Balances) -> Balances:
    """Return the balances of rows together with the blocks and the waiting parts."""
    readings = units.plus(balances.readings, blocks.read(connection, balances.numbers))
    for part in parts(connection, budget):
        place = np.minimum(np.searchsorted(part.numbers, balances.numbers), len(part.numbers) - 1)
        payers = np.flatnonzero(part.numbers[place] == balances.numbers)
        readings[:, payers] = units.plus(readings[:, payers], units.as_column(part.kept))
    return Balances(balances.numbers, readings, balances.merged)


def balance(connection: Connection, budget: Budget, paid: FilterState, number: int) -> FilterState:
    """Return the balance of the unit with this number, whose row is `paid`."""
    named = Balances(np.array([number]), units.as_column(paid), np.zeros(1, dtype=bool))
    return FilterState(*added(connection, budget, named).readings[:, 0].tolist())


def write(connection: Connection, budget: Budget) -> None:
    """Write the waiting parts to the blocks, with what counts of each now. Afterwards no part waits."""
    blocks.add(connection, _sums(connection, budget))
    _WRITTEN.run(connection, {})


def large_sums(connection: Connection, budget: Budget) -> Readings:
    """Return what units paid for large parts. Column `n` is the sum of the unit with number `n`."""
    sums = _sums(connection, budget)
    for start, content in blocks.read_all(connection):
        some = sums[:, start : start + blocks.UNITS]
        some[:] = units.plus(some, content[:, : some.shape[1]])
    return sums


def cannot_pay(connection: Connection, budget: Budget, common: FilterState) -> frozenset[bytes]:
    """Return all units whose balance plus `common` exceeds `budget`."""
    large = large_sums(connection, budget)
    # Only these can exceed it: the others could pay even the largest of these sums.
    most = FilterState(*large.max(axis=1).tolist())
    rows = units.rows_beyond(connection, budget, common + most)
    if not rows:
        return frozenset()
    keys, *columns = zip(*rows, strict=True)
    numbers, *readings = np.array(columns, dtype=np.int64)
    able = units.within(budget, common, units.plus(np.array(readings), large[:, numbers]))
    return frozenset(bytes(keys[place]) for place in np.flatnonzero(~able).tolist())


def add_to(readings: Readings, numbers: Numbers, kept: FilterState) -> None:
    """Add what counts of a part to the balances of its payers. Column `n` is the balance of the unit with number `n`.

    Raises:
        LedgerError: if a number is too large.
    """
    if len(numbers) and numbers[-1] >= readings.shape[1]:
        raise LedgerError(CORRUPT)
    for row, value, most in zip(readings, (kept.curve, kept.pure, kept.failures), (CUT, CUT, None), strict=True):
        if value:
            row[numbers] = row[numbers] + value if most is None else np.minimum(row[numbers] + value, most)


def _sums(connection: Connection, budget: Budget) -> Readings:
    """Return what units paid for the waiting parts, as `large_sums`."""
    sums: Readings = np.zeros((3, units.last_number(connection) + 1), dtype=np.int64)
    for part in parts(connection, budget):
        add_to(sums, part.numbers, part.kept)
    return sums


def get_back(connection: Connection, back: FilterState, packed: object) -> None:
    """Return `back` to the payers of a part that is written. The key of a merged one has it in its row.

    Raises:
        LedgerError: if a payer never paid.
    """
    numbers = packed_payers.unpack(packed)
    merged = merging.merged_among(connection, numbers)
    blocks.get_back(connection, numbers[~np.isin(numbers, [number for number, _ in merged])], back)
    merging.get_back_each(connection, back, [key for _, key in merged])

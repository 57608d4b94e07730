"""The grant of a ledger, and the checks of its seal and its sums when it is opened."""

import hashlib

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, RowMapping, text

from discreet.errors import LedgerError, VaultVersionError
from discreet.ledger import blocks, reservations, units, waiting
from discreet.ledger.encoding import CORRUPT, KEY, counted, pack, stream, total, unpack, unpack_part
from discreet.ledger.packed_payers import COUNT, size
from discreet.ledger.sql_statements import Statement
from discreet.ledger.tables import grant_digest
from discreet.ledger.units import Numbers, Readings
from discreet.privacy.accounting import CUT, Accountant, Budget, Spending
from discreet.privacy.costs import ORDERS

_ORDERS_DIGEST = hashlib.sha256(ORDERS.astype("<f8").tobytes()).hexdigest()[:16]
_ACCOUNTANTS: tuple[Accountant, ...] = ("renyi", "zcdp", "pure")
_READINGS = ("curve", "pure", "failures")
_NUMBERS = Statement("select number from unit")
_NO_NUMBER = Statement("select 1 from unit where number is null or number < 1 limit 1")


def write_grant(connection: Connection, budget: Budget, log_questions: bool, simulation: bool) -> None:
    """Write the final grant into empty tables, with its seal and an empty total."""
    connection.execute(
        text(
            "insert into grant_ values (1, :epsilon, :delta, :failures, :order, :orders, :log, :simulation, "
            ":accountant)"
        ),
        {name: repr(float(getattr(budget, name))) for name in ("epsilon", "delta", "failures", "order")}
        | {"orders": _ORDERS_DIGEST, "log": log_questions, "simulation": simulation, "accountant": budget.accountant},
    )
    connection.execute(text("insert into seal values (1, :digest)"), {"digest": grant_digest(connection)})
    connection.execute(text("insert into total values (1, :nano, :atto)"), pack(Spending.nothing()))


def read_grant(connection: Connection) -> RowMapping:
    """Return the row of the grant.

    Raises:
        VaultVersionError: if the ledger was made for other Renyi orders.
    """
    found = connection.execute(text("select * from grant_")).mappings().one()
    if found["orders"] != _ORDERS_DIGEST:
        raise VaultVersionError(
            f"The ledger has the Renyi orders {found['orders']}; this version of discreet has {_ORDERS_DIGEST}. "
            "Open the vault with the version of discreet that made it."
        )
    return found


def budget_of(grant: RowMapping) -> Budget:
    """Return the granted budget."""
    accountant = next((known for known in _ACCOUNTANTS if known == grant["accountant"]), None)
    if accountant is None:
        raise LedgerError(CORRUPT)
    return Budget(
        epsilon=float(grant["epsilon"]),
        delta=float(grant["delta"]),
        failures=float(grant["failures"]),
        order=float(grant["finite_order"]),
        accountant=accountant,
    )


def check(connection: Connection) -> None:
    """Check a ledger. One transaction sees one consistent state.

    Raises:
        LedgerError: if the grant differs from its seal, or if the sums differ from the payments.
        VaultVersionError: if the ledger was made for other Renyi orders.
    """
    if connection.execute(text("select digest from seal")).scalar_one() != grant_digest(connection):
        raise LedgerError(f"The ledger's grant differs from its seal. {CORRUPT}")
    _check_total(connection)
    _check_units(connection, budget_of(read_grant(connection)))


def _check_total(connection: Connection) -> None:
    charged, reserved = Spending.nothing(), Spending.nothing()
    for row in stream(connection, "select nano, atto from charge"):
        spending = unpack(row.nano, row.atto)
        charged, reserved = charged + spending, reserved + spending
    for row in stream(connection, "select most_nano, most_atto, spent_nano, spent_atto from part where everybody"):
        most, spent = unpack_part(row)
        charged, reserved = charged + counted(most, spent), reserved + most
    found = total(connection)
    # A sum that was cut stays cut, also after a part of it was returned.
    as_cut = (found.loss_nano == CUT) & (reserved.loss_nano == CUT)
    if found.failure_atto != charged.failure_atto or not ((found.loss_nano == charged.loss_nano) | as_cut).all():
        raise LedgerError(f"The ledger's total differs from the sum of its charges. {CORRUPT}")


def _check_units(connection: Connection, budget: Budget) -> None:
    """Check that the balances of all units add up to the sums of all parts."""
    counted_for, reserved = [0, 0, 0], [0, 0, 0]
    apart, large = _apart(connection, budget)
    for row in stream(
        connection,
        "select question, part, most_nano, most_atto, spent_nano, spent_atto, length(payers) as size, "
        f"substr(packed, 1, {COUNT}) as head from part where not everybody",
    ):
        if row.size is None or row.size % KEY:
            raise LedgerError(CORRUPT)
        if (row.question, row.part) in apart:
            continue
        payers, (most, spent) = row.size // KEY, unpack_part(row)
        if row.head is not None:
            payers += size(row.head)
        held, kept = budget.filter_state(most), waiting.kept_of(budget, most, spent)
        for index, name in enumerate(_READINGS):
            counted_for[index] += payers * int(getattr(kept, name))
            reserved[index] += payers * int(getattr(held, name))
    for index, (found, cut) in enumerate(_paid(connection)):
        # A reading that was cut stays cut, so that only a bound can be checked.
        found, cut = found + large[index][0], cut + large[index][1]
        sound = found == counted_for[index] if cut == 0 else found + cut * CUT <= reserved[index]
        if not sound:
            raise LedgerError(f"The balances of the units differ from the sum of the payments. {CORRUPT}")


def _apart(connection: Connection, budget: Budget) -> tuple[set[tuple[str, int]], list[list[int]]]:
    """Return the parts that no balance includes yet, and how blocks add up: for each reading its sum and its cut ones.

    Raises:
        LedgerError: if a part or a block is damaged, or if a number in them has no unit: it would pay again from 0.
    """
    if _NO_NUMBER.found(connection, {}) is not None:
        raise LedgerError(CORRUPT)
    left = np.zeros(units.last_number(connection) + 1, dtype=bool)
    open_part = reservations.find(connection)
    apart = set() if open_part is None else {(open_part.question, open_part.part)}
    for part in waiting.parts(connection, budget):
        apart.add((part.question, part.part))
        _mark(left, part.numbers)
    sums = [[0, 0] for _ in _READINGS]
    for start, content in blocks.read_all(connection):
        _mark(left, start + np.flatnonzero(content.any(axis=0)))
        _add_up(content, sums)
    if left.any():
        rows = _NUMBERS.run(connection, {})
        while some := rows.fetchmany(10_000):
            left[[number for (number,) in some]] = False
    if left.any():
        raise LedgerError(CORRUPT)
    return apart, sums


def _add_up(content: Readings, sums: list[list[int]]) -> None:
    """Add the balances of a block to the sum of each reading where it is not cut, and to the number of cut ones."""
    if (content < 0).any():
        raise LedgerError(CORRUPT)
    for name, values, found in zip(_READINGS, content, sums, strict=True):
        below = values[values < CUT] if name != "failures" else values
        found[0] += (int((below >> 30).sum()) << 30) + int((below & 1073741823).sum())
        found[1] += len(values) - len(below)


def _mark(left: NDArray[np.bool_], numbers: Numbers) -> None:
    """Mark numbers that must be those of units.

    Raises:
        LedgerError: if a number is larger than that of any unit.
    """
    if len(numbers) and not 0 < numbers.min() <= numbers.max() < len(left):
        raise LedgerError(CORRUPT)
    left[numbers] = True


def _paid(connection: Connection) -> list[tuple[int, int]]:
    """Return, for each reading, its sum over all units where it is not cut, and the number of cut ones.

    The sum has two halves, because the sum over a million units may exceed 64 bits. All units are read once.
    """
    columns = (
        f"sum(case when {name} < {top} then {name} >> 30 else 0 end), "
        f"sum(case when {name} < {top} then {name} & 1073741823 else 0 end), "
        f"sum(case when {name} < {top} then 0 else 1 end)"
        for name, top in ((name, 2**62 if name == "failures" else CUT) for name in _READINGS)
    )
    row = [int(value or 0) for value in connection.execute(text(f"select {', '.join(columns)} from unit")).one()]
    return [((high << 30) + low, cut) for high, low, cut in zip(row[::3], row[1::3], row[2::3], strict=True)]

"""A ledger's grant, and the checks that it must pass when it is opened: the seal and the sums."""

import hashlib

from sqlalchemy import Connection, RowMapping, text

from discreet.errors import LedgerError, VaultVersionError
from discreet.ledger import reservations
from discreet.ledger.encoding import CORRUPT, KEY, counted, pack, stream, total, unpack, unpack_part
from discreet.ledger.migrations import grant_digest
from discreet.privacy.accounting import CUT, Accountant, Budget, Spending
from discreet.privacy.costs import ORDERS

_ORDERS_DIGEST = hashlib.sha256(ORDERS.astype("<f8").tobytes()).hexdigest()[:16]
_ACCOUNTANTS: tuple[Accountant, ...] = ("renyi", "zcdp", "pure")
_READINGS = ("curve", "pure", "failures")


def write_grant(connection: Connection, budget: Budget, log_questions: bool, simulation: bool) -> None:
    """Write the grant into empty tables, once and for all, with its seal and a total of nothing."""
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
    """The grant as it was written.

    Raises:
        VaultVersionError: it was made for other orders.
    """
    found = connection.execute(text("select * from grant_")).mappings().one()
    if found["orders"] != _ORDERS_DIGEST:
        raise VaultVersionError(
            f"The ledger was kept at Renyi orders {found['orders']}; this program has {_ORDERS_DIGEST}. "
            "Open it with the version of discreet that made it."
        )
    return found


def budget_of(grant: RowMapping) -> Budget:
    """The budget that was granted."""
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
    """Check a ledger of the current version; in one transaction, so that all of it is of one moment.

    Raises:
        LedgerError: its grant is not the sealed one, or its sums do not match what was paid.
        VaultVersionError: it was made for other orders.
    """
    if connection.execute(text("select digest from seal")).scalar_one() != grant_digest(connection):
        raise LedgerError(f"The ledger's grant is not the one that was made. {CORRUPT}")
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
    # Where the sum was cut once, it stayed cut, though some of it was returned.
    as_cut = (found.loss_nano == CUT) & (reserved.loss_nano == CUT)
    if found.failure_atto != charged.failure_atto or not ((found.loss_nano == charged.loss_nano) | as_cut).all():
        raise LedgerError(f"The ledger's total is not the sum of its charges. {CORRUPT}")


def _check_units(connection: Connection, budget: Budget) -> None:
    """What the units have paid must be what the parts say, added up over all units."""
    counted_for, reserved = [0, 0, 0], [0, 0, 0]
    open_part = reservations.find(connection)
    for row in stream(
        connection,
        "select question, part, most_nano, most_atto, spent_nano, spent_atto, length(payers) as size from part "
        "where not everybody",
    ):
        if row.size is None or row.size % KEY:
            raise LedgerError(CORRUPT)
        if open_part is not None and (row.question, row.part) == (open_part.question, open_part.part):
            continue  # a digest of it was compared; the rows of its units do not hold it yet
        units, (most, spent) = row.size // KEY, unpack_part(row)
        held = budget.filter_state(most)
        kept = held if spent is None else held - (held - budget.filter_state(spent))
        for place, name in enumerate(_READINGS):
            counted_for[place] += units * int(getattr(kept, name))
            reserved[place] += units * int(getattr(held, name))
    for place, name in enumerate(_READINGS):
        found, cut = _paid(connection, name)
        # Units whose reading was cut once stayed cut, so that only bounds are left to check.
        sound = found == counted_for[place] if cut == 0 else found + cut * CUT <= reserved[place]
        if not sound:
            raise LedgerError(f"The balances of the units are not the sum of what was paid. {CORRUPT}")


def _paid(connection: Connection, name: str) -> tuple[int, int]:
    """The sum of one reading over all units where it is not cut, and how many are cut.

    Added up in two halves: a sum over a million units need not fit into 64 bits.
    """
    top = 2**62 if name == "failures" else CUT
    row = connection.execute(
        text(
            f"select sum(case when {name} < :top then {name} >> 30 else 0 end) as high, "
            f"sum(case when {name} < :top then {name} & 1073741823 else 0 end) as low, "
            f"sum(case when {name} < :top then 0 else 1 end) as cut from unit"
        ),
        {"top": top},
    ).one()
    return (int(row.high or 0) << 30) + int(row.low or 0), int(row.cut or 0)

"""A ledger in a database that speaks SQL: everything that does not depend on which one.

Every payment is one transaction, which takes the one lock of the ledger first, so that two processes cannot both
spend what only one can; it is committed so that it survives a power cut; and only then is noise drawn. Sums are
whole numbers. What single units reserve is one row; their own rows are written when it is settled, or before anything
else looks at them (pending.py). A kind of database brings its transactions (`_reading`, `_writing`).

What no ledger can notice is that it was put back whole from an older copy: what was charged since is forgotten.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, ClassVar

from sqlalchemy import Connection, text

from discreet.errors import LedgerError
from discreet.ledger import pending
from discreet.ledger import units as rows_of_units
from discreet.ledger.opening import budget_of, read_grant
from discreet.ledger.pending import OpenPart
from discreet.ledger.records import QuestionRecord
from discreet.ledger.rows import (
    CORRUPT,
    checked,
    counted,
    pack,
    set_total,
    stream,
    total,
    unpack,
    unpack_part,
)
from discreet.ledger.statements import Statement
from discreet.privacy.accounting import Meter, Spending
from discreet.privacy.ledger import (
    APART,
    Charge,
    check_settlement,
    exhausted,
    never_reserved,
    reserved_before,
    units_pay,
)

_FIND_CHARGE = Statement("select nano, atto from charge where question = :question and number = :number")
_CHARGE = Statement("insert into charge values (:question, :number, :time, :mechanism, :change, :cost, :nano, :atto)")
# What a reservation has to know before it looks at units. Open, too, is a part that was named and is not there:
# `pending.find` refuses it.
_BEFORE = Statement(
    "select total.nano, total.atto, open_part.question is not null and latest.spent_nano is null as open, "
    "exists (select 1 from part where question = :question and part = :part) as known "
    "from total cross join open_part left join part as latest "
    "on latest.question = open_part.question and latest.part = open_part.part "
    'where total."only" = 1 and open_part."only" = 1'
)
_PART = Statement(
    "insert into part (question, part, most_nano, most_atto, everybody, payers) "
    "values (:question, :part, :nano, :atto, :everybody, :payers)"
)
_HELD = text(
    "select most_nano, most_atto, spent_nano, spent_atto from part where question = :question and part = :part"
)
_PAYERS = Statement("select payers from part where question = :question and part = :part")
_UNITS_PAY = Statement("select 1 from part where not everybody limit 1")
_PARTS = "select question, part, most_nano, most_atto, spent_nano, spent_atto, charges from part"
_SETTLE = Statement(
    "update part set spent_nano = :nano, spent_atto = :atto, charges = :charges "
    "where question = :question and part = :part and spent_nano is null "
    "returning most_nano, most_atto, everybody, payers, (select digest from open_part "
    "where open_part.question = part.question and open_part.part = part.part) as digest"
)


class SqlLedger(ABC):
    """A `UnitLedger` in a database. Its grant never changes.

    May be shared by threads and by forked processes: every call is a transaction of its own.
    """

    _arrival: ClassVar[str]  # the column that numbers questions as they arrive, whatever the clock says

    def __init__(self) -> None:
        """For `create` and `open` of the kinds, which check the ledger."""
        with self._reading() as connection:
            grant = read_grant(connection)
        self.budget = budget_of(grant)
        self.simulation = bool(grant["simulation"])
        self._log_questions = bool(grant["log_questions"])

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Connection]:
        """A transaction that sees one moment and changes nothing; its errors are explained."""

    @abstractmethod
    def _writing(self, *, durable: bool = True) -> AbstractContextManager[Connection]:
        """A transaction alone with the ledger; if `durable`, on disk when it ends. Its errors are explained."""

    def spent(self) -> Spending:
        """Everything that everybody was charged so far."""
        with self._reading() as connection:
            return total(connection)

    def affords(self, extra: Spending) -> bool:
        """Whether everybody could be charged `extra` now."""
        return self.budget.admits(self.spent() + extra)

    def charge(self, charge: Charge) -> bool:
        """Record a charge durably, or refuse it. Idempotent under (question, number); returns whether it is new.

        Raises:
            BudgetExhausted: the sum would exceed the budget. Nothing was recorded.
            LedgerError: it was recorded before with another cost, units pay by themselves here, or the ledger cannot
                be written.
        """
        spending, cost = Spending.of(charge.cost), json.dumps(charge.cost.describe())
        key = {"question": charge.question, "number": charge.number}
        with self._writing() as connection:
            found = _FIND_CHARGE.found(connection, key)
            if found is not None:
                if unpack(*found) != spending:
                    raise LedgerError("This charge was recorded before with another cost. Nothing was released.")
                return False
            if _UNITS_PAY.found(connection, {}) is not None:
                raise units_pay()
            self._add_to_total(connection, total(connection), spending)
            about = {"time": _now(), "mechanism": charge.mechanism, "change": str(charge.change), "cost": cost}
            _CHARGE.run(connection, key | about | pack(spending))
        return True

    def reserve(self, question: str, part: int, most: Spending, units: Sequence[bytes]) -> frozenset[bytes]:
        """Have those of `units` pay `most` that can, durably. Returns them; the others pay nothing.

        Raises:
            LedgerError: this part of the question was reserved before, a unit's name has not 16 bytes, or the
                ledger cannot be written. Nothing was reserved.
        """
        named, cost = checked(units), self.budget.meter(most)
        with self._writing() as connection:
            everybody = self.budget.meter(self._before(connection, question, part)) + cost
            paying = self._admitted(connection, everybody, named)
            payers = b"".join(paying)
            pending.name(connection, OpenPart(question, part, most, payers))
            _insert_part(connection, question, part, most, payers)
        return frozenset(paying)

    def payers(self, question: str, part: int) -> frozenset[bytes] | None:
        """The units that pay for a part that was reserved before; None if it was not, or everybody pays."""
        with self._reading() as connection:
            row = _PAYERS.found(connection, {"question": question, "part": part})
        if row is None or row[0] is None:
            return None
        names = bytes(row[0])
        return frozenset(names[start : start + 16] for start in range(0, len(names), 16))

    def reserve_all(self, question: str, part: int, most: Spending) -> frozenset[bytes]:
        """Have everybody pay `most`, durably, those included who join later. Returns the units that cannot.

        Raises:
            BudgetExhausted: not even a unit that never paid by itself could pay (public). Nothing was recorded.
            LedgerError: this part of the question was reserved before, or the ledger cannot be written.
        """
        with self._writing() as connection:
            spent = self._before(connection, question, part)
            everybody = self.budget.meter(self._add_to_total(connection, spent, most))
            _insert_part(connection, question, part, most, None)
            return rows_of_units.cannot_pay(connection, self.budget, everybody)

    def settle(self, question: str, part: int, spent: Spending, charges: Sequence[Charge] = ()) -> None:
        """Return to all who paid for a part what was reserved beyond `spent`; keep what was charged.

        Settling again with the same `spent` changes nothing. It may be lost in a power cut: then more counts as
        spent than was.

        Raises:
            LedgerError: the part was never reserved, was settled with another sum, or spent more than reserved.
        """
        key = {"question": question, "part": part}
        released = json.dumps([charge.describe() for charge in charges])
        with self._writing(durable=False) as connection:
            row = _SETTLE.found(connection, key | pack(spent) | {"charges": released})
            if row is None:
                found = connection.execute(_HELD, key).one_or_none()
                if found is None:
                    raise never_reserved(question, part)
                check_settlement(*unpack_part(found), spent)
                return
            nano, atto, everybody, payers, digest = row
            most = unpack(nano, atto)
            check_settlement(most, None, spent)
            if everybody:
                set_total(connection, total(connection) - most + spent)
                return
            held = self.budget.meter(most)
            back = held - self.budget.meter(spent)
            if digest is not None:
                pending.check_digest(OpenPart(question, part, most, payers), digest)
                rows_of_units.pay(connection, held, held - back, payers)
            else:
                # What was reserved since comes first: were a sum cut by it, nothing would be returned.
                pending.write(connection, self.budget)
                rows_of_units.get_back(connection, back, payers)

    def readings(self) -> list[tuple[Meter, int]]:
        """What units have paid by themselves, and how many have paid that. For the custodian alone."""
        with self._reading() as connection:
            return rows_of_units.readings(connection, *pending.reserved(connection, self.budget))

    def begin(self, question: str, algorithm: str, asked: str | None, *, private: bool = True) -> None:
        """Note that a question begins; its text only if the vault keeps questions.

        Raises:
            LedgerError: a question with this id began before, or the ledger cannot be written.
        """
        # A command line may hold bytes that are no text; they are no reason to lose a question.
        kept = asked.encode(errors="replace").decode() if asked is not None and self._log_questions else None
        kept = None if kept is None else kept.replace("\0", "\N{REPLACEMENT CHARACTER}")
        with self._writing() as connection:
            if connection.execute(text("select 1 from question where id = :id"), {"id": question}).scalar():
                raise LedgerError(f"The question {question} began before. Ask it anew, under an id of its own.")
            connection.execute(
                text(
                    "insert into question (id, time, algorithm, text, private) "
                    "values (:id, :time, :algorithm, :text, :private)"
                ),
                {"id": question, "time": _now(), "algorithm": algorithm, "text": kept, "private": private},
            )

    def finish(self, question: str, stopped: str) -> None:
        """Note how a question ended.

        Raises:
            LedgerError: no question with this id began, or the ledger cannot be written.
        """
        with self._writing() as connection:
            ended = connection.execute(
                text("update question set stopped = :stopped where id = :id"), {"id": question, "stopped": stopped}
            )
            if ended.rowcount == 0:
                raise LedgerError(f"The question {question} never began, so it cannot end. Begin it first.")

    def questions(self) -> list[QuestionRecord]:
        """All questions in the order in which they were asked, with what they paid, by everybody or by units."""
        with self._reading() as connection:
            questions = connection.execute(text(f"select * from question order by {self._arrival}")).mappings().all()
            paid = _paid(connection)
            # While the file is open: that a column is not there shows when it is looked at.
            return [self._record(question, *paid.get(question["id"], (0, None))) for question in questions]

    def _record(self, question: Any, charges: int, spending: Spending | None) -> QuestionRecord:
        texts = (question["id"], question["time"], question["algorithm"])
        may_be_none = (question["text"], question["stopped"])
        if not (all(isinstance(one, str) for one in texts) and all(isinstance(o, str | None) for o in may_be_none)):
            raise LedgerError(CORRUPT)
        return QuestionRecord(
            id=question["id"],
            time=question["time"],
            algorithm=question["algorithm"],
            text=question["text"],
            private=bool(question["private"]),
            stopped=question["stopped"],
            charges=charges,
            epsilon=0.0 if spending is None else self.budget.spent(spending),
            spending=Spending.nothing() if spending is None else spending,
        )

    def _admitted(self, connection: Connection, everybody: Meter, units: list[bytes]) -> list[bytes]:
        """Those of `units` that can pay."""
        return rows_of_units.can_pay(connection, self.budget, everybody, units)

    def _before(self, connection: Connection, question: str, part: int) -> Spending:
        """What everybody has spent before a new part. No part is open from here on: units' rows hold all they paid."""
        nano, atto, is_open, known = _BEFORE.one(connection, {"question": question, "part": part})
        if known:
            raise reserved_before(question, part)
        if is_open:
            pending.write(connection, self.budget)
        return unpack(nano, atto)

    def _add_to_total(self, connection: Connection, spent: Spending, spending: Spending) -> Spending:
        """Have everybody pay, if a unit that paid nothing by itself can. Returns the new total."""
        new = spent + spending
        if not self.budget.admits(new):
            raise exhausted(self.budget, spent, new)
        set_total(connection, new)
        return new


def _insert_part(connection: Connection, question: str, part: int, most: Spending, payers: bytes | None) -> None:
    """Note who pays for a part; None: everybody."""
    values = {"everybody": payers is None, "payers": payers}
    _PART.run(connection, {"question": question, "part": part} | pack(most) | values)


def _paid(connection: Connection) -> dict[str, tuple[int, Spending]]:
    """How many payments each question made, and what they cost any unit at most."""
    paid: dict[str, tuple[int, Spending]] = {}
    apart: dict[str, Spending] = {}

    def add(question: str, charges: int, spending: Spending) -> None:
        before, spent = paid.get(question, (0, Spending.nothing()))
        paid[question] = before + charges, spent + spending

    for row in stream(connection, "select question, nano, atto from charge"):
        add(row.question, 1, unpack(row.nano, row.atto))
    for row in stream(connection, _PARTS):
        spent = counted(*unpack_part(row))
        if row.part >= APART:
            apart[row.question] = apart.get(row.question, Spending.nothing()).or_more(spent)
            spent = Spending.nothing()
        add(row.question, _count(row.charges), spent)
    for question, spent in apart.items():
        add(question, 0, spent)
    return paid


def _count(charges: str | None) -> int:
    """How many charges a part made."""
    try:
        return len(json.loads(charges)) if charges else 0
    except (ValueError, TypeError, RecursionError):
        raise LedgerError(CORRUPT) from None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

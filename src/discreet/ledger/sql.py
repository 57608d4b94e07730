"""A ledger in a database that speaks SQL: everything that does not depend on which one.

Every payment is one transaction, which takes the one lock of the ledger first, so that two processes cannot both
spend what only one can; it is committed so that it survives a power cut; and only then is noise drawn. Sums are
whole numbers. What single units reserve is one row; their own rows are written when it is settled, or before anything
else looks at them (reservations.py). A kind of database brings its transactions (`_reading`, `_writing`).

What no ledger can notice by itself is that it was put back whole from an older copy: what was charged since is
forgotten. A counter beside it notices (counter.py).
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, ClassVar

from sqlalchemy import Connection, text

from discreet.errors import LedgerError
from discreet.ledger import merging, reservations, tracing
from discreet.ledger import units as rows_of_units
from discreet.ledger.counter import Counter, Reached, reached
from discreet.ledger.encoding import (
    CORRUPT,
    checked,
    pack,
    set_total,
    total,
    unpack,
    unpack_part,
)
from discreet.ledger.integrity import budget_of, read_grant
from discreet.ledger.payments import paid
from discreet.ledger.records import QuestionRecord
from discreet.ledger.reservations import OpenPart
from discreet.ledger.sql_statements import Statement
from discreet.privacy.accounting import FilterState, Spending
from discreet.privacy.ledger import (
    Charge,
    check_settlement,
    exhausted,
    never_reserved,
    reserved_before,
    units_pay,
)

_BEGAN = Statement("select 1 from question where id = :id")
_FIND_CHARGE = Statement("select nano, atto from charge where question = :question and number = :number")
_CHARGE = Statement("insert into charge values (:question, :number, :time, :mechanism, :change, :cost, :nano, :atto)")
# What a reservation has to know before it looks at units. Open, too, is a part that was named and is not there:
# `reservations.find` refuses it.
_BEFORE = Statement(
    "select total.nano, total.atto, latest_part.question is not null and latest.spent_nano is null as open, "
    "exists (select 1 from part where question = :question and part = :part) as known "
    "from total cross join latest_part left join part as latest "
    "on latest.question = latest_part.question and latest.part = latest_part.part "
    'where total."only" = 1 and latest_part."only" = 1'
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
_SETTLE = Statement(
    "update part set spent_nano = :nano, spent_atto = :atto, charges = :charges "
    "where question = :question and part = :part and spent_nano is null "
    "returning most_nano, most_atto, everybody, payers, (select digest from latest_part "
    "where latest_part.question = part.question and latest_part.part = part.part) as digest"
)


class SqlLedger(ABC):
    """A `UnitLedger` in a database. Its grant never changes.

    May be shared by threads and by forked processes: every call is a transaction of its own.

    Attributes:
        counter: a file that knows how far the ledger was; None for a ledger without a vault.
    """

    _arrival: ClassVar[str]  # the column that numbers questions as they arrive, whatever the clock says

    def __init__(self) -> None:
        """For `create` and `open` of the kinds, which check the ledger."""
        self.counter: Counter | None = None
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

    @abstractmethod
    def alone(self, key: bytes) -> AbstractContextManager[None]:
        """Wait until no other thread, process or machine on this ledger is in this block for `key` (flights)."""

    def reached(self) -> Reached:
        """How far the ledger is: numbers that only grow."""
        with self._reading() as connection:
            return reached(connection)

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
        named, cost = checked(units), self.budget.filter_state(most)
        with self._writing() as connection:
            everybody = self.budget.filter_state(self._before(connection, question, part)) + cost
            paying = self._admitted(connection, everybody, named)
            payers = b"".join(paying)
            reservations.name(connection, OpenPart(question, part, most, payers))
            _insert_part(connection, question, part, most, payers)
        return frozenset(paying)

    def payers(self, question: str, part: int) -> frozenset[bytes] | None:
        """The units that pay for a part that was reserved before; None if it was not, or everybody pays."""
        with self._reading() as connection:
            row = _PAYERS.found(connection, {"question": question, "part": part})
            if row is None or row[0] is None:
                return None
            return frozenset(merging.split(merging.current(connection, bytes(row[0]))))

    def reserve_all(self, question: str, part: int, most: Spending) -> frozenset[bytes]:
        """Have everybody pay `most`, durably, those included who join later. Returns the units that cannot.

        Raises:
            BudgetExhausted: not even a unit that never paid by itself could pay (public). Nothing was recorded.
            LedgerError: this part of the question was reserved before, or the ledger cannot be written.
        """
        with self._writing() as connection:
            spent = self._before(connection, question, part)
            everybody = self.budget.filter_state(self._add_to_total(connection, spent, most))
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
            held = self.budget.filter_state(most)
            back = held - self.budget.filter_state(spent)
            if digest is not None:
                reservations.check_digest(OpenPart(question, part, most, payers), digest)
                rows_of_units.pay(connection, held, held - back, payers)
            else:
                # What was reserved since comes first: were a sum cut by it, nothing would be returned.
                reservations.write(connection, self.budget)
                merging.get_back(connection, back, payers)

    def merge(self, pairs: Sequence[tuple[bytes, bytes]]) -> int:
        """Have what the first of each pair of units paid count as paid by the second; durably, all or none.

        The first is a name that no unit has any more: its balance is moved, and what it paid for can still be
        settled. Merging again changes nothing. Returns how many balances were moved.

        Raises:
            LedgerError: a unit's name has not 16 bytes, or the ledger cannot be written. Nothing was moved.
        """
        checked([name for pair in pairs for name in pair])
        with self._writing() as connection:
            reservations.write(connection, self.budget)  # from here on, rows hold all that units paid
            moved = merging.merge(connection, pairs, _now())
            now = self._counted(connection)
        self._note(now)
        return moved

    def balance(self, unit: bytes) -> FilterState:
        """What one unit has paid by itself. For the custodian alone."""
        with self._reading() as connection:
            return rows_of_units.balance(connection, *reservations.reserved(connection, self.budget), unit)

    def questions_of(self, unit: bytes) -> frozenset[str]:
        """The ids of the questions that one unit paid for by itself. For the custodian alone."""
        with self._reading() as connection:
            return tracing.questions_of(connection, unit)

    def count_corpora(self) -> int:
        """How many synthetic corpora were paid for."""
        with self._reading() as connection:
            return tracing.count_corpora(connection)

    def unit_balances(self) -> list[tuple[FilterState, int]]:
        """What units have paid by themselves, and how many have paid that. For the custodian alone."""
        with self._reading() as connection:
            return rows_of_units.unit_balances(connection, *reservations.reserved(connection, self.budget))

    def begin(self, question: str, algorithm: str, asked: str | None, *, private: bool = True) -> None:
        """Note that a question begins; its text only if the vault keeps questions.

        Raises:
            LedgerError: a question with this id began before, the ledger cannot be written, or is older than its
                counter says.
        """
        # A command line may hold bytes that are no text; they are no reason to lose a question.
        kept = asked.encode(errors="replace").decode() if asked is not None and self._log_questions else None
        kept = None if kept is None else kept.replace("\0", "\N{REPLACEMENT CHARACTER}")
        with self._writing() as connection:
            if _BEGAN.found(connection, {"id": question}) is not None:
                raise LedgerError(f"The question {question} began before. Ask it anew, under an id of its own.")
            connection.execute(
                text(
                    "insert into question (id, time, algorithm, text, private) "
                    "values (:id, :time, :algorithm, :text, :private)"
                ),
                {"id": question, "time": _now(), "algorithm": algorithm, "text": kept, "private": private},
            )
            now = self._counted(connection)
        self._note(now)

    def began(self, question: str) -> bool:
        """Whether a question with this id began."""
        with self._reading() as connection:
            return _BEGAN.found(connection, {"id": question}) is not None

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
            now = self._counted(connection)
        self._note(now)

    def spent_at_most(self, questions: Collection[str] | None = None) -> Spending:
        """Return the most that any one unit may have paid for `questions` (ids), or for all so far: public.

        It adds up what each question cost a unit that took part in it, as if one unit had taken part in all of them.
        """
        with self._reading() as connection:
            found = paid(connection)
        wanted = (spent for question, (_, spent) in found.items() if questions is None or question in questions)
        return sum(wanted, Spending.nothing())

    def questions(self) -> list[QuestionRecord]:
        """All questions in the order in which they were asked, with what they paid, by everybody or by units."""
        with self._reading() as connection:
            questions = connection.execute(text(f"select * from question order by {self._arrival}")).mappings().all()
            found = paid(connection)
            # While the file is open: that a column is not there shows when it is looked at.
            return [self._record(question, *found.get(question["id"], (0, None))) for question in questions]

    def _counted(self, connection: Connection) -> Reached | None:
        """How far the ledger is now. Checked alone with the ledger: what the counter knows was committed before."""
        return None if self.counter is None else self.counter.check(lambda: reached(connection))

    def note(self) -> None:
        """Have the counter know how far the ledger is, after payments that belong to no question."""
        self._note(self.reached() if self.counter is not None else None)

    def _note(self, now: Reached | None) -> None:
        if self.counter is not None and now is not None:
            self.counter.note(now)

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

    def _admitted(self, connection: Connection, everybody: FilterState, units: list[bytes]) -> list[bytes]:
        """Those of `units` that can pay."""
        return rows_of_units.can_pay(connection, self.budget, everybody, units)

    def _before(self, connection: Connection, question: str, part: int) -> Spending:
        """What everybody has spent before a new part. No part is open from here on: units' rows hold all they paid."""
        nano, atto, is_open, known = _BEFORE.one(connection, {"question": question, "part": part})
        if known:
            raise reserved_before(question, part)
        if is_open:
            reservations.write(connection, self.budget)
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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

"""A ledger in an SQL database, without the parts that depend on the kind of database.

A payment is one transaction that first takes the single lock of the ledger, so two processes cannot spend the same
budget. The commit survives a power cut. Noise is drawn only after the commit. Sums are whole numbers. The reservation
of single units is one row. Their balances are written when it is settled, or before the next access (reservations.py);
for many large parts together (waiting.py). A subclass for a kind of database implements the transactions (`_reading`,
`_writing`).

A ledger cannot detect that it was replaced as a whole by an older copy, which lacks later charges. A counter beside
the ledger detects this (counter.py).
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import ClassVar

import numpy as np
from sqlalchemy import Connection, text

from discreet.errors import LedgerError
from discreet.ledger import merging, packed_payers, reservations, tracing, waiting
from discreet.ledger import units as rows_of_units
from discreet.ledger.admission import Admission
from discreet.ledger.balance_view import BalanceView
from discreet.ledger.changes import NEXT, random_end
from discreet.ledger.counter import Counter, Reached, reached
from discreet.ledger.encoding import (
    joined,
    pack,
    set_total,
    split,
    total,
    unpack,
    unpack_part,
)
from discreet.ledger.integrity import budget_of, read_grant
from discreet.ledger.late_check import LateCheck
from discreet.ledger.payments import paid, record_of
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
# The values that a reservation needs before it reads units. A named but missing part counts as open, and
# `reservations.find` refuses it.
_BEFORE = Statement(
    "select total.nano, total.atto, last_part.question is not null and latest.spent_nano is null as open, "
    "exists (select 1 from part where question = :question and part = :part) as known, "
    "(select count(*) from waiting_part) as waiting, (select coalesce(sum(payers), 0) from waiting_part) as payers "
    "from total cross join last_part left join part as latest "
    "on latest.question = last_part.question and latest.part = last_part.part "
    'where total."only" = 1 and last_part."only" = 1'
)
_HELD = text(
    "select most_nano, most_atto, spent_nano, spent_atto from part where question = :question and part = :part"
)
_PAYERS = Statement("select payers, packed from part where question = :question and part = :part")
_UNITS_PAY = Statement("select 1 from part where not everybody limit 1")
_SETTLE = Statement(
    f"update part set spent_nano = :nano, spent_atto = :atto, charges = :charges, settled_at = {NEXT} "
    "where question = :question and part = :part and spent_nano is null "
    "returning most_nano, most_atto, everybody, payers, packed, (select digest from last_part "
    "where last_part.question = part.question and last_part.part = part.part) as digest, "
    "(select digest from waiting_part "
    "where waiting_part.question = part.question and waiting_part.part = part.part) as waits"
)


class SqlLedger(ABC):
    """A `UnitLedger` in a database. Its grant never changes.

    Threads and forked processes may share it: each call is one transaction.

    Attributes:
        counter: the file with the last known state of the ledger; None for a ledger without a vault.
    """

    _arrival: ClassVar[str]  # the column that numbers questions in the order of arrival, independent of clocks

    def __init__(self) -> None:
        """Read the grant. `create` and `open` of a subclass check the ledger."""
        self.counter: Counter | None = None
        self._late: LateCheck | None = None
        self._admission = Admission()
        with self._reading() as connection:
            grant = read_grant(connection)
        self.budget = budget_of(grant)
        self.simulation = bool(grant["simulation"])
        self._log_questions = bool(grant["log_questions"])

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Connection]:
        """Return a read-only transaction on one consistent state. Its errors are `LedgerError`s."""

    @abstractmethod
    def _writing(self, *, durable: bool = True) -> AbstractContextManager[Connection]:
        """Return an exclusive transaction; with `durable`, it is on disk at its end. Its errors are `LedgerError`s."""

    def check_meanwhile(self, check: Callable[[], None]) -> None:
        """Run the check of the whole ledger in a thread. Payments, and reports for the custodian, wait for it."""
        self._late = LateCheck(check)

    def _wait_for_check(self) -> None:
        """Wait for the check of a large ledger. Raise its error if the ledger is not sound."""
        if self._late is not None:
            self._late.wait()

    @contextmanager
    def _reporting(self) -> Iterator[Connection]:
        """Run a read-only transaction on a ledger that was checked as a whole."""
        self._wait_for_check()
        with self._reading() as connection:
            yield connection

    @abstractmethod
    def alone(self, key: bytes) -> AbstractContextManager[None]:
        """Wait for the flight `key` of this ledger, and hold it for the block (flights.py)."""

    def reached(self) -> Reached:
        """Return the state of the ledger: numbers that only grow."""
        with self._reading() as connection:
            return reached(connection)

    def spent(self) -> Spending:
        """Return the sum that all units have paid in common."""
        with self._reading() as connection:
            return total(connection)

    def affords(self, extra: Spending) -> bool:
        """Return whether all units could be charged `extra` now."""
        return self.budget.admits(self.spent() + extra)

    def charge(self, charge: Charge) -> bool:
        """Record a charge durably, or refuse it. Return whether it is new: (question, number) makes it idempotent.

        Raises:
            BudgetExhausted: if the sum would exceed the budget. Nothing was recorded.
            LedgerError: if it was recorded before with another cost, if the ledger has unit payment, or if the ledger
                cannot be written.
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
        """Charge `most` durably to those of `units` that can pay. Return them; the others pay nothing.

        Raises:
            LedgerError: if this part of the question was reserved before, if a unit's key does not have 16 bytes, or
                if the ledger cannot be written. Nothing was reserved.
        """
        named, cost = joined(units), self.budget.filter_state(most)
        with self._writing() as connection:
            everybody = self.budget.filter_state(self._before(connection, question, part)) + cost
            paying = self._admitted(connection, everybody, named)
            numbers = rows_of_units.add_new(connection, paying)
            if packed_payers.many(paying.keys):
                waiting.insert(connection, question, part, most, np.sort(numbers))
            else:
                reservations.name(connection, OpenPart(question, part, most, paying.keys))
                reservations.insert(connection, question, part, most, paying.keys)
        return frozenset(units if paying.keys == named else split(paying.keys))

    def payers(self, question: str, part: int) -> frozenset[bytes] | None:
        """Return the payers of a reserved part; None if the part was not reserved, or if all units pay."""
        with self._reporting() as connection:
            row = _PAYERS.found(connection, {"question": question, "part": part})
            if row is None or row[0] is None:
                return None
            if row[1] is not None:
                return frozenset(packed_payers.current_keys(connection, row[1]))
            return frozenset(split(merging.current(connection, bytes(row[0]))))

    def reserve_all(self, question: str, part: int, most: Spending) -> frozenset[bytes]:
        """Charge `most` durably to all units, also to later ones. Return the units that cannot pay.

        Raises:
            BudgetExhausted: if not even a unit without charges of its own could pay (public). Nothing was recorded.
            LedgerError: if this part of the question was reserved before, or if the ledger cannot be written.
        """
        with self._writing() as connection:
            spent = self._before(connection, question, part)
            everybody = self.budget.filter_state(self._add_to_total(connection, spent, most))
            reservations.insert(connection, question, part, most, None)
            return self._admission.cannot_pay(connection, self.budget, everybody)

    def settle(self, question: str, part: int, spent: Spending, charges: Sequence[Charge] = ()) -> None:
        """Settle a part: return the reservation beyond `spent` to its payers, and record the charges.

        Settling again with the same `spent` changes nothing. A power cut may undo it: then the whole reservation counts
        as spent.

        Raises:
            LedgerError: if the part was never reserved, was settled with another sum, or spent more than it reserved.
        """
        key = {"question": question, "part": part}
        released = json.dumps([charge.describe() for charge in charges])
        with self._writing(durable=False) as connection:
            row = _SETTLE.found(connection, key | pack(spent) | {"charges": released} | random_end())
            if row is None:
                found = connection.execute(_HELD, key).one_or_none()
                if found is None:
                    raise never_reserved(question, part)
                check_settlement(*unpack_part(found), spent)
                return
            nano, atto, everybody, payers, packed, digest, waits = row
            most = unpack(nano, atto)
            check_settlement(most, None, spent)
            if everybody:
                set_total(connection, total(connection) - most + spent)
                return
            held = self.budget.filter_state(most)
            back = held - self.budget.filter_state(spent)
            if waits is not None:
                waiting.settle(connection, OpenPart(question, part, most, packed), waits, spent)
            elif digest is not None:
                reservations.check_digest(OpenPart(question, part, most, payers), digest)
                rows_of_units.pay(connection, held, held - back, payers)
            else:
                # A later open part is written first: a sum that it cuts returns nothing.
                reservations.write(connection, self.budget)
                if packed is None:
                    merging.get_back(connection, back, payers)
                else:
                    waiting.get_back(connection, back, packed)

    def merge(self, pairs: Sequence[tuple[bytes, bytes]]) -> int:
        """Move the balance of the first unit of each pair to the second, durably, all or none.

        No unit has the first key afterwards. Parts that it paid for can still be settled. Merging again changes
        nothing. Return the number of moved balances.

        Raises:
            LedgerError: if a unit's key does not have 16 bytes, or if the ledger cannot be written. Nothing was moved.
        """
        joined([name for pair in pairs for name in pair])
        with self._writing() as connection:
            reservations.write(connection, self.budget)
            waiting.write(connection, self.budget)  # from here on, balances include all payments
            moved = merging.merge(connection, pairs, _now())
            now = self._counted(connection)
        self._note(now)
        return moved

    def balance(self, unit: bytes) -> FilterState:
        """Return the charges of one unit alone. For the custodian only."""
        with self._reporting() as connection:
            held = reservations.reserved(connection, self.budget)
            return waiting.balance(connection, self.budget, *rows_of_units.balance(connection, *held, unit))

    def questions_of(self, unit: bytes) -> frozenset[str]:
        """Return the ids of the questions that charged one unit alone. For the custodian only."""
        with self._reporting() as connection:
            return tracing.questions_of(connection, unit)

    def count_corpora(self) -> int:
        """Return the number of synthetic corpora that were paid for."""
        with self._reporting() as connection:
            return tracing.count_corpora(connection)

    def unit_balances(self) -> list[tuple[FilterState, int]]:
        """Return the distinct balances of units, each with the number of units. For the custodian only."""
        with self._reporting() as connection:
            held = reservations.reserved(connection, self.budget)
            if waiting.exist(connection):
                return BalanceView.load(connection, self.budget).unit_balances(*held)
            return rows_of_units.unit_balances(connection, *held)

    def begin(self, question: str, algorithm: str, asked: str | None, *, private: bool = True) -> None:
        """Record that a question begins; record its text only if the vault keeps questions.

        Raises:
            LedgerError: if a question with this id began before, if the ledger cannot be written, or if it is older
                than its counter.
        """
        # A command line may contain invalid bytes, which must not prevent a question.
        kept = asked.encode(errors="replace").decode() if asked is not None and self._log_questions else None
        kept = None if kept is None else kept.replace("\0", "\N{REPLACEMENT CHARACTER}")
        with self._writing() as connection:
            if _BEGAN.found(connection, {"id": question}) is not None:
                raise LedgerError(f"A question with the id {question} already began. Ask again under a new id.")
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
        """Return whether a question with this id began."""
        with self._reading() as connection:
            return _BEGAN.found(connection, {"id": question}) is not None

    def finish(self, question: str, stopped: str) -> None:
        """Record the reason for the end of a question.

        Raises:
            LedgerError: if no question with this id began, or if the ledger cannot be written.
        """
        with self._writing() as connection:
            ended = connection.execute(
                text("update question set stopped = :stopped where id = :id"), {"id": question, "stopped": stopped}
            )
            if ended.rowcount == 0:
                raise LedgerError(f"No question with the id {question} began. Begin the question first.")
            now = self._counted(connection)
        self._note(now)

    def spent_at_most(self, questions: Collection[str] | None = None, *, wait: bool = False) -> Spending:
        """Return an upper bound on a unit's payments for `questions` (ids), or for all questions. It is public.

        The bound adds the cost of each question for a participating unit, as if one unit took part in all of them.
        With `wait`, it contains the payments that the database is writing now.
        """
        with self._writing(durable=False) if wait else self._reading() as connection:
            found = paid(connection)
        wanted = (spent for question, (_, spent) in found.items() if questions is None or question in questions)
        return sum(wanted, Spending.nothing())

    def questions(self) -> list[QuestionRecord]:
        """Return all questions in the order of their arrival, with their payments."""
        with self._reporting() as connection:
            questions = connection.execute(text(f"select * from question order by {self._arrival}")).mappings().all()
            found = paid(connection)
            # Within the transaction, because a missing column raises an error only on access.
            return [record_of(question, self.budget, *found.get(question["id"], (0, None))) for question in questions]

    def _counted(self, connection: Connection) -> Reached | None:
        """Return the checked state of the ledger. Under the lock, the counter's state is already committed."""
        return None if self.counter is None else self.counter.check(lambda: reached(connection))

    def note(self) -> None:
        """Write the state of the ledger to its counter, after payments that belong to no question."""
        self._note(self.reached() if self.counter is not None else None)

    def _note(self, now: Reached | None) -> None:
        if self.counter is not None and now is not None:
            self.counter.note(now)

    def _admitted(self, connection: Connection, everybody: FilterState, units: bytes) -> rows_of_units.Admitted:
        """Return those of `units` (concatenated keys) that can pay."""
        balances = self._admission.balances(connection, self.budget, units)
        return rows_of_units.can_pay(self.budget, everybody, units, balances)

    def _before(self, connection: Connection, question: str, part: int) -> Spending:
        """Return the common sum before a new part. Write the open part; write the waiting parts if they are many."""
        nano, atto, is_open, known, waits, payers = _BEFORE.one(connection, {"question": question, "part": part})
        if known:
            raise reserved_before(question, part)
        if is_open:
            reservations.write(connection, self.budget)
        if waits >= waiting.MOST_WAITING or payers >= waiting.MOST_PAYERS:
            waiting.write(connection, self.budget)
        return unpack(nano, atto)

    def _add_to_total(self, connection: Connection, spent: Spending, spending: Spending) -> Spending:
        """Charge all units, if a unit without charges of its own can pay. Return the new total."""
        new = spent + spending
        if not self.budget.admits(new):
            raise exhausted(self.budget, spent, new)
        set_total(connection, new)
        return new


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

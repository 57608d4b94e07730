"""The ledger of units on a log: payments, questions, and reports for the custodian.

A payment is one transaction. It takes the lock of the database, reads the rows that its process does not know, decides
from the state that all rows give (balances.py), and appends one row. The commit survives a power cut, and noise is
drawn only after it. Then the counter beside the log gets the number and the hash of the last durable row.

A settlement is one row, too, but waits for no disk: a power cut may undo it, and then its whole reservation counts.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from discreet.config import VaultConfig
from discreet.errors import LedgerError
from discreet.ledger.balances import (
    BEGIN,
    CARRY,
    CHARGE,
    FINISH,
    JOIN,
    RESERVE,
    SETTLE,
    UNKNOWN,
    Grant,
    Units,
    choose,
    counted,
    dearest,
    join_keys,
    pack_payers,
    payers_of,
    settled,
    spending,
    split,
)
from discreet.ledger.records import LogStart, QuestionRecord
from discreet.log import arrays, chain
from discreet.log.chain import CORRUPT, Entry, Head, LogRow
from discreet.log.postgres import PostgresSchema, alone_by_server
from discreet.log.replay import COUNTER, Counter, Log, Place, Transaction
from discreet.log.sqlite import SqliteFile, alone_by_file
from discreet.privacy.accounting import Budget, FilterState, Spending
from discreet.privacy.filter import (
    APART,
    Charge,
    check_not_finished,
    check_settlement,
    exhausted,
    never_reserved,
    reserved_before,
    units_pay,
)
from discreet.privacy.transcript import Transcript
from discreet.system.databases import check_no_password

_FILE = "ledger.sqlite"
SNAPSHOT = "-snapshot"
"""The end of the name of a snapshot. It is a cache beside the ledger, and in no backup."""
EXPORT = "export-vectors"
"""The algorithm of a question that released vectors."""


class LogLedger(Log[Units]):
    """A durable ledger of units on a log, which also records questions. Its grant never changes.

    Threads and forked processes may share it: each call is one transaction.

    Attributes:
        path: its file; None for a ledger in PostgreSQL.
        budget, simulation: see `Grant`.
    """

    def __init__(self, place: Place, snapshot: Path | None = None) -> None:
        """Open a ledger. A small one is checked; the check of a large one starts in a thread.

        Args:
            place: where its log is.
            snapshot: the file for a snapshot of a large ledger; None for none.

        Raises:
            LedgerError: if the ledger is missing, corrupt or out of reach. Nothing may be released without it.
            VaultVersionError: if the ledger has another format or other Renyi orders.
        """
        super().__init__(place, Units, snapshot)
        self.path = place.path if isinstance(place, SqliteFile) else None
        with place.reading() as connection:  # the state of a large ledger may be long in coming
            self._grant = Units.begin(chain.first(connection)).grant
        self.budget, self.simulation = self._grant.budget, self._grant.simulation
        self._unable = dict[tuple[str, int], int | None]()

    def alone(self, key: bytes) -> AbstractContextManager[None]:
        """Wait until no other thread, process or machine holds the flight `key`, and hold it for the block.

        Of processes that ask an equal question, one asks it, and the others wait for the released answer. A flight ends
        with its holder's process or connection, also after a crash: there are no leases, no clocks and no repairs. It
        saves payments, and the guarantee does not depend on it. A file belongs to one machine, so it locks
        files. Machines share a database, so it takes advisory locks of the server.
        """
        place = self.place
        if isinstance(place, SqliteFile):
            return alone_by_file(place.path.parent, key)
        return alone_by_server(place.engine, place.name, key)

    # Transactions of all units

    def spent(self) -> Spending:
        """Return the sum that all units have paid in common."""
        with self.reading() as view:
            return view.state.total

    def affords(self, extra: Spending) -> bool:
        """Return whether all units could be charged `extra` now."""
        return self.budget.admits(self.spent() + extra)

    def charge(self, charge: Charge) -> bool:
        """Record a charge durably, or refuse it. Return whether it is new: (question, number) makes it idempotent.

        Raises:
            BudgetExhausted: if the sum would exceed the budget. Nothing was recorded.
            LedgerError: if it was recorded before with another cost, if it paid for a corpus that was written, if the
                ledger has unit payment, or if the ledger cannot be written.
        """
        cost = Spending.of(charge.cost)
        with self.writing() as transaction:
            before = chain.find(transaction.connection, charge.question, CHARGE, charge.number)
            if before is not None:
                if spending(before) != cost:
                    raise LedgerError("This charge was recorded before with another cost. Nothing was released.")
                self._continue_run(transaction, charge.question)
                return False
            self._check_not_past(transaction, charge.question)
            if transaction.state.units_pay:
                raise units_pay()
            self._check_total(transaction.state, cost)
            transaction.append(
                Entry(charge.question, CHARGE, charge.number, *cost.pack(), content=_json(charge.describe()))
            )
        return True

    def reserve_all(self, question: str, part: int, most: Spending) -> frozenset[bytes]:
        """Charge `most` durably to all units, also to later ones. Return the units that cannot pay.

        Raises:
            BudgetExhausted: if not even a unit without charges of its own could pay (public). Nothing was recorded.
            LedgerError: if this part of the question was reserved before, or if the ledger cannot be written.
        """
        with self.writing() as transaction:
            self._check_new(transaction, question, part)
            total = self._check_total(transaction.state, most)
            unable = transaction.state.cannot_pay(self.budget.filter_state(total))
            transaction.append(Entry(question, RESERVE, part, *most.pack()))
        return frozenset(unable)

    # Transactions of single units

    def reserve(self, question: str, part: int, most: Spending, units: Sequence[bytes]) -> frozenset[bytes]:
        """Charge `most` durably to those of `units` that can pay. Return them; the others pay nothing.

        Raises:
            LedgerError: if this part of the question was reserved before, if a unit's key does not have 16 bytes, or
                if the ledger cannot be written. Nothing was reserved.
        """
        keys = join_keys(units)
        with self.writing() as transaction:
            self._check_new(transaction, question, part)
            state = transaction.state
            numbers = state.find(keys)
            common = self.budget.filter_state(state.total) + self.budget.filter_state(most)
            able = self._admit(state, common, numbers)
            new = choose(keys, able & (numbers == UNKNOWN))
            content = pack_payers(state.count, new, numbers[able & (numbers != UNKNOWN)])
            self._unable[question, part] = state.transcript.unable(self.budget.limit, common)
            transaction.append(Entry(question, RESERVE, part, *most.pack(), content=content))
        return frozenset(units if able.all() else split(choose(keys, able)))

    def unable(self, question: str, part: int) -> int | None:
        """Return how many units at most could not pay when this process reserved a part; None if not known: public."""
        return self._unable.pop((question, part), None)

    def unable_now(self, most: Spending) -> int | None:
        """Return how many units at most cannot pay `most` now; None if it may be any number: public."""
        with self.reading() as view:
            common = self.budget.filter_state(view.state.total) + self.budget.filter_state(most)
            return view.state.transcript.unable(self.budget.limit, common)

    def transcript(self) -> Transcript:
        """Return what is public now of the payments of single units."""
        with self.reading() as view:
            return Transcript(view.state.transcript.paid.items())

    def payers(self, question: str, part: int) -> frozenset[bytes] | None:
        """Return the payers of a reserved part, which is on disk then; None if it was not reserved, or all units pay.

        Raises:
            LedgerError: if the corpus that it paid was finished, or if the ledger cannot be written.
        """
        with self.writing() as view:
            held = view.state.open.get((question, part)) or chain.find(view.connection, question, RESERVE, part)
            if held is None or not held.content:
                return None
            self._continue_run(view, question)
            return frozenset(view.state.keys_of(view.state.current(payers_of(held.content))))

    def settle(
        self, question: str, part: int, spent: Spending, charges: Sequence[Charge] = (), payers: int | None = None
    ) -> None:
        """Settle a part: return the reservation beyond `spent` to its payers, and record the charges.

        Settling again with the same `spent` changes nothing. A power cut may undo it: then the whole reservation counts
        as spent.

        Raises:
            LedgerError: if the part was never reserved, was settled with another sum, or spent more than it reserved.
        """
        with self.writing(durable=False) as transaction:
            held = transaction.state.open.get((question, part))
            if held is not None:
                check_settlement(held.most, None, spent)
                records = [charge.describe() for charge in charges]
                content = _json(records if payers is None else {"payers": payers, "charges": records})
                transaction.append(Entry(question, SETTLE, part, *spent.pack(), content=content))
                return
            reserved = chain.find(transaction.connection, question, RESERVE, part)
            settled = chain.find(transaction.connection, question, SETTLE, part)
            if reserved is None or settled is None:
                self._check_not_past(transaction, question)
                raise never_reserved(question, part)
            check_settlement(spending(reserved), spending(settled), spent)

    def merge(self, pairs: Sequence[tuple[bytes, bytes]]) -> int:
        """Move the balance of the first unit of each pair to the second, durably, all or none.

        No unit has the first key afterwards. Parts that it paid for can still be settled. Merging again changes
        nothing. Return the number of moved balances.

        Raises:
            LedgerError: if a unit's key does not have 16 bytes, or if the ledger cannot be written. Nothing was moved.
        """
        join_keys([name for pair in pairs for name in pair])
        with self.writing() as transaction:
            moved = transaction.state.movable(pairs)
            if moved:
                number = str(transaction.state.head.id + 1)
                transaction.append(Entry(number, JOIN, content=b"".join(old + new for old, new in moved)))
        return len(moved)

    def balance(self, unit: bytes) -> FilterState:
        """Return the charges of one unit alone. For the custodian only."""
        with self.reading(checked=True) as view:
            return view.state.balance(unit)

    def unit_balances(self) -> list[tuple[FilterState, int]]:
        """Return the distinct balances of units, each with the number of units. For the custodian only."""
        with self.reading(checked=True) as view:
            return view.state.unit_balances()

    # Questions

    def begin(self, question: str, algorithm: str, asked: str | None, *, private: bool = True) -> None:
        """Record that a question begins; record its text only if the vault keeps questions.

        Raises:
            LedgerError: if a question with this id began before, if the ledger cannot be written, or if it is older
                than its counter.
        """
        # A command line may contain invalid bytes, which must not prevent a question.
        kept = asked.encode(errors="replace").decode() if asked is not None and self._grant.log_questions else None
        kept = None if kept is None else kept.replace("\0", "\N{REPLACEMENT CHARACTER}")
        with self.writing() as transaction:
            if self._began(transaction, question):
                raise LedgerError(f"A question with the id {question} already began. Ask again under a new id.")
            about = {"algorithm": algorithm, "text": kept, "private": private}
            transaction.append(Entry(question, BEGIN, content=_json(about)))

    def began(self, question: str) -> bool:
        """Return whether a question with this id began."""
        with self.reading() as view:
            return self._began(view, question)

    def finish(self, question: str, stopped: str) -> None:
        """Record the reason for the end of a question.

        Raises:
            LedgerError: if no question with this id began, or if the ledger cannot be written.
        """
        with self.writing() as transaction:
            if not self._began(transaction, question):
                raise LedgerError(f"No question with the id {question} began. Begin the question first.")
            transaction.append(Entry(question, FINISH, transaction.head.id + 1, content=stopped.encode()))

    def finish_run(self, question: str) -> None:
        """Record durably that the synthetic corpus which `question` paid was written: nothing is drawn for it again.

        Raises:
            LedgerError: if the ledger cannot be written.
        """
        with self.writing() as transaction:
            if chain.find(transaction.connection, question, FINISH) is None:
                transaction.append(Entry(question, FINISH, content=b"written"))

    def questions(self) -> list[QuestionRecord]:
        """Return all questions in the order of their arrival, with their payments."""
        with self.reading(checked=True) as view:
            return list_records(chain.read(view.connection), self.budget)

    def spent_at_most(self, questions: Collection[str] | None = None, *, wait: bool = False) -> Spending:
        """Return an upper bound on a unit's payments for `questions` (ids), or for all questions. It is public.

        The bound adds the cost of each question for a participating unit, as if one unit took part in all of them.
        With `wait`, it contains the payments that the database is writing now.

        Raises:
            LedgerError: if one of `questions` is in a log that was closed. Its cost is in that of all questions alone.
        """
        with self.writing(durable=False) if wait else self.reading() as view:
            if questions is None:
                return view.state.spent_at_most()
            for question in questions:
                self._check_not_past(view, question)
            costs = Costs(chain.rows_of(view.connection, questions))
            sums = (costs.spent(question) or Spending.nothing() for question in costs.questions())
            return sum(sums, Spending.nothing())

    def questions_of(self, unit: bytes) -> frozenset[str]:
        """Return the ids of the questions that charged one unit alone. For the custodian only."""
        with self.reading(checked=True) as view:
            names, rows = view.state.names_of(unit), chain.read(view.connection)
            paid = (row for row in rows if row.kind == RESERVE and row.content)
            return frozenset(row.question for row in paid if np.isin(payers_of(row.content), names).any())

    def traces_of(self, unit: bytes) -> tuple[bool, frozenset[str]]:
        """Return whether a hash of a unit is kept, and in which open parts it is a payer. For the custodian only.

        The closing of a log carries open parts on with their payers. Their questions are in no row of the new log.
        """
        with self.reading(checked=True) as view:
            names = view.state.names_of(unit)
            payers = ((question, held.payers) for (question, _), held in view.state.open.items())
            opened = {question for question, paying in payers if paying is not None and np.isin(paying, names).any()}
            return bool(names[0] != UNKNOWN), frozenset(opened)

    def count_corpora(self) -> int:
        """Return the number of synthetic corpora that were paid for."""
        with self.reading(checked=True) as view:
            return view.state.corpora + len(list_corpora(chain.read(view.connection), self.budget))

    def start(self) -> LogStart:
        """Return since when this log has who took part in what, and what is known of the closed logs before."""
        with self.reading(checked=True) as view:
            tables = tuple(chain.list_closed(view.connection))
            return LogStart(time_of(chain.first(view.connection)), *view.state.earlier, tables)

    # Copies and closing

    def copy(self, path: Path) -> "LogLedger":
        """Return a copy in a new file that is marked as a simulation from the start. This ledger does not change.

        Raises:
            LedgerError: if a file exists at `path`, if it cannot be written, or if the ledger is out of reach.
        """
        file, simulation = SqliteFile(path), replace(self._grant, simulation=True).pack()
        with self.reading(checked=True) as view:  # the first row has the mark, so all hashes are other ones
            file.make(lambda target: chain.copy(target, self._rows(view.connection), simulation))
        return LogLedger(file)

    def _rows(self, connection: Connection) -> Iterator[LogRow]:
        with self.place.explained():  # around reading only: errors of the copy are those of another database
            yield from chain.read(connection)

    def close_log(self, *, keep: bool | Path = True) -> bool:
        """Begin a new log with one row that has the whole state, durably. No balance changes.

        Return whether the old rows are where `keep` says alone. False: the write-ahead log of the ledger's file still
        has them, since another process reads it. They go when all processes that use the ledger have ended.

        Who took part in what is in it for parts that are not settled, alone. Reports begin anew with later questions.
        The ids of the old questions stay known, as hashes: none of them can begin or pay again.

        Args:
            keep: where the old rows stay: True for a table `log_until_N` of the database, or the path of a new SQLite
                file. False for nowhere: they are gone for good.

        Raises:
            LedgerError: if the ledger or the file cannot be written. Nothing was changed, unless the disk failed at the
                end: then the file of `keep` stays, and has what the log had.
        """
        with self.writing() as transaction:
            transaction.appended = True  # an error from here on throws the state away
            self.replay.drop_snapshot()  # it names the payers of parts that were open when it was written
            rows = partial(self._rows, transaction.connection)
            if isinstance(keep, Path):
                SqliteFile(keep).make(lambda target: chain.copy(target, rows()), rights=0o600)
            try:
                transaction.head = self._continue(transaction, rows, keep=keep is True)
            except BaseException:
                if isinstance(keep, Path):
                    keep.unlink()  # nothing was closed
                raise
        return keep is True or self.place.forget_deleted()

    def _continue(self, found: Transaction[Units], rows: Callable[[], Iterator[LogRow]], *, keep: bool) -> Head:
        """Put a new log with the state in the place of the log. Return its last row."""
        records, corpora = list_records(rows(), self.budget), list_corpora(rows(), self.budget)
        header, content = found.state.close(
            (row.question for row in rows() if row.kind in (BEGIN, CHARGE, RESERVE)),
            answered=sum(record.stopped is not None for record in records),
            corpora=len(corpora) + sum(record.algorithm == EXPORT for record in records),
        )
        head = chain.close(found.connection, found.state.head, self._grant.pack(), keep=keep)
        return chain.append(found.connection, head, Entry("", CARRY, content=arrays.pack(header, content)))

    # What twins of tests replace

    def _admit(self, state: Units, common: FilterState, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return which units can pay, each by its own balance alone."""
        return state.can_pay(common, numbers)

    def _began(self, found: Transaction[Units], question: str) -> bool:
        return found.state.is_past(question) or chain.find(found.connection, question, BEGIN) is not None

    def _check_new(self, found: Transaction[Units], question: str, part: int) -> None:
        is_open = (question, part) in found.state.open
        if is_open or chain.find(found.connection, question, RESERVE, part) is not None:
            raise reserved_before(question, part)
        self._check_not_past(found, question)

    def _continue_run(self, found: Transaction[Units], question: str) -> None:
        """Have a payment that was there stand for a draw, once it is on disk, unless it paid for a written corpus."""
        # The end of a question has another part than 0.
        check_not_finished(chain.find(found.connection, question, FINISH) is not None)
        self._sync(found)

    def _check_not_past(self, found: Transaction[Units], question: str) -> None:
        """Refuse a question of a log that was closed: what it paid is not known any more, so it could pay twice."""
        if found.state.is_past(question):
            raise LedgerError(
                f"The question {question} is older than the closing of the ledger's log. What it paid stays paid, and "
                "its parts are not known any more. Nothing was charged or released. Ask a new question."
            )

    def _check_total(self, state: Units, more: Spending) -> Spending:
        """Return the common sum with `more`, if a unit without charges of its own can pay it."""
        total = state.total + more
        if not self.budget.admits(total):
            raise exhausted(self.budget, state.total, total)
        return total


# --- what rows say about questions: for reports of the custodian, which may read the whole log ------------------------


@dataclass(frozen=True)
class Corpus:
    """A synthetic corpus that was paid for: payments of an id that no question has.

    Attributes:
        id: the id of its payments.
        epsilon: the largest cost for a unit.
        time: the time of the first payment, UTC, ISO 8601; empty with unit payment.
        mechanisms: the mechanisms of the draws, if the ledger has them.
    """

    id: str
    epsilon: float
    time: str
    mechanisms: tuple[str, ...]


class Costs:
    """What questions paid, from their rows.

    A part that is not settled yet counts with its whole reservation. Parts without a common unit cost as much as the
    dearest of them. The settlement of a part that a closed log reserved counts nothing: the reservation counted there.
    """

    def __init__(self, rows: Iterable[LogRow] = ()) -> None:
        self._parts = defaultdict[str, dict[tuple[str, int], Spending]](dict)
        self._charges = defaultdict[str, int](int)
        for row in rows:
            self.add(row)

    def add(self, row: LogRow) -> None:
        """Add the next row."""
        key, parts = (RESERVE, row.part), self._parts
        if row.kind == SETTLE:
            if row.question not in parts:
                return
            parts[row.question][key] = counted(parts[row.question].get(key, spending(row)), spending(row))
            self._charges[row.question] += len(settled(row)[0])
        elif row.kind in (CHARGE, RESERVE):
            parts[row.question][row.kind, row.part] = spending(row)
            self._charges[row.question] += row.kind == CHARGE

    def charges(self, question: str) -> int:
        """Return the number of payments of a question."""
        return self._charges.get(question, 0)

    def spent(self, question: str) -> Spending | None:
        """Return the largest cost of a question for a unit; None if it paid nothing."""
        parts = self._parts.get(question)
        if parts is None:
            return None
        together = (cost for (_, part), cost in parts.items() if part < APART)
        return sum(together, Spending.nothing()) + dearest(cost for (_, part), cost in parts.items() if part >= APART)

    def questions(self) -> list[str]:
        """Return the ids of all questions that paid, in the order of their first payments."""
        return list(self._parts)


def list_records(rows: Iterable[LogRow], budget: Budget) -> list[QuestionRecord]:
    """Return the questions in the order of their arrival, with their payments."""
    costs, began, ends = Costs(), list[LogRow](), dict[str, str]()
    for row in rows:
        costs.add(row)
        if row.kind == BEGIN:
            began.append(row)
        elif row.kind == FINISH:
            ends[row.question] = row.content.decode()
    return [_record(row, ends.get(row.question), costs, budget) for row in began]


def list_corpora(rows: Iterable[LogRow], budget: Budget) -> list[Corpus]:
    """Return the synthetic corpora that were paid for, the oldest first."""
    costs, of_questions = Costs(), set[str]()
    times, mechanisms = dict[str, str](), defaultdict[str, list[str]](list)
    for row in rows:
        costs.add(row)
        if row.kind == BEGIN:
            of_questions.add(row.question)
        elif row.kind == CHARGE:
            times.setdefault(row.question, time_of(row))
            mechanisms[row.question].append(_parsed(row)["mechanism"])
        elif row.kind == SETTLE:
            mechanisms[row.question] += [charge["mechanism"] for charge in settled(row)[0]]
    return [
        Corpus(name, budget.spent(spent), times.get(name, ""), tuple(dict.fromkeys(mechanisms[name])))
        for name in costs.questions()
        if name not in of_questions and (spent := costs.spent(name)) is not None
    ]


def _record(row: LogRow, stopped: str | None, costs: Costs, budget: Budget) -> QuestionRecord:
    about, spent = _parsed(row), costs.spent(row.question)
    try:
        return QuestionRecord(
            id=row.question,
            time=time_of(row),
            algorithm=about["algorithm"],
            question=about["text"],
            private=about["private"],
            stopped=stopped,
            charges=costs.charges(row.question),
            epsilon=0.0 if spent is None else budget.spent(spent),
            spending=Spending.nothing() if spent is None else spent,
        )
    except (KeyError, TypeError):
        raise LedgerError(CORRUPT) from None


def _parsed(row: LogRow) -> Any:
    try:
        return json.loads(row.content)
    except (ValueError, RecursionError):
        raise LedgerError(CORRUPT) from None


def time_of(row: LogRow) -> str:
    """Return the time of a row, UTC, ISO 8601."""
    return datetime.fromtimestamp(row.time, UTC).isoformat(timespec="seconds")


# --- where a ledger is ------------------------------------------------------------------------------------------------


def _json(content: object) -> bytes:
    return json.dumps(content).encode()


class SqliteLedger(LogLedger):
    """A `LogLedger` in a file. `create` makes it. A snapshot of a large one is beside it."""

    path: Path

    def __init__(self, path: Path) -> None:
        """Open an existing ledger. A read-only ledger can be opened, but not charged.

        Raises:
            LedgerError: if the ledger is missing or corrupt. Nothing may be released without it.
            VaultVersionError: if the ledger has another format or other Renyi orders.
        """
        file = SqliteFile(path)
        super().__init__(file, file.path.with_name(f"{file.path.name}{SNAPSHOT}"))

    @classmethod
    def create(cls, path: Path, budget: Budget, *, log_questions: bool = False, simulation: bool = False) -> Self:
        """Create a ledger with its final grant. Return the ledger.

        Args:
            path: the path of the file, in an existing folder.
            budget: the grant.
            log_questions: whether to keep the texts of questions.
            simulation: whether insecure noise is allowed, for experiments. This mark is permanent.

        Raises:
            LedgerError: if a file exists at `path`, or if it cannot be written.
        """
        SqliteFile(path).make(Grant(budget, log_questions, simulation).make)
        return cls(path)


class PostgresLedger(LogLedger):
    """A `LogLedger` in a PostgreSQL schema. `create` makes it."""

    def __init__(self, url: str, name: str, snapshot: Path | None = None) -> None:
        """Open an existing ledger.

        Args:
            url: the URL of the database: "postgresql://user@host/database". No error shows it.
            name: the name of the schema: "vault_" and up to 57 of the digits 0-9a-f.
            snapshot: the file of this machine for a snapshot of a large ledger; None for none.

        Raises:
            UsageError: if the URL or the name is invalid.
            MissingPart: if the driver is not installed.
            LedgerError: if the ledger is missing, corrupt or out of reach. Nothing may be released without it.
            VaultVersionError: if the ledger has another format or other Renyi orders.
        """
        self.name = name
        super().__init__(PostgresSchema(url, name), snapshot)

    @classmethod
    def create(
        cls, url: str, name: str, budget: Budget, *, log_questions: bool = False, simulation: bool = False
    ) -> Self:
        """Create a ledger with its final grant. Return the ledger.

        Args:
            url: the URL of the database.
            name: the name of the schema.
            budget: the grant.
            log_questions: whether to keep the texts of questions.
            simulation: whether insecure noise is allowed, for experiments. This mark is permanent.

        Raises:
            UsageError: if the URL or the name is invalid.
            MissingPart: if the driver is not installed.
            LedgerError: if a schema of this name exists, or if the database cannot be reached or written.
        """
        PostgresSchema(url, name).make(Grant(budget, log_questions, simulation).make)
        return cls(url, name)


def create_ledger(folder: Path, config: VaultConfig, budget: Budget) -> LogLedger:
    """Create the ledger of a vault with its grant. Return the ledger.

    Raises:
        UsageError: if the URL is not that of a PostgreSQL database, or if it contains a password.
    """
    if not config.ledger:
        return SqliteLedger.create(folder / _FILE, budget, log_questions=config.log_questions)
    check_no_password(config.ledger, "ledger")
    return PostgresLedger.create(config.ledger, config.ledger_name, budget, log_questions=config.log_questions)


def open_ledger(folder: Path, config: VaultConfig) -> LogLedger:
    """Open the ledger of a vault, and check that it is sound and not older than its counter. Return the ledger.

    Raises:
        LedgerError: if the ledger is missing, corrupt, out of reach, or older than VAULT/counter.json.
    """
    ledger: LogLedger
    if config.ledger:
        ledger = PostgresLedger(config.ledger, config.ledger_name, folder / f"{_FILE}{SNAPSHOT}")
    else:
        ledger = SqliteLedger(folder / _FILE)
    ledger.check_counter(Counter(folder / COUNTER))
    return ledger

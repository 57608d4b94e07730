"""The ledger of a vault: one SQLite file.

A charge is one transaction, which takes the write lock first (`begin immediate`), so that two processes cannot both
spend what only one can; it is committed with `synchronous=full`, so that it survives a power cut; and only then is
noise drawn. Sums are whole numbers. On opening, the total must equal the sum of the charges, and the grant its seal.

What no ledger can notice is that it was put back whole from an older copy: what was charged since is forgotten.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import StaticPool

from discreet.errors import LedgerError, VaultVersionError
from discreet.ledger.database import CORRUPT, connect, engine, explained, keep_log, missing, new_file
from discreet.ledger.migrations import GRANT_IS_FINAL, MIGRATIONS, grant_digest
from discreet.ledger.records import QuestionRecord
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import ORDERS
from discreet.privacy.ledger import Charge, exhausted

_ORDERS_DIGEST = hashlib.sha256(ORDERS.astype("<f8").tobytes()).hexdigest()[:16]


class SqliteLedger:
    """A `Ledger` in a file. Made by `create`, found again by `open`; its grant never changes.

    May be shared by threads and by forked processes: every call has a connection of its own.
    """

    def __init__(self, path: Path) -> None:
        """For `create` and `open`, which check the file."""
        self.path = path.absolute()
        self._engine = engine(self.path)
        with self._reading() as connection:
            grant = connection.execute(text("select * from grant_")).mappings().one()
        if grant["orders"] != _ORDERS_DIGEST:
            raise VaultVersionError(
                f"The ledger was kept at Renyi orders {grant['orders']}; this program has {_ORDERS_DIGEST}. "
                "Open it with the version of discreet that made it."
            )
        self.budget = Budget(
            epsilon=float(grant["epsilon"]),
            delta=float(grant["delta"]),
            failures=float(grant["failures"]),
            order=float(grant["finite_order"]),
        )
        self.simulation = bool(grant["simulation"])
        self._log_questions = bool(grant["log_questions"])

    @classmethod
    def create(cls, path: Path, budget: Budget, *, log_questions: bool = False, simulation: bool = False) -> Self:
        """A new ledger with a grant, once and for all.

        Args:
            path: where; its folder must exist.
            budget: the grant.
            log_questions: whether the text of questions is kept.
            simulation: whether insecure noise is allowed, for experiments. This mark never goes.

        Raises:
            LedgerError: there is something at `path`, or nothing can be written there.
        """
        new_file(path)
        try:
            with explained(path):
                keep_log(path)
                with engine(path).begin() as connection:
                    _migrate(connection)
                    _grant(connection, budget, log_questions, simulation)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """An existing ledger, after checking that it is sound. It may be read-only: then nothing can be charged.

        Raises:
            LedgerError: it is missing or corrupt. Nothing may be released without it.
            VaultVersionError: it was made by a later version, or for other orders.
        """
        if not path.is_file():
            raise missing(path)
        with explained(path):
            with engine(path).connect().execution_options(reading=True) as connection:
                version = _checked_version(connection)
            with engine(path).connect().execution_options(reading=version == len(MIGRATIONS)) as connection:
                if version < len(MIGRATIONS):
                    _migrate(connection)
                _check_grant(connection)
                _check_sum(connection)
                connection.commit()
        return cls(path)

    def spent(self) -> Spending:
        """Everything charged so far."""
        with self._reading() as connection:
            return _total(connection)

    def charge(self, charge: Charge) -> bool:
        """Record a charge durably, or refuse it. Idempotent under (question, number); returns whether it is new.

        Raises:
            BudgetExhausted: the sum would exceed the budget. Nothing was recorded.
            LedgerError: it was recorded before with another cost, or the ledger cannot be written.
        """
        spending, cost = Spending.of(charge.cost), json.dumps(charge.cost.describe())
        with self._writing() as connection:
            key = {"question": charge.question, "number": charge.number}
            found = connection.execute(
                text("select nano, atto from charge where question = :question and number = :number"), key
            ).one_or_none()
            if found is not None:
                if _unpack(found) != spending:
                    raise LedgerError("This charge was recorded before with another cost. Nothing was released.")
                return False
            spent = _total(connection)
            total = spent + spending
            if not self.budget.admits(total):
                raise exhausted(self.budget, spent, total)
            connection.execute(
                text("insert into charge values (:question, :number, :time, :mechanism, :change, :cost, :nano, :atto)"),
                {
                    **key,
                    "time": _now(),
                    "mechanism": charge.mechanism,
                    "change": str(charge.change),
                    "cost": cost,
                    **_pack(spending),
                },
            )
            connection.execute(text("update total set nano = :nano, atto = :atto"), _pack(total))
        return True

    def begin(self, question: str, algorithm: str, asked: str | None, *, private: bool = True) -> None:
        """Note that a question begins; its text only if the vault keeps questions.

        Raises:
            LedgerError: a question with this id began before, or the ledger cannot be written.
        """
        # A command line may hold bytes that are no text; they are no reason to lose a question.
        kept = asked.encode(errors="replace").decode() if asked is not None and self._log_questions else None
        with self._writing() as connection:
            if connection.execute(text("select 1 from question where id = :id"), {"id": question}).scalar():
                raise LedgerError(f"The question {question} began before. Ask it anew, under an id of its own.")
            connection.execute(
                text("insert into question values (:id, :time, :algorithm, :text, :private, null)"),
                {
                    "id": question,
                    "time": _now(),
                    "algorithm": algorithm,
                    "text": kept,
                    "private": private,
                },
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
        """All questions in the order in which they were asked, with what they paid."""
        with self._reading() as connection:
            questions = connection.execute(text("select * from question order by rowid")).mappings().all()
            charges = connection.execute(text("select question, nano, atto from charge")).all()
        paid: dict[str, list[Spending]] = {}
        for charge in charges:
            paid.setdefault(charge.question, []).append(_unpack(charge))
        return [self._record(question, paid.get(question["id"], [])) for question in questions]

    def _record(self, question: Any, paid: list[Spending]) -> QuestionRecord:
        spending = sum(paid, Spending.nothing())
        return QuestionRecord(
            id=question["id"],
            time=question["time"],
            algorithm=question["algorithm"],
            text=question["text"],
            private=bool(question["private"]),
            stopped=question["stopped"],
            charges=len(paid),
            epsilon=self.budget.spent(spending) if paid else 0.0,
            spending=spending,
        )

    def copy(self, path: Path) -> "SqliteLedger":
        """A copy marked as a simulation, for experiments: this ledger is not touched, and that mark never goes.

        Raises:
            LedgerError: there is something at `path`, or nothing can be written there.
        """
        new_file(path)
        try:
            # Marked in memory: no moment at which a copy without its mark is on disk.
            with explained(self.path), closing(sqlite3.connect(":memory:")) as copied:
                with closing(connect(self.path)) as source:
                    source.backup(copied)
                _mark_as_simulation(copied)
                with explained(path), closing(connect(path)) as target:
                    copied.backup(target)
                keep_log(path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return SqliteLedger.open(path)

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with explained(self.path), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with explained(self.path), self._engine.connect().execution_options(reading=True) as connection:
            yield connection


def _checked_version(connection: Connection) -> int:
    if connection.execute(text("pragma quick_check")).scalar() != "ok":
        raise LedgerError(CORRUPT)
    version = _version(connection)
    if version > len(MIGRATIONS):
        raise VaultVersionError(
            f"The ledger has format {version}; this program reads up to {len(MIGRATIONS)}. Update discreet."
        )
    if version < 1:  # an emptied file, or one whose making was broken off
        raise LedgerError(CORRUPT)
    return version


def _version(connection: Connection) -> int:
    return int(connection.execute(text("pragma user_version")).scalar_one())


def _migrate(connection: Connection) -> None:
    # The version is read under the write lock: another process may have migrated meanwhile.
    for migrate in MIGRATIONS[_version(connection) :]:
        migrate(connection)
    connection.execute(text(f"pragma user_version = {len(MIGRATIONS)}"))


def _grant(connection: Connection, budget: Budget, log_questions: bool, simulation: bool) -> None:
    connection.execute(
        text("insert into grant_ values (1, :epsilon, :delta, :failures, :order, :orders, :log, :simulation)"),
        {name: repr(float(getattr(budget, name))) for name in ("epsilon", "delta", "failures", "order")}
        | {"orders": _ORDERS_DIGEST, "log": log_questions, "simulation": simulation},
    )
    connection.execute(text("insert into seal values (1, :digest)"), {"digest": grant_digest(connection)})
    connection.execute(text("insert into total values (1, :nano, :atto)"), _pack(Spending.nothing()))


def _mark_as_simulation(copied: sqlite3.Connection) -> None:
    memory = create_engine("sqlite://", creator=lambda: copied, poolclass=StaticPool)
    with memory.begin() as connection:
        connection.execute(text("drop trigger grant_is_final"))
        connection.execute(text("update grant_ set simulation = 1"))
        connection.execute(text(GRANT_IS_FINAL))
        connection.execute(text("update seal set digest = :digest"), {"digest": grant_digest(connection)})


def _check_grant(connection: Connection) -> None:
    if connection.execute(text("select digest from seal")).scalar_one() != grant_digest(connection):
        raise LedgerError(f"The ledger's grant is not the one that was made. {CORRUPT}")


def _check_sum(connection: Connection) -> None:
    charged = Spending.nothing()
    for row in connection.execute(text("select nano, atto from charge")):
        charged += _unpack(row)
    if charged != _total(connection):
        raise LedgerError(f"The ledger's total is not the sum of its charges. {CORRUPT}")


def _total(connection: Connection) -> Spending:
    return _unpack(connection.execute(text("select nano, atto from total")).one())


def _pack(spending: Spending) -> dict[str, Any]:
    return {"nano": spending.nano.astype("<i8").tobytes(), "atto": spending.atto}


def _unpack(row: Any) -> Spending:
    nano, atto = row.nano, row.atto
    if not (isinstance(nano, bytes) and len(nano) == 8 * len(ORDERS) and isinstance(atto, int) and atto >= 0):
        raise LedgerError(CORRUPT)
    return Spending(np.frombuffer(nano, dtype="<i8").astype(np.int64), atto)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

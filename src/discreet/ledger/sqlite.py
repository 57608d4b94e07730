"""The ledger of a vault: one SQLite file.

A charge is one transaction, which takes the write lock first (`begin immediate`), so that two processes cannot both
spend what only one can; it is committed with `synchronous=full`, so that it survives a power cut; and only then is
noise drawn. Sums are whole numbers. On opening, the total must equal the sum of the charges.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from discreet.errors import LedgerError, VaultVersionError
from discreet.ledger.migrations import GRANT_IS_FINAL, MIGRATIONS
from discreet.ledger.records import QuestionRecord
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import ORDERS
from discreet.privacy.ledger import Charge, exhausted

_ORDERS_DIGEST = hashlib.sha256(ORDERS.tobytes()).hexdigest()[:16]


class SqliteLedger:
    """A `Ledger` in a file. Made by `create`, found again by `open`; its grant never changes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._engine = _engine(path)
        with self._reading() as connection:
            grant = connection.execute(text("select * from grant_")).mappings().one()
        if grant["orders"] != _ORDERS_DIGEST:
            raise VaultVersionError(
                "The ledger was kept at other Renyi orders than this program's. Open it with the version that made it."
            )
        self.budget = Budget(*(float(grant[name]) for name in ("epsilon", "delta", "failures", "finite_order")))
        self.simulation = bool(grant["simulation"])
        self._log_questions = bool(grant["log_questions"])

    @classmethod
    def create(cls, path: Path, budget: Budget, *, log_questions: bool = False, simulation: bool = False) -> Self:
        """A new ledger with a grant, once and for all."""
        if path.exists():
            raise LedgerError(f"There is a ledger at {path} already; it is not overwritten.")
        with _explained(), _engine(path).begin() as connection:
            for migrate in MIGRATIONS:
                migrate(connection)
            connection.execute(text(f"pragma user_version = {len(MIGRATIONS)}"))
            connection.execute(
                text("insert into grant_ values (1, :epsilon, :delta, :failures, :order, :orders, :log, :simulation)"),
                {name: repr(getattr(budget, name)) for name in ("epsilon", "delta", "failures", "order")}
                | {"orders": _ORDERS_DIGEST, "log": log_questions, "simulation": simulation},
            )
            connection.execute(text("insert into total values (1, :nano, :atto)"), _pack(Spending.nothing()))
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """An existing ledger, after checking that it is sound.

        Raises:
            LedgerError: it is missing or corrupt. Nothing may be released without it.
            VaultVersionError: it was made by a later version.
        """
        if not path.is_file():
            raise LedgerError(f"The ledger {path} is missing. Nothing is released without it; restore it from a copy.")
        with _explained(), _engine(path).begin() as connection:
            if connection.execute(text("pragma quick_check")).scalar_one() != "ok":
                raise LedgerError(_CORRUPT)
            version = int(connection.execute(text("pragma user_version")).scalar_one())
            if version > len(MIGRATIONS):
                raise VaultVersionError(
                    f"The ledger has format {version}; this program reads up to {len(MIGRATIONS)}. Update discreet."
                )
            for migrate in MIGRATIONS[version:]:
                migrate(connection)
            if version < len(MIGRATIONS):
                connection.execute(text(f"pragma user_version = {len(MIGRATIONS)}"))
            _check_sum(connection)
        return cls(path)

    def spent(self) -> Spending:
        """Everything charged so far."""
        with self._reading() as connection:
            return _total(connection)

    def charge(self, charge: Charge) -> bool:
        """Record a charge durably, or refuse it. Idempotent under (question, number); returns whether it is new."""
        spending = Spending.of(charge.cost)
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
                    "cost": json.dumps(charge.cost.describe()),
                    **_pack(spending),
                },
            )
            connection.execute(text("update total set nano = :nano, atto = :atto"), _pack(total))
        return True

    def begin(self, question: str, algorithm: str, asked: str, *, private: bool = True) -> None:
        """Note that a question begins; its text only if the vault keeps questions."""
        with self._writing() as connection:
            connection.execute(
                text("insert into question values (:id, :time, :algorithm, :text, :private, null)"),
                {
                    "id": question,
                    "time": _now(),
                    "algorithm": algorithm,
                    "text": asked if self._log_questions else None,
                    "private": private,
                },
            )

    def finish(self, question: str, stopped: str) -> None:
        """Note how a question ended."""
        with self._writing() as connection:
            connection.execute(
                text("update question set stopped = :stopped where id = :id"), {"id": question, "stopped": stopped}
            )

    def questions(self) -> list[QuestionRecord]:
        """All questions in the order in which they were asked, with what they paid."""
        with self._reading() as connection:
            questions = connection.execute(text("select * from question order by rowid")).mappings().all()
            charges = connection.execute(text("select question, nano, atto from charge")).all()
        spent: dict[str, Spending] = {}
        count: dict[str, int] = {}
        for charge in charges:
            spent[charge.question] = spent.get(charge.question, Spending.nothing()) + _unpack(charge)
            count[charge.question] = count.get(charge.question, 0) + 1
        return [
            QuestionRecord(
                id=question["id"],
                time=question["time"],
                algorithm=question["algorithm"],
                text=question["text"],
                private=bool(question["private"]),
                stopped=question["stopped"],
                charges=count.get(question["id"], 0),
                epsilon=self.budget.spent(spent[question["id"]]) if question["id"] in spent else 0.0,
            )
            for question in questions
        ]

    def copy(self, path: Path) -> "SqliteLedger":
        """A copy marked as a simulation, for experiments: this ledger is not touched, and that mark never goes."""
        if path.exists():
            raise LedgerError(f"There is something at {path} already; it is not overwritten.")
        with _explained(), sqlite3.connect(self.path) as source, sqlite3.connect(path) as target:
            source.backup(target)
            target.execute("drop trigger grant_is_final")
            target.execute("update grant_ set simulation = 1")
            target.execute(GRANT_IS_FINAL)
        return SqliteLedger(path)

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with _explained(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with _explained(), self._engine.connect().execution_options(reading=True) as connection:
            yield connection


_CORRUPT = "The ledger is corrupt. Nothing is released without it; restore it from a copy."


def _engine(path: Path) -> Any:
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool, connect_args={"timeout": 30})

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        reading = connection.get_execution_options().get("reading", False)
        connection.exec_driver_sql("begin" if reading else "begin immediate")

    return engine


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        cause = str(getattr(error, "orig", error)).lower()
        if "readonly" in cause or "read-only" in cause or "unable to open" in cause:
            said = "The ledger cannot be written. Nothing was charged or released; allow writing to the vault's folder."
        elif "full" in cause:
            said = "The disk is full, so the ledger cannot be written. Nothing was charged or released; make room."
        elif "locked" in cause:
            said = "The ledger is held by another process for too long. Nothing was charged or released; try again."
        elif "malformed" in cause or "not a database" in cause or "no such table" in cause or "no row" in cause:
            said = _CORRUPT
        else:
            said = f"The ledger cannot be used ({type(error).__name__}). Nothing was charged or released."
        raise LedgerError(said) from error


def _check_sum(connection: Connection) -> None:
    charged = Spending.nothing()
    for row in connection.execute(text("select nano, atto from charge")):
        charged += _unpack(row)
    if charged != _total(connection):
        raise LedgerError(f"The ledger's total is not the sum of its charges. {_CORRUPT}")


def _total(connection: Connection) -> Spending:
    return _unpack(connection.execute(text("select nano, atto from total")).one())


def _pack(spending: Spending) -> dict[str, Any]:
    return {"nano": spending.nano.astype("<i8").tobytes(), "atto": spending.atto}


def _unpack(row: Any) -> Spending:
    nano = np.frombuffer(row.nano, dtype="<i8").astype(np.int64)
    if len(nano) != len(ORDERS):
        raise LedgerError(_CORRUPT)
    return Spending(nano, int(row.atto))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

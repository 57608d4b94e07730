"""What left a vault, and who was erased from it, as its ledger and store tell: for the custodian's report."""

import json
import sqlite3
from collections import defaultdict
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from discreet.config import VaultConfig
from discreet.errors import StoreError
from discreet.ledger.encoding import counted, stream, unpack, unpack_part
from discreet.ledger.integrity import budget_of, read_grant
from discreet.ledger.records import QuestionRecord
from discreet.operations.check_ledger import reading
from discreet.operations.check_store import TEXTS
from discreet.operations.read_only import looking
from discreet.privacy.accounting import Spending
from discreet.retrieval.sqlite_errors import explained

EXPORT = "export-vectors"
_OUTCOMES = {"public": "nothing was released", None: "it did not end"}


@dataclass(frozen=True)
class Corpus:
    """A synthetic corpus that was paid for.

    Attributes:
        id: under which it paid.
        epsilon: what it cost a unit at most.
        time: of its first payment, UTC, ISO 8601; empty where units pay by themselves, which notes none.
        mechanisms: what was drawn, if the ledger has it.
    """

    id: str
    epsilon: float
    time: str
    mechanisms: tuple[str, ...]

    def describe(self) -> dict[str, Any]:
        """The corpus as plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Erasure:
    """A unit that was erased and is kept out.

    Attributes:
        time: when, UTC, ISO 8601.
        documents: how many it had.
        key: a keyed hash of its name, which stands in no report.
    """

    time: str
    documents: int
    key: bytes = field(repr=False)

    def describe(self) -> dict[str, Any]:
        """The erasure as plain data, without the key."""
        return {"time": self.time, "documents": self.documents}


def outcome(question: QuestionRecord) -> str:
    """Whether something was released in answer to a question."""
    return _OUTCOMES.get(question.stopped, "an answer was released")


def corpora(folder: Path, settings: VaultConfig) -> list[Corpus]:
    """The corpora that were paid for: what the ledger has payments of, and no question.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    with reading(folder, settings) as (connection, _, _):
        return _corpora(connection)


def _corpora(connection: Connection) -> list[Corpus]:
    asked = {row.id for row in stream(connection, "select id from question")}
    budget, spent = budget_of(read_grant(connection)), defaultdict[str, Spending](Spending.nothing)
    times, drawn = dict[str, str](), defaultdict[str, list[str]](list)
    for row in stream(connection, "select question, time, mechanism, nano, atto from charge"):
        spent[row.question] += unpack(row.nano, row.atto)
        times[row.question] = min(times.get(row.question, row.time), row.time)
        drawn[row.question].append(row.mechanism)
    for row in stream(connection, "select question, most_nano, most_atto, spent_nano, spent_atto, charges from part"):
        spent[row.question] += counted(*unpack_part(row))
        with suppress(ValueError, TypeError, KeyError):
            drawn[row.question] += [str(charge["mechanism"]) for charge in json.loads(row.charges or "[]")]
    return [
        Corpus(name, budget.spent(cost), times.get(name, ""), tuple(dict.fromkeys(drawn[name])))
        for name, cost in spent.items()
        if name not in asked
    ]


def erasures(folder: Path) -> list[Erasure] | None:
    """The units that were erased and are kept out, the first one first; None if the store keeps no such list.

    Raises:
        StoreError: the store cannot be read.
    """
    path = folder / "store" / TEXTS
    if not path.exists():
        return []
    with explained(), looking(path) as database:
        return _erasures(database)


def _erasures(database: sqlite3.Connection) -> list[Erasure] | None:
    if not database.execute("select 1 from sqlite_master where name = 'tombstone'").fetchone():
        return None
    found = database.execute("select time, documents, unit from tombstone order by time").fetchall()
    if not all((type(time), type(documents), type(key)) == (str, int, bytes) for time, documents, key in found):
        raise StoreError("The list of erasures is damaged. Restore the vault from a backup.")
    return [Erasure(*row) for row in found]

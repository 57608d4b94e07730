"""The releases and erasures of a vault, from its ledger and store, for the custodian's report."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from discreet.config import VaultConfig, read_config
from discreet.errors import StoreError
from discreet.ledger.balances import Units
from discreet.ledger.ledger import Corpus, list_corpora
from discreet.ledger.records import QuestionRecord
from discreet.log.chain import first, read
from discreet.operations.check_ledger import reading
from discreet.operations.read_only import looking
from discreet.retrieval.embedded_store import TEXTS, explained
from discreet.system.database_url import is_postgres

_OUTCOMES = {"public": "nothing was released", None: "interrupted"}


@dataclass(frozen=True)
class Erasure:
    """An erased unit whose later documents are refused.

    Attributes:
        time: the time of the erasure, UTC, ISO 8601.
        documents: the number of erased documents.
        key: a keyed hash of the unit's name. No report contains it.
    """

    time: str
    documents: int
    key: bytes = field(repr=False)


def outcome(question: QuestionRecord) -> str:
    """Return the outcome of a question in words."""
    return _OUTCOMES.get(question.stopped, "an answer was released")


def corpora(folder: Path, settings: VaultConfig) -> list[Corpus]:
    """Return the corpora that were paid for: the ids in the ledger that have payments but no question.

    Raises:
        LedgerError: if the ledger cannot be read.
    """
    with reading(folder, settings) as connection:
        return list_corpora(read(connection), Units.begin(first(connection)).grant.budget)


def erasures(folder: Path) -> list[Erasure]:
    """Return the erased units, the oldest erasure first.

    Raises:
        StoreError: if the store cannot be read.
    """
    settings = read_config(folder)
    if is_postgres(settings.store):
        return _erasures_in_database(settings)
    path = folder / "store" / TEXTS
    if not path.exists():
        return []
    with explained(), looking(path) as database:
        return _erasures(database)


def _erasures_in_database(settings: VaultConfig) -> list[Erasure]:
    from discreet.retrieval.postgres_store import PostgresDatabase

    with closing(PostgresDatabase(settings.store, settings.store_name)) as server:
        return [Erasure(*row) for row in server.rows("select time, documents, unit from tombstone order by time")]


def _erasures(database: sqlite3.Connection) -> list[Erasure]:
    rows = database.execute("select time, documents, unit from tombstone order by time").fetchall()
    if not all((type(time), type(documents), type(key)) == (str, int, bytes) for time, documents, key in rows):
        raise StoreError("The list of erasures is damaged. Restore the vault from a backup.")
    return [Erasure(*row) for row in rows]

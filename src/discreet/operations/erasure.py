"""Reports on an erasure: the remaining traces of an individual in a vault, with reasons. For the custodian.

The whole report is private. Only the custodian may learn an individual's questions and charges.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discreet.config import DEFAULT_STORE
from discreet.export.vectors import FOLDER as EXPORTS
from discreet.ledger.records import LogStart
from discreet.questions.model_parser import FILE as UNDERSTOOD
from discreet.retrieval.documents import canonical_unit
from discreet.retrieval.sealed_corpus import unit_key
from discreet.system.database_url import is_postgres
from discreet.vault import Vault
from discreet.vault.components import SYNTHESIS


@dataclass(frozen=True)
class Remainder:
    """A trace that an erasure leaves.

    Attributes:
        what: the trace.
        why: the reason.
    """

    what: str
    why: str


@dataclass(frozen=True)
class ErasureReport:
    """A report on the erasure of an individual, and on its remaining traces.

    Attributes:
        unit: the individual.
        erased: the time of the erasure (UTC, ISO 8601); None if it was not erased, or was readmitted.
        erased_documents: the number of erased documents.
        documents: the number of the individual's documents in the vault.
        questions: the number of questions that charged this individual alone, since the log began.
        since: when the log began that has them, UTC, ISO 8601.
        in_ledger: whether the ledger has a balance or a question of the individual alone.
        spent: the epsilon of all charges of the individual; None in a vault with corpus payment.
        granted: the epsilon of the grant.
        remains: the remaining traces.
    """

    unit: str
    erased: str | None
    erased_documents: int
    documents: int
    questions: int
    since: str
    in_ledger: bool
    spent: float | None
    granted: float
    remains: tuple[Remainder, ...]

    @property
    def knows(self) -> bool:
        """Whether an individual of this name is in the vault, is erased, or was charged."""
        return self.erased is not None or self.documents > 0 or self.in_ledger

    def describe(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return asdict(self)


def erasure_report(vault: Vault, unit: str) -> ErasureReport:
    """Return a report on the remaining traces of an individual.

    Args:
        vault: the vault.
        unit: the individual's name, in any spelling.
    """
    unit = canonical_unit(unit)
    time, erased = vault.inventory.erased(unit) or (None, 0)
    paid, opened, spent, in_ledger = frozenset[str](), frozenset[str](), None, False
    if vault.settings.payment == "unit":
        key = unit_key(unit, vault.components.secret)
        budget = vault.ledger.budget
        paid = vault.ledger.questions_of(key)
        own = vault.ledger.balance(key)
        spent = budget.epsilon - budget.left_state(budget.filter_state(vault.ledger.spent()) + own)
        in_ledger, opened = vault.ledger.traces_of(key)  # a log that was closed has no more
    start, granted = vault.ledger.start(), vault.settings.epsilon
    remains = tuple(_remains(vault, time is not None, (paid, opened), spent if in_ledger else None, start))
    documents = len(vault.inventory.documents(unit))
    return ErasureReport(unit, time, erased, documents, len(paid), start.since, in_ledger, spent, granted, remains)


def _remains(
    vault: Vault, erased: bool, asked: tuple[frozenset[str], frozenset[str]], spent: float | None, start: LogStart
) -> Iterator[Remainder]:
    paid, opened = asked
    folder = vault.path
    in_database = is_postgres(vault.settings.store)
    where = "the store's database" if in_database else "VAULT/store"
    if answers := _lines(folder / "history.jsonl"):
        yield Remainder(
            f"released answers in VAULT/history.jsonl ({answers})",
            "they are public, and were released with differential privacy: each would have been almost as likely "
            "without this individual. The charged epsilon still bounds what they reveal",
        )
    if understood := _lines(folder / UNDERSTOOD):
        yield Remainder(
            f"questions and their requests in VAULT/{UNDERSTOOD} ({understood})",
            "they are what analysts asked, and hold nothing of a document. The file may be removed",
        )
    exports = sum(question.algorithm == "export-vectors" for question in vault.ledger.questions())
    if made := vault.ledger.count_corpora() + exports:
        yield Remainder(
            f"released synthetic corpora and exports of vectors ({made})",
            "they were charged, and released with differential privacy. An erasure does not change them, like answers",
        )
    if (folder / "public.jsonl").exists():
        yield Remainder(
            "the public corpus in VAULT/public.jsonl",
            "the custodian declared it public. To remove it: discreet public VAULT --remove",
        )
    if (folder / SYNTHESIS / "run.jsonl").exists():
        yield Remainder(
            f"an unfinished synthesis in VAULT/{SYNTHESIS}/run.jsonl",
            "it has the clusters of each individual under a keyed hash. Finish the synthesis, or remove the file. The "
            "charge stays",
        )
    if any((folder / EXPORTS).glob("*.json")):
        yield Remainder(
            f"the row of each individual in exported vectors, in VAULT/{EXPORTS}, under a keyed hash",
            "a search of the export needs these rows. Remove the files if no search needs them",
        )
    if spent is not None:
        yield Remainder(
            f"a keyed hash of the name in the ledger, with the balance: epsilon {spent:.4g} charged",
            "without the balance, a readmitted individual would have a new budget, and less protection than the "
            "guarantee states",
        )
        yield Remainder(
            f"in which questions this hash took part since {start.since[:10]}, in the ledger's log: {len(paid)}",
            "they are kept until the custodian closes the log. To close it: discreet close-log VAULT --destroy",
        )
    if opened:
        yield Remainder(
            f"this hash as a payer of questions that broke off: {len(opened)}",
            "their payments stay reserved, and the closing of the log carries them on",
        )
    if start.closed_logs:
        yield Remainder(
            f"who took part in questions before {start.since[:10]}, in the database: {', '.join(start.closed_logs)}",
            "the custodian kept these tables when the log was closed. To remove them: docs/operate.md",
        )
    if erased:
        yield Remainder(
            f"a keyed hash of the name in {where}, with the time of the erasure",
            "it refuses later documents of this individual. To remove it: discreet readmit",
        )
    if in_database:
        yield Remainder(
            "the write-ahead log, replicas, archives and dumps of the store's database",
            "the server keeps what was written until it recycles these files. docs/files.md has the commands",
        )
    elif vault.settings.store != DEFAULT_STORE:
        yield Remainder(
            f"snapshots, backups and replicas of the store '{vault.settings.store.partition(':')[0]}'",
            "the store is that of a plug-in, which erased the documents. Its documentation says what else keeps them",
        )
    if vault.store.unsettled():
        yield Remainder(
            "bytes of erased documents in the store's files",
            "another process writes now, or reads an older state. Run discreet doctor later",
        )
    yield Remainder(
        "copies of the vault, archives of closed logs, and the source files of the documents",
        "discreet does not know their paths. Erase the individual there, too. A vault that is restored from an older "
        "copy has the individual again",
    )


def _lines(file: Path) -> int:
    try:
        return sum(1 for line in file.read_bytes().split(b"\n") if line.strip())
    except FileNotFoundError:
        return 0

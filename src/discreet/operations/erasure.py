"""Reports on an erasure: the remaining traces of an individual in a vault, with reasons. For the custodian.

The whole report is private. Only the custodian may learn an individual's questions and charges.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discreet.config import DEFAULT_STORE
from discreet.export import FOLDER as EXPORTS
from discreet.ledger.ledger import EXPORT
from discreet.questions.model_parser import FILE as UNDERSTOOD
from discreet.store.documents import canonical_unit
from discreet.store.sealed_corpus import unit_key
from discreet.system.databases import is_postgres
from discreet.system.markup import fill
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
    remains = _remains(vault, time is not None, len(paid), len(opened), spent if in_ledger else None)
    documents = len(vault.inventory.documents(unit))
    return ErasureReport(unit, time, erased, documents, len(paid), start.since, in_ledger, spent, granted, remains)


def _remains(vault: Vault, erased: bool, paid: int, opened: int, spent: float | None) -> tuple[Remainder, ...]:
    folder, store, run = vault.path, vault.settings.store, f"{SYNTHESIS}/run.jsonl"
    exported = sum(question.algorithm == EXPORT for question in vault.ledger.questions())
    text = fill(
        "erasure.txt",
        answers=_lines(folder / "history.jsonl"),
        understood=_lines(folder / UNDERSTOOD),
        understood_file=UNDERSTOOD,
        released=vault.ledger.count_corpora() + exported,
        public_corpus=(folder / "public.jsonl").exists(),
        run=run if (folder / run).exists() else "",
        exports=EXPORTS if any((folder / EXPORTS).glob("*.json")) else "",
        spent=spent,
        start=vault.ledger.start(),
        paid=paid,
        opened=opened,
        erased=erased,
        in_database=is_postgres(store),
        plugged="" if store == DEFAULT_STORE else store.partition(":")[0],
        unsettled=vault.store.unsettled(),
    )
    return tuple(Remainder(*part.split("\n")) for part in text.strip().split("\n\n"))


def _lines(file: Path) -> int:
    try:
        return sum(1 for line in file.read_bytes().split(b"\n") if line.strip())
    except FileNotFoundError:
        return 0

"""What is left of an individual in a vault, and why: for the custodian, who has to answer for an erasure.

All of it is private: which questions an individual took part in, and what they spent, is told to nobody else.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discreet.export.vectors import FOLDER as EXPORTS
from discreet.retrieval.documents import canonical_unit
from discreet.retrieval.sealed_corpus import unit_key
from discreet.vault import Vault
from discreet.vault.derived_data import SYNTHESIS


@dataclass(frozen=True)
class Remainder:
    """Something that an erasure leaves, and why."""

    what: str
    why: str


@dataclass(frozen=True)
class ErasureReport:
    """What was erased of an individual, and what remains.

    Attributes:
        unit: the individual.
        erased: when it was erased (UTC, ISO 8601); None if it was not, or was let in again.
        erased_documents: how many documents were erased with it.
        documents: how many documents about it are in the vault.
        questions: how many questions it paid for by itself.
        spent: the epsilon that those, and what every unit paid, come to; None where every unit pays for everything.
        granted: the epsilon that it has in all.
        remains: what is left.
    """

    unit: str
    erased: str | None
    erased_documents: int
    documents: int
    questions: int
    spent: float | None
    granted: float
    remains: tuple[Remainder, ...]

    def describe(self) -> dict[str, Any]:
        """The report as plain data."""
        return asdict(self)


def erasure_report(vault: Vault, unit: str) -> ErasureReport:
    """Look for what is left of an individual.

    Args:
        vault: its vault.
        unit: its name, in any spelling.
    """
    unit = canonical_unit(unit)
    time, erased = vault.inventory.erased(unit) or (None, 0)
    paid, spent = frozenset[str](), None
    if vault.settings.payment == "unit":
        key = unit_key(unit, vault.components.secret)
        budget = vault.ledger.budget
        paid = vault.ledger.questions_of(key)
        spent = budget.epsilon - budget.left_state(
            budget.filter_state(vault.ledger.spent()) + vault.ledger.balance(key)
        )
    remains = tuple(_remains(vault, time is not None, paid, spent))
    documents = len(vault.inventory.documents(unit))
    return ErasureReport(unit, time, erased, documents, len(paid), spent, vault.settings.epsilon, remains)


def _remains(vault: Vault, erased: bool, paid: frozenset[str], spent: float | None) -> Iterator[Remainder]:
    folder = vault.path
    if answers := _lines(folder / "history.jsonl"):
        yield Remainder(
            f"released answers in VAULT/history.jsonl ({answers})",
            "they are public, and were released with differential privacy: each would have been almost as likely "
            "without this individual. The individual stays protected by the epsilon that was paid",
        )
    exports = sum(question.algorithm == "export-vectors" for question in vault.ledger.questions())
    if made := vault.ledger.count_corpora() + exports:
        yield Remainder(
            f"synthetic corpora and exports of vectors that were released from this vault ({made})",
            "they were given away, with differential privacy, and paid for. They stay what they are, like an answer",
        )
    if (folder / "public.jsonl").exists():
        yield Remainder(
            "the public corpus in VAULT/public.jsonl",
            "it was named as public by the custodian. discreet public VAULT --remove takes it out of use",
        )
    if (folder / SYNTHESIS / "run.jsonl").exists():
        yield Remainder(
            f"an unfinished synthesis in VAULT/{SYNTHESIS}/run.jsonl",
            "it holds under a keyed hash which clusters each individual went to. Finish it, or remove the file: what "
            "was paid stays paid",
        )
    if any((folder / EXPORTS).glob("*.json")):
        yield Remainder(
            f"which row of exported vectors is whose, in VAULT/{EXPORTS}, under a keyed hash",
            "without it the rows of the export cannot be used for searching. Remove the files if no search needs them",
        )
    if spent is not None and paid:
        yield Remainder(
            f"a keyed hash of the name in the ledger, with the balance: epsilon {spent:.4g} spent; questions that it "
            f"took part in: {len(paid)}",
            "without the balance an individual that comes back would have a new budget, and be protected less than "
            "was promised",
        )
    if erased:
        yield Remainder(
            "a keyed hash of the name in VAULT/store, with the time of the erasure",
            "later additions of this individual are refused because of it. discreet readmit removes it",
        )
    yield Remainder(
        "copies that were made of the vault, and files that documents came from",
        "discreet does not know where they are. Erase the individual there, too; a vault that is restored from an "
        "older copy holds the individual again",
    )


def _lines(file: Path) -> int:
    try:
        return sum(1 for line in file.read_bytes().split(b"\n") if line.strip())
    except FileNotFoundError:
        return 0

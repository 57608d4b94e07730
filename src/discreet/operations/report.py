"""The data of a report on a vault, for its custodian and supervisor. Parts are private."""

import platform
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.config import VaultConfig
from discreet.ledger.questions import EXPORT, Corpus
from discreet.ledger.records import QuestionRecord
from discreet.operations import models
from discreet.operations.check_ledger import utc_now
from discreet.operations.doctor import examine
from discreet.operations.findings import Finding
from discreet.operations.odds import PRIORS, at_most
from discreet.operations.releases import Erasure, corpora, erasures, outcome
from discreet.retrieval.public import digest_of
from discreet.retrieval.store_registry import stored_dimension
from discreet.vault import Vault
from discreet.vault.budget_report import BudgetReport

PACKAGES = ("opendp", "numpy", "sqlalchemy", "torch", "transformers")


@dataclass(frozen=True)
class Report:
    """The data of a report.

    Attributes:
        vault: the name of the vault's folder.
        made: the time of the report, UTC, ISO 8601.
        settings: the settings of the vault.
        budget: the grant and the charges; its `levels` are private.
        documents, units: their number in the vault: private.
        corpora: the synthetic corpora that were paid for.
        erased: the erased units.
        digests: the SHA-256 of the weights of the language model and the embedder; empty if they are not available.
        versions: the versions of programs.
        findings: the findings of the doctor.
        public_corpus: the SHA-256 of the vault's public corpus; empty if none is set.
    """

    vault: str
    made: str
    settings: VaultConfig
    budget: BudgetReport
    documents: int
    units: int
    corpora: tuple[Corpus, ...]
    erased: tuple[Erasure, ...]
    digests: dict[str, str]
    versions: dict[str, str]
    findings: tuple[Finding, ...]
    public_corpus: str

    @property
    def questions(self) -> tuple[QuestionRecord, ...]:
        """The questions with a guarantee."""
        return tuple(one for one in self.budget.questions if one.private and one.algorithm != EXPORT)

    @property
    def exports(self) -> tuple[QuestionRecord, ...]:
        """The exports of vectors."""
        return tuple(one for one in self.budget.questions if one.algorithm == EXPORT)

    @property
    def unprotected(self) -> tuple[QuestionRecord, ...]:
        """The questions without a guarantee."""
        return tuple(one for one in self.budget.questions if not one.private)

    def odds(self) -> list[tuple[float, float]]:
        """Return pairs of an attacker's prior belief and the bound on the belief after all answers."""
        return [(prior, at_most(prior, self.settings.epsilon)) for prior in PRIORS]

    def describe(self) -> dict[str, Any]:
        """Return the report as plain data, with the keys of `discreet report --json`."""
        outcomes = Counter(outcome(one) for one in self.questions)
        budget = self.budget.describe()
        return {
            "schema": 1,
            "vault": self.vault,
            "made": self.made,
            "grant": {"epsilon": self.settings.epsilon, "delta": self.settings.delta, "unit": self.settings.unit_field},
            "odds": [{"before": before, "at_most": after} for before, after in self.odds()],
            "payment": self.settings.payment,
            "private": {"documents": self.documents, "units": self.units, "levels": budget["levels"]},
            "spent_by_everybody": self.budget.spent,
            "log": budget["log"],
            "questions": [one.describe() | {"outcome": outcome(one)} for one in self.questions],
            "outcomes": dict(outcomes),
            "without_guarantee": [one.describe() for one in self.unprotected],
            "exports": [one.describe() for one in self.exports],
            "corpora": [one.describe() for one in self.corpora],
            "erased": [one.describe() for one in self.erased],
            "model": {"name": self.settings.model, "sha256": self.digests["model"]},
            "embedder": {"name": self.settings.embedder, "sha256": self.digests["embedder"]},
            "public_corpus": self.public_corpus,
            "accept_claims": self.settings.accept_claims,
            "versions": self.versions,
            "findings": [one.describe() for one in self.findings],
        }


def gather(path: Path) -> Report:
    """Gather the data of a report on the vault at `path`. The weights of models are read once for their digests.

    Raises:
        NoSuchVault, LedgerError, StoreError: if there is no vault, or a part of it cannot be read.
    """
    findings = examine(path)
    vault = Vault.open(path)
    settings, erased = vault.settings, erasures(path)
    return Report(
        path.resolve().name,
        utc_now().isoformat(timespec="seconds"),
        settings,
        vault.budget(),
        _documents(vault),
        _units(vault),
        tuple(corpora(path, settings)),
        tuple(erased),
        {
            "model": models.language_model(settings.model).digest(),
            "embedder": models.embedder(settings.embedder).digest(),
        },
        {"discreet": __version__, "Python": platform.python_version(), "vault format": str(settings.version)}
        | models.versions(PACKAGES),
        tuple(findings),
        _public_corpus(path),
    )


def _documents(vault: Vault) -> int:
    return vault.store.count_documents() if _has_store(vault) else 0


def _units(vault: Vault) -> int:
    return vault.store.count_units() if _has_store(vault) else 0


def _has_store(vault: Vault) -> bool:
    """Return whether anything was ever added. Without a store, opening one would load the embedder."""
    return stored_dimension(vault.settings, vault.path / "store") is not None


def _public_corpus(folder: Path) -> str:
    copy = folder / "public.jsonl"
    return digest_of(copy.read_bytes()) if copy.is_file() else ""

"""The data of a report on a vault, for its custodian and supervisor. Parts are private."""

import platform
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from discreet import __version__
from discreet.config import VaultConfig
from discreet.ledger.ledger import EXPORT, Corpus
from discreet.ledger.records import LogStart, QuestionRecord, QuestionShown
from discreet.operations import models
from discreet.operations.check_ledger import utc_now
from discreet.operations.doctor import examine
from discreet.operations.findings import Finding
from discreet.operations.odds import PRIORS, at_most
from discreet.operations.releases import Erasure, corpora, erasures, outcome
from discreet.retrieval.public import digest_of
from discreet.retrieval.store_registry import stored_dimension
from discreet.system.plain import show_as
from discreet.vault import Vault
from discreet.vault.budget_report import BudgetReport, Level

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

    def shown(self) -> "ReportShown":
        """Return the report as it leaves: the object of `discreet report --json`."""
        budget, settings = self.budget.shown(), self.settings
        return show_as(
            ReportShown,
            self,
            schema=1,
            grant=GrantShown(settings.epsilon, settings.delta, settings.unit_field),
            odds=tuple(Belief(*one) for one in self.odds()),
            payment=settings.payment,
            private=PrivateFigures(self.documents, self.units, budget.levels),
            spent_by_everybody=budget.spent,
            log=budget.log,
            questions=tuple(show_as(QuestionWithOutcome, one.shown(), outcome=outcome(one)) for one in self.questions),
            outcomes=dict(Counter(outcome(one) for one in self.questions)),
            without_guarantee=tuple(one.shown() for one in self.unprotected),
            exports=tuple(one.shown() for one in self.exports),
            erased=tuple(show_as(ErasureShown, one) for one in self.erased),
            model=ModelShown(settings.model, self.digests["model"]),
            embedder=ModelShown(settings.embedder, self.digests["embedder"]),
            accept_claims=settings.accept_claims,
        )


@dataclass(frozen=True)
class GrantShown:
    """The bound on what all answers together may reveal about any one unit.

    Attributes:
        epsilon: the epsilon of the grant.
        delta: the delta of the grant.
        unit: the field that names the unit.
    """

    epsilon: float
    delta: float
    unit: str


@dataclass(frozen=True)
class Belief:
    """What epsilon means in odds.

    Attributes:
        before: what an attacker believed before, as a probability.
        at_most: the most that the attacker believes after all answers.
    """

    before: float
    at_most: float


@dataclass(frozen=True)
class PrivateFigures:
    """What must not leave the custodian: private.

    Attributes:
        documents: the number of documents: private.
        units: the number of units: private.
        levels: units by what they have left: private.
    """

    documents: int
    units: int
    levels: tuple[Level, ...]


@dataclass(frozen=True, kw_only=True)
class QuestionWithOutcome(QuestionShown):
    """A question, with its cost and what came of it.

    Attributes:
        outcome: what came of it, in words.
    """

    outcome: str


@dataclass(frozen=True)
class ErasureShown:
    """The erasure of a unit, or of a name that was joined to another (with 0 documents).

    Attributes:
        time: the time of the erasure, UTC, ISO 8601.
        documents: the number of erased documents.
    """

    time: str
    documents: int


@dataclass(frozen=True)
class ModelShown:
    """A model.

    Attributes:
        name: the name.
        sha256: the SHA-256 of its weights; empty if they are not available.
    """

    name: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class ReportShown:
    """A report on a vault, for its custodian and supervisor.

    Attributes:
        schema: the version of this schema.
        vault: the name of the vault's folder.
        made: the moment it was made, UTC, ISO 8601.
        grant: the bound on what all answers together may reveal about any one unit.
        odds: what epsilon means in odds.
        payment: who pays.
        private: what must not leave the custodian: private.
        spent_by_everybody: the epsilon that every unit has paid.
        log: since when the ledger's log lists questions and who took part in them.
        questions: the questions with a guarantee.
        outcomes: the number of questions by outcome.
        without_guarantee: the questions that were answered without a guarantee.
        exports: the exports of vectors.
        corpora: the synthetic corpora that were paid for.
        erased: the erased units, and names that were joined to others.
        model: the language model.
        embedder: the embedder.
        public_corpus: the SHA-256 of the public corpus; empty if there is none.
        accept_claims: whether algorithms with claims in place of a guarantee may run.
        versions: the versions of programs.
        findings: the checks in order.
    """

    schema: int
    vault: str
    made: str
    grant: GrantShown
    odds: tuple[Belief, ...]
    payment: str
    private: PrivateFigures
    spent_by_everybody: float
    log: LogStart
    questions: tuple[QuestionWithOutcome, ...]
    outcomes: dict[str, int]
    without_guarantee: tuple[QuestionShown, ...]
    exports: tuple[QuestionShown, ...]
    corpora: tuple[Corpus, ...]
    erased: tuple[ErasureShown, ...]
    model: ModelShown
    embedder: ModelShown
    public_corpus: str
    accept_claims: bool
    versions: dict[str, str]
    findings: tuple[Finding, ...]


def gather(path: Path) -> Report:
    """Gather the data of a report on the vault at `path`. The weights of models are read once for their digests.

    Raises:
        NoSuchVault, LedgerError, StoreError: if there is no vault, or a part of it cannot be read.
    """
    findings = examine(path)
    vault = Vault.open(path)
    settings, erased, public = vault.settings, erasures(path), path / "public.jsonl"
    stored = stored_dimension(settings, path / "store") is not None
    return Report(
        path.resolve().name,
        utc_now().isoformat(timespec="seconds"),
        settings,
        vault.budget(),
        vault.store.count_documents() if stored else 0,
        vault.store.count_units() if stored else 0,
        tuple(corpora(path, settings)),
        tuple(erased),
        {
            "model": models.language_model(settings.model).digest(),
            "embedder": models.embedder(settings.embedder).digest(),
        },
        {"discreet": __version__, "Python": platform.python_version(), "vault format": str(settings.version)}
        | models.versions(PACKAGES),
        tuple(findings),
        digest_of(public.read_bytes()) if public.is_file() else "",
    )

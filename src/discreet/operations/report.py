"""The data of a report on a vault, for its custodian and supervisor. Parts are private."""

import math
import platform
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from discreet import __version__
from discreet.config import DEFAULT_STORE, VaultConfig, read_config
from discreet.errors import StoreError
from discreet.ledger.balances import Units
from discreet.ledger.ledger import EXPORT, Corpus, list_corpora
from discreet.ledger.records import LogStart, QuestionRecord, QuestionShown
from discreet.log.chain import first, read
from discreet.operations import checks
from discreet.operations.check_ledger import reading, utc_now
from discreet.operations.checks import Finding, looking
from discreet.operations.doctor import examine
from discreet.store.embedded_store import TEXTS, explained
from discreet.store.public import digest_of
from discreet.store.registry import stored_dimension
from discreet.system.databases import is_postgres
from discreet.system.markup import fill
from discreet.system.plain import show_as
from discreet.vault import Vault
from discreet.vault.budget_report import BudgetReport, Level

# --- the meaning of a budget for one person ---------------------------------------------------------------------------


PRIORS = (0.01, 0.1, 0.5)
"""An attacker's beliefs that a person is in the vault, before the first answer."""

_LEAST = 1e-6


def at_most(prior: float, epsilon: float) -> float:
    """Return the largest posterior belief of an attacker with the prior belief. Odds grow by at most e^epsilon."""
    return 1 / (1 + (1 / prior - 1) * math.exp(-epsilon))


def percent(share: float) -> str:
    """Return a share in percent. A share just below 1 gets enough digits not to appear as 100 %."""
    left = (1 - share) * 100
    if left >= 1:
        return f"{share:.0%}".replace("%", " %")
    if left < _LEAST:
        return "nearly 100 %"
    digits = math.ceil(-math.log10(left))
    return f"{100 - math.floor(left * 10**digits) / 10**digits:.{digits}f} %"


# --- releases ---------------------------------------------------------------------------------------------------------


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
    from discreet.store.postgres_store import PostgresDatabase

    with closing(PostgresDatabase(settings.store, settings.store_name)) as server:
        return [Erasure(*row) for row in server.rows("select time, documents, unit from tombstone order by time")]


def _erasures(database: sqlite3.Connection) -> list[Erasure]:
    rows = database.execute("select time, documents, unit from tombstone order by time").fetchall()
    if not all((type(time), type(documents), type(key)) == (str, int, bytes) for time, documents, key in rows):
        raise StoreError("The list of erasures is damaged. Restore the vault from a backup.")
    return [Erasure(*row) for row in rows]


# --- the data of a report ---------------------------------------------------------------------------------------------


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
            "model": checks.language_model(settings.model).digest(),
            "embedder": checks.embedder(settings.embedder).digest(),
        },
        {"discreet": __version__, "Python": platform.python_version(), "vault format": str(settings.version)}
        | checks.versions(PACKAGES),
        tuple(findings),
        digest_of(public.read_bytes()) if public.is_file() else "",
    )


# --- the report as a page ---------------------------------------------------------------------------------------------


MOST_ROWS = 1000
"""The number of newest questions in the list. The counts include all questions."""


class Kind(StrEnum):
    """Whom a page is for.

    `DPIA` has the parts of a data-protection impact assessment that Article 35(7) of the GDPR asks for. `ANONYMITY`
    has the three tests of Opinion 05/2014 of the Article 29 Working Party on anonymisation techniques.
    `EXPERT_DETERMINATION` has what 45 CFR 164.514(b)(1) (HIPAA) asks for, with the principles of the guidance of the
    US Department of Health and Human Services of 2012. What a vault cannot know is left to fill in.
    """

    SUPERVISOR = "supervisor"
    DPIA = "dpia"
    ANONYMITY = "anonymity"
    EXPERT_DETERMINATION = "expert-determination"


def as_page(report: Report, kind: Kind = Kind.SUPERVISOR) -> str:
    """Return the report as HTML."""
    store = report.settings.store
    other = "in the vault" if store == DEFAULT_STORE else f"in the store '{store.partition(':')[0]}' of a plug-in"
    return fill(
        "report.html",
        report=report,
        kind=kind.value,
        most_rows=MOST_ROWS,
        outcome=outcome,
        outcomes=sorted(Counter((one.algorithm, outcome(one)) for one in report.questions).items()),
        odds_percent=percent,
        place="in a PostgreSQL database" if is_postgres(store) else other,
    )

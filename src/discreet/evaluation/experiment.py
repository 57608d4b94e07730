"""Run algorithms on questions, several times, and add up how well they did."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from discreet.algorithms.answer import Algorithm
from discreet.algorithms.multi import ManyQuestions
from discreet.evaluation.datasets import Question
from discreet.evaluation.metrics import matches, mean_and_margin
from discreet.evaluation.remembering import RememberingModel
from discreet.privacy.noise import InsecureSeededNoise
from discreet.vault import Vault


@dataclass(frozen=True)
class Outcome:
    """One answer to one question."""

    question: str
    seed: int
    answer: str
    stopped: str
    correct: bool
    tokens: int
    private_tokens: int
    epsilon: float | None
    seconds: float


@dataclass(frozen=True)
class Row:
    """One algorithm over all questions and seeds; margins are half-widths of 95 % confidence intervals."""

    algorithm: Algorithm | ManyQuestions
    accuracy: float
    accuracy_margin: float
    tokens: float
    private_tokens: float
    epsilon_spent: float | None
    seconds: float
    undecided: float
    answers: int

    def describe(self) -> dict[str, Any]:
        """The row as plain data, with the algorithm's parameters."""
        content: dict[str, Any] = {"algorithm": self.algorithm.name, "parameters": parameters(self.algorithm)}
        return content | {field.name: getattr(self, field.name) for field in fields(self) if field.name != "algorithm"}


def run_experiment(
    vault: Vault,
    questions: Sequence[Question],
    algorithms: Sequence[Algorithm | ManyQuestions],
    seeds: int,
    output: Path | None = None,
    progress: Callable[[], None] = lambda: None,
) -> list[Row]:
    """One row an algorithm. Nothing is paid; the noise is seeded, so that a run can be repeated.

    `seconds` counts what the model really computed: an answer that retraces another one's tokens is remembered
    (`RememberingModel`), which changes its time and nothing else.
    """
    model = RememberingModel(vault.model)
    outcomes: dict[Algorithm | ManyQuestions, list[list[Outcome]]] = {algorithm: [] for algorithm in algorithms}
    for question in questions:
        for algorithm in algorithms:
            outcomes[algorithm].append(
                [_answer(vault, model, question, algorithm, seed, progress) for seed in range(seeds)]
            )
    if output is not None:
        _write(output, outcomes)
    return [_row(algorithm, groups) for algorithm, groups in outcomes.items()]


def parameters(algorithm: Algorithm | ManyQuestions) -> dict[str, Any]:
    """An algorithm's parameters by name."""
    return asdict(algorithm)  # type: ignore[arg-type]


def _answer(
    vault: Vault,
    model: RememberingModel,
    question: Question,
    algorithm: Algorithm | ManyQuestions,
    seed: int,
    progress: Callable[[], None],
) -> Outcome:
    start = time.perf_counter()
    noise = InsecureSeededNoise(hash_seed(question.id, algorithm, seed))
    answer = vault.simulate(question.question, algorithm, noise=noise, model=model)
    seconds = time.perf_counter() - start
    progress()
    receipt = answer.receipt
    return Outcome(
        question.id,
        seed,
        answer.text,
        answer.stopped,
        matches(answer.text, question.answers),
        answer.tokens,
        answer.private_tokens,
        receipt.epsilon if receipt and receipt.private else None,
        seconds,
    )


def hash_seed(question: str, algorithm: Algorithm | ManyQuestions, seed: int) -> int:
    """A seed of its own for every (question, algorithm, seed), the same in every process."""
    import zlib

    return zlib.crc32(f"{question}|{algorithm!r}|{seed}".encode())


def _row(algorithm: Algorithm | ManyQuestions, groups: Sequence[Sequence[Outcome]]) -> Row:
    accuracy, margin = mean_and_margin([[float(outcome.correct) for outcome in group] for group in groups])
    flat = [outcome for group in groups for outcome in group]

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    spent = [outcome.epsilon for outcome in flat if outcome.epsilon is not None]
    return Row(
        algorithm=algorithm,
        accuracy=accuracy,
        accuracy_margin=margin,
        tokens=mean([outcome.tokens for outcome in flat]),
        private_tokens=mean([outcome.private_tokens for outcome in flat]),
        epsilon_spent=mean(spent) if spent else None,
        seconds=mean([outcome.seconds for outcome in flat]),
        undecided=mean([float(outcome.stopped == "undecided") for outcome in flat]),
        answers=len(flat),
    )


def _write(path: Path, outcomes: dict[Algorithm | ManyQuestions, list[list[Outcome]]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for algorithm, groups in outcomes.items():
            for outcome in (outcome for group in groups for outcome in group):
                record = {"algorithm": algorithm.name, "parameters": parameters(algorithm), **asdict(outcome)}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")

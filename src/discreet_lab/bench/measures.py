"""The measures of answers, by the names of columns."""

from collections.abc import Callable, Sequence
from typing import Any

from discreet.query.known_answers import KnownQuestion, matches
from discreet_lab.bench.table import Data
from discreet_lab.evaluation.experiment import ScoredAnswer
from discreet_lab.evaluation.metrics import (
    PACKAGED,
    bert_score,
    levenshtein,
    mean_and_margin,
    open_token_embedder,
    rouge_1,
    rouge_l,
    token_f1,
)

Measure = Callable[[str, Sequence[str]], float]

TEXT_MEASURES: dict[str, Measure] = {
    "accuracy": lambda said, answers: float(matches(said, answers)),
    "F1": lambda said, answers: max(token_f1(said, one) for one in answers),
    "ROUGE-1": lambda said, answers: max(rouge_1(said, one) for one in answers),
    "ROUGE-L": lambda said, answers: max(rouge_l(said, one) for one in answers),
    "Levenshtein": lambda said, answers: max(levenshtein(said, one) for one in answers),
}
"""Measures of a text against the answers of its question."""
OUTCOME_MEASURES: dict[str, Callable[[ScoredAnswer], float]] = {
    "tokens": lambda one: one.tokens,
    "private tokens": lambda one: one.private_tokens,
    "passed": lambda one: float(one.released),
    "undecided": lambda one: float(one.stopped == "undecided"),
}
"""Measures of an answer by itself."""
BERT_SCORE = "BERTScore"
MARGIN = "margin"
FOR_REFERENCES = ("ROUGE-1", BERT_SCORE)
"""What stands in place of match accuracy where questions have references."""


def columns_on(columns: Sequence[str], data: Data) -> tuple[str, ...]:
    """Return the measured columns on data of a kind: references are compared by likeness, not by a match."""
    if data is not Data.DIALOGUES or "accuracy" not in columns:
        return tuple(columns)
    names = [one for name in columns for one in (FOR_REFERENCES if name == "accuracy" else (name,)) if one != MARGIN]
    return tuple(dict.fromkeys(names))


def measured(
    columns: Sequence[str],
    questions: Sequence[KnownQuestion],
    outcomes: Sequence[Sequence[ScoredAnswer]],
    encoder: str = PACKAGED,
) -> dict[str, Any]:
    """Return the means of each column over questions, each with answers of several seeds."""
    row: dict[str, Any] = {}
    for name in columns:
        if name == MARGIN:
            continue
        groups = [
            [_value(name, question, outcome, encoder) for outcome in group]
            for question, group in zip(questions, outcomes, strict=True)
        ]
        mean, margin = mean_and_margin(groups)
        row[name] = mean
        if MARGIN in columns and MARGIN not in row:  # of the first measure
            row[MARGIN] = margin
    return {name: row[name] for name in columns}


def _value(name: str, question: KnownQuestion, outcome: ScoredAnswer, encoder: str) -> float:
    if name in OUTCOME_MEASURES:
        return OUTCOME_MEASURES[name](outcome)
    return measure_text(name, outcome.answer, question.answers, encoder)


def measure_text(name: str, text: str, answers: Sequence[str], encoder: str = PACKAGED) -> float:
    """Return a measure of a text against the answers of its question; BERTScore by the encoder of this name."""
    if name == BERT_SCORE:
        return bert_score(text, answers, open_token_embedder(encoder)).f1
    return TEXT_MEASURES[name](text, answers)


def mean_of_texts(
    name: str, questions: Sequence[KnownQuestion], texts: Sequence[str], encoder: str = PACKAGED
) -> float:
    """Return the mean of a measure of texts over questions, one text each."""
    values = [
        measure_text(name, text, question.answers, encoder) for question, text in zip(questions, texts, strict=True)
    ]
    return sum(values) / len(values)

"""Closed choices: soft scores of each choice beside hard votes, at the same price."""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.algorithms.consensus import Consensus
from discreet.algorithms.text.normalize import choice
from discreet.models.answers import write_answers
from discreet.models.prompts import DOCUMENT_TOKENS, Layout, layout
from discreet.models.protocol import ScoringModel
from discreet.query.known_answers import read_questions
from discreet.store.documents import Document
from discreet_lab.experiments.attacks import records
from discreet_lab.experiments.common import TableWriter, add_csv_option, add_model_option, model_name, vault_at

Weights = NDArray[np.float64]
"""What voters say of each choice, shape (voters, choices): not negative, and 1 at most in all for a voter."""
TOKENS, ROWS, PREFIX = 16, 10, "The disease is"


def probabilities(weights: Weights, epsilon: float) -> Weights:
    """Return how probably each choice is released, exactly, if voters come and go: the exponential mechanism.

    A voter adds weights of 1 at most in all, and none below 0. So the sums move in one direction, each by 1 at most,
    as counts of votes do, and the price is that of one vote: a log-ratio spans `epsilon` at most.
    """
    sums = epsilon * weights.sum(axis=0)
    law = np.exp(sums - sums.max())
    return np.asarray(law / law.sum())


def hard(answers: Sequence[str], choices: Sequence[str]) -> Weights:
    """Return the vote of each answer for the choice that it names; none for an answer that names none."""
    votes = np.zeros((len(answers), len(choices)))
    for row, answer in enumerate(answers):
        if (named := choice(answer, tuple(choices))) is not None:
            votes[row, named] = 1
    return votes


def soft(logarithms: Weights) -> Weights:
    """Return each voter's probability of each choice, from the log-probabilities of their words."""
    scaled = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


def likelihoods(model: ScoringModel, laid_out: Layout, texts: Sequence[str], choices: Sequence[str]) -> Weights:
    """Return the mean log-probability of each choice's tokens after each text."""
    words = [model.encode(f" {one}") for one in choices]
    prompts = [laid_out.prompt(model.encode(text)[: laid_out.document_tokens]) for text in texts]
    decoding = model.start(laid_out.shared, prompts, max(map(len, words)))
    totals = np.zeros((len(texts), len(choices)))
    for column, tokens in enumerate(words):
        for token in tokens:
            logits = decoding.logits().astype(np.float64)
            largest = logits.max(axis=1, keepdims=True)
            totals[:, column] += logits[:, token] - largest[:, 0] - np.log(np.exp(logits - largest).sum(axis=1))
            decoding.append(token)
        totals[:, column] /= len(tokens)
        decoding.truncate(0)
    return totals


def compare_choices(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """How often the right one of public choices is released, by hard votes and by soft scores.

    DATA has `documents.jsonl` and `questions.jsonl`, of which those of one kind are asked; their answers are the
    choices. The nearest units vote. A hard vote is the choice that a voter's answer names, and "one vote" that which
    its scores have as the largest. The probability of a release is exact, without draws; the margin is over questions.
    """
    parser.add_argument("data", type=Path)
    parser.add_argument("--kind", default="symptoms-to-disease")
    parser.add_argument("--limit", type=int, default=12)
    parser.add_argument("--voters", type=int, default=20)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.1, 0.25, 0.5, 1.0])
    parser.add_argument("--vault", type=Path, required=True, help="a vault of the documents, made if it is not there")
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    rows = records(given.data / "documents.jsonl")
    documents = [Document(row["id"], row["unit"], row["text"]) for row in rows]
    vault = vault_at(given.vault, given.model, lambda made: made.add_documents(documents), epsilon=20, delta=1e-6)
    chosen = [one for one in read_questions(given.data / "questions.jsonl", None) if one.kind == given.kind]
    choices = sorted({one.answers[0] for one in chosen})
    step = max(1, len(chosen) // given.limit)
    by_way: dict[str, list[tuple[Weights, int]]] = {"hard votes": [], "one vote": [], "soft scores": []}
    model: Any = vault.model
    voter = Consensus(choices=tuple(choices), voters=given.voters)
    for question in chosen[::step][: given.limit]:
        passages = vault.components.baseline_corpus.unsealed_passages(question.question, given.voters)
        texts, right = [passage.text for passage in passages], choices.index(question.answers[0])
        same: Any = {"document_tokens": DOCUMENT_TOKENS, "max_tokens": TOKENS}
        asks = voter.asked(question.question)
        told, scored = (layout(model, asks, prefix=prefix, **same) for prefix in ("", PREFIX))
        said: list[str] = []
        logarithms: list[Weights] = []
        for start in range(0, len(texts), ROWS):
            block = texts[start : start + ROWS]
            prompts = [told.prompt(model.encode(text)[:DOCUMENT_TOKENS]) for text in block]
            said += [one.text for one in write_answers(model, told.shared, prompts, TOKENS, all_steps=False)]
            logarithms.append(likelihoods(model, scored, block, choices))
        weights = soft(np.concatenate(logarithms))
        by_way["hard votes"].append((hard(said, choices), right))
        by_way["one vote"].append((np.eye(len(choices))[weights.argmax(axis=1)], right))
        by_way["soft scores"].append((weights, right))
    table = TableWriter(["votes", "epsilon", "released the right one", "margin", "without noise"], given.csv)
    for name, cases in by_way.items():
        best = np.mean([weights.sum(axis=0).argmax() == right for weights, right in cases])
        for epsilon in given.epsilon:
            each = [probabilities(weights, epsilon)[right] for weights, right in cases]
            margin = 1.96 * np.std(each, ddof=1) / math.sqrt(len(each))
            table.write([name, f"{epsilon:g}", f"{np.mean(each):.2f}", f"{margin:.2f}", f"{best:.2f}"])
    print(f"\n{len(choices)} choices, {given.limit} questions, {given.voters} voters; {model_name(given.model)}")

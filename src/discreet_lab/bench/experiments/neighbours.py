"""Nearest neighbours: of projected embeddings, and documents that are near to several questions. No model is asked."""

from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from discreet.export import draw_matrix
from discreet.privacy.noise import InsecureSeededNoise
from discreet.query.known_answers import matches
from discreet.store.embedding import embed_questions
from discreet_lab.attacks.targets import SimulatedExport
from discreet_lab.baselines.datastore import Neighbours
from discreet_lab.bench.run import BenchRun
from discreet_lab.bench.table import Row
from discreet_lab.claims import ALPHA, ProjectionClaim, best_order
from discreet_lab.projection import Projection, Transform

DELTA = 1e-5
NEAREST = 10
"""The number of nearest documents whose answers are counted."""
Vectors = NDArray[np.float32]
Right = NDArray[np.bool_]
"""Which document holds an answer to which question, shape (questions, documents)."""


def share_right(documents: Vectors, questions: Vectors, right: Right, count: int, *, inner: bool = False) -> float:
    """Return the share of the nearest documents that hold an answer; nearest by inner product with `inner`."""
    if inner:
        ranks = np.argsort(-(questions @ documents.T), axis=1, kind="stable")[:, :count]
    else:
        _, ranks = Neighbours.of(documents).nearest(questions, count)
    return float(np.mean(np.take_along_axis(right, ranks, axis=1)))


def mean_share_right(
    transforms: Sequence[Transform], documents: Vectors, questions: Vectors, right: Right, count: int, *, inner: bool
) -> float:
    """Return the mean share over several matrices and their noise."""
    shares = [
        share_right(one.documents(documents), one.questions(questions), right, count, inner=inner) for one in transforms
    ]
    return float(np.mean(shares))


def run_projection(given: BenchRun) -> list[Row]:
    """Return, for each k, what is found among projected embeddings, and the epsilon of a sound release."""
    passages, questions, right = _embedded(given)
    plain = share_right(passages, questions, right, NEAREST)
    given.notes.append(f"Embeddings without projection find {plain:.3f}; passages at random {np.mean(right):.3f}.")
    rows: list[Row] = []
    advance = given.count("projecting", len(given.values["k"]))
    for k in given.values["k"]:
        seeds = range(given.seed, given.seed + given.seeds)
        drawn = [(seed, draw_matrix(passages.shape[1], k, InsecureSeededNoise(seed))) for seed in seeds]
        projected = [Projection(matrix) for _, matrix in drawn]
        share = mean_share_right(projected, passages, questions, right, NEAREST, inner=False)
        row: Row = {"k": k, "found": share, "kept": share / plain if plain else None}
        for epsilon in given.values["epsilon"]:
            sound = [SimulatedExport(matrix, InsecureSeededNoise(100 + s), epsilon, DELTA) for s, matrix in drawn]
            row[f"sound, epsilon {epsilon:g}"] = mean_share_right(
                sound, passages, questions, right, NEAREST, inner=True
            )
        rows.append(row)
        advance()
    return rows


def run_claim(given: BenchRun) -> list[Row]:
    """Return, for each gamma, Delta and sigma, the claimed epsilon, and what the same vectors find."""
    passages, questions, right = _embedded(given)
    k = given.one("k")
    drawn = [
        draw_matrix(passages.shape[1], k, InsecureSeededNoise(seed))
        for seed in range(given.seed, given.seed + given.seeds)
    ]
    cells = list(product(given.values["gamma"], given.values["Delta"], given.values["sigma"]))
    advance = given.count("projecting", len(cells))
    rows: list[Row] = []
    for gamma, largest, sigma in cells:
        transforms = [Projection(matrix, gamma, largest, sigma) for matrix in drawn]
        rows.append(
            {
                "gamma": gamma,
                "Delta": largest,
                "sigma": sigma,
                "found": mean_share_right(transforms, passages, questions, right, NEAREST, inner=False),
                f"claimed at order {ALPHA:g}": ProjectionClaim(k, gamma, largest, ALPHA).epsilon,
                "claimed at delta 1e-5": best_order(k, gamma, largest, DELTA).converted(DELTA),
            }
        )
        advance()
    return rows


def run_overlap(given: BenchRun) -> list[Row]:
    """Return how many documents are among the nearest K of so many questions."""
    nearest = given.one("nearest")
    times: Counter[str] = Counter()
    advance = given.count("searching", len(given.questions))
    for question in given.questions:
        passages = given.vault.components.baseline_corpus.unsealed_passages(question.question, nearest)
        times.update({passage.unit for passage in passages})
        advance()
    edges = given.one("edges")
    rows: list[Row] = []
    for low, high in zip(edges, [*edges[1:], None], strict=True):
        counted = sum(low <= one and (high is None or one < high) for one in times.values())
        last = None if high is None else high - 1
        name = f"{low} or more" if last is None else str(low) if last == low else f"{low} to {last}"
        share = counted / len(times) if times else None
        rows.append({"questions that it is near": name, "documents": counted, "share": share})
    return rows


def _embedded(given: BenchRun) -> tuple[Vectors, Vectors, Right]:
    """Return the vectors of passages, as stored, and of questions; and which passage holds an answer."""
    vault = given.vault
    stored = vault.store.texts()
    passages = np.stack([one.vector for one in stored]).astype(np.float32) / np.float32(vault.store.scale)
    questions = embed_questions(vault.embedder, [one.question for one in given.questions])
    right = np.array([[matches(one.text, question.answers) for one in stored] for question in given.questions])
    return passages, questions, right

"""How well nearest neighbours are found among projected embeddings, by k and by claimed and sound epsilon.

    .venv/bin/python -m benchmarks.projection DATA/documents.jsonl DATA/questions.jsonl [--figures docs/figures]
        [--k 8 16 32 64 128 256] [--epsilon 1 10 100 1000 10000 100000] [--nearest 10] [--seeds 3]

Prints two Markdown tables. Quality is the share of the `--nearest` units whose passage holds an answer. "kept": as a
part of what embeddings as they are have. First table: the paper's projection; what Theorem 1 claims at delta 1e-5 at
its best order, for norms between 1 and 2 and for such as are equal within a thousandth, which embeddings of length one
are. (sigma is a factor of all distances: it changes neither column.) Second table: the vectors of `discreet
export-vectors`, with a guarantee, ranked by inner product. Matrices and noise are seeded. With `--figures` a plot is
written there.
"""

import argparse
from pathlib import Path

import numpy as np
from benchmarks.writing import TableWriter, add_csv_option, name_part
from numpy.typing import NDArray

from discreet.export.vectors import draw_matrix
from discreet.privacy.noise import InsecureSeededNoise
from discreet.query.known_answers import matches, read_questions
from discreet.reading.intake import read_documents
from discreet.retrieval.documents import Document
from discreet.retrieval.embedding import open_embedder
from discreet_lab.attacks.exports import SimulatedExport
from discreet_lab.bench.experiments.neighbours import mean_share_right, share_right
from discreet_lab.claims import best_order
from discreet_lab.projection import Projection, Transform

DELTA = 1e-5


def plot(
    file: Path, plain: float, claimed: list[tuple[float, float]], sound: dict[int, list[tuple[float, float]]]
) -> None:
    """Quality against epsilon."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "discreet"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    axes.axhline(plain, color="grey", linestyle=":", label="embeddings as they are")
    axes.plot(*zip(*claimed, strict=True), marker="x", color="black", linestyle="--", label="claimed (norms 1 to 2)")
    for k, points in sound.items():
        axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=f"sound, k {k}")
    axes.set_xscale("log")
    axes.set_xlabel(f"epsilon at delta {DELTA:g}")
    axes.set_ylabel("share of the nearest that hold an answer")
    axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--embedder", default="minilm+words")
    parser.add_argument("--k", type=int, nargs="+", default=[8, 16, 32, 64, 128, 256])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 10.0, 100.0, 1e3, 1e4, 1e5])
    parser.add_argument("--nearest", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--figures", type=Path)
    add_csv_option(parser)
    given = parser.parse_args()
    read = [record for record in read_documents(given.documents) if isinstance(record, Document)]
    asked = read_questions(given.questions)
    embedder = open_embedder(given.embedder)
    documents = embedder.embed([document.text for document in read])
    questions = embedder.embed([question.question for question in asked])
    right = np.array([[matches(document.text, question.answers) for document in read] for question in asked])
    plain = share_right(documents, questions, right, given.nearest)

    def matrices(k: int) -> list[tuple[int, NDArray[np.int64]]]:
        return [(s, draw_matrix(embedder.dimension, k, InsecureSeededNoise(s))) for s in range(given.seeds)]

    print(f"Embeddings as they are: {plain:.3f}\n")
    table = TableWriter(["k", "quality", "kept", "claimed, norms 1 to 2", "claimed, norms equal"], given.csv)
    claimed = []
    for k in given.k:
        one = mean_share_right(
            [Projection(m) for _, m in matrices(k)], documents, questions, right, given.nearest, inner=False
        )
        wide, narrow = (best_order(k, 1.0, norm, DELTA).converted(DELTA) for norm in (2.0, 1.001))
        claimed.append((wide, one))
        table.write([str(k), f"{one:.3f}", f"{one / plain:.2f}", f"{wide:.1f}", f"{narrow:.2f}"])
    print()
    columns = ["k", *(f"sound epsilon {epsilon:g}" for epsilon in given.epsilon)]
    table = TableWriter(columns, name_part(given.csv, "sound"))
    sound: dict[int, list[tuple[float, float]]] = {}
    for k in given.k:
        sound[k] = []
        for epsilon in given.epsilon:
            made: list[Transform] = [
                SimulatedExport(m, InsecureSeededNoise(100 + s), epsilon, DELTA) for s, m in matrices(k)
            ]
            sound[k].append((epsilon, mean_share_right(made, documents, questions, right, given.nearest, inner=True)))
        table.write([str(k), *(f"{value:.3f}" for _, value in sound[k])])
    made_of = f"{len(read)} documents, {len(asked)} questions, {given.seeds} seeds, {given.embedder}"
    print(f"\n{made_of}; by chance {np.mean(right):.3f}")
    enough = [str(k) for k, (_, value) in zip(given.k, claimed, strict=True) if value >= 0.9 * plain]
    print(f"Smallest k that keeps nine tenths: {enough[0] if enough else 'none of these'}.")
    if given.figures:
        plot(given.figures / "projection.svg", plain, claimed, sound)


if __name__ == "__main__":
    main()

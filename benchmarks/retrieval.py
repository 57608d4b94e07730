"""How fast documents are searched and indexed.

.venv/bin/python -m benchmarks.retrieval search [--documents 100000]
.venv/bin/python -m benchmarks.retrieval index [--documents 2000] [--embedder minilm+words]
"""

import argparse
import statistics
import tempfile
import time
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.writing import add_csv_option, write_table

from discreet.baselines.corpus import BaselineCorpus
from discreet.demo.corpus import documents
from discreet.query.known_answers import matches, read_questions
from discreet.reading.intake import read_documents
from discreet.retrieval.documents import Document
from discreet.retrieval.embedded_store import EmbeddedStore
from discreet.retrieval.embedding import open_embedder
from discreet.retrieval.indexer import Indexer
from discreet.retrieval.store import Piece


def seconds(work: Callable[[], Any], times: int = 1) -> float:
    """The median time of `work`."""
    return statistics.median(timeit.repeat(work, number=1, repeat=times))


def search(count: int, dimension: int, path: Path | None) -> None:
    """80 units among many, against reading all vectors once."""
    generator = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        store = EmbeddedStore(Path(folder), dimension)
        for start in range(0, count, 5000):
            vectors = generator.normal(size=(5000, dimension)).astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            with store.batch():
                for row, vector in enumerate(vectors, start):
                    store.put(Document(f"d{row}", f"u{row}", "text"), [Piece("text", vector)])
        file = next(Path(folder).glob("vectors*"))
        query = vectors[0]
        ours = seconds(lambda: store.nearest_units(query, 80), 9)
        mapped = np.memmap(file, dtype=np.float32, mode="r")
        read = seconds(lambda: float(mapped.sum()), 9)
        product = seconds(lambda: mapped[: count * dimension].reshape(-1, dimension) @ query, 9)
    print(f"80 units among {count} documents of {dimension} numbers\n")
    times = {"search": ours, "reading the vectors once": read, "the bare product": product}
    rows = ([name, f"{value * 1000:.1f}", f"{ours / value:.2f}"] for name, value in times.items())
    write_table(["measured", "ms", "ratio"], rows, path)


def index(count: int, name: str) -> None:
    """Documents a second, through embedding and storing."""
    embedder = open_embedder(name)
    made = [
        Document(f"{document.id}-{copy}", f"{document.unit} {copy}", f"{document.text} {document.text}")
        for copy in range(-(-count // 1200))
        for document in documents(1200, seed=copy)
    ][:count]
    with tempfile.TemporaryDirectory() as folder:
        indexer = Indexer(EmbeddedStore(Path(folder), embedder.dimension), embedder)
        start = time.perf_counter()
        indexer.index(made)
        taken = time.perf_counter() - start
    characters = statistics.mean(len(document.text) for document in made)
    print(f"{name}: {count / taken:.0f} documents a second ({count} documents of {characters:.0f} characters)")


def precision(name: str, texts: Path, asked: Path, path: Path | None) -> None:
    """Of the 40 nearest units to a question, the share whose passage holds an answer, by kind of question."""
    embedder = open_embedder(name)
    shares: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        store = EmbeddedStore(Path(folder), embedder.dimension)
        corpus = BaselineCorpus(store, embedder)
        Indexer(store, embedder).index(record for record in read_documents(texts) if isinstance(record, Document))
        for question in read_questions(asked):
            found = corpus.unsealed_passages(question.question, 40)
            shares.setdefault(question.kind, []).append(
                statistics.mean(matches(passage.text, question.answers) for passage in found)
            )
    row = [name, *(f"{statistics.mean(values):.2f}" for values in shares.values())]
    write_table(["embedder", *shares], [row], path)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["search", "index", "precision"])
    parser.add_argument("--documents", type=int, default=0)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--embedder", default="minilm+words")
    parser.add_argument("--data", type=Path, nargs=2)
    add_csv_option(parser)
    given = parser.parse_args()
    if given.what == "precision":
        texts, asked = given.data
        precision(given.embedder, texts, asked, given.csv)
    elif given.what == "search":
        search(given.documents or 100_000, given.dimension, given.csv)
    else:
        index(given.documents or 2000, given.embedder)


if __name__ == "__main__":
    main()

"""What kNN-LM takes: its datastore of many entries, and an answer, with and without projection.

    .venv/bin/python -m benchmarks.knn_lm DATA/documents.jsonl.gz [--entries 500000] [--k 64] [--tokens 32] [--rounds 5]

Builds the datastore of the first `--entries` contexts of the documents in a folder, projects it, and continues a
prompt: by the model alone, and mixed with 1024 neighbours of each datastore. Times of an answer, and of a look-up of
one context and of 32 at once, are medians of rounds in which all take turns. Prints Markdown.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from benchmarks.models import add_model_option, asked_model
from benchmarks.writing import add_csv_option, write_table

from discreet.export.vectors import draw_matrix
from discreet.privacy.noise import InsecureSeededNoise
from discreet.reading.intake import read_documents
from discreet.retrieval.documents import Document
from discreet_lab.baselines.brute_force_knn import Neighbours
from discreet_lab.baselines.datastore import Datastore, kept
from discreet_lab.baselines.knn_lm import KnnLM
from discreet_lab.projection import Projection, Untouched

PROMPT = "The doctor told me that"


def seconds(work: Callable[[], object]) -> float:
    """How long it takes, once."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path)
    parser.add_argument("--entries", type=int, default=500_000)
    parser.add_argument("--k", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args()
    texts = [record.text for record in read_documents(given.documents) if isinstance(record, Document)]
    model, algorithm = asked_model(given.model), KnnLM(max_tokens=given.tokens)
    size = model.state_size
    raw, projection = Untouched(size), Projection(draw_matrix(size, given.k, InsecureSeededNoise(0)))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "datastore"
        begin = time.perf_counter()
        plain = kept(place, texts, model, raw, given.entries)
        built = time.perf_counter() - begin
        begin = time.perf_counter()
        projected = Datastore(projection, Neighbours.of(projection.documents(plain.keys.keys)), plain.tokens)
        taken = time.perf_counter() - begin
        disk = sum(file.stat().st_size for file in place.iterdir()) / 2**20
        print(
            f"{len(plain):,} entries of {len(texts):,} documents, built in {built:.0f} seconds "
            f"({len(plain) / built:.0f} a second), {disk:.0f} MiB on disk; projected in {taken:.1f} seconds.\n",
            flush=True,
        )
        stores = {
            "the model alone": Datastore(raw, Neighbours.of(plain.keys.keys[:0]), plain.tokens[:0]),
            "states as they are": plain,
            "projected": projected,
        }
        states = np.asarray(plain.keys.keys[:: max(1, len(plain) // 32)][:32])
        prompt = model.encode(PROMPT)
        found: dict[str, list[list[float]]] = {name: [[], [], []] for name in stores}
        for _ in range(given.rounds):
            for name, store in stores.items():
                found[name][0].append(seconds(lambda s=store: algorithm.continue_all(s, model, [prompt])))  # type: ignore[misc]
                if len(store):
                    found[name][1].append(seconds(lambda s=store: algorithm.looked_up(s, states[:1])))  # type: ignore[misc]
                    found[name][2].append(seconds(lambda s=store: algorithm.looked_up(s, states)))  # type: ignore[misc]
        print()
        rows, alone = [], median(found["the model alone"][0])
        for name, (answers, one, many) in found.items():
            looked = [f"{1000 * median(one):.1f}", f"{1000 * median(many) / len(states):.1f}"] if one else ["-", "-"]
            rows.append([name, f"{median(answers):.2f}", f"{median(answers) / alone:.2f}", *looked])
        columns = [f"answers of {given.tokens} tokens", "seconds", "ratio", "a look-up, ms", "of 32, ms each"]
        write_table(columns, rows, given.csv)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\n{model.name}, k {given.k}, 1024 neighbours, medians of {given.rounds} rounds; peak memory {peak:.1f} GiB")


if __name__ == "__main__":
    main()

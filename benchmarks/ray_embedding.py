"""Embedding on a Ray cluster of one machine: records a second, and whether the vectors are those of one process.

    .venv/bin/python -m benchmarks.ray_embedding [--records 5000] [--embedder minilm+words] [--csv PATH]

The records are notes of the fictional hospital. They are added to a new vault each time: by one process, and by a
cluster with one and with two workers (`discreet add --ray`). "from the start" counts the start of the cluster and of
the workers, too; "after that" counts from the first 256 records of each worker on. "1,000,000 records" is the time of a
million at the latter rate: an extrapolation. Ends with 1 if a vector differs.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.writing import TableWriter, add_csv_option

from discreet.demo.corpus import documents
from discreet.engines.ray import HERE, RayEmbedder
from discreet.retrieval.documents import Document
from discreet.retrieval.embedding import open_embedder
from discreet.retrieval.indexer import Indexer
from discreet.vault import Vault

COLUMNS = (
    *("embedded by", "records/s from the start", "records/s after that", "over one process"),
    *("1,000,000 records, hours", "equal vectors"),
)
Times = list[tuple[float, int]]

LEAST = 5000


def add(path: Path, notes: list[Document], embedder: str, workers: int) -> tuple[Times, bytes]:
    """Add the notes to a new vault; return when how many were stored, and the file of the vectors."""
    vault = Vault.create(path, epsilon=10, delta=1e-6, embedder=embedder)
    begun, stored = time.monotonic(), Times([(0.0, 0)])
    here = open_embedder(embedder)
    spread = RayEmbedder(here, HERE, workers) if workers else None
    try:

        def told(count: int) -> None:
            if count:
                stored.append((time.monotonic() - begun, stored[-1][1] + count))

        Indexer(vault.store, spread or here).index(notes, progress=told)
    finally:
        if spread:
            spread.close()
    return stored, (path / "store" / "vectors.f32").read_bytes()


def made_notes(records: int) -> list[Document]:
    """Return notes of the hospital, each of an individual of its own, with a number that makes each text another."""
    notes = list(documents())
    return [Document(f"n{at}", f"p{at}", f"{notes[at % len(notes)].text} Note {at}.") for at in range(records)]


def measure(folder: Path, given: argparse.Namespace) -> bool:
    """Print the table; return whether all vectors are equal."""
    notes = made_notes(given.records)
    open_embedder(given.embedder)  # loaded once, outside of the times
    table, first, equal = TableWriter(COLUMNS, given.csv), 0.0, True
    expected = b""
    for workers in (0, 1, 2):
        stored, found = add(folder / str(workers), notes, given.embedder, workers)
        expected = found if workers == 0 else expected
        same = found == expected
        equal = equal and same
        (early, before), (end, total) = stored[max(1, workers)], stored[-1]
        rate = (total - before) / (end - early)
        first = first or rate
        name = f"a cluster, {workers} worker{'s' * (workers > 1)}" if workers else "one process"
        cells = [f"{total / end:.0f}", f"{rate:.0f}", f"{rate / first:.2f}", f"{1e6 / rate / 3600:.1f}"]
        table.write([name, *cells, "yes" if same else "NO"])
    return equal


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=5000)
    parser.add_argument("--embedder", default="minilm+words")
    add_csv_option(parser)
    given = parser.parse_args()
    if given.records < LEAST:
        parser.error(f"--records is at least {LEAST}: a worker embeds 256 together, and few such groups give no rate.")
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(not measure(Path(folder), given))


if __name__ == "__main__":
    main()

"""How fast the store in Qdrant searches, adds and erases, beside the embedded store in the same run.

PYTHONPATH=.:examples/discreet-qdrant/tests .venv/bin/python examples/discreet-qdrant/benchmark.py
    [--documents 10000 100000] [--dimension 384] [--csv FILE]

Qdrant's own engine runs in this process (the package qdrant-edge-py), since no package has its server. Requests over
HTTP go to a stand-in for the server, in Python, over the same engine. All stores get the same random vectors of single
chunks, one chunk a unit, and their results are compared.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from discreet_qdrant.address import read_address
from discreet_qdrant.client import Client
from discreet_qdrant.engine import Engine
from discreet_qdrant.store import QdrantStore
from qdrant_server import StandIn, qdrant_server

from discreet.store.embedded_store import EmbeddedStore
from discreet_lab.experiments.common import TableWriter, add_csv_option
from discreet_lab.experiments.scale import WANTED, change, fill, question, seconds

CAP = 50
"""The cap of chunks that is measured: 80 units then need 4,000 points."""


def measure(count: int, dimension: int, writer: TableWriter) -> None:
    """Measure the stores, and print the times and their ratios."""
    generator = np.random.default_rng(1)
    vectors = generator.normal(size=(count, dimension)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with tempfile.TemporaryDirectory() as made, qdrant_server(Path(made) / "qdrant") as (address, stand_in):
        stand_in.engine.dimension = dimension
        compare(Path(made), stand_in, Client(read_address(address)), vectors, writer)


def compare(folder: Path, stand_in: StandIn, client: Client, vectors: Any, writer: TableWriter) -> None:
    """Fill, ask, change and erase in all."""
    engine, dimension, query = stand_in.engine, vectors.shape[1], vectors[0]

    def write(what: str, one: float, other: float) -> None:
        writer.write([f"{len(vectors):,}", what, f"{one * 1000:.0f}", f"{other * 1000:.0f}", f"{other / one:.1f}"])

    def opened(by: Engine, cap: int = 0) -> QdrantStore:
        return QdrantStore(folder / "theirs", dimension, None, by, "store_1-", cap)

    own, theirs = EmbeddedStore(folder / "own", dimension), opened(engine)
    write("adding all", fill(own, vectors), fill(theirs, vectors))
    write("first question", seconds(lambda: question(own, query)), seconds(lambda: question(theirs, query)))
    if own.nearest_units(query, WANTED) != theirs.nearest_units(query, WANTED):
        raise SystemExit("The stores found different units.")
    ours = seconds(lambda: question(own, query), 7)
    write("a question: all points", ours, seconds(lambda: question(theirs, query), 7))
    capped = opened(engine, CAP)
    if capped.nearest_units(query, WANTED) != theirs.nearest_units(query, WANTED):
        raise SystemExit("The stores found different units.")
    write(f"a question: a cap of {CAP} chunks", ours, seconds(lambda: question(capped, query), 7))
    (name,) = engine.names("store_1-")
    stand_in.settings[name] = {"vectors": {"size": dimension, "distance": "Dot"}}
    over = opened(client)
    question(over, query)
    write("a question: all points, over HTTP", ours, seconds(lambda: question(over, query), 3))
    capped = opened(client, CAP)
    question(capped, query)
    write(f"a question: a cap of {CAP} chunks, over HTTP", ours, seconds(lambda: question(capped, query), 3))
    change(own, theirs, query, vectors[1], write)
    own.close()
    theirs.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--dimension", type=int, default=384)
    add_csv_option(parser)
    given = parser.parse_args()
    writer = TableWriter(["documents", "measured", "embedded, ms", "Qdrant, ms", "ratio"], given.csv)
    for count in given.documents:
        measure(count, given.dimension, writer)


if __name__ == "__main__":
    main()

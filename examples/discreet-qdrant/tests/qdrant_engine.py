"""Qdrant's own engine in this process (the package qdrant-edge-py), behind the seam that the store uses.

It is the engine of Qdrant's server, without the server: no network, no cluster, no background optimizers.
"""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from discreet_qdrant.engine import MISSING, Found, Ids, Shape

from discreet.errors import StoreError
from discreet.store.vectors import Vector

PAGE = 1000


def qdrant_edge() -> Any:
    """The package, or a skip with a reason."""
    return pytest.importorskip(
        "qdrant_edge", reason="The store in Qdrant is tested where its engine is: pip install qdrant-edge-py"
    )


class EdgeEngine:
    """Collections in a folder. One object serves all stores, as one server would: a folder is opened once."""

    distance = "Dot"

    def __init__(self, folder: Path) -> None:
        self.edge, self.folder = qdrant_edge(), folder
        self.shards: dict[str, Any] = {}
        self.searches: list[int] = []
        self.altered: dict[str, Shape] = {}

    def names(self, prefix: str) -> list[str]:
        return sorted(name for name in self.shards if name.startswith(prefix))

    def make(self, name: str, dimension: int) -> None:
        edge = self.edge
        vectors = edge.EdgeVectorParams(size=dimension, distance=getattr(edge.Distance, self.distance))
        config = edge.EdgeConfig(vectors=vectors, optimizers=edge.EdgeOptimizersConfig(indexing_threshold=0))
        (self.folder / name).mkdir(parents=True)
        self.shards[name] = edge.EdgeShard.create(str(self.folder / name), config)

    def drop(self, name: str) -> None:
        self.shards.pop(name).close()
        shutil.rmtree(self.folder / name)

    def shape(self, name: str) -> Shape | None:
        if name not in self.shards:
            return None
        return self.altered.get(name, Shape(self.dimension, self.distance, True, True, 1))

    dimension = 6

    def add(self, name: str, ids: Sequence[int], vectors: Vector) -> None:
        edge = self.edge
        points = [edge.Point(number, vector.tolist(), {}) for number, vector in zip(ids, vectors, strict=True)]
        self.shards[name].update(edge.UpdateOperation.upsert_points(points))
        self.shards[name].flush()

    def search(self, name: str, question: Vector, limit: int, over: float | None = None) -> Found:
        self.searches.append(limit)
        return self.found(name, question, limit, over, None)

    def found(self, name: str, question: Vector, limit: int, over: float | None, only: Any) -> Found:
        """The points that an exact search of the engine finds, of those that pass the filter `only`."""
        edge = self.edge
        request = edge.QueryRequest(
            limit=limit,
            query=edge.Query.Nearest(question.tolist()),
            params=edge.SearchParams(exact=True),
            score_threshold=over,
            filter=only,
            with_payload=False,
            with_vector=False,
        )
        if name not in self.shards:
            raise StoreError(MISSING)
        found = self.shards[name].query(request)
        ids = np.fromiter((point.id for point in found), np.int64, len(found))
        return Found(ids, np.fromiter((point.score for point in found), np.float32, len(found)))

    def pages(self, name: str) -> Iterator[tuple[Ids, Vector]]:
        after = None
        while True:
            request = self.edge.ScrollRequest(limit=PAGE, offset=after, with_payload=False, with_vector=True)
            records, after = self.shards[name].scroll(request)
            if records:
                ids = np.array([record.id for record in records], np.int64)
                yield ids, np.array([record.vector for record in records], np.float32)
            if after is None:
                return

    def count(self, name: str) -> int:
        return int(self.shards[name].count(self.edge.CountRequest(exact=True)))

    def close(self) -> None:
        """Stay open: other stores use the engine."""

    def read_files(self) -> bytes:
        """The content of all files, without the zeros at their ends: the log of writes has 64 MiB of them."""
        for shard in self.shards.values():
            shard.flush()
        return b"".join(path.read_bytes().rstrip(b"\0") for path in self.folder.rglob("*") if path.is_file())

"""A Qdrant server, by the package qdrant-client. Errors contain neither its address nor its messages."""

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from discreet.errors import StoreError
from discreet.store.vectors import Vector
from discreet_qdrant.address import QdrantAddress
from discreet_qdrant.engine import MISSING, WRONG_SCORES, Found, Ids, Shape

KEY = "QDRANT_API_KEY"
PATIENCE = 120
"""The time to wait for the server, in seconds."""
_FIRST_PAGE, _PAGE_NUMBERS = 100, 2**19
_NO_PROXY = {"http://": None, "https://": None}
"""No proxy of the environment: `http_proxy` would send vectors and the key to another machine in plain text."""

_UNREACHED = "Qdrant cannot be reached, or does not answer. Check that its server runs, and run the command again."
_REFUSED = f"Qdrant refuses the request. Set the server's key in {KEY}; it must permit to make collections."
_FULL = "Qdrant has no room left. Nothing that was stored before is lost: free some space on its disk, and try again."
_FAILED = "Qdrant reports an error ({status}). Its log has the reason. Mend the server, and run the command again."
_MEANINGS = {401: _REFUSED, 403: _REFUSED, 404: MISSING, 507: _FULL}


class Client:
    """A connection to a server.

    Args:
        address: where the server is.
    """

    def __init__(self, address: QdrantAddress) -> None:
        from qdrant_client import QdrantClient, models  # takes a second

        self._models: Any = models
        key = os.environ.get(KEY)
        with explained(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `discreet_qdrant.check` warns of a connection without encryption
            self._client: Any = QdrantClient(
                url=address.url,
                port=None,
                api_key=key,
                timeout=PATIENCE,
                check_compatibility=False,
                mounts=_NO_PROXY,
            )

    def names(self, prefix: str) -> list[str]:
        """Return the names of the collections that begin with `prefix`."""
        with explained():
            found = self._client.get_collections().collections
        return sorted(one.name for one in found if one.name.startswith(prefix))

    def make(self, name: str, dimension: int) -> None:
        """Make a collection without an index of vectors: one shard, one copy, products."""
        models = self._models
        with explained():
            self._client.create_collection(
                name,
                vectors_config=models.VectorParams(
                    size=dimension, distance=models.Distance.DOT, datatype=models.Datatype.FLOAT32
                ),
                shard_number=1,
                replication_factor=1,
                hnsw_config=models.HnswConfigDiff(m=0),
                optimizers_config=models.OptimizersConfigDiff(indexing_threshold=0),
            )

    def drop(self, name: str) -> None:
        """Remove a collection with its files."""
        with explained():
            self._client.delete_collection(name)

    def shape(self, name: str) -> Shape | None:
        """Return the settings of a collection; None if there is none of this name."""
        from qdrant_client.http.exceptions import UnexpectedResponse

        with explained():
            try:
                config = self._client.get_collection(name).config
            except UnexpectedResponse as error:
                if error.status_code == 404:
                    return None
                raise
        vectors = config.params.vectors
        if not isinstance(vectors, self._models.VectorParams):
            return Shape(0, "", False, True, config.params.replication_factor or 1)
        return Shape(
            vectors.size,
            str(vectors.distance.value),
            vectors.datatype in (None, self._models.Datatype.FLOAT32)
            and config.quantization_config is None
            and vectors.quantization_config is None
            and vectors.multivector_config is None,
            not getattr(config.optimizer_config, "prevent_unoptimized", None),
            config.params.replication_factor or 1,
        )

    def add(self, name: str, ids: Sequence[int], vectors: Vector) -> None:
        """Add points. Return once they are durable, and found by searches."""
        # Whole numbers have shorter texts than floating-point numbers, and Qdrant reads both.
        batch = {"ids": list(ids), "vectors": vectors.astype(np.int64).tolist()}
        self._request("PUT", f"/collections/{name}/points", {"batch": batch}, wait="true")

    def search(self, name: str, question: Vector, limit: int, over: float | None = None) -> Found:
        """Return the points with the `limit` largest products by an exact search; with `over`, only larger ones."""
        body = {
            "query": {"nearest": question.tolist()},
            "params": {"exact": True, "quantization": {"ignore": True}},
            "limit": limit,
            "score_threshold": over,
            "with_payload": False,
            "with_vector": False,
        }
        reply = self._request("POST", f"/collections/{name}/points/query", body)
        with understood():
            points = reply["points"]
            ids = np.array([point["id"] for point in points], np.int64)
            return Found(ids, np.array([point["score"] for point in points], np.float32))

    def pages(self, name: str) -> Iterator[tuple[Ids, Vector]]:
        """Yield all points with their vectors, by their numbers."""
        body: dict[str, Any] = {"limit": _FIRST_PAGE, "with_payload": False, "with_vector": True}
        while True:
            reply = self._request("POST", f"/collections/{name}/points/scroll", body)
            with understood():
                points, after = reply["points"], reply.get("next_page_offset")
                ids = np.array([point["id"] for point in points], np.int64)
                vectors = np.array([point["vector"] for point in points], np.float32)
            if len(ids):
                yield ids, vectors
                body["limit"] = max(1, _PAGE_NUMBERS // vectors.shape[1])
            if after is None:
                return
            body["offset"] = after

    def _request(self, method: str, url: str, body: dict[str, Any], **parameters: str) -> Any:
        """Send a request by the client's connection.

        The client's own methods make and check an object for each point, which takes longer than an exact search.
        """
        with explained():
            reply = self._client.http.client.request(
                type_=dict, method=method, url=url, params={"timeout": PATIENCE, **parameters}, json=body
            )
        with understood():
            return reply["result"]

    def count(self, name: str) -> int:
        """Return the number of points."""
        with explained():
            return int(self._client.count(name, exact=True).count)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


@contextmanager
def understood() -> Iterator[None]:
    """Refuse a reply that has another form."""
    try:
        yield
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, IndexError):
        raise StoreError(WRONG_SCORES) from None


@contextmanager
def explained() -> Iterator[None]:
    """Convert errors of the client to a `StoreError` with a remedy."""
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith(("qdrant_client", "httpx", "pydantic")):
            raise
        raise StoreError(_meaning(error)) from None


def _meaning(error: Exception) -> str:
    status = getattr(error, "status_code", None)
    if status is None:
        return _UNREACHED
    return _MEANINGS.get(status, _FAILED.format(status=status))

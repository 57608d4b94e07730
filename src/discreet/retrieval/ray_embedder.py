"""An embedder whose work a Ray cluster does: texts go through Ray Data, and vectors come back in their order.

The vector of a document must not depend on the machine that computes it. So each worker embeds the same public texts
when it starts, and is refused if a vector differs in a bit from that of this process. This process stores the vectors:
workers see texts, and no store.

A worker that is killed loses nothing: Ray gives its texts to another one.
"""

import hashlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from discreet.errors import DiscreetError, MissingPart
from discreet.retrieval.embedding import Embedder, Told, Vectors, open_embedder
from discreet.system.progress import stage
from discreet.system.ray_cluster import HERE, connect_ray, leave_ray

_AT_ONCE = 256
"""Texts in a task: as many as in a group without a cluster."""
_PUBLIC = tuple("red house three rain " * length for length in (1, 3, 7, 11, 15, 19, 23, 29, 39, 64))
"""Texts of many lengths, since the shape of a computation depends on the length."""


class RayEmbedder:
    """An `Embedder` on a Ray cluster. `close` leaves the cluster.

    Attributes:
        name, dimension: those of the embedder.
        workers: the number of processors of the cluster. Each of them embeds.
        documents_at_once: documents in a group, so that all workers have work. Each is stored when its vectors arrive.
    """

    def __init__(self, embedder: Embedder, address: str, workers: int = 0) -> None:
        """Join a cluster.

        Args:
            embedder: the same embedder, in this process.
            address: host:port of the cluster's head; "local" starts one on this machine.
            workers: the number of processors of a cluster on this machine; all processors if 0.

        Raises:
            MissingPart: if Ray Data is not installed.
            UsageError: if the address is invalid.
            DiscreetError: if no cluster answers.
        """
        self.name, self.dimension = embedder.name, embedder.dimension
        self._digest, self._address = digest_of(embedder), address
        self._running = False
        with stage("Starting a cluster on this machine" if address == HERE else "Joining the cluster"):
            self._ray = connect_ray(address, workers)
        try:
            self._data = _quiet_data()
            self.workers = int(self._ray.cluster_resources().get("CPU", 1))
            self.documents_at_once = 32 * _AT_ONCE * self.workers
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave the cluster."""
        leave_ray(self._address)

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        """Return a vector for each text."""
        found = [np.empty((0, self.dimension), dtype=np.float32)]
        for vectors in self.stream(texts):
            found.append(vectors)
            if progress:
                progress(len(vectors))
        return np.concatenate(found)

    def stream(self, texts: Sequence[str]) -> Iterator[Vectors]:
        """Yield the vectors of the texts in their order, each group when it is computed.

        Raises:
            DiscreetError: if the workers fail, or if one computes otherwise than this process.
        """
        import pyarrow as pa

        # Bytes: a text may have a character that is no valid UTF-8.
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        starts = range(0, len(encoded), _AT_ONCE)
        blocks = [pa.table({"texts": pa.array(encoded[at : at + _AT_ONCE], pa.large_binary())}) for at in starts]
        if not blocks:
            return
        how = {"name": self.name, "digest": self._digest}
        try:
            done = self._data.from_arrow(blocks).map_batches(
                _embed_table, fn_kwargs=how, batch_size=None, batch_format="pyarrow", num_cpus=1
            )
            for batch in self._reported(done.iter_batches(batch_size=None, batch_format="pyarrow")):
                for row in batch.to_pylist():
                    if row["failure"]:
                        raise DiscreetError(f"A worker of the cluster {row['failure']} {_KEPT}")
                    yield np.frombuffer(row["vectors"], dtype=np.float32).reshape(-1, self.dimension)
        except self._ray.exceptions.RayError as error:
            raise DiscreetError(f"The workers of the cluster failed ({type(error).__name__}). {_KEPT}") from None

    def _reported(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the batches. Report that workers start until the first one arrives: each loads the embedder."""
        arriving = iter(batches)
        if not self._running:
            with stage(f"Starting {self.workers} workers, which load the embedder"):
                first = next(arriving, None)
            self._running = True
            if first is not None:
                yield first
        yield from arriving


_KEPT = "Documents that were added stay. Run the command again: it goes on after them."


def digest_of(embedder: Embedder) -> str:
    """Return a digest of the vectors of public texts: it differs between kinds of machine, and between embedders."""
    return hashlib.blake2b(np.ascontiguousarray(embedder.embed(_PUBLIC)).tobytes()).hexdigest()


def _quiet_data() -> Any:
    """Return the module `ray.data`, without bars and messages, and with results in the order of the texts."""
    try:
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
        import ray.data
    except ImportError:
        raise MissingPart("To spread documents over a cluster, install Ray Data", "ray") from None
    settings: Any = ray.data.DataContext.get_current()
    settings.enable_progress_bars = False
    settings.execution_options.preserve_order = True
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    return ray.data


def _embed_table(table: Any, name: str, digest: str) -> Any:
    """Embed the texts of a block, on a worker. No error reaches Ray, which would log its message."""
    import pyarrow as pa

    try:
        embedder = _checked(name, digest)
        texts = [text.decode("utf-8", "surrogatepass") for text in table["texts"].to_pylist()]
        vectors, failure = np.ascontiguousarray(embedder.embed(texts), dtype=np.float32).tobytes(), ""
    except DiscreetError as error:
        vectors, failure = b"", f"cannot embed: {error}"
    except Exception as error:
        vectors, failure = b"", f"failed ({type(error).__name__})."
    return pa.table({"vectors": pa.array([vectors], pa.large_binary()), "failure": [failure]})


@cache
def _checked(name: str, digest: str) -> Embedder:
    """Return the embedder of this worker, once its public vectors are compared.

    Raises:
        DiscreetError: if one differs.
    """
    embedder = open_embedder(name)
    if digest_of(embedder) != digest:
        raise DiscreetError(
            "its vectors of public texts differ from those of this process, at least by rounding. Use machines of one "
            "kind, with the same versions of discreet, torch and transformers."
        )
    return embedder

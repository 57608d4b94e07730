"""The embedder of an asker whose model is on a Ray cluster: one actor of the cluster embeds for all askers.

As with a worker on a socket (worker_embedder.py), the actor gets questions, public texts, and the names of what
documents state, and the asker loads no torch. Documents are embedded by the process that adds them.

Ray starts a lost actor again. No error of the embedder reaches Ray, which would log it.
"""

import os
import sys
import time
from importlib.metadata import version
from typing import Any

from discreet.generation.opening import find_cluster
from discreet.generation.remote.endpoint import Reply, ServerGone
from discreet.generation.remote.worker_model import WORKER
from discreet.retrieval.embedding import Embedder
from discreet.retrieval.served_embedder import ServedEmbedder, needs_torch
from discreet.system.ray_cluster import HERE, connect_ray, find_actor
from discreet.vault.worker_embedder import NotServed, WorkerEmbedder

_PAUSE, _RESTART = 0.5, 60.0
"""Seconds between two tries, and seconds in which a lost actor must run again."""
_ANSWERING = 600.0
"""Seconds to wait for vectors; the first ones wait until the embedder is loaded."""


class EmbeddingActor:
    """An actor that holds an embedder."""

    def __init__(self, name: str) -> None:
        """Load nothing yet."""
        os.environ.pop(WORKER, None)
        os.environ["OMP_NUM_THREADS"] = str(len(os.sched_getaffinity(0)))  # Ray sets one thread
        self._served = ServedEmbedder(name)

    def reply(self, embedder: str, texts: list[str]) -> tuple[int, dict[str, Any]]:
        """Return the status and the content of a reply, as a worker on a socket sends them."""
        try:
            return 200, self._served.reply(embedder, texts)
        except Exception:  # Ray would log it
            return 500, {}


class ClusterLink:
    """The way to the embedder of a cluster. Its text is the cluster's address."""

    def __init__(self, address: str, name: str) -> None:
        """Join the cluster, and find the embedder's actor; start it if it does not run.

        Args:
            address: host:port of the cluster's head.
            name: the name of the embedder.

        Raises:
            MissingPart: if Ray is not installed.
            UsageError: if the address is invalid.
            DiscreetError: if no cluster answers.
        """
        self._ray = connect_ray(address, 0)
        self._address, self._name = address, name
        self._actor: Any = self._find()

    def __str__(self) -> str:
        return f"ray:{self._address}"

    def request(self, call: str, given: dict[str, Any]) -> Reply:
        """Return the reply to a call; there is one call.

        Raises:
            ServerGone: if the actor does not run, and does not start again.
        """
        until = time.monotonic() + _RESTART
        while True:
            try:
                promise = self._actor.reply.remote(given["embedder"], given["texts"])
                return Reply(*self._ray.get(promise, timeout=_ANSWERING))
            except self._ray.exceptions.RayError as error:
                if time.monotonic() > until:
                    raise ServerGone(f"no embedder at {self} ({type(error).__name__})") from None
            time.sleep(_PAUSE)
            self._actor = self._find()

    def mend(self, name: str) -> str:
        """Return what a person does about an embedder that is lost."""
        return (
            f"The cluster starts it again: ask again. A machine of the cluster needs discreet "
            f"{version('discreet')}, its extras local and ray, and the embedder '{name}'."
        )

    def _find(self) -> Any:
        """Return the actor of this embedder and this version, which the first asker starts."""
        return find_actor(self._ray, self._address, f"embedder {self._name}", EmbeddingActor, self._name)


def open_on_cluster(ray: str, model: str, name: str) -> Embedder | None:
    """Return the embedder of a vault from the cluster that computes its model; None if this process loads it itself.

    That it must is said on standard error, unless the embedder needs no torch. A cluster of this process alone
    ("local") would hold it for no other asker.

    Args:
        ray: the address of a cluster, or "" to look into the environment.
        model: the name of the vault's model.
        name: the name of the embedder.

    Raises:
        ServerGone: if the cluster does not start the embedder.
    """
    address = ray or find_cluster(model)
    if address in ("", HERE) or not needs_torch(name):
        return None
    try:
        return WorkerEmbedder(ClusterLink(address, name), name)
    except NotServed as reason:
        print(f"{reason} So this process loads the embedder '{name}' itself, with torch.", file=sys.stderr, flush=True)
        return None

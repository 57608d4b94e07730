"""The embedder of an asker whose model is in a worker: the worker embeds, and this process loads no torch.

The worker is at a socket, or on a Ray cluster (cluster_embedder.py).

The worker is the one that computes the model (`discreet serve-model`), so it sees no more than the model does: it gets
questions, public texts, and the names of what documents state. Documents are embedded by the process that adds them.
Vectors must be those that this process would compute. Without torch they cannot be compared, so the name of the
embedder and the versions of what computes are.
"""

import sys
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np

from discreet.errors import EngineFailed
from discreet.generation.remote.endpoint import Reply, ServerGone
from discreet.generation.remote.worker_model import GONE, SocketLink
from discreet.retrieval.embedding import Embedder, Told, Vectors
from discreet.retrieval.served_embedder import (
    EMBED,
    MOST_TEXTS,
    USUAL,
    computing_versions,
    needs_torch,
    part_for_meaning,
    read_vectors,
)

_KEPT = 64
"""The vectors of single texts that an asker keeps."""


class Link(Protocol):
    """The way to a worker that embeds. Its text is the worker's address."""

    def request(self, call: str, given: dict[str, Any]) -> Reply:
        """Return the reply to a call. Raise `ServerGone` if no worker answers."""

    def mend(self, name: str) -> str:
        """Return what a person does about a worker that is gone."""


class NotServed(EngineFailed):
    """A worker without this embedder, or with one that computes otherwise. The message says what it does instead."""


class WorkerEmbedder:
    """An `Embedder` that a worker holds.

    Attributes:
        name, dimension: those of the embedder.
    """

    def __init__(self, link: Link, name: str, model: str = "") -> None:
        """Have the worker load the embedder.

        Args:
            link: the way to the worker.
            name: the name of the embedder.
            model: the name of the worker's language model, for the command that starts the worker; any if empty.

        Raises:
            NotServed: if the worker has another embedder, or computes it by other versions.
            ServerGone: if no worker answers.
        """
        self.name, self._link, self._model = name, link, model
        self.dimension = int(self._ask([])["dimension"])
        # One question is embedded to find documents, to find released answers, and to be kept.
        self._one = lru_cache(_KEPT)(lambda text: self._vectors([text])[0])

    @cached_property
    def meaning(self) -> Embedder:
        """The part that represents meaning: the whole embedder if it has no other part."""
        part = part_for_meaning(self.name)
        return WorkerEmbedder(self._link, part, self._model) if part else self

    def check_ready(self) -> None:
        """Check that the worker runs, and still has the embedder.

        Raises:
            ServerGone, EngineFailed: if it does not run, or was started again with another embedder.
        """
        self._vectors([])

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        """Return a vector for each text.

        Raises:
            ServerGone, EngineFailed: see `check_ready`.
        """
        found = np.empty((0, self.dimension), dtype=np.float32)
        if len(texts) == 1:
            found = self._one(texts[0])[np.newaxis].copy()
        elif texts:
            found = self.embed_anew(texts)
        if progress:
            progress(len(texts))
        return found

    def embed_anew(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text, by at least one request: no kept vector is used.

        Raises:
            ServerGone, EngineFailed: see `check_ready`.
        """
        starts = range(0, max(len(texts), 1), MOST_TEXTS)
        return np.concatenate([self._vectors(texts[start : start + MOST_TEXTS]) for start in starts])

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        try:
            return read_vectors(self._ask(texts)["vectors"], len(texts), self.dimension)
        except NotServed as error:
            raise EngineFailed(f"{error} It did not before. Open the vault again.") from None
        except ValueError:
            raise EngineFailed(f"The model worker at {self._link} sent no vectors. Start it again.") from None

    def _ask(self, texts: Sequence[str]) -> dict[str, Any]:
        try:
            reply = self._link.request(EMBED, {"embedder": self.name, "texts": list(texts)})
        except ServerGone:
            raise ServerGone(f"The model worker at {self._link} {GONE}. {self._mend()}") from None
        if failure := find_failure(reply, self.name):
            raise NotServed(f"The model worker at {self._link} {failure}.")
        return reply.content

    def _mend(self) -> str:
        if isinstance(self._link, SocketLink):  # its command names the embedder, too
            return f"Start it, and ask again: {start_command(self._link.path, self.name, self._model)}"
        return self._link.mend(self.name)


def open_at_worker(socket: str, name: str, model: str = "") -> Embedder | None:
    """Return the embedder of a vault from the worker at a socket; None if this process loads it itself.

    That it must is said on standard error, unless the embedder needs no torch.

    Args:
        socket: the path of the worker's socket; none if empty.
        name: the name of the embedder.
        model: the name of the worker's language model; any if empty.

    Raises:
        ServerGone: if no worker answers.
    """
    if not socket or not needs_torch(name):
        return None
    link = SocketLink(socket)
    try:
        return WorkerEmbedder(link, name, model)
    except NotServed as reason:
        command = start_command(link.path, name, model)
        notice = f"{reason} So this process loads the embedder '{name}' itself, with torch. Or start the worker again: "
        print(notice + command, file=sys.stderr, flush=True)
        return None


def start_command(socket: str, name: str, model: str = "") -> str:
    """Return the command that starts a worker at a socket, with an embedder and a language model; any if empty."""
    named = [] if name in (USUAL, part_for_meaning(USUAL)) else ["--embedder", name]
    return " ".join(["discreet serve-model", *filter(None, [model]), *named, "--socket", socket])


def find_failure(reply: Reply, name: str) -> str:
    """Return why a reply has no vectors of this embedder that are those of this process; "" if it has."""
    if reply.status == 404:
        return "is of an older version, and embeds nothing"
    if reply.status != 200:
        return f"cannot embed (status {reply.status})"
    content = reply.content
    if content.get("embedder") != name:
        return f"serves the embedder '{content.get('embedder', '')}'"
    there, here = dict(content.get("computed_by", {})), computing_versions()
    other = [part for part in here if part in there and there[part] != here[part]]
    return f"embeds with {other[0]} {there[other[0]]}, and here is {here[other[0]]}" if other else ""

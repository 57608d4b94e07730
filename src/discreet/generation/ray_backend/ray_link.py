"""The way from an asker to the shared model of a Ray cluster (`shared_model`). The asker imports no torch.

The first asker starts the actors, and they stay until the cluster ends. So an asker that ends takes no model with it.
"""

import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from discreet.errors import UsageError
from discreet.generation.engines import is_engine_name
from discreet.generation.model import VotingModel
from discreet.generation.ray_backend.shared_model import Load, ModelQueue
from discreet.generation.remote.endpoint import ANSWERING
from discreet.generation.remote.served_model import DESCRIBE
from discreet.generation.remote.worker_model import WorkerModel
from discreet.system.ray_cluster import connect_ray, find_actor

_VERSION = version("discreet")
_LOOK = 1.0
"""Seconds after which a waiting asker looks for Ctrl-C."""
_PAUSE = 0.5
_RESTART = 60.0
"""Seconds in which actors that were lost must run again. Loading the model does not count."""


class RayLink:
    """The way to the shared model of a cluster. Its text is the cluster's address."""

    def __init__(self, address: str, model: str, load: Load, workers: int = 0) -> None:
        """Join the cluster, and find the model's actors; start them if they do not run.

        Args:
            address: host:port of the cluster's head; "local" starts one on this machine, for this process alone.
            model: the name of the model.
            load: loads it on a worker: a function of a module that each machine has.
            workers: the number of workers; one on each machine if 0.

        Raises:
            MissingPart: if Ray is not installed.
            UsageError: if the address is invalid.
            DiscreetError: if no cluster answers.
        """
        self._ray = connect_ray(address, 0)
        self._address, self._model = address, model
        self._given = (model, load, workers)
        self._queue: Any = self._find()

    def __str__(self) -> str:
        return f"ray:{self._address}"

    def ask(self, call: str, given: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """Return the reply to a call. A description waits until the actors run: they start, or start again."""
        content, failure, lost = self._try(call, given)
        until = time.monotonic() + _RESTART
        while lost and call == DESCRIBE and time.monotonic() < until:
            time.sleep(_PAUSE)
            self._queue = self._find()
            content, failure, lost = self._try(call, given)
        if failure and call == DESCRIBE:
            self._ray.kill(self._queue)  # workers that cannot start: the next asker tries anew
        return content, failure

    def mend(self, name: str) -> str:
        """Return what a person does about workers that failed."""
        return (
            f"The cluster starts a lost worker again: ask again. Each machine needs discreet {_VERSION}, its extras "
            f"local and ray, the model '{name or self._model}', and memory for it."
        )

    def _find(self) -> Any:
        """Return the queue of this model and this version, which the first asker starts."""
        return find_actor(self._ray, self._address, self._model, ModelQueue, *self._given)

    def _try(self, call: str, given: dict[str, Any]) -> tuple[dict[str, Any], str, bool]:
        """Return the content, what happened, and whether the actors were lost."""
        try:
            promise = self._queue.reply.remote(call, given)
            return self._wait(promise)
        except self._ray.exceptions.RayError as error:
            # Without the message of the error, which may have words of a document.
            return {}, f"stopped ({type(error).__name__})", True

    def _wait(self, promise: Any) -> tuple[dict[str, Any], str, bool]:
        until = time.monotonic() + ANSWERING
        try:
            while not self._ray.wait([promise], timeout=_LOOK)[0]:
                if time.monotonic() > until:
                    raise TimeoutError
            content, failure = self._ray.get(promise)
            return content, failure, False
        except TimeoutError:
            self._ray.cancel(promise)
            return {}, "does not answer", False
        except BaseException:  # Ctrl-C: the batch loses its turn
            self._ray.cancel(promise)
            raise


def open_shared(name: str, address: str, load: Callable[[str], VotingModel]) -> WorkerModel:
    """Return the model of this name on the cluster at an address.

    Raises:
        UsageError: if an engine computes the model already.
        ServerGone: if the workers cannot load it, or are not alike.
    """
    if is_engine_name(name):
        raise UsageError(
            f"The vault's model '{name}' is computed by an engine already, and cannot be spread over a Ray cluster. "
            "Ask without --ray."
        )
    return WorkerModel(RayLink(address, name, load), name)

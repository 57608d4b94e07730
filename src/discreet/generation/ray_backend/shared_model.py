"""A language model on a Ray cluster that many processes share: named actors, first come, first served.

`ModelQueue` has a name in the cluster, so each asker finds the same one. It hands each batch to the next free
`ModelWorker`; there is one on each machine. The workers compute the same public rows when they start, and one that
differs in a bit is not used: a row would depend on the worker that computes it. Ray starts a killed actor again, and
sends it nothing twice: the batch that it computed fails.

No error of a model reaches Ray, which would log it: its message may have words of a document.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from itertools import cycle, islice
from typing import Any

from discreet.errors import DiscreetError
from discreet.generation.model import VotingModel
from discreet.generation.remote.served_model import ANSWERS, DESCRIBE, Refusal, ServedModel
from discreet.generation.remote.worker_model import WORKER

Load = Callable[[str], VotingModel]
Reply = tuple[dict[str, Any], str]
"""The content of a reply, or nothing and what happened."""
NOT_ALIKE = (
    "is one of several that are not alike: outputs of the model differ between them, at least by rounding. A unit "
    "could then change the output for other units. Use machines of one kind, with the same versions of torch and "
    "transformers."
)
_GROUPS = {ANSWERS: 1, "texts": 4}
"""Threads of a worker: one computes batches in their order; others encode and decode meanwhile."""
_GPU = 0.01
"""The part of a GPU that a worker asks for, on a machine that has one: Ray hides GPUs that are not asked for."""
_STOPPED = "stopped"
_PAUSE = 0.5
"""Seconds between two looks whether a worker that failed is there again."""


class ModelWorker:
    """An actor that holds the model."""

    def __init__(self, name: str, load: Load) -> None:
        """Load the model."""
        os.environ.pop(WORKER, None)  # a worker does not ask another one for its model
        # Ray sets one thread. The only worker of a machine may use all of its processors.
        os.environ["OMP_NUM_THREADS"] = str(len(os.sched_getaffinity(0)))
        self._failure = ""
        try:
            self._model = ServedModel(load(name))
        except DiscreetError as error:
            self._failure = f"could not load the model: {error}"
        except Exception as error:  # Ray would start the actor again and again
            self._failure = f"could not load the model ({type(error).__name__})"

    def reply(self, call: str, given: Mapping[str, Any]) -> Reply:
        """Return the reply of the model to a call."""
        if self._failure:
            return {}, self._failure
        try:
            return self._model.reply(call, given), ""
        except Refusal as refusal:
            return {}, f"refused the rows: {refusal}"
        except Exception as error:
            return {}, f"failed ({type(error).__name__})"


class ModelQueue:
    """An actor with a name, and the queue before the workers. It holds no model."""

    def __init__(self, name: str, load: Load, workers: int) -> None:
        """Start the workers.

        Args:
            name: the name of the model.
            load: loads it.
            workers: the number of workers; one on each machine if 0.
        """
        import ray
        import ray.exceptions
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        cluster: Any = ray
        machines = [node for node in cluster.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        actor = cluster.remote(num_cpus=0, max_restarts=-1, concurrency_groups=_GROUPS)(ModelWorker)
        self._workers = [
            actor.options(
                scheduling_strategy=NodeAffinitySchedulingStrategy(machine["NodeID"], soft=True),
                num_gpus=_GPU if machine["Resources"].get("GPU") else 0,
            ).remote(name, load)
            for machine in islice(cycle(machines), workers or len(machines))
        ]
        self._failed: type[Exception] = ray.exceptions.RayError
        self._checking = asyncio.Lock()
        self._about: dict[str, Any] = {}
        self._running: list[Any] = []
        self._any_running = asyncio.Event()
        self._free: asyncio.Queue[Any] = asyncio.Queue()
        self._turn = 0
        self._returning: set[asyncio.Task[None]] = set()

    async def reply(self, call: str, given: Mapping[str, Any]) -> Reply:
        """Return the reply to a call, by the next free worker if it computes the model, else by any."""
        async with self._checking:
            if not self._about and (failure := await self._compare()):
                return {}, failure
        if call == ANSWERS:
            return await self._compute(given)
        if call == DESCRIBE:
            await self._any_running.wait()
            return self._about, ""
        if not self._running:
            return {}, "stopped"
        self._turn += 1
        return await self._ask(self._running[self._turn % len(self._running)], call, given)

    async def _compare(self) -> str:
        """Wait for all workers, and compare their public rows. Return why the workers cannot be used, or ""."""
        found = await asyncio.gather(*(self._try(worker, DESCRIBE, {}) for worker in self._workers))
        for _, failure in found:
            if failure:
                return failure
        if len({about["digest"] for about, _ in found}) > 1:
            return NOT_ALIKE
        self._about = found[0][0]
        for worker in self._workers:
            self._use(worker)
        return ""

    async def _compute(self, given: Mapping[str, Any]) -> Reply:
        worker = await self._free.get()
        try:
            return await self._ask(worker, ANSWERS, given)
        finally:
            if worker in self._running:
                self._free.put_nowait(worker)

    async def _ask(self, worker: Any, call: str, given: Mapping[str, Any]) -> Reply:
        """Return the reply of a worker that runs. A worker that stopped is not used until it runs again."""
        content, failure = await self._try(worker, call, given)
        if failure.startswith(_STOPPED) and worker in self._running:
            self._running.remove(worker)
            if not self._running:
                self._any_running.clear()
            task = asyncio.create_task(self._return(worker))
            self._returning.add(task)  # asyncio keeps no task by itself
            task.add_done_callback(self._returning.discard)
        return content, failure

    async def _return(self, worker: Any) -> None:
        """Wait until a worker that stopped runs again, and use it if it computes as before."""
        about, failure = await self._try(worker, DESCRIBE, {})
        while failure.startswith(_STOPPED):
            await asyncio.sleep(_PAUSE)
            about, failure = await self._try(worker, DESCRIBE, {})
        if about.get("digest") == self._about["digest"]:
            self._use(worker)
        elif not self._running:
            self._about = {}  # all are compared anew; an asker that knows another digest refuses them
            self._any_running.set()

    def _use(self, worker: Any) -> None:
        self._running.append(worker)
        self._free.put_nowait(worker)
        self._any_running.set()

    async def _try(self, worker: Any, call: str, given: Mapping[str, Any]) -> Reply:
        group = call if call in _GROUPS else "texts"
        try:
            found: Reply = await worker.reply.options(concurrency_group=group).remote(call, given)
        except self._failed as error:
            return {}, f"{_STOPPED} ({type(error).__name__})"
        return found

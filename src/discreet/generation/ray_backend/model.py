"""A language model on the workers of a Ray cluster.

The workers compute the model. All draws and the ledger stay in this process. The workers see documents, so they must be
the custodian's own.

The worker that computes a row depends on the number of other rows. So all workers must compute alike. Each worker
computes the same public rows when it starts, and is refused if its results differ in any bit from those of the first.
A row then depends on its own prompt alone, as it does without a cluster.

At most one task for each worker runs at the same time (`run_concurrently`), each in a thread of this process.
"""

import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from itertools import count
from threading import Event, Thread
from typing import Any, TypeVar

from discreet.errors import DiscreetError
from discreet.generation.loading import load_model
from discreet.generation.model import Logits, Prompt, ScoredDecoding, ScoringModel, Tokens
from discreet.generation.probing import probe
from discreet.generation.wrapping import TokenizingInTurns
from discreet.system.ray_cluster import connect_ray, leave_ray

R = TypeVar("R")
Reader = Callable[[ScoringModel, list[str]], list[Any]]
"""Returns a value for each text, which depends on that text alone."""
_SHARE = {"num_cpus": 0.25, "scheduling_strategy": "SPREAD"}
"""The resources of a worker. Each processor has one, and capacity for tasks of others."""
_LOOK = 1.0
"""Seconds after which a thread that waits for a worker checks whether it was stopped."""
_START = 600.0
"""Seconds in which workers must load the model."""
_AT_ONCE = 64
"""Texts in a batch of a reader: as many as without a cluster."""


class RayModel(TokenizingInTurns):
    """A `ScoringModel` on a Ray cluster; a local model does the cheap work, such as tokenizing.

    `close` leaves the cluster.
    """

    def __init__(self, model: ScoringModel, address: str, workers: int = 0) -> None:
        """Join a cluster, and start a worker on each of its processors.

        Args:
            model: the same model, on this machine.
            address: host:port of the cluster's head; "local" starts one on this machine.
            workers: the number of workers; one for each processor of the cluster if 0.

        Raises:
            MissingPart: if Ray is not installed.
            UsageError: if the address is invalid.
            DiscreetError: if no cluster answers, or if the workers cannot load the model or compute differently.
        """
        super().__init__(model)
        self._stopped, self._address = Event(), address
        self._ray = connect_ray(address, workers)
        found = int(self._ray.cluster_resources().get("CPU", 1))
        self.workers = min(workers or found, found)
        self._turn = count()
        self._started: list[Any] = []
        try:
            made = self._ray.remote(**_SHARE)(Worker)
            self._started = [made.remote(model.name) for _ in range(self.workers)]
            with self._explained():
                probes = self._ray.get([worker.probe.remote() for worker in self._started], timeout=_START)
            _alike(probes)
        except BaseException:  # also after Ctrl-C: a cluster that was not left cannot be joined again
            self.close()
            raise
        self.probe: str = probes[0]

    def close(self) -> None:
        """Leave the cluster; the workers stop."""
        for worker in self._started:
            with suppress(Exception):  # the cluster may be gone
                self._ray.kill(worker)  # another part of this process may stay in the cluster
        leave_ray(self._address)

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> "RayDecoding":
        """Begin to continue prompts on the next worker in turn."""
        number, worker = self._next()
        worker.start.remote(number, tuple(shared), tuple(prompts), max_tokens)
        return RayDecoding(self, worker, number)

    def token_nll(self, shared: Sequence[int], prompts: Sequence[Prompt]) -> Logits:
        """Return minus the log-probability of each token, computed by the next worker in turn."""
        _, worker = self._next()
        found: Logits = self.result(worker.token_nll.remote(tuple(shared), tuple(prompts)))
        return found

    def read(self, reader: Reader, texts: Sequence[str]) -> Iterator[Any]:
        """Yield the result of `reader` for each text, in the order of the texts. A worker reads a batch.

        Args:
            reader: it is sent to the workers.
            texts: the texts; read in batches.

        Raises:
            DiscreetError: if the workers fail.
        """
        batches = [list(texts[start : start + _AT_ONCE]) for start in range(0, len(texts), _AT_ONCE)]
        early: dict[int, list[Any]] = {}
        wanted = 0
        with self._explained():
            pool = self._ray.util.ActorPool(self._started)
            reader = self._ray.put(reader)
            for place, batch in enumerate(batches):
                pool.submit(lambda worker, work: worker.read.remote(reader, *work), (place, batch))
            while pool.has_next():
                place, found = pool.get_next_unordered()
                early[place] = found
                while wanted in early:
                    yield from early.pop(wanted)
                    wanted += 1

    def run_concurrently(self, works: Sequence[Callable[[], R]], on_progress: Callable[[int], None]) -> list[R]:
        """Run tasks in threads; see the function `run_concurrently` below."""
        threads, stop, done = ThreadPoolExecutor(self.workers), True, 0
        try:
            begun = [threads.submit(work) for work in works]
            waiting = set(begun)
            while waiting:
                # A timeout, since a Ctrl-C that another thread receives does not wake this one.
                ended, waiting = wait(waiting, _LOOK, FIRST_COMPLETED)
                for one in ended:
                    stop = one.exception() is None  # after a failure, running tasks may end
                    one.result()
                    done += 1
                    on_progress(done)
            stop = False
            return [one.result() for one in begun]
        finally:
            self._end(threads, stop)

    def result(self, promise: Any) -> Any:
        """Wait for the result of a worker and return it.

        Raises:
            DiscreetError: if the workers failed, or if Ctrl-C stopped the task.
        """
        with self._explained():
            while not self._stopped.is_set():
                if self._ray.wait([promise], timeout=_LOOK)[0]:
                    return self._ray.get(promise)
        raise DiscreetError("Stopped. All charges and draws are kept. Run the command again.")

    def _end(self, threads: ThreadPoolExecutor, stop: bool) -> None:
        """Start no more tasks, and wait for the running ones, even if Ctrl-C is pressed several times.

        Afterwards this process releases the vault, and another process may draw. No thread may draw after that.
        """
        ended, watched, pressed = Event(), False, list[BaseException]()

        def watch() -> None:
            threads.shutdown(cancel_futures=True)
            ended.set()

        while not ended.is_set():
            try:
                if stop:
                    self._stopped.set()
                if not watched:
                    # In a thread that Ctrl-C does not interrupt: an interrupted wait treats the threads as ended.
                    Thread(target=watch, daemon=True).start()
                    watched = True
                ended.wait(_LOOK)
            except BaseException as error:  # any exception of a signal handler
                stop = True
                pressed.append(error)
        self._stopped.clear()
        if pressed:
            raise pressed[0]

    def _next(self) -> tuple[int, Any]:
        number = next(self._turn)
        return number, self._started[number % self.workers]

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except self._ray.exceptions.RayError as error:
            # Without the error of the worker, whose message may contain words of a document.
            raise DiscreetError(
                f"The workers of the cluster failed ({type(error).__name__}). Each needs discreet in this version, its "
                f"extras local and ray, the model '{self.name}', memory for it, and a processor like the others'. All "
                "charges and draws are kept. Run the command again."
            ) from None


class RayDecoding:
    """A batch of prompts that a worker continues. Calls do not wait, except for results."""

    def __init__(self, model: RayModel, worker: Any, number: int) -> None:
        self._model, self._worker, self._number = model, worker, number
        weakref.finalize(self, _forget, worker, number)

    def best(self) -> Tokens:
        """Return the most likely next token of each row, shape (rows,)."""
        found: Tokens = self._model.result(self._do("best"))
        return found

    def logits(self) -> Logits:
        """Return the logits of the next token, shape (rows, vocabulary)."""
        found: Logits = self._model.result(self._do("logits"))
        return found

    def append(self, token: int) -> None:
        """Continue every row with `token`."""
        self._do("append", token)

    def append_each(self, tokens: Sequence[int]) -> None:
        """Continue each row with its own token."""
        self._do("append_each", tuple(tokens))

    def truncate(self, length: int) -> None:
        """Forget all but the first `length` appended tokens."""
        self._do("truncate", length)

    def _do(self, what: str, *given: object) -> Any:
        return self._worker.do.remote(self._number, what, *given)


class Worker:
    """The model on a processor of the cluster, and the batches that it continues."""

    def __init__(self, name: str) -> None:
        self._model = load_model(name)
        self._begun: dict[int, ScoredDecoding] = {}

    def probe(self) -> str:
        """Return the digest of this worker's outputs on public rows."""
        return probe(self._model)

    def start(self, number: int, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> None:
        """Begin a batch."""
        self._begun[number] = self._model.start(shared, prompts, max_tokens)

    def do(self, number: int, what: str, *given: object) -> Any:
        """Call a method of a batch. After a failure the batch is dropped: no caller may have waited for that step."""
        batch = self._begun[number]
        try:
            return getattr(batch, what)(*given)
        except BaseException:
            del self._begun[number]
            raise

    def forget(self, number: int) -> None:
        """Drop a batch."""
        self._begun.pop(number, None)

    def token_nll(self, shared: Sequence[int], prompts: Sequence[Prompt]) -> Logits:
        """Return minus the log-probability of each token."""
        return self._model.token_nll(shared, prompts)

    def read(self, reader: Reader, place: int, texts: list[str]) -> tuple[int, list[Any]]:
        """Return what `reader` finds in each text, with the place of the batch among others."""
        return place, reader(self._model, texts)


def _alike(probes: Sequence[str]) -> None:
    if len(set(probes)) > 1:
        raise DiscreetError(
            "The workers of the cluster are not alike: outputs of the model differ between them, at least by rounding. "
            "A unit could then change the output for other units. Use machines of one kind, "
            "with the same versions of torch and transformers, and the same model."
        )


def _forget(worker: Any, number: int) -> None:
    with suppress(Exception):  # the cluster may be gone
        worker.forget.remote(number)


def run_concurrently(
    model: ScoringModel, works: Sequence[Callable[[], R]], on_progress: Callable[[int], None]
) -> list[R]:
    """Run tasks and return their results in order.

    On a cluster, as many tasks run at once as there are workers, each in a thread. Without a cluster, tasks run one
    after the other.

    Args:
        model: the model that the tasks use.
        works: the tasks, started in this order. The result of a task must not depend on other tasks or on timing.
        on_progress: called with the number of finished tasks, from 0 on, by the thread that calls this function.

    Raises:
        Exception: if a task fails: its error, after the running tasks have ended. No more tasks are started.
        KeyboardInterrupt: if Ctrl-C is pressed, after the running tasks have stopped at their next step.
    """
    on_progress(0)
    if isinstance(model, RayModel):
        return model.run_concurrently(works, on_progress)
    found = list[R]()
    for done, work in enumerate(works, 1):
        found.append(work())
        on_progress(done)
    return found


@contextmanager
def use_ray(model: ScoringModel, address: str | None) -> Iterator[ScoringModel]:
    """Yield the model on the Ray cluster at an address; the model unchanged if the address is None."""
    if address is None:
        yield model
        return
    over = RayModel(model, address)
    try:
        yield over
    finally:
        over.close()

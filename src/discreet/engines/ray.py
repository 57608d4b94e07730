"""Bulk work on a Ray cluster: documents embedded, texts read and corpora written, bit for bit as by one process.

Embedding and reading are jobs of Ray Data. A worker gets a batch of texts, and results come back in the order of the
texts. This process keeps each result as it comes, so that an interrupted command goes on after it. A worker that is
killed loses nothing: Ray gives its texts to another one.

A corpus is written token by token, with a draw between two tokens. So its rows stay with one worker until they are
written (`RayDecoding`), and at most one task for each worker runs at the same time (`run_concurrently`).

All draws, the ledger and the store stay in this process. The workers see documents, so they must be the custodian's
own. Which worker has a row follows from the number of other rows. So each worker first computes the same public rows
as this process, and is refused if a result differs in a bit. No error of a worker reaches Ray, which would log it.
"""

import hashlib
import importlib.util
import logging
import os
import pickle
import socket
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any, TypeVar

import numpy as np

from discreet.errors import DiscreetError, MissingPart, UsageError
from discreet.models.capabilities import probe
from discreet.models.completer import TokenizingInTurns
from discreet.models.loading import load_model
from discreet.models.protocol import Logits, Prompt, ScoredDecoding, ScoringModel, Tokens
from discreet.store.embedding import Embedder, Told, Vectors, open_embedder
from discreet.system.progress import stage

R = TypeVar("R")
Reader = Callable[[ScoringModel, list[str]], list[Any]]
"""Returns a value for each text, which depends on that text alone."""
HERE = "local"
"""The address that starts a cluster on this machine for this process."""
_PATIENCE = 5.0
"""Seconds to wait for the answer of a cluster; Ray waits for ten minutes."""
_START = 600.0
"""Seconds in which workers must load the model."""
_LOOK = 1.0
"""Seconds after which a thread that waits for a worker checks whether it was stopped."""
_SHARE = 0.25
"""The part of a processor that a worker that writes asks for; jobs of Ray Data take the rest."""
_EMBEDDED, _READ = 256, 64
"""Texts in a task: as many as in a group without a cluster."""
_PUBLIC = tuple("red house three rain " * length for length in (1, 3, 7, 11, 15, 19, 23, 29, 39, 64))
"""Texts of many lengths, since the shape of a computation depends on the length."""
_OTHER = (
    "computes otherwise: its outputs for public texts differ from those of this process, at least by rounding. A unit "
    "could then change the output for other units. Use machines of one kind, with the same versions of discreet, torch "
    "and transformers, and the same model."
)
_KEPT = "All charges and draws are kept, and all texts that were added or read. Run the command again: it goes on."
_joined: dict[str, int] = {}
"""The cluster that this process is in, by its address, and how many parts of the process use it."""


# -- the cluster ------------------------------------------------------------------------------------------------------


def connect_ray(address: str, workers: int = 0) -> Any:
    """Join a cluster and return the module `ray`. `leave_ray` leaves it; the end of the process does, too.

    A process is in one cluster at a time. Each part of it that joins leaves by itself.

    Args:
        address: host:port of the cluster's head; "local" starts one on this machine.
        workers: the number of processors of a cluster on this machine; all processors if 0.

    Raises:
        MissingPart: if Ray is not installed.
        UsageError: if the address is invalid.
        DiscreetError: if no cluster answers there, if it refuses this process, or if the process is in another one.
    """
    if importlib.util.find_spec("ray") is None:
        raise MissingPart("To spread work over a cluster, install Ray", "ray")
    if address != HERE:
        _check_reachable(address)
        given = any(os.environ.get(name) for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"))
        if given or (Path.home() / ".ray" / "auth_token").exists():
            os.environ.setdefault("RAY_AUTH_MODE", "token")  # else Ray shows no token
    if _joined and address not in _joined:
        raise DiscreetError(
            f"This process is in the Ray cluster at {next(iter(_joined))} already. Start another process for the one "
            f"at {address}."
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage reports
    os.environ.setdefault("RAY_worker_niceness", "0")  # the default gives other processes priority
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # the message of an error may contain words of documents
    import ray

    if _joined:
        _joined[address] += 1
        return ray
    # "local" is passed explicitly: without an address, Ray joins any cluster that this machine knows.
    started: dict[str, Any] = {"address": address}
    if address == HERE:
        started |= {"num_cpus": workers or None, "include_dashboard": False}
    logging.getLogger("ray").setLevel(logging.ERROR)
    try:
        ray.init(log_to_driver=False, configure_logging=False, **started)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise DiscreetError(
            f"The Ray cluster at {address} could not be joined ({type(error).__name__}). It must run the same versions "
            "of Ray and Python; one that asks for a token needs its token here: RAY_AUTH_TOKEN, or ~/.ray/auth_token. "
            "Nothing was paid, and nothing was changed."
        ) from error
    _joined[address] = 1
    # Ray prints messages about lost processes on standard output, in the middle of answers and of JSON.
    ray._private.worker.print_to_stdstream = lambda *_, **__: None
    return ray


def leave_ray(address: str) -> None:
    """Leave a cluster, unless another part of this process uses it."""
    import ray

    _joined[address] -= 1
    if not _joined[address]:
        del _joined[address]
        ray.shutdown()


def _check_reachable(address: str) -> None:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(f"A Ray cluster has an address such as 10.0.0.5:6379, or is '{HERE}'; not '{address}'.")
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise DiscreetError(
            f"No Ray cluster answers at {address} ({error}). Start one there (ray start --head), or use "
            f"--ray {HERE}. Nothing was paid, and nothing was changed."
        ) from error


# -- jobs of Ray Data -------------------------------------------------------------------------------------------------


class Jobs:
    """The jobs of this process on a cluster. `close` leaves it.

    Attributes:
        ray: the module `ray`.
        workers: the number of processors of the cluster.

    Raises:
        MissingPart, UsageError, DiscreetError: see `connect_ray`.
    """

    def __init__(self, address: str, workers: int, what: str) -> None:
        """Join a cluster. `what` is loaded by each worker: "model" or "embedder"."""
        with stage("Starting a cluster on this machine" if address == HERE else "Joining the cluster"):
            self.ray = connect_ray(address, workers)
        self._address, self._what, self._running = address, what, False
        try:
            self._data = _quiet_data()
            self.workers = int(self.ray.cluster_resources().get("CPU", 1))
        except BaseException:  # also after Ctrl-C: a cluster that was not left cannot be joined again
            self.close()
            raise

    def close(self) -> None:
        """Leave the cluster."""
        leave_ray(self._address)

    def map(self, job: Callable[[list[str]], Any], texts: Sequence[str], at_once: int, part: float) -> Iterator[Any]:
        """Yield what `job` makes of each batch of texts, in the order of the texts.

        Args:
            job: is sent to the workers.
            texts: the texts.
            at_once: the number of texts of a batch.
            part: the part of a processor that a task asks for.

        Raises:
            DiscreetError: if the workers fail, or if one computes otherwise than this process.
        """
        import pyarrow as pa

        # Bytes: a text may have a character that is no valid UTF-8.
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        starts = range(0, len(encoded), at_once)
        blocks = [pa.table({"texts": pa.array(encoded[at : at + at_once], pa.large_binary())}) for at in starts]
        if not blocks:
            return
        with self.explained():
            done = self._data.from_arrow(blocks).map_batches(
                _do, fn_kwargs={"job": job}, batch_size=None, batch_format="pyarrow", num_cpus=part
            )
            arriving = iter(done.iter_batches(batch_size=None, batch_format="pyarrow"))
            if not self._running:  # until the first batch arrives, a person sees what takes so long
                with stage(f"Starting {self.workers} workers, which load the {self._what}"):
                    first = [next(arriving)]
                self._running = True
            else:
                first = []
            for batches in (first, arriving):
                for row in (row for batch in batches for row in batch.to_pylist()):
                    if row["failure"]:
                        raise DiscreetError(f"A worker of the cluster {row['failure']} {_KEPT}")
                    yield pickle.loads(row["made"])  # from a worker of the custodian's own

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Convert an error of Ray, without its message, which may contain words of a document."""
        try:
            yield
        except self.ray.exceptions.RayError as error:
            raise DiscreetError(
                f"The workers of the cluster failed ({type(error).__name__}). Each needs discreet in this version, its "
                f"extras local and ray, the {self._what}, memory for it, and a processor like the others'. {_KEPT}"
            ) from None


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


def _do(table: Any, job: Callable[[list[str]], Any]) -> Any:
    """Do a job with a batch of texts, on a worker."""
    import pyarrow as pa

    result, failure = b"", ""
    try:
        result = pickle.dumps(job([text.decode("utf-8", "surrogatepass") for text in table["texts"].to_pylist()]))
    except DiscreetError as error:
        failure = str(error)
    except Exception as error:
        failure = f"failed ({type(error).__name__})."
    return pa.table({"made": pa.array([result], pa.large_binary()), "failure": [failure]})


class _Embed:
    """The job of an embedder: a worker loads it once, and compares it."""

    def __init__(self, name: str, digest: str) -> None:
        self.given = name, digest

    def __call__(self, texts: list[str]) -> Vectors:
        return np.ascontiguousarray(_compared_embedder(*self.given).embed(texts), dtype=np.float32)


class _Read:
    """The job of a reader and a model: a worker loads the model once, and compares it."""

    def __init__(self, reader: Reader, name: str, digest: str) -> None:
        self.reader, self.given = reader, (name, digest)

    def __call__(self, texts: list[str]) -> list[Any]:
        return self.reader(_compared_model(*self.given), texts)


@cache
def _compared_embedder(name: str, digest: str) -> Embedder:
    embedder = open_embedder(name)
    if _digest_vectors(embedder) != digest:
        raise DiscreetError(_OTHER)
    return embedder


@cache
def _compared_model(name: str, digest: str) -> ScoringModel:
    model = load_model(name)
    if probe(model) != digest:
        raise DiscreetError(_OTHER)
    return model


def _digest_vectors(embedder: Embedder) -> str:
    """Return a digest of the vectors of public texts: it differs between kinds of machine, and between embedders."""
    return hashlib.blake2b(np.ascontiguousarray(embedder.embed(_PUBLIC)).tobytes()).hexdigest()


class RayEmbedder(Jobs):
    """An `Embedder` on a Ray cluster: workers see texts, and no store.

    Attributes:
        name, dimension: those of the embedder.
        documents_at_once: documents in a group, so that all workers have work. Each is stored when its vectors arrive.
    """

    def __init__(self, embedder: Embedder, address: str, workers: int = 0) -> None:
        """Join a cluster, for the embedder of this process."""
        self.name, self.dimension = embedder.name, embedder.dimension
        self._job = _Embed(embedder.name, _digest_vectors(embedder))
        super().__init__(address, workers, "embedder")
        self.documents_at_once = 32 * _EMBEDDED * self.workers

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        """Return a vector for each text."""
        parts = [np.empty((0, self.dimension), dtype=np.float32)]
        for vectors in self.stream(texts):
            parts.append(vectors)
            if progress:
                progress(len(vectors))
        return np.concatenate(parts)

    def stream(self, texts: Sequence[str]) -> Iterator[Vectors]:
        """Yield the vectors of the texts in their order, each group when it is computed. Raise as `Jobs.map`."""
        return self.map(self._job, texts, _EMBEDDED, 1.0)


# -- a model that reads and writes -------------------------------------------------------------------------------------


class RayModel(TokenizingInTurns):
    """A `ScoringModel` on a Ray cluster; the model of this process does the cheap work, such as tokenizing.

    `close` leaves the cluster.

    Attributes:
        workers: the number of processors of the cluster.
        probe: the digest of what this process computes for public rows.
    """

    def __init__(self, model: ScoringModel, address: str, workers: int = 0, *, writes: bool = True) -> None:
        """Join a cluster.

        Args:
            model: the same model, in this process.
            address: host:port of the cluster's head; "local" starts one on this machine.
            workers: the number of processors of a cluster on this machine; all processors if 0.
            writes: whether to start a worker that writes on each processor.

        Raises:
            MissingPart, UsageError: see `connect_ray`.
            DiscreetError: if no cluster answers, or if the workers cannot load the model or compute differently.
        """
        super().__init__(model)
        self.probe, self._stopped, self._turn = probe(model), Event(), count()
        self._writers: list[Any] = []
        self._jobs = Jobs(address, workers, "model")
        self.workers = self._jobs.workers
        try:
            if writes:
                worker_class = self._jobs.ray.remote(num_cpus=_SHARE, scheduling_strategy="SPREAD")(Worker)
                self._writers = [worker_class.remote(model.name) for _ in range(self.workers)]
                with self._jobs.explained():
                    waiting = [worker.probe.remote() for worker in self._writers]
                    probes = self._jobs.ray.get(waiting, timeout=_START)
                if set(probes) != {self.probe}:
                    raise DiscreetError(f"A worker of the cluster {_OTHER}")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave the cluster; the workers stop."""
        for worker in self._writers:
            with suppress(Exception):  # the cluster may be gone
                self._jobs.ray.kill(worker)  # another part of this process may stay in the cluster
        self._jobs.close()

    def read(self, reader: Reader, texts: Sequence[str]) -> Iterator[Any]:
        """Yield the result of `reader` for each text, in the order of the texts. Raise as `Jobs.map`."""
        part = 1 - _SHARE if self._writers else 1.0
        for result in self._jobs.map(_Read(reader, self.name, self.probe), texts, _READ, part):
            yield from result

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> "RayDecoding":
        """Begin to continue prompts on the next worker in turn."""
        number, worker = self._next()
        worker.start.remote(number, tuple(shared), tuple(prompts), max_tokens)
        return RayDecoding(self, worker, number)

    def token_nll(self, shared: Sequence[int], prompts: Sequence[Prompt]) -> Logits:
        """Return minus the log-probability of each token, computed by the next worker in turn."""
        scores: Logits = self.result(self._next()[1].token_nll.remote(tuple(shared), tuple(prompts)))
        return scores

    def result(self, promise: Any) -> Any:
        """Wait for the result of a worker and return it.

        Raises:
            DiscreetError: if the workers failed, or if Ctrl-C stopped the task.
        """
        with self._jobs.explained():
            while not self._stopped.is_set():
                if self._jobs.ray.wait([promise], timeout=_LOOK)[0]:
                    return self._jobs.ray.get(promise)
        raise DiscreetError("Stopped. All charges and draws are kept. Run the command again.")

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
        return number, self._writers[number % len(self._writers)]


class RayDecoding:
    """A batch of prompts that a worker continues. Calls do not wait, except for results."""

    def __init__(self, model: RayModel, worker: Any, number: int) -> None:
        self._model, self._worker, self._number = model, worker, number
        weakref.finalize(self, _forget, worker, number)

    def best(self) -> Tokens:
        """Return the most likely next token of each row, shape (rows,)."""
        tokens: Tokens = self._model.result(self._do("best"))
        return tokens

    def logits(self) -> Logits:
        """Return the logits of the next token, shape (rows, vocabulary)."""
        logits: Logits = self._model.result(self._do("logits"))
        return logits

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
    results = list[R]()
    for done, work in enumerate(works, 1):
        results.append(work())
        on_progress(done)
    return results


@contextmanager
def use_ray(model: ScoringModel, address: str | None, *, writes: bool = True) -> Iterator[ScoringModel]:
    """Yield the model on the Ray cluster at an address; the model unchanged if the address is None."""
    if address is None:
        yield model
        return
    over = RayModel(model, address, writes=writes)
    try:
        yield over
    finally:
        over.close()
